/* SPDX-License-Identifier: MIT
 *
 * models: the models that /v1/messages can answer with, as Anthropic's clients read them. They are
 * those that engines serve for chat. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_MESSAGES_MODELS_H
#define PARLEY_SERVICES_OPENAI_MESSAGES_MODELS_H

#include "services/openai/known_models.h"

/* Returns whether a request comes from such a client: it has the header anthropic-version. */
bool message_models_are_asked(struct request *r);
/* Answers with a page: what `limit`, `after_id` and `before_id` of its query ask for. `models`: the
 * lines of the verb's reply, borrowed. */
void message_models_list(struct request *r, const struct lines *models);
/* Answers with one; false, without an answer, if it is served for neither. */
bool message_models_show(struct request *r, const struct known_model *model) must_check;

#endif
