/* SPDX-License-Identifier: MIT
 *
 * index: the documents that one search covers, and the search itself. A document is its pack
 * (pack.h), a title, and its text if available. Searching compares the question's vector with every
 * vector, ranks by words with BM25 (Robertson and Zaragoza, "The Probabilistic Relevance
 * Framework", 2009), and merges both orders by reciprocal rank (Cormack and others, 2009). The
 * search is exact: no chunk is missed, and the result does not depend on the order in which
 * documents were added.
 *
 * An index belongs to one thread at a time; several may search one that nobody changes. A document
 * does not change once it is made: indexes of several threads may share it.
 */
#ifndef PARLEY_SEARCH_INDEX_H
#define PARLEY_SEARCH_INDEX_H

#include "shared/search/pack.h"

enum { RAG_HITS_MAX = 100 };

/* ---- documents ---- */

/* The parts of a document. */
struct rag_parts {
    struct str id; /* any bytes; ties are decided by it */
    uint64_t generation;
    /* The embedding of its vectors (rag_embedding), including those of a vector set. Vectors of one
     * are never compared with those of another. 0 where all documents and questions have the
     * same. */
    uint64_t embedding;
    struct str title_json, url_json, pack;
    struct str text; /* at NULL where there is none */
};

/* The number for a model and dimension, of their digest (embed_digest); 0 of an empty one. */
uint64_t rag_embedding(struct str digest);

struct rag_document {
    struct str id;
    uint64_t generation, embedding;
    struct str title_json, url_json; /* as they came */
    struct str text;                 /* at NULL where there is none */
    struct pack pack;
    size_t memory_bytes; /* what it takes */
};

/* Copies everything. Returns NULL if the pack is invalid, or has chunks outside the text if a text
 * is given (`text.at` not NULL). The caller has the first reference. */
struct rag_document *rag_document_create(const struct rag_parts *parts) must_check;
struct rag_document *rag_document_ref(const struct rag_document *document) must_check;
/* Accepts NULL. Any thread. */
void rag_document_unref(const struct rag_document *document);
/* The text of a chunk, borrowed from the document; only where it has its text. */
struct str rag_document_passage(const struct rag_document *document, uint32_t chunk);

/* ---- the index ---- */

struct rag_index;

struct rag_index *rag_index_create(void) must_check;
/* Accepts NULL. */
void rag_index_destroy(struct rag_index *index);

/* Adds a document, replacing the one with its id. The index takes its own reference. */
void rag_index_add(struct rag_index *index, const struct rag_document *document);
/* The same for a pack from outside, which is copied. False when it is not sound: then the index
 * stays as it is. */
bool rag_index_put(struct rag_index *index, const struct rag_parts *parts) must_check;
/* Does nothing if it is not in the index. */
void rag_index_remove(struct rag_index *index, struct str doc);
bool rag_index_has(const struct rag_index *index, struct str doc, uint64_t generation);

struct rag_mark {
    struct str doc;
    uint64_t generation;
};
/* Removes every document that is not among the `n` marks with its generation. */
void rag_index_keep(struct rag_index *index, const struct rag_mark *marks, size_t n);

/* Memory used by the index, including shared documents. */
size_t rag_index_bytes(const struct rag_index *index);
uint32_t rag_index_documents(const struct rag_index *index);
uint32_t rag_index_chunks(const struct rag_index *index);
/* Returns how many documents have another `embedding`: a question with this one finds them by words
 * alone. */
uint32_t rag_index_count_other_models(const struct rag_index *index, uint64_t embedding);

enum { RAG_FLAG_MIN_BYTES = 16 };
/* Leaves out of all answers every chunk of the document (of all of them where `doc.at` is NULL)
 * that contains `fragment`, case and white space aside, and returns how many those are; only of
 * documents that have their text, and until the document is put in again. Fragments under
 * RAG_FLAG_MIN_BYTES mark nothing: one person's "the" must not hide everything. */
uint32_t rag_index_leave_out(struct rag_index *index, struct str doc, struct str fragment);

/* ---- searching ---- */

/* The similarity of a chunk to the question, found elsewhere (a vector set). */
struct rag_near {
    struct str doc;
    uint64_t generation;
    uint32_t chunk;
    float similarity;
};

struct rag_query {
    struct str text;
    const float *vector; /* of the question; NULL: search by words alone */
    uint32_t dimension;
    /* The embedding that made `vector`. Documents of another one are searched by words alone, and
     * so are those whose vectors have another dimension. */
    uint64_t embedding;
    /* Found in a vector set, where the vectors are of packs that hold none; those of a document or
     * a generation that the index has not are skipped. */
    const struct rag_near *near;
    size_t near_n;
};

struct rag_hit {
    const struct rag_document *document; /* borrowed from the index until that changes */
    uint32_t chunk;
    float cosine;   /* -1 to 1; 0 where it is not known */
    float coverage; /* 0 to 1: how much of what the question asks for is in the chunk, each word
                       weighed by its rarity */
    double bm25, score;
};

/* The `n` (at most RAG_HITS_MAX) best by both measures, best first. Returns how many were found.
 * Equal scores are ordered by BM25, then by the document's id, then by the chunk. */
size_t rag_index_search(const struct rag_index *index, const struct rag_query *query, size_t n,
                        struct rag_hit *ret_hits) must_check;
/* The `n` nearest by vector alone, nearest first, none of a cosine distance (1 - cosine) over
 * `threshold`. */
size_t rag_index_nearest(const struct rag_index *index, const struct rag_query *query, size_t n,
                         double threshold, struct rag_hit *ret_hits) must_check;
/* The words of `text`, as their text_word_key, and what each is worth by its rarity in the index.
 * Returns how many, at most `max`. */
size_t rag_index_weigh(const struct rag_index *index, struct str text, size_t max,
                       uint64_t *ret_hashes, double *ret_weights) must_check;

#endif
