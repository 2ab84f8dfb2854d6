/* SPDX-License-Identifier: MIT
 * lookup.c - the worker that answers lookups: passages of the documents that are similar to a
 * fragment of text marked by a user.
 *
 *   poll (get-new-lookup, parked) --> search --> give-new-matches --> poll
 *
 * A lookup that fails is left until its lease expires and it is handed out again. */
#include "services/engine/engine.h"

#include "shared/base/log.h"

#include "shared/base/mem.h"

enum { QUERY_MAX_BYTES = 256, EARLY_MS = 1000, COUNT_DEFAULT = 5, TRIES = 8 };

struct lookup_worker {
    struct engine *engine;
    struct link_call *call;
    struct library_lookup *search;
    struct timer timer;
    struct backoff backoff;
    json_t *lookup; /* the one at work */
    struct buf body;
    unsigned tries;
    bool is_giving; /* the body waits for another try */
};

static void give(struct lookup_worker *worker);

static void poll_again(struct lookup_worker *worker, uint64_t after_ms)
{
    worker->is_giving = false;
    json_decref(worker->lookup);
    worker->lookup = NULL;
    timer_set(&worker->engine->timers, &worker->timer, after_ms);
}

static void on_given(void *context, const struct link_reply *reply)
{
    struct lookup_worker *worker = context;
    worker->call = NULL;
    if (reply->verdict == LINK_RETRY && ++worker->tries < TRIES) {
        worker->is_giving = true;
        timer_set(&worker->engine->timers, &worker->timer,
                  backoff_next_ms(&worker->backoff, reply->retry_after_s));
        return;
    }
    if (reply->verdict != LINK_OK)
        log_write(LOG_WARN, "matches refused",
                  LOG_STR("fingerprint", json_member_str(worker->lookup, "Fingerprint")),
                  LOG_U("status", reply->status), LOG_S("reason", reply->reason));
    worker->backoff.failures = 0;
    poll_again(worker, 0);
}

static void give(struct lookup_worker *worker)
{
    struct link_request request = {.path = "/api/give-new-matches",
                                   .body = buf_str(&worker->body),
                                   .timeout_ms = CALL_TIMEOUT_MS};
    worker->call = link_start(worker->engine->link, &request, on_given, worker);
}

/* A match: lines that describe it, a line of five dots, the passage. */
static void put_match(struct buf *body, const struct rag_hit *hit)
{
    struct buf match;
    buf_init(&match, SIZE_MAX / 2);
    buf_printf(&match, "Distance: %.2f\nDocument Name: ", 1.0 - (double)hit->cosine);
    library_put_name(&match, hit->document);
    buf_lit(&match, "\n.....\n");
    buf_put(&match, rag_document_passage(hit->document, hit->chunk));
    buf_put_json(body, buf_str(&match));
    buf_fini(&match);
}

static double number_member(const json_t *object, const char *name, double fallback)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

static void on_found(void *context, const struct rag_index *index, const struct rag_query *query)
{
    struct lookup_worker *worker = context;
    struct rag_hit hits[RAG_HITS_MAX];
    double count = number_member(worker->lookup, "Count", COUNT_DEFAULT);
    double threshold = number_member(worker->lookup, "Threshold", 1.0);
    worker->search = NULL;
    if (query->vector == NULL) { /* logged where it failed */
        poll_again(worker, backoff_next_ms(&worker->backoff, 1));
        return;
    }
    size_t wanted = count < 1 ? 0 : count > RAG_HITS_MAX ? RAG_HITS_MAX : (size_t)count;
    size_t n = library_nearest(worker->engine->library, query, wanted, threshold, hits);
    buf_clear(&worker->body);
    buf_lit(&worker->body, "{\"Fingerprint\":");
    buf_put_json(&worker->body, json_member_str(worker->lookup, "Fingerprint"));
    buf_lit(&worker->body, ",\"Matches\":[");
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_put_char(&worker->body, ',');
        put_match(&worker->body, &hits[i]);
    }
    buf_lit(&worker->body, "]}");
    log_write(LOG_INFO, "looked up",
              LOG_STR("fingerprint", json_member_str(worker->lookup, "Fingerprint")),
              LOG_U("matches", n));
    worker->tries = 0;
    give(worker);
}

static void on_polled(void *context, const struct link_reply *reply)
{
    struct lookup_worker *worker = context;
    struct str fragment = json_member_str(reply->json, "Fragment");
    worker->call = NULL;
    if (reply->verdict == LINK_OK && fragment.at != NULL &&
        json_member_str(reply->json, "Fingerprint").at != NULL) {
        worker->backoff.failures = 0;
        worker->lookup = json_incref((json_t *)reply->json);
        worker->search = library_start(worker->engine->library, fragment, on_found, worker);
        return;
    }
    /* 404 is how a node says that there is none; at once only where it does not wait. */
    bool is_none = reply->status == 404;
    if (is_none && reply->took_ms >= EARLY_MS)
        worker->backoff.failures = 0;
    poll_again(worker, is_none && reply->took_ms >= EARLY_MS
                           ? 0
                           : backoff_next_ms(&worker->backoff, reply->retry_after_s));
}

static void on_timer(void *context)
{
    struct lookup_worker *worker = context;
    struct buf query;
    if (worker->is_giving) {
        give(worker);
        return;
    }
    buf_init(&query, QUERY_MAX_BYTES);
    buf_printf(&query, "Wait=%llu", (unsigned long long)worker->engine->wait_s);
    struct link_request request = {.path = "/api/get-new-lookup",
                                   .query = buf_str(&query),
                                   .timeout_ms = worker->engine->wait_s * 1000 + WAIT_MARGIN_MS};
    worker->call = link_start(worker->engine->link, &request, on_polled, worker);
    buf_fini(&query);
}

struct lookup_worker *lookup_create(struct engine *engine)
{
    struct lookup_worker *worker = mem_zeroed(sizeof *worker);
    worker->engine = engine;
    worker->timer = (struct timer){.fire = on_timer, .context = worker};
    buf_init(&worker->body, BODY_MAX_BYTES);
    return worker;
}

void lookup_start(struct lookup_worker *worker)
{
    poll_again(worker, 0);
}

void lookup_destroy(struct lookup_worker *worker)
{
    if (worker == NULL)
        return;
    link_cancel(worker->call);
    library_cancel(worker->search);
    timer_stop(&worker->timer);
    json_decref(worker->lookup);
    buf_fini(&worker->body);
    free(worker);
}
