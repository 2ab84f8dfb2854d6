/* SPDX-License-Identifier: MIT
 *
 * api: the interfaces of OpenAI and Anthropic that an engine may serve to clients of a door (ADRs
 * 95 and 102). Pure.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_API_H
#define PARLEY_SERVICES_ENGINE_MODELS_API_H

#include "shared/base/str.h"

enum api {
    API_NONE, /* a question of Parley's own routes */
    API_CHAT,
    API_COMPLETIONS,
    API_EMBEDDINGS,
    API_MESSAGES,
    API_NR
};

/* Sets of Apis have a bit for each. */
#define API_BIT(api) (1u << (api))

/* The word for it in claims and polls. */
static inline const char *api_name(enum api api)
{
    static const char *const names[API_NR] = {[API_NONE] = "",
                                              [API_CHAT] = "chat",
                                              [API_COMPLETIONS] = "completions",
                                              [API_EMBEDDINGS] = "embeddings",
                                              [API_MESSAGES] = "messages"};
    return names[api];
}

/* API_NR: a word for none of them. */
static inline enum api api_of(struct str name)
{
    enum api api = API_NONE;
    while (api < API_NR && !str_eq(name, str_of(api_name(api))))
        api = (enum api)(api + 1);
    return api;
}

#endif
