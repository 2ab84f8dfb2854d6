/* SPDX-License-Identifier: MIT
 *
 * openai_request: builds the body of a /chat/completions request for a prompt, and reads the
 * objects of the response. Pure.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_OPENAI_REQUEST_H
#define PARLEY_SERVICES_ENGINE_MODELS_OPENAI_REQUEST_H

#include "services/engine/models/prompt.h"

void openai_put_request(struct buf *b, const struct prompt *prompt, const char *model,
                        bool is_streaming);

/* One chunk of a stream, or one whole completion; borrowed from `json`. */
struct openai_piece {
    struct str think, answer; /* may be empty */
    bool is_finished;         /* has a finish_reason: the text is complete */
    bool is_error;
};
struct openai_piece openai_read_piece(const json_t *json);
/* Returns the message of an error object, in any of the forms that servers use; empty if there is
 * none. */
struct str openai_read_error(const json_t *json);

#endif
