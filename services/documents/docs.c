/* SPDX-License-Identifier: MIT
 * docs.c - what an owner sees of documents and does to them: the list, one of them, its deletion,
 * its indexing anew (lua/documents/docs.lua, doc.lua, doc_delete.lua, doc_reindex.lua). */
#include "services/documents/handlers.h"

static void on_listed(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (documents_refuse(r, error, lines_next(&lines), &lines))
        return;
    uint64_t n = lines_next_u64(&lines), chunk_n;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"documents\":[");
    for (uint64_t i = 0; i < n; i++) {
        if (i > 0)
            buf_put_char(b, ',');
        documents_put(b, &lines, &chunk_n);
        buf_put_char(b, '}');
    }
    buf_lit(b, "]}");
    respond_json(r, 200, buf_str(b));
}

void documents_list(struct request *r)
{
    struct str owner, space;
    uint64_t before;
    if (!documents_owner(r, &owner, &space) ||
        !request_param_u64(r, "before", 1, UINT64_MAX, 0, &before))
        return;
    struct turn *turn = request_begin_verb(r, LANE_READ, STR("docs"), on_listed);
    turn_put(turn, space);
    if (before == 0)
        turn_put(turn, STR(""));
    else
        turn_put_u64(turn, before);
    turn_end(turn);
}

/* Begins a verb about the document of the path, whose id becomes r->state; NULL after an answer. */
static struct turn *begin(struct request *r, enum turn_lane lane, struct str verb,
                          request_reply_cb *on_reply)
{
    struct str owner, space, id;
    if (!documents_owner(r, &owner, &space) || !documents_id(r, &id))
        return NULL;
    struct str *kept = request_alloc(r, sizeof *kept);
    *kept = id;
    r->state = kept;
    struct turn *turn = request_begin_verb(r, lane, verb, on_reply);
    turn_put(turn, space);
    turn_put(turn, id);
    return turn;
}

static void on_got(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (documents_refuse(r, error, lines_next(&lines), &lines))
        return;
    uint64_t chunk_n;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    documents_put(b, &lines, &chunk_n);
    buf_lit(b, ",\"chunkCount\":");
    buf_put_u64(b, chunk_n);
    buf_put_char(b, '}');
    respond_json(r, 200, buf_str(b));
}

void documents_get(struct request *r)
{
    struct turn *turn = begin(r, LANE_READ, STR("doc"), on_got);
    if (turn != NULL)
        turn_end(turn);
}

static void on_deleted(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (!documents_refuse(r, error, lines_next(&lines), &lines))
        respond_json(r, 200, STR("{\"status\":\"OK\"}"));
}

void documents_delete(struct request *r)
{
    struct turn *turn = begin(r, LANE_FIRST, STR("doc_delete"), on_deleted);
    if (turn != NULL)
        turn_end(turn);
}

static void on_queued_again(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (documents_refuse(r, error, lines_next(&lines), &lines))
        return;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"documentId\":");
    buf_put_json(b, *(const struct str *)r->state);
    buf_lit(b, ",\"jobId\":");
    buf_put_json(b, lines_next(&lines));
    buf_lit(b, ",\"status\":\"QUEUED\"}");
    respond_json(r, 202, buf_str(b));
}

void documents_reindex(struct request *r)
{
    struct turn *turn = begin(r, LANE_ADD, STR("doc_reindex"), on_queued_again);
    if (turn == NULL)
        return;
    turn_put(turn, documents_new_id(r));
    turn_end(turn);
}
