/* SPDX-License-Identifier: MIT
 * retrieve.c - see retrieve.h: a retrieval's life, and the question's vector.
 *
 *               a server                  vector, or none
 *   STARTING ------------> ADMITTING --> EMBEDDING --> SEARCHING <---------+ what was ranked is
 *       |                                               ^  |  |            | gone: once more
 *       +-- a quick embedder ---------------------------+  |  +-> RANKING -+-> READING --> DONE
 *                                                          |        ^
 *                                            newer version +--> LOADING
 *
 * A version that is newer still leads from LOADING to SEARCHING again. Each state but the first and
 * the last suspends: for a verb, the embedding model server, packs, or its turn. Whatever goes
 * wrong leads to DONE, except with the embedding, which costs its half of the ranking and no more:
 * words are searched all the same. */
#include "services/documents/search/retrieve_op.h"

#include "generated/verbs.h"
#include "shared/ask/refusal.h"
#include "shared/base/clock.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"
#include "shared/text/text.h"

#include <assert.h>

enum { RETRIEVE_MAX_MS = 15000, EMBED_MAX_MS = 4000, CONTEXT_MAX_BYTES = 2000 };

static const struct sm_state states[] = {
    [RETRIEVE_STARTING] = {"STARTING", SM(RETRIEVE_ADMITTING) | SM(RETRIEVE_SEARCHING)},
    [RETRIEVE_ADMITTING] = {"ADMITTING", SM(RETRIEVE_EMBEDDING) | SM(RETRIEVE_DONE)},
    [RETRIEVE_EMBEDDING] = {"EMBEDDING", SM(RETRIEVE_SEARCHING) | SM(RETRIEVE_DONE)},
    [RETRIEVE_SEARCHING] = {"SEARCHING",
                            SM(RETRIEVE_LOADING) | SM(RETRIEVE_RANKING) | SM(RETRIEVE_DONE)},
    [RETRIEVE_LOADING] = {"LOADING",
                          SM(RETRIEVE_SEARCHING) | SM(RETRIEVE_RANKING) | SM(RETRIEVE_DONE)},
    [RETRIEVE_RANKING] = {"RANKING", SM(RETRIEVE_READING) | SM(RETRIEVE_DONE)},
    [RETRIEVE_READING] = {"READING", SM(RETRIEVE_SEARCHING) | SM(RETRIEVE_DONE)},
    [RETRIEVE_DONE] = {"DONE", 0},
};
static const struct sm sm = SM_OF("retrieval", states);

void retrieve_move(struct retrieve_op *op, enum retrieve_state to)
{
    op->state = sm_move(&sm, op->number, op->state, to);
}

struct str retrieve_keep(struct retrieve_op *op, struct str s)
{
    char *twin = h2o_mem_alloc_pool(&op->pool, s.n + 1);
    if (s.n > 0)
        memcpy(twin, s.at, s.n);
    return (struct str){twin, s.n};
}

/* --- life ------------------------------------------------------------------------------------- */

/* Everything that could call back is ended. */
static void let_go(struct retrieve_op *op)
{
    struct documents *documents = op->documents;
    if (op->state == RETRIEVE_DONE)
        return;
    retrieve_move(op, RETRIEVE_DONE);
    call_detach(&op->call);
    loop_cancel_deadline(documents->server->loop, &op->deadline);
    loop_cancel_deadline(documents->server->loop, &op->embed_deadline);
    embed_cancel(documents->settings->embedder, op->embedding);
    op->embedding = NULL;
    cache_stop_waiting(&op->wait);
    retrieve_end_ranking(op);
    cache_leave(documents->cache, op->cached);
    op->cached = NULL;
    list_remove(&op->link);
}

void retrieve_finish(struct retrieve_op *op, enum err error)
{
    let_go(op);
    op->base.error = error;
    op->base.took_ms = clock_mono_ms() - op->start_ms;
    if (error == ERR_OK)
        metrics_add(op->documents->server->metrics, METRIC_SEARCHES, 1);
    else
        op->base.hit_n = op->base.all_n = 0;
    op->on_done(&op->base, op->context);
}

void retrieve_free(struct retrieval *retrieval)
{
    struct retrieve_op *op = (struct retrieve_op *)retrieval;
    if (op == NULL)
        return;
    let_go(op);
    free(op->vector);
    h2o_mem_clear_pool(&op->pool);
    free(op);
}

void retrieve_end_all(struct documents *documents)
{
    struct retrieve_op *op;
    while ((op = list_first(&documents->retrievals, struct retrieve_op, link)) != NULL)
        retrieve_finish(op, ERR_DRAINING);
}

static void on_late(struct deadline *deadline)
{
    retrieve_finish(container_of(deadline, struct retrieve_op, deadline), ERR_TIMEOUT);
}

/* --- verbs ------------------------------------------------------------------------------------ */

struct call_start retrieve_call(struct retrieve_op *op, call_reply_cb *on_reply)
{
    struct call_start start = shards_call(op->documents->server->shards, &op->call, on_reply);
    start.nonce = &op->nonce;
    return start;
}

bool retrieve_is_good(struct retrieve_op *op, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error == ERR_OK && str_eq(tag, STR("replay"))) {
        metrics_add(op->documents->server->metrics, METRIC_NONCES_REUSED, 1);
        error = ERR_NONCE_USED;
    } else if (error == ERR_OK && str_eq(tag, STR("limited"))) {
        op->base.retry_ms = lines_next_u64(&lines);
        op->base.limit = lines_next_u64(&lines);
        op->base.window_s = lines_next_u64(&lines);
        error = ERR_RATE_LIMITED;
    }
    if (error != ERR_OK)
        retrieve_finish(op, error);
    return error == ERR_OK;
}

void retrieve_counted(struct retrieve_op *op, struct str left)
{
    if (op->limits.n == 0)
        return;
    op->limits.n = 0;
    op->base.quota = quota_of(left);
}

/* --- the question's vector -------------------------------------------------------------------- */

static void take_vector(struct retrieve_op *op, float *vector, uint32_t dimension)
{
    op->vector = vector;
    op->dimension = dimension;
    embed_digest(op->documents->settings->embedder->name, dimension, op->digest);
}

static void on_embedded(void *context, const float *vector, uint32_t dimension, const char *reason)
{
    struct retrieve_op *op = context;
    op->embedding = NULL;
    loop_cancel_deadline(op->documents->server->loop, &op->embed_deadline);
    op->documents->embeddings = vector == NULL ? HEALTH_BAD : HEALTH_GOOD;
    if (vector == NULL) {
        log_write(LOG_WARN, "searching by words only: the question could not be embedded",
                  LOG_S("reason", reason));
    } else {
        float *own = mem_zeroed_n(dimension, sizeof *vector);
        memcpy(own, vector, dimension * sizeof *vector);
        take_vector(op, own, dimension);
    }
    retrieve_search(op);
}

static void on_embed_late(struct deadline *deadline)
{
    struct retrieve_op *op = container_of(deadline, struct retrieve_op, embed_deadline);
    embed_cancel(op->documents->settings->embedder, op->embedding);
    on_embedded(op, NULL, 0, "no answer in time");
}

static void on_admitted(struct call *call, enum err error, struct str reply)
{
    struct retrieve_op *op = retrieve_op_of(call);
    if (!retrieve_is_good(op, error, reply))
        return;
    struct lines lines = lines_of(reply);
    lines_next(&lines); /* ok */
    retrieve_counted(op, lines_next(&lines));
    retrieve_move(op, RETRIEVE_EMBEDDING);
    op->embed_deadline.on_expire = on_embed_late;
    loop_set_deadline(op->documents->server->loop, &op->embed_deadline, EMBED_MAX_MS);
    op->embedding = embed_start(op->documents->settings->embedder, op->documents->client,
                                op->searched, on_embedded, op);
}

/* The server is asked for nothing that the request's limits refuse. */
static void admit(struct retrieve_op *op)
{
    retrieve_move(op, RETRIEVE_ADMITTING);
    call_admit(retrieve_call(op, on_admitted), .space = op->space, .limits = op->limits);
}

/* --- start ------------------------------------------------------------------------------------ */

static void embed_quickly(struct retrieve_op *op)
{
    struct embedder *embedder = op->documents->settings->embedder;
    float *vector;
    uint32_t dimension;
    if (embed_texts(embedder, &op->searched, 1, NULL, &vector, &dimension, NULL))
        take_vector(op, vector, dimension);
}

/* Returns the text to search for: the question, and the beginning of what the reader selected. */
static struct str with_context(struct retrieve_op *op, struct str context)
{
    context.n = text_floor(context, context.n < CONTEXT_MAX_BYTES ? context.n : CONTEXT_MAX_BYTES);
    if (context.n == 0)
        return op->question;
    char *both = h2o_mem_alloc_pool(&op->pool, op->question.n + 1 + context.n);
    memcpy(both, op->question.at, op->question.n);
    both[op->question.n] = '\n';
    memcpy(both + op->question.n + 1, context.at, context.n);
    return (struct str){both, op->question.n + 1 + context.n};
}

struct retrieval *retrieve_start(struct documents *documents,
                                 const struct retrieve_settings *settings, retrieve_cb *on_done,
                                 void *context)
{
    assert(settings->n >= 1 && settings->n <= TOP_K_MAX);
    struct retrieve_op *op = mem_zeroed(sizeof *op);
    op->number = sm_number();
    op->documents = documents;
    op->on_done = on_done;
    op->context = context;
    op->n = settings->n;
    op->start_ms = clock_mono_ms();
    h2o_mem_init_pool(&op->pool);
    op->space = retrieve_keep(op, settings->space);
    op->account = retrieve_keep(op, settings->account);
    op->user = retrieve_keep(op, settings->user);
    op->question = retrieve_keep(op, settings->question);
    op->searched = with_context(op, settings->context);
    op->limits = retrieve_keep(op, settings->limits);
    if (settings->nonce != NULL) {
        op->nonce = *settings->nonce;
        settings->nonce->is_set = false;
    }
    list_prepend(&documents->retrievals, &op->link);
    op->deadline.on_expire = on_late;
    loop_set_deadline(documents->server->loop, &op->deadline, RETRIEVE_MAX_MS);
    if (documents->settings->embedder->is_quick) {
        embed_quickly(op);
        retrieve_search(op);
    } else {
        admit(op);
    }
    return &op->base;
}

void retrieve_refuse(struct request *r, const struct retrieval *retrieval)
{
    if (retrieval->error == ERR_RATE_LIMITED) {
        reply_refuse_limited(r, retrieval->retry_ms, retrieval->limit, retrieval->window_s);
        return;
    }
    reply_put_quota(r, &retrieval->quota);
    respond_error(r, retrieval->error, NULL);
}

void retrieve_refusal_of(const struct request *r, const struct retrieval *retrieval,
                         struct refusal *ret_refusal)
{
    if (retrieval->error == ERR_RATE_LIMITED)
        refusal_of_limit(r, retrieval->retry_ms, retrieval->limit, retrieval->window_s,
                         ret_refusal);
    else
        *ret_refusal = (struct refusal){.error = retrieval->error};
}
