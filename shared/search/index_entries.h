/* SPDX-License-Identifier: MIT
 *
 * index_entries: how an index keeps its documents. Only for index.c and index_search.c.
 */
#ifndef PARLEY_SEARCH_INDEX_ENTRIES_H
#define PARLEY_SEARCH_INDEX_ENTRIES_H

#include "shared/search/index.h"

struct rag_entry {
    const struct rag_document *document; /* a reference of its own */
    uint8_t *is_left_out;                /* per chunk; NULL where none is */
    /* The document's, at hand without a look at the document. */
    struct pack pack;
    uint64_t embedding;
};

struct rag_index {
    struct rag_entry *entries; /* by rising id: the order of ties, whatever came first */
    uint32_t n;
    uint32_t chunk_n;
    uint64_t word_total;
    size_t bytes;
};

/* Finds the document; NULL when it is not there. */
const struct rag_entry *rag_index_find(const struct rag_index *index, struct str doc);

static inline bool rag_is_left_out(const struct rag_entry *entry, uint32_t chunk)
{
    return entry->is_left_out != NULL && entry->is_left_out[chunk] != 0;
}

#endif
