/* SPDX-License-Identifier: MIT
 *
 * openai_judge: judges a model server's status: whether it is about the prompt or the engine. Makes
 * the error that clients of a door get. Pure.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_OPENAI_JUDGE_H
#define PARLEY_SERVICES_ENGINE_MODELS_OPENAI_JUDGE_H

#include "services/engine/models/backend.h"

enum { OPENAI_ERROR_MESSAGE_BYTES = 2000 };

/* Judges a status that is no success. `body`: of the response. */
enum completion_outcome openai_judge(enum api api, int status, struct str body);

/* Returns whether a refusal with that status and body is about `member` of the request: it names
 * it, or nothing. */
bool openai_is_refusing(int status, struct str body, const char *member);

/* Puts what went wrong, on one line for people. */
void openai_put_status(struct buf *b, int status, struct str body);

/* Makes {"status","message","type","param","code"} of a JSON error; `json` may be NULL. Without a
 * message in it, `message` is taken. The caller owns it. */
json_t *openai_make_error(int status, const json_t *json, const char *message) must_check;

#endif
