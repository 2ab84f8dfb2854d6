/* SPDX-License-Identifier: MIT
 *
 * known_models: reads the reply of the verb `models`: what engines have named for one of the doors'
 * Apis within the last hour. All of it borrows the reply. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_KNOWN_MODELS_H
#define PARLEY_SERVICES_OPENAI_KNOWN_MODELS_H

#include "services/openai/openai.h"
#include "shared/queue/lines.h"

enum { KNOWN_APIS_MAX = 8 };

/* A model that is served by several Apis is one. */
struct known_model {
    struct str name; /* a name (buf_put_name) */
    struct str apis[KNOWN_APIS_MAX];
    unsigned api_n;
    uint64_t age_ms;         /* since an engine was last there for it */
    uint64_t chat_age_ms;    /* the same of chat; UINT64_MAX: nobody serves that */
    uint64_t message_age_ms; /* the same of chat or messages, whichever is younger */
};

/* Reads the next model; the tag of the reply was read before. Returns false if there is none. */
bool known_models_next(struct lines *lines, struct known_model *ret_model) must_check;
/* Finds the model of that name, which may hold anything. */
bool known_models_find(struct lines *lines, struct str name,
                       struct known_model *ret_model) must_check;
/* Returns whether an engine serves it by that Api. */
bool known_model_is_for(const struct known_model *model, struct str api) must_check;
/* Returns whether the whole reply has that model for chat. `ret_age_ms`: since an engine was last
 * there for it. */
bool known_models_find_chat(struct str reply, struct str name, uint64_t *ret_age_ms) must_check;

#endif
