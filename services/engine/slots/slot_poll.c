/* SPDX-License-Identifier: MIT
 * slot_poll.c - see slot_poll.h. */
#include "services/engine/slots/slot.h"

#include "shared/base/log.h"

enum {
    EARLY_MS = 1000,         /* a poll with nothing that was shorter than this came back early */
    END_POLL_WAIT_MS = 1500, /* how long the parked poll may take to end when we stop */
    AWAY_TIMEOUT_MS = 1500,
    AFTER_AWAY_MS = 50,
    WORTH_TELLING_MS = 2000,
};

static void set_timer(struct slot *slot, uint64_t after_ms)
{
    timer_set(&slot->engine->timers, &slot->poll.timer, after_ms);
}

void slot_poll_put_query(struct slot *slot, struct buf *query)
{
    buf_lit(query, "Detail=true&History=true&");
    slot_put_engine(slot, query);
    buf_lit(query, "&Process=");
    buf_put_url_encoded(query, str_of(slot->engine->engine_id));
    buf_put(query, str_of(slot->engine->serves));
}

static void take(struct slot *slot, const struct link_reply *reply)
{
    struct claim claim;
    struct slot_poll *poll = &slot->poll;
    if (!claim_read(&claim, reply->json)) {
        link_end_claim(slot->engine->link, reply->socket);
        log_write(LOG_ERROR, "invalid claim: its lease will expire");
        slot_go_idle(slot, backoff_next_ms(&poll->backoff, 0));
    } else if (claim.root == NULL) {
        /* Nodes end polls early when they shut down, and when a newer poll has the same Engine:
         * two engines under one name must not chase each other without a pause. */
        bool is_early = reply->took_ms < EARLY_MS && slot->engine->wait_s * 1000 > EARLY_MS;
        if (!is_early)
            poll->early_backoff.failures = 0;
        slot_go_idle(slot, is_early ? backoff_next_ms(&poll->early_backoff, 0) : 0);
    } else {
        poll->early_backoff.failures = 0;
        claim.socket = reply->socket;
        slot_take_claim(slot, &claim);
    }
}

static void on_polled(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    struct claim claim;
    slot->poll.call = NULL;
    timer_stop(&slot->poll.timer);
    if (reply->verdict == LINK_UNREADABLE && claim_rescue(&claim, reply->body, false)) {
        claim.socket = reply->socket;
        slot_release_unreadable(slot, &claim, reply->reason);
        return;
    }
    if (reply->verdict != LINK_OK) {
        if (reply->verdict == LINK_REFUSED)
            log_write(LOG_ERROR, "node refuses to hand out queries", LOG_U("status", reply->status),
                      LOG_S("reason", reply->reason));
        slot_go_idle(slot, backoff_next_ms(&slot->poll.backoff, reply->retry_after_s));
        return;
    }
    slot->poll.backoff.failures = 0;
    take(slot, reply);
}

/* It ends a parked poll; whether it was heard or not, there is nothing else to do. */
static void on_away_said(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    (void)reply;
    slot->poll.away_call = NULL;
}

void slot_poll_say_away(struct slot *slot)
{
    const struct rest *rest = &slot->engine->rest;
    struct slot_poll *poll = &slot->poll;
    struct buf query;
    link_cancel(poll->away_call);
    buf_init(&query, SLOT_QUERY_MAX_BYTES + 3 * REST_REASON_MAX_BYTES);
    slot_poll_put_query(slot, &query);
    uint64_t rest_s = (rest_left_ms(rest) + 999) / 1000;
    rest_s = rest_s > 0 ? rest_s : 1;
    if (slot->is_stopping) {
        buf_lit(&query, "&Leave=true");
    } else {
        buf_printf(&query, "&Rest=%llu&Reason=", (unsigned long long)rest_s);
        buf_put_url_encoded(&query, str_of(rest->reason));
        poll->rest_told_ms = rest->until_ms;
    }
    struct link_request request = {.path = "/api/get-new-queries",
                                   .query = buf_str(&query),
                                   .timeout_ms = AWAY_TIMEOUT_MS,
                                   .home = slot->number,
                                   .kind = slot->is_stopping ? LINK_LEAVE : LINK_REST,
                                   .rest_s = rest_s,
                                   .reason = rest->reason};
    poll->away_call = link_start(slot->engine->link, &request, on_away_said, slot);
    buf_fini(&query);
}

void slot_poll_say_rest(struct slot *slot, uint64_t after_ms)
{
    if (after_ms >= WORTH_TELLING_MS && slot->poll.rest_told_ms != slot->engine->rest.until_ms)
        slot_poll_say_away(slot);
}

void slot_poll_nodes(struct slot *slot)
{
    struct slot_poll *poll = &slot->poll;
    struct buf query;
    if (!rest_may_poll(&slot->engine->rest, slot)) {
        poll->is_held_up = true;
        if (slot->engine->rest.state == REST_RESTING &&
            poll->rest_told_ms != slot->engine->rest.until_ms)
            slot_poll_say_away(slot);
        return;
    }
    if (poll->away_call != NULL) { /* a rest is being reported, and would end this poll */
        set_timer(slot, AFTER_AWAY_MS);
        return;
    }
    buf_init(&query, SLOT_QUERY_MAX_BYTES);
    slot_poll_put_query(slot, &query);
    buf_printf(&query, "&Wait=%llu", (unsigned long long)slot->engine->wait_s);
    struct link_request request = {.path = "/api/get-new-queries",
                                   .query = buf_str(&query),
                                   .timeout_ms = slot->engine->wait_s * 1000 + WAIT_MARGIN_MS,
                                   .home = slot->number,
                                   .kind = LINK_POLL};
    slot_move(slot, SLOT_POLLING);
    poll->call = link_start(slot->engine->link, &request, on_polled, slot);
    buf_fini(&query);
}

void slot_poll_after(struct slot *slot, uint64_t after_ms)
{
    slot->poll.is_held_up = false;
    set_timer(slot, after_ms);
}

void slot_poll_cancel(struct slot *slot)
{
    link_cancel(slot->poll.call);
    slot->poll.call = NULL;
    timer_stop(&slot->poll.timer);
}

void slot_poll_end_soon(struct slot *slot)
{
    set_timer(slot, END_POLL_WAIT_MS);
}

static void on_timer(void *context)
{
    struct slot *slot = context;
    if (slot->state == SLOT_IDLE)
        slot_poll_nodes(slot);
    else
        slot_go_idle(slot, 0); /* stopping, and the parked poll did not end */
}

void slot_poll_init(struct slot *slot)
{
    slot->poll.timer = (struct timer){.fire = on_timer, .context = slot};
}

void slot_poll_fini(struct slot *slot)
{
    slot_poll_cancel(slot);
    link_cancel(slot->poll.away_call);
    slot->poll.away_call = NULL;
}
