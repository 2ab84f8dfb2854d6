/* SPDX-License-Identifier: MIT
 *
 * openai_check: asks a server of OpenAI's protocol for its list of models: is it there, does it
 * take the key, has it the models? A server without that list counts as good. Single thread, the
 * engine's loop.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_OPENAI_CHECK_H
#define PARLEY_SERVICES_ENGINE_MODELS_OPENAI_CHECK_H

#include "services/engine/models/backend.h"
#include "shared/base/json.h"
#include "shared/http/endpoint.h"

/* All borrowed until the check ends. */
struct openai_check_settings {
    struct http_client *client;
    const struct http_endpoint *endpoint; /* .../models */
    const char *model;
    const char *models; /* a comma list; NULL: none */
};

/* The callback runs once, from the loop and never before openai_check_start returns, unless the
 * check is cancelled; the check is freed before it. What came is valid inside it only. */
struct backend_check *openai_check_start(const struct openai_check_settings *settings,
                                         backend_checked_callback callback,
                                         void *context) must_check;
/* No callback runs any more. Not NULL. */
void openai_check_cancel(struct backend_check *check);

/* Whether a list of models, as JSON, lacks that one. Lists that say nothing (none is in them, or
 * the server takes any name, as llama.cpp's does) lack none. Public for its test. */
bool openai_lacks_model(const json_t *list, struct str model);

#endif
