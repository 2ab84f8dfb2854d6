/* SPDX-License-Identifier: MIT
 * retrieve.c - see retrieve.h.
 *
 *   start ----> ADMITTING ----> EMBEDDING ----> SEARCHING <-------------+
 *     |   server     |  quick embedder ^  |         |                   | went in between: once
 * more
 *     +--------------+-----------------+  |         | newer version     |
 *                                 fails   |         v                   |
 *                                 or slow +--> LOADING ---> ranked ---> READING ----> done
 *
 * Each state but the first suspends: for a verb, the embedding model's server, or packs. Whatever
 * goes wrong with the embedding costs its half of the ranking and no more: words are searched all
 * the same. A verb cannot be called back, so a retrieval that is freed during one stays until the
 * reply (is_freed).
 *
 * What is told as the score is how sure one may be that the passage is about the question, by both
 * measures: 1 - (1 - cosine) * (1 - coverage). The order is the index's, which is better than any
 * one number (reciprocal rank over both); a hit is told at least the score of those behind it, so
 * that scores fall with the order. Passages under LEAST_SCORE are not told: they share a
 * letter or two with the question, and a question that only finds such has found nothing. */
#include "services/documents/retrieve.h"

#include "services/documents/cache.h"
#include "services/documents/passage.h"
#include "shared/base/clock.h"
#include "shared/rag/text_blocks.h"

#include <assert.h>
#include <stdlib.h>

enum {
    RETRIEVE_MAX_MS = 15000,
    EMBED_MAX_MS = 4000,
    NEAR_N = 2 * TOP_K_MAX, /* a vector set is asked for */
    LOOKS_MAX = 4,          /* at what is searched; after that what is at hand must do */
    BLOCKS_MAX_BYTES = 8 * TEXT_BLOCK_BYTES,
};
static const double least_score = 0.2;

enum state { ADMITTING, EMBEDDING, SEARCHING, LOADING, READING, DONE, STATE_NR };

/* What was found, before its text is there. */
struct found {
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
    struct turn_call call;
    struct deadline deadline, embed_deadline;
    struct embedding *embedding;
    struct cache_space *cached; /* entered from SEARCHING to ranked */
    struct cache_wait wait;
    h2o_mem_pool_t pool; /* all below, and the hits */
    struct str space, question, limits;
    struct nonce_id nonce;
    float *vector;
    uint32_t dimension;
    struct rag_near *near; /* of the last search */
    size_t near_n;
    struct found found[TOP_K_MAX];
    size_t found_n;
    unsigned n, look_n;
    enum state state;
    uint64_t start_ms;
    bool is_calling, is_freed, is_same_model;
};

static struct retrieve_op *op_of_call(struct turn_call *call)
{
    return H2O_STRUCT_FROM_MEMBER(struct retrieve_op, call, call);
}

static struct str keep(struct retrieve_op *op, struct str s)
{
    char *twin = h2o_mem_alloc_pool(&op->pool, s.n + 1);
    if (s.n > 0)
        memcpy(twin, s.at, s.n);
    return (struct str){twin, s.n};
}

/* --- life ------------------------------------------------------------------------------------- */

static void destroy(struct retrieve_op *op)
{
    free(op->vector);
    h2o_mem_clear_pool(&op->pool);
    free(op);
}

/* Everything that could call back is ended, but for a verb. */
static void let_go(struct retrieve_op *op)
{
    struct documents *documents = op->documents;
    if (op->state == DONE)
        return;
    op->state = DONE;
    loop_cancel_deadline(documents->server->loop, &op->deadline);
    loop_cancel_deadline(documents->server->loop, &op->embed_deadline);
    embed_cancel(documents->settings->embedder, op->embedding);
    op->embedding = NULL;
    cache_stop_waiting(&op->wait);
    cache_leave(documents->cache, op->cached);
    op->cached = NULL;
    *(op->previous == NULL ? &documents->retrievals : &op->previous->next) = op->next;
    if (op->next != NULL)
        op->next->previous = op->previous;
}

static void finish(struct retrieve_op *op, enum err error)
{
    let_go(op);
    op->base.error = error;
    op->base.took_ms = clock_mono_ms() - op->start_ms;
    if (error == ERR_OK)
        metrics_add(op->documents->server->metrics, METRIC_SEARCHES, 1);
    else
        op->base.hit_n = 0;
    op->on_done(&op->base, op->context);
}

void retrieve_free(struct retrieval *retrieval)
{
    struct retrieve_op *op = (struct retrieve_op *)retrieval;
    if (op == NULL)
        return;
    let_go(op);
    op->is_freed = true;
    if (!op->is_calling)
        destroy(op);
}

void retrieve_end_all(struct documents *documents)
{
    while (documents->retrievals != NULL)
        finish(documents->retrievals, ERR_DRAINING);
}

static void on_late(struct deadline *deadline)
{
    finish(H2O_STRUCT_FROM_MEMBER(struct retrieve_op, deadline, deadline), ERR_TIMEOUT);
}

/* --- verbs ------------------------------------------------------------------------------------ */

static struct turn *begin(struct retrieve_op *op, struct str verb, bool takes_nonce,
                          void (*on_reply)(struct turn_call *call, enum err error,
                                           struct str reply))
{
    struct turn *turn = op->documents->server->turn;
    op->is_calling = true;
    op->call.on_reply = on_reply;
    if (takes_nonce)
        turn_begin(turn, &op->call, LANE_READ, verb, &op->nonce);
    else
        turn_begin_plain(turn, &op->call, LANE_READ, verb);
    return turn;
}

/* True when somebody still waits for what the verb said, and it said nothing against it. */
static bool has_reply(struct retrieve_op *op, enum err error, struct str reply)
{
    op->is_calling = false;
    if (op->is_freed) {
        destroy(op);
        return false;
    }
    if (op->state == DONE)
        return false;
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
        finish(op, error);
    return error == ERR_OK;
}

/* --- the question's vector -------------------------------------------------------------------- */

static void search(struct retrieve_op *op);

static void on_embedded(void *context, const float *vector, uint32_t dimension, const char *reason)
{
    struct retrieve_op *op = context;
    op->embedding = NULL;
    loop_cancel_deadline(op->documents->server->loop, &op->embed_deadline);
    op->documents->embeddings = vector == NULL ? HEALTH_BAD : HEALTH_GOOD;
    if (vector == NULL) {
        log_write(LOG_WARN, "a question is searched by words alone: it could not be embedded",
                  LOG_S("reason", reason));
    } else {
        op->vector = calloc(dimension, sizeof *vector);
        if (op->vector == NULL)
            abort();
        memcpy(op->vector, vector, dimension * sizeof *vector);
        op->dimension = dimension;
    }
    search(op);
}

static void on_embed_late(struct deadline *deadline)
{
    struct retrieve_op *op = H2O_STRUCT_FROM_MEMBER(struct retrieve_op, embed_deadline, deadline);
    embed_cancel(op->documents->settings->embedder, op->embedding);
    on_embedded(op, NULL, 0, "no answer in time");
}

static void on_admitted(struct turn_call *call, enum err error, struct str reply)
{
    struct retrieve_op *op = op_of_call(call);
    if (!has_reply(op, error, reply))
        return;
    op->nonce.is_set = false;
    op->limits.n = 0;
    op->state = EMBEDDING;
    op->embed_deadline.on_expire = on_embed_late;
    loop_set_deadline(op->documents->server->loop, &op->embed_deadline, EMBED_MAX_MS);
    op->embedding = embed_start(op->documents->settings->embedder, op->documents->client,
                                op->question, on_embedded, op);
}

/* The server is asked for nothing that the request's limits refuse. */
static void admit(struct retrieve_op *op)
{
    op->state = ADMITTING;
    struct turn *turn = begin(op, STR("admit"), true, on_admitted);
    turn_put(turn, op->limits);
    turn_end(turn);
}

/* --- searching -------------------------------------------------------------------------------- */

static void rank(struct retrieve_op *op);

static void on_loaded(struct cache_wait *wait, enum err error)
{
    struct retrieve_op *op = H2O_STRUCT_FROM_MEMBER(struct retrieve_op, wait, wait);
    if (error == ERR_CONFLICT && op->look_n < LOOKS_MAX)
        search(op);
    else if (error == ERR_OK || error == ERR_CONFLICT)
        rank(op);
    else
        finish(op, error);
}

/* Lines "<doc> <generation> <chunk> <similarity>". */
static void read_near(struct retrieve_op *op, struct str rest)
{
    struct str line;
    double similarity;
    uint64_t chunk;
    op->near = h2o_mem_alloc_pool(&op->pool, NEAR_N * sizeof *op->near);
    op->near_n = 0;
    rest = keep(op, rest);
    while (op->near_n < NEAR_N && (line = str_cut(&rest, '\n')).at != NULL) {
        struct rag_near near = {.doc = str_cut(&line, ' ')};
        if (!str_parse_u64(str_cut(&line, ' '), &near.generation) ||
            !str_parse_u64(str_cut(&line, ' '), &chunk) || chunk > UINT32_MAX ||
            !str_parse_double(line, &similarity))
            continue;
        near.chunk = (uint32_t)chunk;
        near.similarity = (float)similarity;
        op->near[op->near_n++] = near;
    }
}

static void on_searched(struct turn_call *call, enum err error, struct str reply)
{
    struct retrieve_op *op = op_of_call(call);
    if (!has_reply(op, error, reply))
        return;
    op->nonce.is_set = false;
    op->limits.n = 0;
    struct str rest = reply, head = str_cut(&rest, 0);
    struct lines lines = lines_of(head);
    lines_next(&lines); /* ok */
    struct str version_text = lines_next(&lines), model = lines_next(&lines);
    uint64_t version = 0;
    if (!str_parse_u64(version_text, &version)) {
        finish(op, ERR_INTERNAL);
        return;
    }
    op->is_same_model = str_eq(model, str_of(op->documents->settings->embedder->name));
    for (int skipped = 0; skipped < 3; skipped++)
        lines_next(&lines); /* dimension, vectors, n */
    read_near(op, rest);
    if (str_eq(version_text, cache_version(op->cached))) {
        rank(op);
        return;
    }
    op->state = LOADING;
    op->wait.on_loaded = on_loaded;
    if (cache_load(op->documents->cache, op->cached, version, lines.rest, &op->wait))
        rank(op);
}

static void search(struct retrieve_op *op)
{
    struct str vector = {(const char *)op->vector, op->dimension * sizeof *op->vector};
    op->state = SEARCHING;
    op->look_n++;
    if (op->cached == NULL)
        op->cached = cache_enter(op->documents->cache, op->space);
    struct turn *turn = begin(op, STR("search"), true, on_searched);
    turn_put(turn, op->space);
    turn_put(turn, op->limits);
    turn_put(turn, cache_version(op->cached));
    turn_put_u64(turn, NEAR_N);
    turn_put(turn, vector);
    turn_put(turn, str_of(op->documents->settings->embedder->name));
    turn_end(turn);
}

/* --- what was found --------------------------------------------------------------------------- */

static double clamp(double x)
{
    return x > 1 ? 1 : x >= 0 ? x : 0; /* 0 for what is no number, too */
}

static void read_passages(struct retrieve_op *op);

/* The passages to be read, in order; the index is not needed any more after this. */
static void rank(struct retrieve_op *op)
{
    struct rag_hit hits[TOP_K_MAX];
    struct rag_query query = {.text = op->question};
    if (op->is_same_model) {
        query.vector = op->vector;
        query.dimension = op->dimension;
        query.near = op->near;
        query.near_n = op->near_n;
    }
    size_t n = rag_index_search(cache_index(op->cached), &query, op->n, hits);
    op->found_n = 0;
    for (size_t i = 0; i < n; i++) {
        const struct rag_hit *hit = &hits[i];
        double score = 1 - (1 - clamp((double)hit->cosine)) * (1 - clamp((double)hit->coverage));
        if (score >= least_score)
            op->found[op->found_n++] = (struct found){.doc = keep(op, hit->document->id),
                                                      .generation = hit->document->generation,
                                                      .chunk = hit->chunk,
                                                      .cosine = hit->cosine,
                                                      .coverage = hit->coverage,
                                                      .score = score};
    }
    for (size_t i = op->found_n; i-- > 1;)
        if (op->found[i - 1].score < op->found[i].score)
            op->found[i - 1].score = op->found[i].score;
    cache_leave(op->documents->cache, op->cached);
    op->cached = NULL;
    read_passages(op);
}

/* False when the passage is gone. */
static bool read_hit(struct retrieve_op *op, const struct found *found, struct str part,
                     struct buf *blocks, struct retrieve_hit *ret_hit)
{
    struct lines lines = lines_of(part);
    struct passage passage;
    if (!str_eq(lines_next(&lines), STR("ok")))
        return false;
    struct str title = lines_next(&lines), url = lines_next(&lines);
    if (!passage_read(lines.rest, blocks, &passage))
        return false;
    *ret_hit = (struct retrieve_hit){.doc = found->doc,
                                     .chunk = found->chunk,
                                     .title_json = keep(op, title),
                                     .url_json = keep(op, url),
                                     .text = keep(op, passage.text),
                                     .start_chars = (uint32_t)passage.start_chars,
                                     .end_chars = (uint32_t)passage.end_chars,
                                     .score = found->score,
                                     .cosine = found->cosine,
                                     .coverage = found->coverage};
    return true;
}

static void on_passages(struct turn_call *call, enum err error, struct str reply)
{
    struct retrieve_op *op = op_of_call(call);
    if (!has_reply(op, error, reply))
        return;
    struct retrieve_hit *hits = h2o_mem_alloc_pool(&op->pool, TOP_K_MAX * sizeof *hits);
    struct lines parts = lines_of(reply);
    struct str part;
    struct buf blocks;
    size_t hit_n = 0, part_n = 0;
    buf_init(&blocks, BLOCKS_MAX_BYTES);
    while (part_n < op->found_n && lines_next_part(&parts, &part))
        hit_n += read_hit(op, &op->found[part_n++], part, &blocks, &hits[hit_n]);
    buf_fini(&blocks);
    if (hit_n < op->found_n && op->look_n < LOOKS_MAX) {
        search(op); /* a document went, or was indexed anew, since it was ranked */
        return;
    }
    op->base.hits = hits;
    op->base.hit_n = hit_n;
    finish(op, ERR_OK);
}

static void read_passages(struct retrieve_op *op)
{
    op->state = READING;
    if (op->found_n == 0) {
        finish(op, ERR_OK);
        return;
    }
    struct turn *turn = begin(op, STR("passages"), false, on_passages);
    turn_put(turn, op->space);
    turn_put_u64(turn, op->found_n);
    for (size_t i = 0; i < op->found_n; i++) {
        turn_put(turn, op->found[i].doc);
        turn_put_u64(turn, op->found[i].generation);
        turn_put_u64(turn, op->found[i].chunk);
    }
    turn_end(turn);
}

/* --- start ------------------------------------------------------------------------------------ */

static void embed_quickly(struct retrieve_op *op)
{
    struct embedder *embedder = op->documents->settings->embedder;
    if (!embed_texts(embedder, &op->question, 1, NULL, &op->vector, &op->dimension)) {
        op->vector = NULL;
        op->dimension = 0;
    }
}

struct retrieval *retrieve_start(struct documents *documents,
                                 const struct retrieve_settings *settings, retrieve_cb *on_done,
                                 void *context)
{
    assert(settings->n >= 1 && settings->n <= TOP_K_MAX);
    struct retrieve_op *op = calloc(1, sizeof *op);
    if (op == NULL)
        abort();
    op->documents = documents;
    op->on_done = on_done;
    op->context = context;
    op->n = settings->n;
    op->start_ms = clock_mono_ms();
    h2o_mem_init_pool(&op->pool);
    op->space = keep(op, settings->space);
    op->question = keep(op, settings->question);
    op->limits = keep(op, settings->limits);
    if (settings->nonce != NULL) {
        op->nonce = *settings->nonce;
        settings->nonce->is_set = false;
    }
    op->next = documents->retrievals;
    if (op->next != NULL)
        op->next->previous = op;
    documents->retrievals = op;
    op->deadline.on_expire = on_late;
    loop_set_deadline(documents->server->loop, &op->deadline, RETRIEVE_MAX_MS);
    if (documents->settings->embedder->is_quick) {
        embed_quickly(op);
        search(op);
    } else {
        admit(op);
    }
    return &op->base;
}

void retrieve_refuse(struct request *r, const struct retrieval *retrieval)
{
    if (retrieval->error == ERR_RATE_LIMITED)
        documents_refuse_limited(r, retrieval->retry_ms, retrieval->limit, retrieval->window_s);
    else
        respond_error(r, retrieval->error, NULL);
}
