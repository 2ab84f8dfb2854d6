/* SPDX-License-Identifier: MIT
 *
 * openai_pass: the request of a client of a door as the model server gets it, and a response of
 * /embeddings as deltas. Both are read without a tree, as they have MiB: what is not ours passes
 * byte for byte. Pure.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_OPENAI_PASS_H
#define PARLEY_SERVICES_ENGINE_MODELS_OPENAI_PASS_H

#include "services/engine/models/openai_delta.h"
#include "services/engine/models/prompt.h"

/* Members of a request that servers may refuse. */
struct openai_wishes {
    bool stream, usage;
};

/* Puts the prompt's request with the server's name of the model, and for a text with `stream` and
 * `stream_options` as wished. If the prompt continues a text, that is its last message, or the end
 * of its prompt. Returns false, with a reason for people, if the request cannot be read, or not be
 * continued. */
bool openai_put_pass(struct buf *b, const struct prompt *prompt, const char *model,
                     struct openai_wishes wishes, const char **ret_reason) must_check;

/* Returns whether the request is for one choice: then its end is that of the answer. */
bool openai_wants_one(const struct prompt *prompt);

/* Reads how many tokens a response of /embeddings took. Returns false if it does not say. */
bool openai_read_tokens(struct str body, uint64_t *ret_tokens);
/* Hands on a response of /embeddings as deltas: all of it as one, or, if it is long, as lists of
 * `data` that are to be joined, the last with the other members. Returns false if it is not such a
 * response, has too long a vector, or a delta was refused. */
bool openai_pass_embeddings(struct str body, delta_callback on_delta, void *context) must_check;

#endif
