/* SPDX-License-Identifier: MIT
 *
 * merged: one answer put together from its deltas (struct delta), for requests without a stream.
 * What engines send is read leniently: a member of the wrong kind is left out. In its owner; single
 * thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_MERGED_H
#define PARLEY_SERVICES_OPENAI_MERGED_H

#include "services/openai/usage.h"

#include "services/openai/openai.h"

struct merged_choice;

struct merged {
    enum openai_api api;
    struct merged_choice *choices; /* in the order in which they came */
    size_t choice_n;
    struct buf data; /* of embeddings: the items, a comma between them */
    struct usage *usage;
};

/* `usage` is borrowed. */
void merged_init(struct merged *merged, enum openai_api api, struct usage *usage);
void merged_fini(struct merged *merged);
/* Forgets what has come: its claim has ended. */
void merged_clear(struct merged *merged);
/* `delta`: JSON as an engine sent it. */
void merged_add(struct merged *merged, struct str delta);
/* Bytes held. */
size_t merged_bytes(const struct merged *merged);
/* Puts the members of the answer after its model: `,"choices":[...]`. `finish_reason`: of choices
 * that did not say one; n == 0: "stop". */
void merged_put(const struct merged *merged, struct buf *b, struct str finish_reason);

#endif
