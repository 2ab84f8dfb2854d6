/* SPDX-License-Identifier: MIT
 * rag_retrieve.c - POST /api/rag/retrieve: the passages of an owner's documents that answer a query
 * best, without a model. */
#include "services/documents/ask/ask_input.h"
#include "services/documents/handlers.h"
#include "services/documents/search/retrieve.h"

void retrieve_put_citation(struct buf *b, const struct retrieve_hit *hit)
{
    buf_lit(b, "{\"docId\":");
    buf_put_json(b, hit->doc);
    buf_lit(b, ",\"chunkId\":\"");
    ids_put_chunk(b, hit->doc, hit->chunk);
    buf_lit(b, "\",\"chunkIndex\":");
    buf_put_u64(b, hit->chunk);
    buf_lit(b, ",\"snippet\":");
    buf_put_json(b, hit->text);
    buf_printf(b, ",\"score\":%.4f,\"documentTitle\":", hit->score);
    buf_put(b, hit->title_json);
    buf_lit(b, ",\"page\":");
    if (hit->page > 0)
        buf_put_u64(b, hit->page);
    else
        buf_lit(b, "null");
    buf_put_char(b, '}');
}

struct asked {
    struct request *r;
    struct retrieval *retrieval;
    struct str query;
};

static void on_done(struct retrieval *retrieval, void *context)
{
    struct asked *asked = context;
    struct request *r = asked->r;
    struct buf *b = &r->server->scratch;
    if (retrieval->error != ERR_OK) {
        retrieve_refuse(r, retrieval);
        return;
    }
    buf_clear(b);
    buf_lit(b, "{\"query\":");
    buf_put_json(b, asked->query);
    buf_lit(b, ",\"citations\":[");
    for (size_t i = 0; i < retrieval->hit_n; i++) {
        if (i > 0)
            buf_put_char(b, ',');
        retrieve_put_citation(b, &retrieval->hits[i]);
    }
    buf_lit(b, "]}");
    respond_json(r, 200, b);
}

static void on_gone(struct request *r)
{
    struct asked *asked = r->state;
    retrieve_free(asked->retrieval);
}

void documents_retrieve(struct request *r)
{
    struct asked *asked = request_alloc(r, sizeof *asked);
    struct retrieve_settings settings = {.nonce = &r->nonce};
    struct owner owner;
    *asked = (struct asked){.r = r};
    if (!owner_of_request(r, &owner) || !request_body(r) ||
        !ask_input_question(r, "query", QUESTION_MAX_CHARS, &asked->query) ||
        !ask_input_top_k(r, "topK", &settings.n))
        return;
    settings.space = owner.space;
    settings.account = r->account->name_token;
    settings.user = owner.person.user_name;
    settings.question = asked->query;
    r->state = asked;
    r->on_gone = on_gone;
    asked->retrieval = retrieve_start(documents_of(r), &settings, on_done, asked);
}
