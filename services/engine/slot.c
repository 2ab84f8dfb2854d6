/* SPDX-License-Identifier: MIT
 * slot.c - one claim at a time: pull it, answer its queries one by one, pull the next.
 *
 *        +--------------------------- nothing ---------------------------+
 *        v                                                               |
 *      IDLE --> POLLING --claim--> SEARCHING --> GENERATING --> ANSWERING
 *        ^                            ^              |            |  |
 *        |                            +-- next query-+------------+  |
 *        |                            +-- Next: the next claim ------+
 *        +------------- RELEASING <-- back end failed, stopping
 *
 * GENERATING has either a completion or the timer for another try of the back end.
 * The states that wait for a node (POLLING, ANSWERING, RELEASING) have either `call` under way or
 * `timer` set for another try. An answer is tried until a node takes it or refuses it for good: a
 * late answer is still taken while nobody else holds the query. A release is tried while the lease
 * may be alive; after that it has happened by itself.
 *
 * What it does not do: an answer whose acceptance was lost together with the claim in `Next` leaves
 * that claim to its lease. Only the first try asks for Next, which keeps that rare. */
#include "services/engine/slot.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    QUERY_MAX_BYTES = 2048,
    MODEL_TRIES = 3,
    EARLY_MS = 1000,        /* a poll with nothing that was shorter than this came back early */
    END_POLL_WAIT_MS = 1500 /* how long the parked poll may take to end when we stop */
};

static void poll_nodes(struct slot *slot);
static void take_next_query(struct slot *slot);
static void send_answer(struct slot *slot);
static void send_release(struct slot *slot);

static void set_state(struct slot *slot, enum slot_state state)
{
    slot->state = state;
}

static void wait_and_retry(struct slot *slot, uint64_t after_ms)
{
    timer_set(&slot->engine->timers, &slot->timer, after_ms);
}

/* Ends all that works on the query at hand, but for heartbeats. */
static void end_work(struct slot *slot)
{
    link_cancel(slot->call);
    slot->call = NULL;
    timer_stop(&slot->timer);
    library_cancel(slot->lookup);
    slot->lookup = NULL;
    if (slot->completion != NULL)
        slot->engine->backend->ops->cancel(slot->completion);
    slot->completion = NULL;
    report_text_end(slot);
    prompt_fini(&slot->prompt);
    draft_clear(&slot->draft);
    slot->query = NULL;
}

static void end_claim(struct slot *slot)
{
    end_work(slot);
    report_stop(slot);
    claim_fini(&slot->claim);
}

/* Pulls the next claim after a pause; or stops. */
static void go_idle(struct slot *slot, uint64_t after_ms)
{
    end_claim(slot);
    if (slot->is_stopping) {
        set_state(slot, SLOT_STOPPED);
        return;
    }
    set_state(slot, SLOT_IDLE);
    wait_and_retry(slot, after_ms);
}

/* ---- polling ---- */

static void put_poll_query(struct slot *slot, struct buf *query)
{
    buf_lit(query, "Detail=true&History=true&Engine=");
    buf_put_url_encoded(query, str_of(slot->engine->engine_id));
    buf_printf(query, "-%u", slot->number + 1);
    if (slot->engine->models != NULL) {
        buf_lit(query, "&Models=");
        buf_put_url_encoded(query, str_of(slot->engine->models));
    }
}

static void take_claim(struct slot *slot)
{
    log_write(LOG_DEBUG, "claimed", LOG_STR("topic", slot->claim.topic),
              LOG_U("queries", slot->claim.query_n));
    slot->early_backoff.failures = 0;
    slot->refusal[0] = 0;
    report_start(slot);
    take_next_query(slot);
}

static void on_polled(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    slot->call = NULL;
    if (reply->verdict != LINK_OK) {
        if (reply->verdict == LINK_REFUSED)
            log_write(LOG_ERROR, "a node refuses to hand out queries",
                      LOG_U("status", reply->status), LOG_S("reason", reply->reason));
        go_idle(slot, backoff_next_ms(&slot->backoff, reply->retry_after_s));
        return;
    }
    slot->backoff.failures = 0;
    if (!claim_read(&slot->claim, reply->json)) {
        log_write(LOG_ERROR, "a claim makes no sense: its lease will end by itself");
        go_idle(slot, backoff_next_ms(&slot->backoff, 0));
    } else if (slot->claim.root == NULL) {
        /* Nodes end polls early when they shut down, and when a newer poll has the same Engine:
         * two engines under one name must not chase each other without a pause. */
        bool is_early = reply->took_ms < EARLY_MS && slot->engine->wait_s * 1000 > EARLY_MS;
        if (!is_early)
            slot->early_backoff.failures = 0;
        go_idle(slot, is_early ? backoff_next_ms(&slot->early_backoff, 0) : 0);
    } else {
        take_claim(slot);
    }
}

static void poll_nodes(struct slot *slot)
{
    struct buf query;
    buf_init(&query, QUERY_MAX_BYTES);
    put_poll_query(slot, &query);
    buf_printf(&query, "&Wait=%llu", (unsigned long long)slot->engine->wait_s);
    struct link_request request = {.path = "/api/get-new-queries",
                                   .query = buf_str(&query),
                                   .timeout_ms = slot->engine->wait_s * 1000 + WAIT_MARGIN_MS,
                                   .home = slot->number};
    set_state(slot, SLOT_POLLING);
    slot->call = link_start(slot->engine->link, &request, on_polled, slot);
    buf_fini(&query);
}

/* ---- releasing ---- */

static void release(struct slot *slot, bool is_retry, const char *reason)
{
    snprintf(slot->reason, sizeof slot->reason, "%s", reason);
    end_work(slot);
    slot->release_retry = is_retry;
    set_state(slot, SLOT_RELEASING);
    log_write(is_retry ? LOG_INFO : LOG_WARN, is_retry ? "a claim is given back" : "queries failed",
              LOG_STR("topic", slot->claim.topic), LOG_S("reason", slot->reason));
    send_release(slot);
}

/* After a failure of the back end the slot rests, or it would claim the same query again and use
 * up its attempts within a second. */
static void end_release(struct slot *slot)
{
    bool has_failed = slot->release_retry && !slot->is_stopping;
    go_idle(slot, has_failed ? backoff_next_ms(&slot->engine->model_backoff, 1) : 0);
}

static void on_released(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    slot->call = NULL;
    if (reply->verdict == LINK_RETRY && clock_mono_ms() < slot->lease_until_ms) {
        wait_and_retry(slot, backoff_next_ms(&slot->backoff, reply->retry_after_s));
        return;
    }
    if (reply->verdict != LINK_OK)
        log_write(LOG_INFO, "a claim was not given back: its lease is over",
                  LOG_STR("topic", slot->claim.topic), LOG_U("status", reply->status),
                  LOG_S("reason", reply->reason));
    slot->backoff.failures = 0;
    end_release(slot);
}

static void send_release(struct slot *slot)
{
    struct buf body;
    if (slot->is_stopping && !slot->engine->may_give_back)
        return; /* until slot_give_back */
    if (slot->claim.lease == NULL) {
        end_release(slot);
        return;
    }
    report_stop(slot);
    buf_init(&body, BODY_MAX_BYTES);
    buf_lit(&body, "{\"Topic\":");
    buf_put_json(&body, slot->claim.topic);
    buf_lit(&body, ",\"Lease\":");
    buf_put_json_value(&body, slot->claim.lease);
    buf_lit(&body, ",\"Reason\":");
    buf_put_json(&body, str_is_utf8(str_of(slot->reason)) ? str_of(slot->reason)
                                                          : STR("the model's server failed"));
    buf_printf(&body, ",\"Retry\":%s}", slot->release_retry ? "true" : "false");
    struct link_request request = {.path = "/api/release-claim",
                                   .body = buf_str(&body),
                                   .timeout_ms = CALL_TIMEOUT_MS,
                                   .home = slot->number};
    slot->call = link_start(slot->engine->link, &request, on_released, slot);
    buf_fini(&body);
}

/* ---- answering ---- */

static bool has_open_after(const struct slot *slot)
{
    for (const struct claim_query *q = slot->query + 1;
         q < slot->claim.queries + slot->claim.query_n; q++)
        if (q->state == QUERY_OPEN)
            return true;
    return false;
}

static bool has_refused(const struct slot *slot)
{
    for (size_t i = 0; i < slot->claim.query_n; i++)
        if (slot->claim.queries[i].state == QUERY_REFUSED)
            return true;
    return false;
}

static void finish_query(struct slot *slot, enum query_state state)
{
    slot->query->state = state;
    end_work(slot);
    take_next_query(slot);
}

static void note_accepted(struct slot *slot, const json_t *reply)
{
    log_write(
        LOG_INFO, "answered", LOG_STR("topic", slot->claim.topic), LOG_U("seq", slot->query->seq),
        LOG_S("model", slot->engine->backend->ops->model(slot->engine->backend, &slot->prompt)),
        LOG_U("bytes", slot->draft.answer.n), LOG_U("passages", slot->prompt.source_n),
        LOG_U("ms", clock_mono_ms() - slot->started_ms));
    slot->engine->model_backoff.failures = 0;
    claim_note_answer(&slot->claim, slot->query, buf_str(&slot->draft.answer));
    struct claim next = {0};
    const json_t *next_json = json_object_get(reply, "Next");
    bool has_next = next_json != NULL && claim_read(&next, next_json) && next.root != NULL;
    if (!has_next) {
        finish_query(slot, QUERY_ANSWERED);
        return;
    }
    end_claim(slot);
    slot->claim = next;
    if (slot->is_stopping)
        release(slot, true, "the engine is stopping");
    else
        take_claim(slot);
}

static void on_answered(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    slot->call = NULL;
    if (reply->verdict == LINK_RETRY) {
        log_write(LOG_WARN, "an answer was not taken yet", LOG_STR("topic", slot->claim.topic),
                  LOG_U("seq", slot->query->seq), LOG_U("status", reply->status),
                  LOG_S("reason", reply->reason));
        wait_and_retry(slot, backoff_next_ms(&slot->backoff, reply->retry_after_s));
        return;
    }
    slot->backoff.failures = 0;
    if (reply->verdict == LINK_OK) {
        note_accepted(slot, reply->json);
        return;
    }
    log_write(LOG_WARN, "an answer was refused", LOG_STR("topic", slot->claim.topic),
              LOG_U("seq", slot->query->seq), LOG_U("status", reply->status),
              LOG_S("code", reply->code), LOG_S("reason", reply->reason),
              LOG_U("bytes", slot->draft.answer.n));
    if (strcmp(reply->code, "lease_lost") == 0) {
        slot_drop_claim(slot, reply->reason);
    } else if (reply->status == 409 || reply->status == 404) {
        finish_query(slot, QUERY_GONE);
    } else {
        snprintf(slot->refusal, sizeof slot->refusal, "the answer was refused: %.300s",
                 reply->reason);
        finish_query(slot, QUERY_REFUSED);
    }
}

static void put_answer(struct slot *slot, struct buf *body, bool has_think)
{
    buf_lit(body, "{\"Query\":");
    buf_put_json(body, slot->query->text);
    buf_lit(body, ",\"Topic\":");
    buf_put_json(body, slot->claim.topic);
    buf_printf(body, ",\"Seq\":%llu,\"Think\":", (unsigned long long)slot->query->seq);
    if (has_think && slot->draft.think.n > 0) {
        buf_put_char(body, '[');
        buf_put_json(body, buf_str(&slot->draft.think));
        buf_put_char(body, ']');
    } else {
        buf_lit(body, "null");
    }
    buf_lit(body, ",\"Answer\":[");
    buf_put_json(body, buf_str(&slot->draft.answer));
    buf_lit(body, "],\"Model\":");
    buf_put_json(body,
                 str_of(slot->engine->backend->ops->model(slot->engine->backend, &slot->prompt)));
    if (slot->claim.lease != NULL) {
        buf_lit(body, ",\"Lease\":");
        buf_put_json_value(body, slot->claim.lease);
    }
    buf_put_char(body, '}');
}

static void send_answer(struct slot *slot)
{
    struct buf body, query;
    buf_init(&body, BODY_MAX_BYTES);
    buf_init(&query, QUERY_MAX_BYTES);
    put_answer(slot, &body, true);
    if (body.is_over) {
        buf_clear(&body);
        put_answer(slot, &body, false);
    }
    if (body.is_over) {
        snprintf(slot->refusal, sizeof slot->refusal, "the answer is too large");
        finish_query(slot, QUERY_REFUSED);
    } else {
        bool asks_next = !slot->is_stopping && !slot->has_asked_next && !has_open_after(slot) &&
                         !has_refused(slot);
        slot->has_asked_next = slot->has_asked_next || asks_next;
        if (asks_next) {
            buf_lit(&query, "Next=true&");
            put_poll_query(slot, &query);
        }
        struct link_request request = {.path = "/api/give-new-answer",
                                       .query = buf_str(&query),
                                       .body = buf_str(&body),
                                       .timeout_ms = CALL_TIMEOUT_MS,
                                       .home = slot->number};
        slot->call = link_start(slot->engine->link, &request, on_answered, slot);
    }
    buf_fini(&body);
    buf_fini(&query);
}

/* ---- generating ---- */

static bool on_text(void *context, struct str think, struct str answer)
{
    struct slot *slot = context;
    bool has_room = draft_add(&slot->draft, think, answer);
    report_text(slot);
    return has_room;
}

/* A server that just restarts must not cost a query its attempts: the slots of this engine would
 * use them up within a second. So it is asked a few times, under the same lease, before the claim
 * goes to other engines. Once there is text, people have seen it: then it is a new attempt. */
static void try_again(struct slot *slot, const char *reason)
{
    if (slot->is_stopping || draft_bytes(&slot->draft) > 0 || ++slot->tries >= MODEL_TRIES) {
        release(slot, true, reason);
        return;
    }
    log_write(LOG_WARN, "the model's server failed: it is asked again",
              LOG_STR("topic", slot->claim.topic), LOG_U("seq", slot->query->seq),
              LOG_S("reason", reason));
    wait_and_retry(slot, backoff_next_ms(&slot->engine->model_backoff, 0));
}

static void on_generated(void *context, enum completion_outcome outcome, const char *reason)
{
    struct slot *slot = context;
    slot->completion = NULL;
    report_text_end(slot);
    if (outcome == COMPLETION_DONE && slot->draft.answer.n == 0) {
        outcome = COMPLETION_RETRY;
        reason = "the model gave no text";
        draft_clear(&slot->draft);
    }
    switch (outcome) {
    case COMPLETION_DONE:
        set_state(slot, SLOT_ANSWERING);
        send_answer(slot);
        break;
    case COMPLETION_RETRY: try_again(slot, reason); break;
    case COMPLETION_REFUSED:
        log_write(LOG_WARN, "the model refuses a query", LOG_STR("topic", slot->claim.topic),
                  LOG_U("seq", slot->query->seq), LOG_S("reason", reason));
        snprintf(slot->refusal, sizeof slot->refusal, "%s", reason);
        finish_query(slot, QUERY_REFUSED);
        break;
    }
}

static void generate(struct slot *slot)
{
    static const struct completion_events events = {.on_text = on_text, .on_done = on_generated};
    set_state(slot, SLOT_GENERATING);
    slot->completion =
        slot->engine->backend->ops->start(slot->engine->backend, &slot->prompt, &events, slot);
}

/* ---- searching ---- */

static void on_found(void *context, const struct search *search)
{
    struct slot *slot = context;
    struct search_hit hits[PROMPT_SOURCES_MAX];
    uint64_t hashes[PROMPT_TERMS_MAX];
    double weights[PROMPT_TERMS_MAX];
    slot->lookup = NULL;
    size_t n = search_best(search, slot->engine->top_k, hits);
    for (size_t i = 0; i < n; i++)
        prompt_add_source(&slot->prompt, str_of(passages_name(hits[i].set, hits[i].passage)),
                          passages_text(hits[i].set, hits[i].passage));
    slot->prompt.term_n = search_weigh(search, PROMPT_TERMS_MAX, hashes, weights);
    for (size_t i = 0; i < slot->prompt.term_n; i++)
        slot->prompt.terms[i] = (struct prompt_term){hashes[i], weights[i]};
    library_count(slot->engine->library, &slot->prompt.searched_documents,
                  &slot->prompt.searched_passages);
    generate(slot);
}

static bool is_listed(const char *list, struct str name)
{
    struct str rest = str_of(list);
    while (rest.at != NULL)
        if (str_eq(str_trim(str_cut(&rest, ',')), name))
            return true;
    return false;
}

static void take_next_query(struct slot *slot)
{
    struct claim_query *query = slot->claim.queries, *end = query + slot->claim.query_n;
    while (query < end && query->state != QUERY_OPEN)
        query++;
    if (query == end) {
        if (has_refused(slot))
            release(slot, false, slot->refusal);
        else
            go_idle(slot, 0);
        return;
    }
    if (slot->is_stopping) {
        release(slot, true, "the engine is stopping");
        return;
    }
    slot->query = query;
    slot->started_ms = clock_mono_ms();
    slot->has_asked_next = false;
    slot->tries = 0;
    prompt_init(&slot->prompt, &slot->claim, query);
    /* A name that we did not offer means nothing to our model's server. */
    if (!is_listed(slot->engine->models, slot->prompt.model))
        slot->prompt.model = (struct str){NULL, 0};
    if (!prompt_wants_sources(&slot->prompt) || library_is_empty(slot->engine->library)) {
        generate(slot);
        return;
    }
    set_state(slot, SLOT_SEARCHING);
    slot->lookup = library_start(slot->engine->library, slot->prompt.question, on_found, slot);
}

/* ---- what the nodes tell meanwhile ---- */

void slot_drop_query(struct slot *slot, struct claim_query *query, const char *why)
{
    if (query->state != QUERY_OPEN)
        return;
    log_write(LOG_INFO, "a query needs no answer any more", LOG_STR("topic", slot->claim.topic),
              LOG_U("seq", query->seq), LOG_S("why", why));
    query->state = QUERY_GONE;
    if (query != slot->query)
        return;
    end_work(slot);
    take_next_query(slot);
}

void slot_drop_claim(struct slot *slot, const char *why)
{
    log_write(LOG_WARN, "a lease was lost: the work on it ends",
              LOG_STR("topic", slot->claim.topic), LOG_S("why", why));
    go_idle(slot, 0);
}

/* ---- life ---- */

/* Another try of what the state does. */
static void on_timer(void *context)
{
    struct slot *slot = context;
    switch (slot->state) {
    case SLOT_IDLE: poll_nodes(slot); break;
    case SLOT_ANSWERING: send_answer(slot); break;
    case SLOT_RELEASING: send_release(slot); break;
    case SLOT_POLLING: /* stopping, and the parked poll did not end */ go_idle(slot, 0); break;
    case SLOT_GENERATING: generate(slot); break;
    case SLOT_SEARCHING:
    case SLOT_STOPPED:
    case SLOT_NR: assert(!"these states set no timer"); break;
    }
}

struct slot *slot_create(struct engine *engine, unsigned number)
{
    struct slot *slot = calloc(1, sizeof *slot);
    if (slot == NULL)
        abort();
    slot->engine = engine;
    slot->number = number;
    slot->timer = (struct timer){.fire = on_timer, .context = slot};
    report_init(slot);
    draft_init(&slot->draft);
    return slot;
}

void slot_start(struct slot *slot)
{
    poll_nodes(slot);
}

/* The reply to the poll that ends the parked one. It may be a claim of its own. */
static void on_end_polled(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    struct claim claim;
    slot->end_call = NULL;
    if (reply->verdict != LINK_OK || !claim_read(&claim, reply->json) || claim.root == NULL)
        return;
    if (slot->claim.root != NULL) { /* the parked poll brought one too: never two in one slot */
        claim_fini(&claim);
        return;
    }
    end_claim(slot);
    slot->claim = claim;
    slot->lease_until_ms = clock_mono_ms() + claim.lease_s * 1000;
    release(slot, true, "the engine is stopping");
}

/* A parked poll is not simply hung up on: a claim that is on its way at that moment would be lost
 * until its lease ends. A second poll without a wait ends the first one properly. */
static void end_poll(struct slot *slot)
{
    struct buf query;
    buf_init(&query, QUERY_MAX_BYTES);
    put_poll_query(slot, &query);
    buf_lit(&query, "&Wait=0");
    struct link_request request = {.path = "/api/get-new-queries",
                                   .query = buf_str(&query),
                                   .timeout_ms = END_POLL_WAIT_MS,
                                   .home = slot->number};
    slot->end_call = link_start(slot->engine->link, &request, on_end_polled, slot);
    wait_and_retry(slot, END_POLL_WAIT_MS);
    buf_fini(&query);
}

void slot_stop(struct slot *slot)
{
    slot->is_stopping = true;
    if (slot->state == SLOT_POLLING)
        end_poll(slot);
    else if (slot->state == SLOT_IDLE)
        go_idle(slot, 0);
}

bool slot_is_polling(const struct slot *slot)
{
    return slot->state == SLOT_POLLING || slot->end_call != NULL;
}

void slot_give_back(struct slot *slot)
{
    if (slot->state == SLOT_SEARCHING || slot->state == SLOT_GENERATING)
        release(slot, true, "the engine is stopping");
    else if (slot->state == SLOT_RELEASING && slot->call == NULL)
        send_release(slot);
    /* In ANSWERING the answer is there: it is worth the wait. */
}

bool slot_is_stopped(const struct slot *slot)
{
    return slot->state == SLOT_STOPPED && slot->end_call == NULL;
}

void slot_destroy(struct slot *slot)
{
    if (slot == NULL)
        return;
    if (slot->claim.root != NULL)
        log_write(LOG_WARN, "a claim is left to its lease", LOG_STR("topic", slot->claim.topic));
    link_cancel(slot->end_call);
    end_claim(slot);
    draft_fini(&slot->draft);
    free(slot);
}
