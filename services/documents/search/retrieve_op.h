/* SPDX-License-Identifier: MIT
 *
 * retrieve_op: the state of a retrieval under way, private to the files that implement it:
 * retrieve.c (lifecycle, calls, the question's vector), retrieve_search.c (from the vector to the
 * passages) and retrieve_order.c (their order).
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_SEARCH_RETRIEVE_OP_H
#define PARLEY_SERVICES_DOCUMENTS_SEARCH_RETRIEVE_OP_H

#include "services/documents/search/cache.h"
#include "services/documents/search/retrieve.h"
#include "shared/text/terms.h"

enum retrieve_state {
    RETRIEVE_STARTING,
    RETRIEVE_ADMITTING,
    RETRIEVE_EMBEDDING,
    RETRIEVE_SEARCHING,
    RETRIEVE_LOADING,
    RETRIEVE_RANKING,
    RETRIEVE_READING,
    RETRIEVE_DONE,
    RETRIEVE_STATE_NR
};

/* A hit whose text has not been read yet. */
struct retrieve_found {
    struct str doc;
    uint64_t generation;
    uint32_t chunk;
    float cosine;
};

struct retrieve_op {
    struct retrieval base;
    struct documents *documents;
    struct list_link link; /* of the retrievals under way */
    retrieve_cb *on_done;
    void *context;
    struct call call;
    struct deadline deadline, embed_deadline;
    struct embedding *embedding;
    struct cache_space *cached; /* entered from SEARCHING until the hits are ranked */
    struct cache_wait wait;
    struct fair_entry entry; /* among the searches of its thread, while RANKING */
    struct steps steps;
    h2o_mem_pool_t pool; /* holds what the members below point to, and the hits */
    struct str space, account, user, limits;
    struct str question, searched; /* searched: the question and the searched part of the context */
    struct terms terms;            /* of both, weighted by their rarity in the index */
    struct nonce_id nonce;
    float *vector; /* NULL: none */
    uint32_t dimension;
    char digest[EMBED_DIGEST_BYTES]; /* of the vector's model and dimension; "" without a vector */
    struct rag_near *near;           /* from the last search */
    size_t near_n;
    struct retrieve_found found[TOP_K_MAX];
    size_t found_n;
    unsigned n, search_n;
    enum retrieve_state state;
    uint64_t number; /* identifies it in the log of state changes */
    uint64_t start_ms;
    bool has_loaded; /* this retrieval had the index brought up to a newer version */
};

void retrieve_move(struct retrieve_op *op, enum retrieve_state to);
/* Copies `s` into the retrieval's memory. */
struct str retrieve_keep(struct retrieve_op *op, struct str s);
/* Reports the outcome. The callback may free the operation. */
void retrieve_finish(struct retrieve_op *op, enum err error);

/* Prepares the call of the next verb, with the request's nonce unless it was used already. */
struct call_start retrieve_call(struct retrieve_op *op, call_reply_cb *on_reply);
/* Returns false when the verb failed or refused the request; the retrieval has then ended. */
bool retrieve_is_good(struct retrieve_op *op, enum err error, struct str reply) must_check;

/* Records that the first verb counted the request. `left` is the line with what its limits allow
 * now. */
void retrieve_counted(struct retrieve_op *op, struct str left);

/* --- retrieve_search.c ------------------------------------------------------------------------ */

/* Runs the retrieval from SEARCHING on, with the vector if there is one. */
void retrieve_search(struct retrieve_op *op);
/* It leaves the searches of its thread; the next one's turn comes. */
void retrieve_end_ranking(struct retrieve_op *op);
/* Returns the slots in which searches take turns to rank. */
struct fair_slots *retrieve_turns(void) must_check;

/* --- retrieve_order.c ------------------------------------------------------------------------- */

/* Weights the question's terms by their rarity in the index. */
void retrieve_weigh(struct retrieve_op *op, const struct rag_index *index);
/* Sorts `n` passages by how well they fit, scores them and removes duplicates. The rest become the
 * retrieval's hits. `cosines` are those of the passages. */
void retrieve_order(struct retrieve_op *op, struct retrieve_hit *hits, const float *cosines,
                    size_t n);

static inline struct retrieve_op *retrieve_op_of(struct call *call)
{
    return container_of(call, struct retrieve_op, call);
}

#endif
