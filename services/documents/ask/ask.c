/* SPDX-License-Identifier: MIT
 * ask.c - POST /ask: questions over the public collection, without an account.
 *
 *   documents_ask --retrieve--> nothing found, or cited_answer.h --> answered
 *
 * Requests of one address are limited; of an IPv6 client its /64, which is what one household has.
 * Each is a user of an account that they share: they take turns, and one never has all places.
 * Positions count the list, which stands by score, and marks are positions. A refusal has no
 * sources, so that no page shows references under it; what was read is in `nearest`. */
#include "services/documents/ask/ask_input.h"
#include "services/documents/ask/ask_prompt.h"
#include "services/documents/ask/cited_answer.h"
#include "services/documents/handlers.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/peer.h"

#include <openssl/sha.h>
#include <stdio.h>

enum { ASK_LIMIT_N = 20, ASK_LIMIT_S = 60, CONTEXT_MAX_CHARS = 20000, VISITOR_BYTES = 8 };

/* The account of those who have none: no account's name holds a colon. */
static const char visitors[] = "%3Apublic";

struct ask {
    struct retrieval *retrieval;
    struct str question, context, space, visitor;
    const struct retrieve_hit *hits[TOP_K_MAX];
    struct cited_answer cited;
};

/* --- what is shown ---------------------------------------------------------------------------- */

static void put_list(const struct cited_answer *g, unsigned n, struct buf *b)
{
    buf_put_char(b, '[');
    for (unsigned i = 0; i < n; i++) {
        const struct retrieve_hit *hit = g->settings.hits[i];
        buf_put(b, i > 0 ? STR(",{\"url\":") : STR("{\"url\":"));
        buf_put(b, hit->url_json.n > 0 ? hit->url_json : STR("\"\""));
        buf_lit(b, ",\"content\":");
        buf_put_json(b, hit->text);
        buf_printf(b, ",\"score\":%.4f,\"position\":%u}", hit->score, i + 1);
    }
    buf_put_char(b, ']');
}

static void put_sources(const struct cited_answer *g, struct buf *b)
{
    buf_lit(b, "{\"sources\":");
    put_list(g, g->settings.hit_n, b);
    buf_put_char(b, '}');
}

static void put_result(const struct cited_answer *g, const struct cited_answer_result *result,
                       struct buf *b)
{
    const struct ask *ask = g->r->state;
    buf_lit(b, "{\"question\":");
    buf_put_json(b, ask->question);
    buf_lit(b, ",\"answer\":");
    buf_put_json(b, result->answer);
    cited_answer_put_cut(b, result->cut_by);
    buf_lit(b, ",\"sources\":");
    put_list(g, result->is_nothing ? 0 : g->settings.hit_n, b);
    if (result->is_nothing && g->settings.all_n > 0) {
        buf_lit(b, ",\"nearest\":");
        put_list(g, g->settings.all_n, b);
    }
    buf_printf(b, ",\"retrieval_time_ms\":%llu,\"generation_time_ms\":%llu}",
               (unsigned long long)ask->retrieval->took_ms, (unsigned long long)result->took_ms);
}

/* --- the request ------------------------------------------------------------------------------ */

/* Engines get "public", no matter who asks. */
static struct requester public_requester(struct request *r)
{
    const struct ask *ask = r->state;
    return (struct requester){
        .queue = documents_of(r)->queue,
        .user = STR("public"),
        .user_name = ask->visitor,
        .account = str_of(visitors),
        .max_of_all = shards_part(r->server->shards, documents_of(r)->settings->public_max_waiting),
        .traceparent = request_header(r, "traceparent"),
        .request_id = r->id,
        .scope = ask->space};
}

static void on_retrieved(struct retrieval *retrieval, void *context)
{
    static const struct cited_answer_format format = {.put_result = put_result,
                                                      .put_sources = put_sources};
    struct request *r = context;
    struct ask *ask = r->state;
    if (retrieval->error != ERR_OK) {
        retrieve_refuse(r, retrieval);
        return;
    }
    reply_put_quota(r, &retrieval->quota);
    for (size_t i = 0; i < retrieval->all_n; i++)
        ask->hits[i] = &retrieval->hits[i];
    struct cited_question settings = {
        .requester = public_requester(r),
        .question = ask->question,
        .context = ask->context,
        .hits = ask->hits,
        .hit_n = (unsigned)retrieval->hit_n,
        .all_n = (unsigned)retrieval->all_n,
        .temperature = -1,
        .deadline_ms = ask_input_left_ms(r, documents_of(r)->settings->ask_ms),
    };
    cited_answer_start(&ask->cited, r, &format, &settings);
}

static void on_gone(struct request *r)
{
    struct ask *ask = r->state;
    cited_answer_fini(&ask->cited);
    retrieve_free(ask->retrieval);
}

static struct str public_space(struct request *r)
{
    struct buf space;
    buf_init(&space, SPACE_MAX_BYTES);
    buf_lit(&space, "c:");
    buf_put_name(&space, str_of(documents_of(r)->settings->public_collection));
    struct str copy = request_copy(r, buf_str(&space));
    buf_fini(&space);
    return copy;
}

/* Whose turn it is: a digest of the network that `address` is in. */
static struct str visitor_of(struct request *r, struct str address)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    char hex[2 * VISITOR_BYTES + 1], name[sizeof visitors + sizeof hex + 1];
    struct buf network;
    buf_init(&network, 4 * PEER_TEXT_MAX);
    ask_input_put_address(&network, address);
    SHA256((const unsigned char *)network.at, network.n, digest);
    buf_fini(&network);
    str_hex(digest, VISITOR_BYTES, hex);
    snprintf(name, sizeof name, "%s.%s", visitors, hex);
    return request_copy(r, str_of(name));
}

/* A page that names a collection must not get answers of another one. */
static bool is_public(struct request *r, struct str collection)
{
    struct str ours = str_of(documents_of(r)->settings->public_collection);
    if (collection.at == NULL || str_eq(collection, ours))
        return true;
    explain(r, ERR_BAD_REQUEST, "This node answers over the collection %s only, not over %s.",
            explain_quoted(r, ours), explain_quoted(r, collection));
    return false;
}

void documents_ask(struct request *r)
{
    struct ask *ask = request_alloc(r, sizeof *ask);
    unsigned top_k;
    struct str collection;
    struct buf limits;
    *ask = (struct ask){.space = public_space(r), .visitor = visitor_of(r, peer_address(r))};
    if (!request_body(r) ||
        !ask_input_question(r, "question", QUESTION_MAX_CHARS, &ask->question) ||
        !ask_input_optional_text(r, "context", CONTEXT_MAX_CHARS, &ask->context) ||
        !ask_input_top_k(r, "top_k", &top_k) ||
        !request_optional_text(r, "collection", SPACE_MAX_BYTES, &collection) ||
        !is_public(r, collection))
        return;
    buf_init(&limits, 4 * PEER_TEXT_MAX);
    buf_lit(&limits, "public_ask:");
    ask_input_put_address(&limits, peer_address(r));
    buf_printf(&limits, ":%d:%d", ASK_LIMIT_N, ASK_LIMIT_S);
    struct retrieve_settings settings = {.space = ask->space,
                                         .account = str_of(visitors),
                                         .user = ask->visitor,
                                         .question = ask->question,
                                         .context = ask->context,
                                         .n = top_k,
                                         .limits = buf_str(&limits)};
    r->state = ask;
    r->on_gone = on_gone;
    ask->retrieval = retrieve_start(documents_of(r), &settings, on_retrieved, r);
    buf_fini(&limits);
}
