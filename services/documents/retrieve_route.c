/* SPDX-License-Identifier: MIT
 * retrieve_route.c - POST /api/rag/retrieve: the passages that fit a query, without a model. */
#include "services/documents/handlers.h"

#include "services/documents/retrieve.h"

static void on_retrieved(struct request *r, const struct retrieved *result)
{
    if (result == NULL)
        return;
    struct buf *b = &r->server->scratch;
    struct str query = request_member_text(r, "query");
    buf_clear(b);
    buf_lit(b, "{\"query\":");
    buf_put_json(b, query);
    buf_lit(b, ",\"citations\":[");
    for (size_t i = 0; i < result->n; i++) {
        if (i > 0)
            buf_put_char(b, ',');
        retrieve_put_citation(b, &result->found[i]);
    }
    buf_lit(b, "]}");
    respond_json(r, 200, buf_str(b));
}

static void on_gone(struct request *r)
{
    retrieve_cancel(r->state);
}

void documents_retrieve(struct request *r)
{
    struct str owner, space, query;
    int64_t top_k = 5;
    if (!documents_owner(r, &owner, &space) || !request_body(r) ||
        !request_text(r, "query", 1, QUESTION_MAX_CHARS * 4, &query))
        return;
    if (request_member(r, "topK") != NULL && !request_number(r, "topK", 1, TOP_K_MAX, &top_k))
        return;
    struct retrieve_settings settings = {.space = space, .question = query, .top_k = (size_t)top_k};
    r->on_gone = on_gone;
    r->state = retrieve_start(r, &settings, on_retrieved);
}
