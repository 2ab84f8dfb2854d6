/* SPDX-License-Identifier: MIT
 *
 * translate: the body of POST /v1/responses as one of /v1/chat/completions, which is what engines
 * get. Always as a stream with its usage. Members that neither of them knows are left as they are.
 * Takes time and memory linear in the body. Pure, any thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_RESPONSES_TRANSLATE_H
#define PARLEY_SERVICES_OPENAI_RESPONSES_TRANSLATE_H

#include "services/openai/responses/translate_input.h"
#include "shared/base/json_scan.h"

/* Puts the body, made of the members of a request and what precedes it (NULL: nothing). Returns
 * false, and `b` is partly written, if it cannot be translated. Past the maximum of `b`, b->is_over
 * is set. */
bool translate_request(const struct json_member *members, size_t n,
                       const struct translate_before *before, struct buf *b,
                       struct translate_fault *ret_fault) must_check;

#endif
