/* SPDX-License-Identifier: MIT
 * retrieve_search.c - see retrieve_op.h: what is searched, ranked and read, once the question's
 * vector is there.
 *
 * Where documents of the space were embedded by a model other than the question is, they are found
 * by their words alone until they are reindexed: the index compares like with like, and the vector
 * set that is asked is that of the question's model.
 *
 * More passages are read than were asked for: the index orders them by words and vectors of whole
 * passages, and retrieve_order.c again by what they say. */
#include "services/documents/search/retrieve_op.h"

#include "generated/verbs.h"
#include "services/documents/library/passage.h"
#include "shared/text/text_blocks.h"

enum {
    NEAR_N = 2 * TOP_K_MAX, /* a vector set is asked for */
    SEARCHES_MAX = 4,       /* of a changing space; after that what is at hand must do */
    READ_N = 15,            /* passages at least; the best are returned */
    BLOCKS_MAX_BYTES = 8 * TEXT_BLOCK_BYTES,
};

/* --- searching -------------------------------------------------------------------------------- */

static void rank(struct retrieve_op *op);

static void on_loaded(struct cache_wait *wait, enum err error)
{
    struct retrieve_op *op = container_of(wait, struct retrieve_op, wait);
    if (error == ERR_CONFLICT && op->search_n < SEARCHES_MAX)
        retrieve_search(op);
    else if (error == ERR_OK || error == ERR_CONFLICT)
        rank(op);
    else
        retrieve_finish(op, error);
}

/* Lines "<doc> <generation> <chunk> <similarity>". */
static void read_near(struct retrieve_op *op, struct str rest)
{
    struct str line;
    double similarity;
    uint64_t chunk;
    op->near = h2o_mem_alloc_pool(&op->pool, NEAR_N * sizeof *op->near);
    op->near_n = 0;
    rest = retrieve_keep(op, rest);
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

static void on_searched(struct call *call, enum err error, struct str reply)
{
    struct retrieve_op *op = retrieve_op_of(call);
    if (!retrieve_is_good(op, error, reply))
        return;
    struct str rest = reply, head = str_cut(&rest, 0);
    struct lines lines = lines_of(head);
    lines_next(&lines); /* ok */
    retrieve_counted(op, lines_next(&lines));
    struct str version_text = lines_next(&lines);
    uint64_t version = 0;
    if (!str_parse_u64(version_text, &version)) {
        retrieve_finish(op, ERR_INTERNAL);
        return;
    }
    lines_next(&lines); /* n */
    read_near(op, rest);
    if (str_eq(version_text, cache_version(op->cached))) {
        rank(op);
        return;
    }
    retrieve_move(op, RETRIEVE_LOADING);
    op->has_loaded = true;
    op->wait.on_loaded = on_loaded;
    if (cache_load(op->documents->cache, op->cached, version, lines.rest, &op->wait))
        rank(op);
}

void retrieve_search(struct retrieve_op *op)
{
    struct str vector = {(const char *)op->vector, op->dimension * sizeof *op->vector};
    retrieve_move(op, RETRIEVE_SEARCHING);
    op->search_n++;
    if (op->cached == NULL)
        op->cached = cache_enter(op->documents->cache, op->space);
    call_search(retrieve_call(op, on_searched), .space = op->space, .limits = op->limits,
                .known = cache_version(op->cached), .count = op->n < 10 ? 20 : 2 * op->n,
                .vector = vector, .digest = str_of(op->digest));
}

/* --- what was found --------------------------------------------------------------------------- */

/* An operator changed the model: logged whenever the space changes until it is reindexed. */
static void log_other_models(struct retrieve_op *op, uint64_t embedding)
{
    uint32_t n = rag_index_count_other_models(cache_index(op->cached), embedding);
    op->has_loaded = false;
    if (n > 0)
        log_write(LOG_WARN,
                  "some documents were embedded by another model and are found by words only: run "
                  "parley reindex",
                  LOG_STR("space", op->space), LOG_U("documents", n),
                  LOG_U("of", rag_index_documents(cache_index(op->cached))),
                  LOG_S("model", op->documents->settings->embedder->name),
                  LOG_U("dimension", op->dimension));
}

static void read_passages(struct retrieve_op *op);

/* The passages to be read, in order; the index is not needed any more after this. */
static void rank_now(struct retrieve_op *op)
{
    struct rag_hit hits[TOP_K_MAX];
    struct rag_query query = {.text = op->searched,
                              .vector = op->vector,
                              .dimension = op->dimension,
                              .embedding = rag_embedding(str_of(op->digest)),
                              .near = op->near,
                              .near_n = op->near_n};
    if (op->has_loaded && op->vector != NULL)
        log_other_models(op, query.embedding);
    retrieve_weigh(op, cache_index(op->cached));
    op->found_n =
        rag_index_search(cache_index(op->cached), &query, op->n < READ_N ? READ_N : op->n, hits);
    for (size_t i = 0; i < op->found_n; i++)
        op->found[i] = (struct retrieve_found){.doc = retrieve_keep(op, hits[i].document->id),
                                               .generation = hits[i].document->generation,
                                               .chunk = hits[i].chunk,
                                               .cosine = hits[i].cosine};
    cache_leave(op->documents->cache, op->cached);
    op->cached = NULL;
    retrieve_end_ranking(op);
    read_passages(op);
}

/* One index is searched in a step, which may take longer than a pass has: others are served before
 * the next one. */
static bool rank_in_step(struct steps *steps)
{
    rank_now(container_of(steps, struct retrieve_op, steps));
    return false;
}

static void begin_next(struct documents *documents)
{
    struct fair_entry *entry = fair_slots_next(documents->searches);
    if (entry != NULL)
        loop_begin_steps(documents->server->loop,
                         &container_of(entry, struct retrieve_op, entry)->steps);
}

struct fair_slots *retrieve_turns(void)
{
    return fair_slots_create(&(struct fair_slots_config){.slot_n = 1});
}

void retrieve_end_ranking(struct retrieve_op *op)
{
    if (op->entry.part == NULL)
        return;
    steps_end(&op->steps);
    fair_slots_leave(op->documents->searches, &op->entry);
    begin_next(op->documents);
}

static void rank(struct retrieve_op *op)
{
    const struct fair_owner owner = {op->account, op->user, STR("")};
    retrieve_move(op, RETRIEVE_RANKING);
    op->steps.step = rank_in_step;
    fair_slots_wait(op->documents->searches, &op->entry, &owner, 1);
    begin_next(op->documents);
}

/* False when the passage is gone. */
static bool read_hit(struct retrieve_op *op, const struct retrieve_found *found, struct str part,
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
                                     .title_json = retrieve_keep(op, title),
                                     .url_json = retrieve_keep(op, url),
                                     .text = retrieve_keep(op, passage.text),
                                     .start_chars = (uint32_t)passage.start_chars,
                                     .end_chars = (uint32_t)passage.end_chars,
                                     .page = (uint32_t)passage.page};
    return true;
}

static void on_passages(struct call *call, enum err error, struct str reply)
{
    struct retrieve_op *op = retrieve_op_of(call);
    if (!retrieve_is_good(op, error, reply))
        return;
    struct retrieve_hit *hits = h2o_mem_alloc_pool(&op->pool, TOP_K_MAX * sizeof *hits);
    struct lines parts = lines_of(reply);
    struct str part;
    struct buf blocks;
    float cosines[TOP_K_MAX];
    size_t hit_n = 0, part_n = 0;
    buf_init(&blocks, BLOCKS_MAX_BYTES);
    for (; part_n < op->found_n && lines_next_part(&parts, &part); part_n++) {
        cosines[hit_n] = op->found[part_n].cosine;
        hit_n += read_hit(op, &op->found[part_n], part, &blocks, &hits[hit_n]);
    }
    buf_fini(&blocks);
    if (hit_n < op->found_n && op->search_n < SEARCHES_MAX) {
        retrieve_search(op); /* a document went, or was indexed again, since it was ranked */
        return;
    }
    retrieve_order(op, hits, cosines, hit_n);
    retrieve_finish(op, ERR_OK);
}

static void read_passages(struct retrieve_op *op)
{
    retrieve_move(op, RETRIEVE_READING);
    if (op->found_n == 0) {
        retrieve_finish(op, ERR_OK);
        return;
    }
    struct verb_writer verb = begin_passages(retrieve_call(op, on_passages), .space = op->space);
    for (size_t i = 0; i < op->found_n; i++)
        put_passages_passage(&verb, .doc = op->found[i].doc, .generation = op->found[i].generation,
                             .chunk = op->found[i].chunk);
    end_verb(&verb);
}
