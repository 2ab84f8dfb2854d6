/* SPDX-License-Identifier: MIT
 *
 * passages: a set of documents cut into chunks, with a vector and the words of each. Built by one
 * thread and then only read, but for `passages_leave_out`; owned by whoever built it, handed over
 * whole. The texts, names and vectors belong to the set.
 */
#ifndef PARLEY_RAG_PASSAGES_H
#define PARLEY_RAG_PASSAGES_H

#include "shared/rag/chunk.h"
#include "shared/rag/embed.h"

enum { PASSAGES_MAX = 200000, PASSAGES_SHA_BYTES = 32 };

struct passage_document {
    char *name; /* as people know it, e.g. "handbook/leave.md" */
    char *text;
    size_t text_bytes;
    uint64_t mtime_ns, size_bytes; /* of the file; 0 where there is none */
    unsigned char sha256[PASSAGES_SHA_BYTES];
    uint32_t first, n; /* its passages */
};

struct passage {
    uint32_t document;
    struct chunk chunk;
};

/* One (word, passage) pair; sorted by word, then passage. */
struct passage_posting {
    uint32_t passage, count;
};
struct passage_term {
    uint64_t hash;
    uint32_t first; /* its postings end where the next term's start */
};

struct passages {
    char *model; /* the embedder's name; "" while nothing is embedded */
    uint32_t dimension;
    struct passage_document *documents;
    struct passage *items;
    float *vectors; /* n * dimension */
    uint8_t *is_left_out;
    struct passage_term *terms; /* term_n + 1, the last one marks the end */
    struct passage_posting *postings;
    uint32_t *word_n; /* words of each passage */
    uint64_t word_total;
    uint32_t document_n, n, term_n;
    uint32_t document_cap, cap; /* while it is built */
};

struct passages *passages_create(void) must_check;
/* Accepts NULL. */
void passages_destroy(struct passages *set);

/* Adds a document and cuts it into passages without vectors yet. Copies its input. False when the
 * set would grow past PASSAGES_MAX. */
bool passages_add(struct passages *set, const struct passage_document *document) must_check;
/* Adds a copy of a document of another set of the same model, vectors included: only before
 * anything was added that needs embedding. */
bool passages_add_copy(struct passages *set, const struct passages *from,
                       uint32_t document) must_check;
/* Embeds every passage from `first` on, and makes the word index of all. False when it failed. */
bool passages_finish(struct passages *set, uint32_t first, struct embedder *embedder,
                     const atomic_bool *is_stopping) must_check;

struct str passages_text(const struct passages *set, uint32_t passage);
const char *passages_name(const struct passages *set, uint32_t passage);

enum { PASSAGES_FLAG_MIN_BYTES = 16 };
/* Marks every passage that contains `fragment` (case and white space aside) as left out, and
 * returns how many that are. Fragments under PASSAGES_FLAG_MIN_BYTES mark nothing: one person's
 * "the" must not hide everything. */
uint32_t passages_leave_out(struct passages *set, struct str fragment);

#endif
