/* SPDX-License-Identifier: MIT
 * own_models.c - see own_models.h. */
#include "services/openai/own_models.h"

#include "services/node/service.h"

const struct own_model *own_models_next(const struct request *r, const struct own_model *model)
{
    bool is_next = model == NULL;
    for (const struct service_state *at = r->server->services->states; at->service != NULL; at++) {
        if (at->service->model == NULL)
            continue;
        if (is_next)
            return at->service->model;
        is_next = at->service->model == model;
    }
    return NULL;
}

const struct own_model *own_models_find(const struct request *r, struct str name,
                                        struct str *ret_engine_model)
{
    struct str engine_model = name, first = str_cut(&engine_model, ':');
    const struct own_model *own = NULL;
    while ((own = own_models_next(r, own)) != NULL)
        if (str_eq(own->name, first)) {
            *ret_engine_model = engine_model;
            return own;
        }
    return NULL;
}
