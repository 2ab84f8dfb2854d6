/* SPDX-License-Identifier: MIT
 *
 * chunks: the events of a streamed answer, made of the deltas of its engine. The first chunk of a
 * choice has the role, the last one, and no other, a finish_reason. In its owner; single thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_CHUNKS_H
#define PARLEY_SERVICES_OPENAI_CHUNKS_H

#include "services/openai/openai.h"
#include "services/openai/usage.h"

struct chunks {
    enum openai_api api;
    struct str head; /* what each chunk begins with: `{"id":...,"model":...` */
    bool has_usage;  /* include_usage */
    struct usage *usage;
    unsigned seen_n;
    bool is_seen[OPENAI_CHOICES_MAX], is_finished[OPENAI_CHOICES_MAX],
        has_calls[OPENAI_CHOICES_MAX];
};

/* Puts the data of the chunk that a delta becomes; nothing if it has no choice. */
void chunks_put(struct chunks *chunks, struct buf *b, struct str delta);
/* The answer is whole. Call it until it puts nothing: chunks for choices that have no
 * finish_reason yet, which get this one (n == 0: "stop"). */
void chunks_put_end(struct chunks *chunks, struct buf *b, struct str finish_reason);
/* Puts the last chunk, the usage, if it is wanted. */
void chunks_put_usage(const struct chunks *chunks, struct buf *b);

#endif
