/* SPDX-License-Identifier: MIT
 *
 * openai_check: requests the list of models from a server that speaks OpenAI's protocol, to find
 * out whether the server is reachable, accepts the key and has the models. A server without such a
 * list counts as good. Single thread, the engine's loop.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_OPENAI_CHECK_H
#define PARLEY_SERVICES_ENGINE_MODELS_OPENAI_CHECK_H

#include "services/engine/models/backend.h"
#include "shared/base/json.h"
#include "shared/http/client/endpoint.h"

/* All borrowed until the check ends. */
struct openai_check_settings {
    struct http_client *client;
    const struct http_endpoint *endpoint; /* .../models */
    const char *model, *models;           /* comma-separated; NULL: none */
    struct buf *found; /* gets the names of the list, comma-separated, unless NULL */
};

/* The callback runs once, from the loop and never before openai_check_start returns, unless the
 * check is cancelled. The check is freed before the callback runs. The result is valid inside the
 * callback only. */
struct backend_check *openai_check_start(const struct openai_check_settings *settings,
                                         backend_checked_callback callback,
                                         void *context) must_check;
/* No callback runs after this. `check` must not be NULL. */
void openai_check_cancel(struct backend_check *check);

/* Returns whether a list of models, as JSON, lacks `model`. Returns false for a list that proves
 * nothing: an empty one, or one of a server that accepts any name, as llama.cpp's does. Public for
 * its test.
 */
bool openai_lacks_model(const json_t *list, struct str model);

#endif
