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
#include "services/engine/slots/slot.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    EARLY_MS = 1000,         /* a poll with nothing that was shorter than this came back early */
    END_POLL_WAIT_MS = 1500, /* how long the parked poll may take to end when we stop */
    AWAY_TIMEOUT_MS = 1500,
    AFTER_AWAY_MS = 50,
    WORTH_TELLING_MS = 2000,
};

static void send_release(struct slot *slot);

/* It ends a parked poll; whether it was heard or not, there is nothing else to do. */
static void on_away_said(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    (void)reply;
    slot->end_call = NULL;
}

void slot_wait(struct slot *slot, uint64_t after_ms)
{
    timer_set(&slot->engine->timers, &slot->timer, after_ms);
}

/* Ends all that works on the query at hand, except for heartbeats. */
void slot_end_work(struct slot *slot)
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

void slot_end_claim(struct slot *slot)
{
    slot_end_work(slot);
    report_stop(slot);
    claim_fini(&slot->claim);
}

/* Pulls the next claim after a pause; or stops. */
void slot_go_idle(struct slot *slot, uint64_t after_ms)
{
    slot_end_claim(slot);
    slot->is_held_up = false;
    if (slot->is_stopping) {
        slot->state = SLOT_STOPPED;
        return;
    }
    slot->state = SLOT_IDLE;
    slot_wait(slot, after_ms);
}

/* ---- polling ---- */

void slot_put_poll_query(struct slot *slot, struct buf *query)
{
    buf_lit(query, "Detail=true&History=true&Engine=");
    buf_put_url_encoded(query, str_of(slot->engine->engine_id));
    buf_printf(query, "-%u", slot->number + 1);
    if (slot->engine->models != NULL) {
        buf_lit(query, "&Models=");
        buf_put_url_encoded(query, str_of(slot->engine->models));
    }
}

void slot_take_claim(struct slot *slot)
{
    log_write(LOG_DEBUG, "claimed", LOG_STR("topic", slot->claim.topic),
              LOG_U("queries", slot->claim.query_n));
    slot->early_backoff.failures = 0;
    slot->refusal[0] = 0;
    report_start(slot);
    work_next_query(slot);
}

static void on_polled(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    struct claim claim;
    slot->call = NULL;
    if (reply->verdict == LINK_UNREADABLE && claim_rescue(&claim, reply->body, false)) {
        slot->claim = claim;
        slot_fail_unreadable(slot, reply->reason);
        return;
    }
    if (reply->verdict != LINK_OK) {
        if (reply->verdict == LINK_REFUSED)
            log_write(LOG_ERROR, "a node refuses to hand out queries",
                      LOG_U("status", reply->status), LOG_S("reason", reply->reason));
        slot_go_idle(slot, backoff_next_ms(&slot->backoff, reply->retry_after_s));
        return;
    }
    slot->backoff.failures = 0;
    if (!claim_read(&slot->claim, reply->json)) {
        log_write(LOG_ERROR, "a claim makes no sense: its lease will end by itself");
        slot_go_idle(slot, backoff_next_ms(&slot->backoff, 0));
    } else if (slot->claim.root == NULL) {
        /* Nodes end polls early when they shut down, and when a newer poll has the same Engine:
         * two engines under one name must not chase each other without a pause. */
        bool is_early = reply->took_ms < EARLY_MS && slot->engine->wait_s * 1000 > EARLY_MS;
        if (!is_early)
            slot->early_backoff.failures = 0;
        slot_go_idle(slot, is_early ? backoff_next_ms(&slot->early_backoff, 0) : 0);
    } else {
        slot_take_claim(slot);
    }
}

/* Says that this slot leaves, or that it rests. A parked poll is ended so and not simply hung up
 * on: a claim that is on its way at that moment would be lost until its lease ends. */
static void say_away(struct slot *slot)
{
    const struct rest *rest = &slot->engine->rest;
    struct buf query;
    link_cancel(slot->end_call);
    buf_init(&query, SLOT_QUERY_MAX_BYTES + 3 * REST_REASON_MAX_BYTES);
    slot_put_poll_query(slot, &query);
    if (slot->is_stopping) {
        buf_lit(&query, "&Leave=true");
    } else {
        uint64_t rest_s = (rest_left_ms(rest) + 999) / 1000;
        buf_printf(&query, "&Rest=%llu&Reason=", (unsigned long long)(rest_s > 0 ? rest_s : 1));
        buf_put_url_encoded(&query, str_of(rest->reason));
        slot->rest_told_ms = rest->until_ms;
    }
    struct link_request request = {.path = "/api/get-new-queries",
                                   .query = buf_str(&query),
                                   .timeout_ms = AWAY_TIMEOUT_MS,
                                   .home = slot->number};
    slot->end_call = link_start(slot->engine->link, &request, on_away_said, slot);
    buf_fini(&query);
}

void slot_rest(struct slot *slot)
{
    if (slot->state == SLOT_POLLING && !slot->is_stopping)
        say_away(slot);
}

void slot_rest_with_claim(struct slot *slot, uint64_t after_ms)
{
    if (after_ms >= WORTH_TELLING_MS && slot->rest_told_ms != slot->engine->rest.until_ms)
        say_away(slot);
    slot_wait(slot, after_ms);
}

void slot_wake(struct slot *slot)
{
    if (slot->state == SLOT_IDLE && slot->is_held_up)
        slot_go_idle(slot, 0);
}

static void poll_nodes(struct slot *slot)
{
    struct buf query;
    if (!rest_may_poll(&slot->engine->rest, slot)) {
        slot->is_held_up = true;
        if (slot->engine->rest.state == REST_RESTING &&
            slot->rest_told_ms != slot->engine->rest.until_ms)
            say_away(slot);
        return;
    }
    if (slot->end_call != NULL) { /* a rest is being reported, and would end this poll */
        slot_wait(slot, AFTER_AWAY_MS);
        return;
    }
    buf_init(&query, SLOT_QUERY_MAX_BYTES);
    slot_put_poll_query(slot, &query);
    buf_printf(&query, "&Wait=%llu", (unsigned long long)slot->engine->wait_s);
    struct link_request request = {.path = "/api/get-new-queries",
                                   .query = buf_str(&query),
                                   .timeout_ms = slot->engine->wait_s * 1000 + WAIT_MARGIN_MS,
                                   .home = slot->number};
    slot->state = SLOT_POLLING;
    slot->call = link_start(slot->engine->link, &request, on_polled, slot);
    buf_fini(&query);
}

/* ---- releasing ---- */

static void release(struct slot *slot, bool is_retry, bool is_away, const char *reason)
{
    snprintf(slot->reason, sizeof slot->reason, "%s", reason);
    slot_end_work(slot);
    slot->release_retry = is_retry;
    slot->release_is_away = is_away;
    slot->state = SLOT_RELEASING;
    log_write(is_retry ? LOG_INFO : LOG_WARN, is_retry ? "a claim is given back" : "queries failed",
              LOG_STR("topic", slot->claim.topic), LOG_S("reason", slot->reason));
    send_release(slot);
}

void slot_release(struct slot *slot, bool is_retry, const char *reason)
{
    release(slot, is_retry, false, reason);
}

void slot_release_unused(struct slot *slot, const char *reason)
{
    release(slot, true, true, reason);
}

/* After an answer that failed the slot waits, or it would claim the same query again and use up its
 * attempts within a second. While the model is away the rest holds it up (poll_nodes). */
static void end_release(struct slot *slot)
{
    bool has_failed = slot->release_retry && !slot->release_is_away && !slot->is_stopping;
    slot_go_idle(slot, has_failed ? backoff_next_ms(&slot->engine->model_backoff, 1) : 0);
}

static void on_released(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    slot->call = NULL;
    if (reply->verdict == LINK_RETRY && clock_mono_ms() < slot->lease_until_ms) {
        slot_wait(slot, backoff_next_ms(&slot->backoff, reply->retry_after_s));
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
    buf_printf(&body, ",\"Retry\":%s,\"Away\":%s}", slot->release_retry ? "true" : "false",
               slot->release_is_away ? "true" : "false");
    struct link_request request = {.path = "/api/release-claim",
                                   .body = buf_str(&body),
                                   .timeout_ms = CALL_TIMEOUT_MS,
                                   .home = slot->number};
    slot->call = link_start(slot->engine->link, &request, on_released, slot);
    buf_fini(&body);
}

/* A claim of which only the topic and the lease can be read would come back to every engine in
 * turn. */
void slot_fail_unreadable(struct slot *slot, const char *reason)
{
    char why[sizeof slot->reason];
    snprintf(why, sizeof why, "the engine cannot read the question: %.300s", reason);
    slot->lease_until_ms = clock_mono_ms() + slot->claim.lease_s * 1000;
    slot->query = NULL;
    slot_release(slot, false, why);
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
    slot_end_work(slot);
    work_next_query(slot);
}

void slot_drop_claim(struct slot *slot, const char *why)
{
    log_write(LOG_WARN, "a lease was lost: the work on it ends",
              LOG_STR("topic", slot->claim.topic), LOG_S("why", why));
    slot_go_idle(slot, 0);
}

/* ---- life ---- */

/* Another try of what the state does. */
static void on_timer(void *context)
{
    struct slot *slot = context;
    switch (slot->state) {
    case SLOT_IDLE: poll_nodes(slot); break;
    case SLOT_ANSWERING: work_send_answer(slot); break;
    case SLOT_RELEASING: send_release(slot); break;
    case SLOT_POLLING: /* stopping, and the parked poll did not end */ slot_go_idle(slot, 0); break;
    case SLOT_GENERATING: work_generate(slot); break;
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

void slot_stop(struct slot *slot)
{
    slot->is_stopping = true;
    say_away(slot);
    if (slot->state == SLOT_POLLING)
        slot_wait(slot, END_POLL_WAIT_MS);
    else if (slot->state == SLOT_IDLE)
        slot_go_idle(slot, 0);
}

bool slot_is_polling(const struct slot *slot)
{
    return slot->state == SLOT_POLLING || slot->end_call != NULL;
}

void slot_give_back(struct slot *slot)
{
    if (slot->state == SLOT_SEARCHING || slot->state == SLOT_GENERATING)
        slot_release_unused(slot, "the engine is stopping");
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
    slot_end_claim(slot);
    draft_fini(&slot->draft);
    free(slot);
}
