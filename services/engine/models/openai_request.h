/* SPDX-License-Identifier: MIT
 *
 * openai_request: builds the body of a /chat/completions request for a prompt. Pure.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_OPENAI_REQUEST_H
#define PARLEY_SERVICES_ENGINE_MODELS_OPENAI_REQUEST_H

#include "services/engine/models/prompt.h"

void openai_put_request(struct buf *b, const struct prompt *prompt, const char *model,
                        bool is_streaming);

#endif
