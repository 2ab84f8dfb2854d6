/* SPDX-License-Identifier: MIT
 *
 * retrieve_op: what a retrieval under way is, for the files that it consists of alone: retrieve.c
 * (its life, its calls, the question's vector) and retrieve_search.c (from there to the passages).
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_SEARCH_RETRIEVE_OP_H
#define PARLEY_SERVICES_DOCUMENTS_SEARCH_RETRIEVE_OP_H

#include "services/documents/search/cache.h"
#include "services/documents/search/retrieve.h"

enum retrieve_state {
    RETRIEVE_STARTING,
    RETRIEVE_ADMITTING,
    RETRIEVE_EMBEDDING,
    RETRIEVE_SEARCHING,
    RETRIEVE_LOADING,
    RETRIEVE_READING,
    RETRIEVE_DONE,
    RETRIEVE_STATE_NR
};

/* What was found, before its text is there. */
struct retrieve_found {
    struct str doc;
    uint64_t generation;
    uint32_t chunk;
    float cosine, coverage;
    double score;
};

struct retrieve_op {
    struct retrieval base;
    struct documents *documents;
    struct retrieve_op *previous, *next; /* of those under way */
    retrieve_cb *on_done;
    void *context;
    struct call call;
    struct deadline deadline, embed_deadline;
    struct embedding *embedding;
    struct cache_space *cached; /* entered from SEARCHING to ranked */
    struct cache_wait wait;
    h2o_mem_pool_t pool; /* all below, and the hits */
    struct str space, question, limits;
    struct nonce_id nonce;
    float *vector; /* NULL: none */
    uint32_t dimension;
    char digest[EMBED_DIGEST_BYTES]; /* of its model and dimension; "" without a vector */
    struct rag_near *near;           /* of the last search */
    size_t near_n;
    struct retrieve_found found[TOP_K_MAX];
    size_t found_n;
    unsigned n, look_n;
    enum retrieve_state state;
    uint64_t number; /* for the log of its states */
    uint64_t start_ms;
    bool has_loaded; /* the index was brought up to a newer version for this */
};

void retrieve_move(struct retrieve_op *op, enum retrieve_state to);
/* A copy in the retrieval's memory. */
struct str retrieve_keep(struct retrieve_op *op, struct str s);
/* Tells the outcome. The operation may be freed inside. */
void retrieve_finish(struct retrieve_op *op, enum err error);

/* How its next verb is started, with the request's nonce unless that was used up. */
struct call_start retrieve_call(struct retrieve_op *op, call_reply_cb *on_reply);
/* False when the verb's reply says something against the retrieval, which has ended then. */
bool retrieve_is_good(struct retrieve_op *op, enum err error, struct str reply) must_check;

/* --- retrieve_search.c ------------------------------------------------------------------------ */

/* From SEARCHING on, with the vector that there is. */
void retrieve_search(struct retrieve_op *op);

static inline struct retrieve_op *retrieve_op_of(struct call *call)
{
    return H2O_STRUCT_FROM_MEMBER(struct retrieve_op, call, call);
}

#endif
