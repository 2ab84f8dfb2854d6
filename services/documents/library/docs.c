/* SPDX-License-Identifier: MIT
 * docs.c - an owner's documents: the list, one of them, deletion, reindexing
 * (lua/documents/docs.lua and its neighbours). The list is asked for a page at a time. */
#include "services/documents/handlers.h"

#include "generated/verbs.h"
#include "services/documents/library/job_words.h"
#include "shared/http/request/once.h"
#include "shared/http/request/pages.h"

/* --- one document as JSON --------------------------------------------------------------------- */

static void put_or_null(struct buf *b, struct str json)
{
    buf_put(b, json.n > 0 ? json : STR("null"));
}

static void put_job(struct buf *b, struct lines *lines)
{
    struct str id = lines_next(lines), status = lines_next(lines), stage = lines_next(lines);
    struct str progress = lines_next(lines), error = lines_next(lines);
    uint64_t created_ms = lines_next_u64(lines), updated_ms = lines_next_u64(lines);
    if (status.n == 0) {
        buf_lit(b, "null");
        return;
    }
    buf_lit(b, "{\"id\":");
    buf_put_json(b, id);
    buf_lit(b, ",\"status\":");
    buf_put_json(b, job_status(status));
    buf_lit(b, ",\"stage\":");
    buf_put_json(b, job_stage(stage, job_is_indexed(status)));
    buf_lit(b, ",\"progress\":");
    put_or_null(b, progress);
    buf_lit(b, ",\"errorMessage\":");
    put_or_null(b, error);
    buf_lit(b, ",\"createdAt\":");
    buf_put_json_time(b, created_ms);
    buf_lit(b, ",\"updatedAt\":");
    buf_put_json_time(b, updated_ms);
    buf_put_char(b, '}');
}

/* Is what is searched of a document of another embedding model than this node embeds questions
 * with, or than its owner's other documents are of by now? Takes two lines. */
static bool takes_needs_reindex(struct request *r, struct lines *lines)
{
    struct str model = lines_next(lines);
    bool is_old = lines_next_u64(lines) != 0;
    return is_old ||
           (model.n > 0 && !str_eq(model, str_of(documents_of(r)->settings->embedder->name)));
}

struct document_view {
    bool has_chunk_count; /* of one document, not in the list */
    bool is_detail;       /* Detail=true */
};

/* Takes a document's 19 lines. */
static void put_document(struct request *r, struct buf *b, struct lines *lines,
                         const struct document_view *view)
{
    buf_lit(b, "{\"id\":");
    buf_put_json(b, lines_next(lines));
    buf_lit(b, ",\"filename\":");
    put_or_null(b, lines_next(lines));
    buf_lit(b, ",\"contentType\":");
    buf_put_json(b, lines_next(lines));
    buf_lit(b, ",\"sizeBytes\":");
    put_or_null(b, lines_next(lines));
    buf_lit(b, ",\"status\":");
    buf_put_json(b, lines_next(lines));
    struct str created = lines_next(lines);
    uint64_t created_ms = 0;
    buf_lit(b, ",\"createdAt\":");
    buf_put_json_time(b, str_parse_u64(created, &created_ms) ? created_ms : 0);
    buf_lit(b, ",\"updatedAt\":");
    buf_put_json_time(b, lines_next_u64(lines));
    struct str chunks = lines_next(lines);
    if (view->has_chunk_count) {
        buf_lit(b, ",\"chunkCount\":");
        put_or_null(b, chunks);
    }
    lines_next(lines); /* path */
    buf_lit(b, ",\"latestJob\":");
    put_job(b, lines);
    buf_lit(b, ",\"needsReindex\":");
    buf_put(b, takes_needs_reindex(r, lines) ? STR("true") : STR("false"));
    struct str sha = lines_next(lines);
    buf_lit(b, ",\"contentHash\":");
    buf_put_json(b, sha);
    if (view->is_detail) {
        buf_lit(b, ",\"sha256\":");
        buf_put_json(b, sha);
    }
    buf_put_char(b, '}');
}

/* --- the list --------------------------------------------------------------------------------- */

struct listing {
    struct owner owner;
    struct pages pages;
    struct document_view view;
};

static void ask_for_page(struct request *r);

static void on_page(struct request *r, enum err error, struct str reply)
{
    static const struct str head = STR("{\"documents\":[");
    struct listing *list = r->state;
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    struct buf *b = pages_buf(&list->pages, r);
    struct str next = lines_next(&lines);
    uint64_t n = 0;
    if (b->n == 0)
        buf_put(b, head);
    for (; lines_are_left(&lines); n++) {
        if (b->n > head.n)
            buf_put_char(b, ',');
        put_document(r, b, &lines, &list->view);
    }
    if (pages_go_on(&list->pages, r, next, n, ask_for_page))
        return;
    buf_lit(b, "]}");
    pages_respond(&list->pages, r, b);
}

static void ask_for_page(struct request *r)
{
    struct listing *list = r->state;
    call_docs(request_call(r, on_page), .space = list->owner.space, .before = list->pages.after,
              .limit = pages_limit(&list->pages));
}

static void on_list_gone(struct request *r)
{
    struct listing *list = r->state;
    pages_fini(&list->pages);
}

static bool is_cursor(struct str after)
{
    uint64_t ms;
    return str_parse_u64(after, &ms);
}

void documents_list(struct request *r)
{
    struct listing *list = request_alloc(r, sizeof *list);
    list->view = (struct document_view){.is_detail = request_param_is_true(r, "Detail")};
    if (!owner_of_request(r, &list->owner) || !pages_init(&list->pages, r, STR(""), is_cursor))
        return;
    r->state = list;
    r->on_gone = on_list_gone;
    ask_for_page(r);
}

/* --- one of them ------------------------------------------------------------------------------ */

/* The document of the path, which a verb is to be called on. False: answered already. */
static bool read_path(struct request *r, struct owner *ret_owner, struct str *ret_id)
{
    if (!owner_of_request(r, ret_owner) || !ids_param(r, ret_id))
        return false;
    r->state = request_alloc(r, sizeof *ret_id);
    *(struct str *)r->state = *ret_id;
    return true;
}

/* A refusal of a verb on one document. */
static bool refuse(struct request *r, enum err error, struct str tag, struct lines *rest)
{
    const struct str *id = r->state;
    if (error != ERR_OK || !str_eq(tag, STR("missing")))
        return reply_refuse(r, error, tag, rest);
    (void)ids_refuse(r, *id);
    return true;
}

static void on_shown(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    struct buf *b = &r->server->scratch;
    const struct document_view view = {true, request_param_is_true(r, "Detail")};
    if (refuse(r, error, tag, &lines))
        return;
    buf_clear(b);
    put_document(r, b, &lines, &view);
    respond_json(r, 200, b);
}

void documents_show(struct request *r)
{
    struct owner owner;
    struct str id;
    if (read_path(r, &owner, &id))
        call_doc(request_call(r, on_shown), .space = owner.space, .doc = id);
}

/* Answers a verb on one document: {"documentId", …} with `status`, and the job where the verb
 * started one. */
static void answer_verb(struct request *r, enum err error, struct str reply, int http_status,
                        const char *status)
{
    struct lines lines = lines_of(reply);
    const struct str *id = r->state;
    struct str tag = lines_next(&lines);
    struct buf *b = &r->server->scratch;
    if (refuse(r, error, tag, &lines))
        return;
    buf_clear(b);
    buf_lit(b, "{\"documentId\":");
    buf_put_json(b, *id);
    if (lines_are_left(&lines)) {
        buf_lit(b, ",\"jobId\":");
        buf_put_json(b, lines_next(&lines));
    }
    buf_printf(b, ",\"status\":\"%s\"}", status);
    respond_json(r, http_status, b);
}

static void on_deleted(struct request *r, enum err error, struct str reply)
{
    answer_verb(r, error, reply, 200, "OK");
}

void documents_delete(struct request *r)
{
    struct owner owner;
    struct str id;
    if (read_path(r, &owner, &id))
        call_doc_delete(request_call(r, on_deleted), .space = owner.space, .doc = id);
}

static void on_reindexed(struct request *r, enum err error, struct str reply)
{
    answer_verb(r, error, reply, 202, "QUEUED");
}

void documents_reindex(struct request *r)
{
    struct owner owner;
    struct str id;
    if (read_path(r, &owner, &id))
        call_doc_reindex(request_call(r, on_reindexed), .space = owner.space, .doc = id,
                         .job = ids_new(r), .account = r->account->name_token, .key = once_key(r));
}
