/* SPDX-License-Identifier: MIT
 *
 * search: finds the passages that fit a question. Exact cosine search over all vectors, and BM25
 * over words (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009), merged by
 * reciprocal rank (Cormack and others, 2009). Exact: no passage is missed, and the same question
 * over the same sets gives the same answer. Reads the sets; several threads may search at once.
 */
#ifndef PARLEY_RAG_SEARCH_H
#define PARLEY_RAG_SEARCH_H

#include "shared/rag/passages.h"

enum { SEARCH_MAX = 100 };

struct search_hit {
    const struct passages *set;
    uint32_t passage;
    float distance; /* cosine distance, 0 (same) to 2 (opposite); 1 without vectors */
    float coverage; /* 0 to 1: how much of what the question asks for stands in the passage,
                       each word weighed by its rarity */
    double bm25, score;
};

/* One search. Sets that are NULL are skipped, and so is what was left out. */
struct search {
    const struct passages *const *sets;
    size_t set_n;
    struct str question;
    const float *vector; /* of the question; NULL: search by words alone */
    uint32_t dimension;  /* sets of another dimension are searched by words alone */
};

/* The `n` (at most SEARCH_MAX) best by both measures, best first. Returns how many were found. */
size_t search_best(const struct search *search, size_t n, struct search_hit *ret_hits) must_check;
/* The `n` nearest by vector alone, nearest first, none farther than `threshold`. */
size_t search_nearest(const struct search *search, size_t n, double threshold,
                      struct search_hit *ret_hits) must_check;
/* The question's words and what each is worth by its rarity in the sets: hashes as text_hash(word,
 * 0). Returns how many, at most `max`. */
size_t search_weigh(const struct search *search, size_t max, uint64_t *ret_hashes,
                    double *ret_weights) must_check;

#endif
