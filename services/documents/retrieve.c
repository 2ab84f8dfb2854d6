/* SPDX-License-Identifier: MIT
 * retrieve.c - see retrieve.h (lua/documents/search.lua, packs.lua, passages.lua). One round trip
 * tells whether the packs that this thread keeps are still what is searched, and what a vector set
 * finds; the search itself is the node's; a second one brings the texts. A space whose packs are
 * not here costs as many more as they take, once.
 *
 * Several requests may do this to one space at a time: packs never change, so what one has put in
 * is right for all, and the list of what is searched is taken from the newest version only. */
#include "services/documents/retrieve.h"

#include "services/documents/cache.h"
#include "services/documents/passage.h"
#include "shared/base/clock.h"

#include <stdlib.h>

enum { CANDIDATES = 100, PASSAGES_MAX_BYTES = PASSAGE_MAX_BYTES };
/* A passage that shares no word with the question counts only from this cosine on. */
static const float cosine_min = 0.25f;
/* What rag_index_search gives to the first by one measure (reciprocal rank, k = 60). */
static const double first_by_one = 1.0 / 61;

struct retrieve {
    struct request *r;
    struct documents *documents;
    struct retrieve_settings settings;
    retrieve_callback *on_done;
    struct embedding *embedding; /* under way */
    float *vector;               /* in the request's pool; NULL: none */
    uint32_t dimension;
    bool is_over;
    uint64_t start_us;
    uint64_t version;
    struct rag_mark *marks; /* all that is searched, when the version is new here */
    size_t mark_n;
    struct rag_near *near; /* what a vector set found */
    size_t near_n;
    bool is_set; /* the space has a vector set: `near` is all there is */
    struct rag_hit hits[CANDIDATES];
    size_t hit_n;
    struct retrieved result;
};

static struct retrieve *retrieve_of(struct request *r);
static void search(struct retrieve *op);

static void fail(struct retrieve *op, enum err error, const char *detail)
{
    op->is_over = true;
    respond_error(op->r, error, detail);
    op->on_done(op->r, NULL);
}

/* --- reading the texts -------------------------------------------------------------------------
 */

static void finish(struct retrieve *op)
{
    op->is_over = true;
    op->result.version = op->version;
    op->result.took_ms = (clock_mono_us() - op->start_us) / 1000;
    op->on_done(op->r, &op->result);
}

static void on_passages(struct request *r, enum err error, struct str reply)
{
    struct retrieve *op = retrieve_of(r);
    if (error != ERR_OK) {
        fail(op, error, NULL);
        return;
    }
    struct found *found = request_alloc(r, op->hit_n * sizeof *found);
    struct lines parts = lines_of(reply);
    struct buf memory;
    struct str part;
    buf_init(&memory, PASSAGE_MAX_BYTES);
    double whole = first_by_one * (op->near_n > 0 || op->vector != NULL ? 2 : 1);
    for (size_t i = 0; i < op->hit_n && lines_next_part(&parts, &part); i++) {
        struct passage passage;
        struct lines inside = lines_of(part);
        buf_clear(&memory);
        if (!str_eq(lines_next(&inside), STR("ok")) ||
            !passage_read(inside.rest, true, &memory, &passage))
            continue; /* deleted, or indexed anew, a moment ago */
        double score = op->hits[i].score / whole;
        found[op->result.n++] = (struct found){
            .doc = request_copy(r, op->marks[i].doc),
            .generation = op->marks[i].generation,
            .chunk = op->hits[i].chunk,
            .title = request_copy(r, passage.filename),
            .url = request_copy(r, passage.url),
            .text = request_copy(r, passage.text),
            .start_chars = passage.start_chars,
            .end_chars = passage.end_chars,
            .score = score > 1 ? 1 : score,
        };
    }
    buf_fini(&memory);
    op->result.found = found;
    finish(op);
}

/* --- searching ---------------------------------------------------------------------------------
 */

static void search(struct retrieve *op)
{
    struct cached_space *space = cache_use(op->documents->cache, op->settings.space);
    struct rag_query query = {.text = op->settings.question,
                              .vector = op->is_set ? NULL : op->vector,
                              .dimension = op->dimension,
                              .near = op->near,
                              .near_n = op->near_n};
    size_t n = rag_index_search(space->index, &query, CANDIDATES, op->hits);
    for (size_t i = 0; i < n && op->hit_n < op->settings.top_k; i++)
        if (op->hits[i].bm25 > 0 || op->hits[i].cosine >= cosine_min)
            op->hits[op->hit_n++] = op->hits[i];
    if (op->hit_n == 0) {
        finish(op);
        return;
    }
    /* The index may change before the texts are here: what is needed of the documents is kept. */
    op->marks = request_alloc(op->r, op->hit_n * sizeof *op->marks);
    struct turn *turn = request_begin_plain_verb(op->r, LANE_READ, STR("passages"), on_passages);
    turn_put(turn, op->settings.space);
    turn_put_u64(turn, op->hit_n);
    for (size_t i = 0; i < op->hit_n; i++) {
        const struct rag_document *document = op->hits[i].document;
        op->marks[i].doc = request_copy(op->r, document->id);
        op->marks[i].generation = document->generation;
        turn_put(turn, op->marks[i].doc);
        turn_put_u64(turn, document->generation);
        turn_put_u64(turn, op->hits[i].chunk);
    }
    turn_end(turn);
}

/* --- packs -------------------------------------------------------------------------------------
 */

static void fetch(struct retrieve *op);

static void on_packs(struct request *r, enum err error, struct str reply)
{
    struct retrieve *op = retrieve_of(r);
    if (error != ERR_OK) {
        fail(op, error, NULL);
        return;
    }
    struct cached_space *space = cache_use(op->documents->cache, op->settings.space);
    struct lines parts = lines_of(reply);
    struct str doc, generation, title, url, pack;
    while (lines_next_part(&parts, &doc) && lines_next_part(&parts, &generation) &&
           lines_next_part(&parts, &title) && lines_next_part(&parts, &url) &&
           lines_next_part(&parts, &pack)) {
        uint64_t number = 0;
        bool is_sound = str_parse_u64(generation, &number) && pack.n > 0 &&
                        rag_index_put(space->index, doc, number, title, url, pack);
        if (pack.n > 0 && !is_sound)
            log_write(LOG_ERROR, "a document's pack is damaged: index it anew",
                      LOG_STR("document", doc));
        for (size_t i = 0; i < op->mark_n && !is_sound; i++)
            if (str_eq(op->marks[i].doc, doc))
                op->marks[i].doc.n = 0; /* gone or damaged: not asked for again */
    }
    fetch(op);
}

/* Asks for what is searched but not here; searches when all is. */
static void fetch(struct retrieve *op)
{
    struct cached_space *space = cache_use(op->documents->cache, op->settings.space);
    enum { ASKED_MAX = 200 };
    struct turn *turn = NULL;
    unsigned asked_n = 0;
    for (size_t i = 0; i < op->mark_n && asked_n < ASKED_MAX; i++) {
        const struct rag_mark *mark = &op->marks[i];
        if (mark->doc.n == 0 || rag_index_has(space->index, mark->doc, mark->generation))
            continue;
        if (asked_n++ == 0) {
            turn = request_begin_plain_verb(op->r, LANE_READ, STR("packs"), on_packs);
            turn_put(turn, op->settings.space);
        }
        turn_put(turn, mark->doc);
        turn_put_u64(turn, mark->generation);
    }
    if (turn != NULL) {
        turn_end(turn);
        return;
    }
    if (op->version > space->version) {
        rag_index_keep(space->index, op->marks, op->mark_n);
        space->version = op->version;
    }
    search(op);
}

/* --- what Redis says ---------------------------------------------------------------------------
 */

static void read_marks(struct retrieve *op, struct lines *lines, uint64_t n)
{
    op->marks = request_alloc(op->r, (size_t)(n + 1) * sizeof *op->marks);
    for (uint64_t i = 0; i < n && lines_are_left(lines); i++) {
        struct str generation = lines_next(lines), doc = str_cut(&generation, ' ');
        struct rag_mark *mark = &op->marks[op->mark_n];
        mark->doc = request_copy(op->r, doc);
        if (generation.at != NULL && str_parse_u64(generation, &mark->generation))
            op->mark_n++;
    }
}

static void read_near(struct retrieve *op, struct str text)
{
    struct lines lines = lines_of(text);
    op->near = request_alloc(op->r, CANDIDATES * sizeof *op->near);
    while (text.n > 0 && lines_are_left(&lines) && op->near_n < CANDIDATES) {
        struct str rest = lines_next(&lines), doc = str_cut(&rest, ' ');
        struct str generation = str_cut(&rest, ' '), chunk = str_cut(&rest, ' ');
        struct rag_near *near = &op->near[op->near_n];
        uint64_t number = 0;
        double similarity = 0;
        if (rest.at == NULL || !str_parse_u64(generation, &near->generation) ||
            !str_parse_u64(chunk, &number) || !str_parse_double(rest, &similarity))
            continue;
        near->doc = request_copy(op->r, doc);
        near->chunk = (uint32_t)number;
        near->similarity = (float)similarity;
        op->near_n++;
    }
}

static void on_searched(struct request *r, enum err error, struct str reply)
{
    struct retrieve *op = retrieve_of(r);
    const char *nul = reply.n == 0 ? NULL : memchr(reply.at, 0, reply.n);
    size_t head_n = nul == NULL ? reply.n : (size_t)(nul - reply.at);
    struct lines lines = lines_of((struct str){reply.at, head_n});
    if (documents_refuse(r, error, lines_next(&lines), &lines)) {
        op->is_over = true;
        op->on_done(r, NULL);
        return;
    }
    struct cached_space *space = cache_use(op->documents->cache, op->settings.space);
    op->version = lines_next_u64(&lines);
    (void)lines_next(&lines); /* the model */
    (void)lines_next(&lines); /* its dimension */
    op->is_set = str_eq(lines_next(&lines), STR("set"));
    uint64_t n = lines_next_u64(&lines);
    read_marks(op, &lines, n);
    if (nul != NULL)
        read_near(op, (struct str){nul + 1, reply.n - head_n - 1});
    if (op->version == 0) { /* no document was ever indexed here */
        finish(op);
        return;
    }
    if (op->version == space->version)
        search(op);
    else
        fetch(op);
}

static void ask_redis(struct retrieve *op)
{
    struct cached_space *space = cache_use(op->documents->cache, op->settings.space);
    struct turn *turn = request_begin_verb(op->r, LANE_READ, STR("search"), on_searched);
    turn_put(turn, op->settings.space);
    turn_put(turn, op->settings.limits.at == NULL ? STR("") : op->settings.limits);
    if (space->version == 0)
        turn_put(turn, STR(""));
    else
        turn_put_u64(turn, space->version);
    turn_put_u64(turn, CANDIDATES);
    /* Little-endian, as every machine that this is built for has it. */
    turn_put(turn, op->vector == NULL ? STR("")
                                      : (struct str){(const char *)op->vector,
                                                     op->dimension * sizeof *op->vector});
    turn_put(turn, str_of(op->documents->settings->embedder->name));
    turn_end(turn);
}

/* --- the question's vector ---------------------------------------------------------------------
 */

static void keep_vector(struct retrieve *op, const float *vector, uint32_t dimension)
{
    op->dimension = dimension;
    op->vector = request_alloc(op->r, dimension * sizeof *vector);
    memcpy(op->vector, vector, dimension * sizeof *vector);
}

static void on_embedded(void *context, const float *vector, uint32_t dimension, const char *reason)
{
    struct retrieve *op = context;
    op->embedding = NULL;
    if (vector != NULL)
        keep_vector(op, vector, dimension);
    else /* words still find something */
        log_write(LOG_WARN, "a question was not embedded, it is searched by words alone",
                  LOG_S("reason", reason));
    ask_redis(op);
}

/* The operation that a request is at: kept in front of the handler's own state. */
static struct retrieve *retrieve_of(struct request *r)
{
    return r->operation;
}

struct retrieve *retrieve_start(struct request *r, const struct retrieve_settings *settings,
                                retrieve_callback *on_done)
{
    struct retrieve *op = request_alloc(r, sizeof *op);
    memset(op, 0, sizeof *op);
    op->r = r;
    op->documents = documents_of(r);
    op->settings = *settings;
    op->on_done = on_done;
    op->start_us = clock_mono_us();
    r->operation = op;
    struct embedder *embedder = op->documents->settings->embedder;
    if (!embedder->is_quick) {
        op->embedding =
            embed_start(embedder, op->documents->client, settings->question, on_embedded, op);
        return op;
    }
    float *vector;
    uint32_t dimension;
    if (embed_texts(embedder, &op->settings.question, 1, NULL, &vector, &dimension)) {
        keep_vector(op, vector, dimension);
        free(vector);
    }
    ask_redis(op);
    return op;
}

void retrieve_cancel(struct retrieve *op)
{
    if (op == NULL || op->embedding == NULL)
        return;
    embed_cancel(op->documents->settings->embedder, op->embedding);
    op->embedding = NULL;
}

void retrieve_put_citation(struct buf *b, const struct found *found)
{
    enum { SNIPPET_MAX_BYTES = 1500 };
    struct str snippet = found->text;
    if (snippet.n > SNIPPET_MAX_BYTES) {
        snippet.n = SNIPPET_MAX_BYTES;
        while (snippet.n > 0 && ((unsigned char)snippet.at[snippet.n] & 0xc0) == 0x80)
            snippet.n--;
    }
    buf_printf(b, "{\"docId\":\"%.*s\",\"chunkId\":\"%.*s:%u\",\"chunkIndex\":%u,\"snippet\":",
               STR_ARG(found->doc), STR_ARG(found->doc), found->chunk, found->chunk);
    buf_put_json(b, snippet);
    buf_printf(b, ",\"score\":%.4f,\"documentTitle\":", found->score);
    buf_put(b, found->title);
    buf_put_char(b, '}');
}
