/* SPDX-License-Identifier: MIT
 *
 * own_chat: chat completions for a model that a service offers (own_models.h). Such a model gets
 * what the user said instead of the whole request, and its job (job.h) follows the query that it
 * names instead of one of its own. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_OWN_CHAT_H
#define PARLEY_SERVICES_OPENAI_OWN_CHAT_H

#include "services/openai/job.h"

/* Reads the question of a request for the model `settings->own`, into `settings`. `messages`: the
 * list of the chat. `engine_model`: of own_models_find. Answers 400 and returns false if the
 * request asks for what such a model cannot do. */
bool own_chat_read(struct request *r, struct job_settings *settings,
                   const struct json_span *messages, struct str engine_model) must_check;

#endif
