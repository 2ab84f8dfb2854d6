/* SPDX-License-Identifier: MIT
 * slot_hold.c - see slot_hold.h. At most one heartbeat is on its way. */
#include "services/engine/slots/slot.h"

#include "shared/base/clock.h"

enum { DOOR_BEAT_MS = 800, DOOR_ROUTE_BEAT_MS = 4000 };

/* A client of a door that hangs up frees the model even while that is silent: each heartbeat
 * asks. */
static void set_beat(struct slot *slot)
{
    const struct claim *claim = &slot->hold.claim;
    uint64_t after_ms = claim->lease_s * 1000 / 3;
    uint64_t door_ms = link_has_socket(slot->engine->link) ? DOOR_BEAT_MS : DOOR_ROUTE_BEAT_MS;
    if (claim->is_of_door && door_ms < after_ms)
        after_ms = door_ms;
    timer_set(&slot->engine->timers, &slot->hold.timer, after_ms);
}

static void note_time(struct slot *slot)
{
    slot->hold.until_ms = clock_mono_ms() + slot->hold.claim.lease_s * 1000;
}

void slot_hold_note_renewal(struct slot *slot)
{
    note_time(slot);
    slot->hold.backoff.failures = 0;
    set_beat(slot);
}

void slot_hold_put_lease(const struct slot *slot, struct buf *body)
{
    if (slot->hold.claim.lease == NULL)
        return;
    buf_lit(body, ",\"Lease\":");
    buf_put_json_value(body, slot->hold.claim.lease);
}

static void on_beat_done(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    struct slot_hold *hold = &slot->hold;
    hold->call = NULL;
    if (reply->verdict == LINK_RETRY) {
        timer_set(&slot->engine->timers, &hold->timer,
                  backoff_next_ms(&hold->backoff, reply->retry_after_s));
        return;
    }
    if (reply->verdict == LINK_REFUSED) {
        /* A finished answer is still worth offering: it is taken while nobody else holds the
         * query, and refused by name otherwise. */
        if (slot->state != SLOT_ANSWERING)
            slot_drop_claim(slot, reply->reason);
        return;
    }
    const json_t *lease_s = json_object_get(reply->json, "LeaseSeconds");
    if (json_is_number(lease_s) && json_number_value(lease_s) >= 1 &&
        json_number_value(lease_s) < 1e6)
        hold->claim.lease_s = (uint64_t)json_number_value(lease_s);
    slot_hold_note_renewal(slot);
    /* Dropping a query may end the claim, and the list with it. */
    json_t *cancelled = json_incref(json_object_get(reply->json, "Cancelled")), *seq;
    size_t i;
    json_array_foreach(cancelled, i, seq)
    {
        struct claim_query *query = claim_find(&hold->claim, (uint64_t)json_integer_value(seq));
        if (query != NULL)
            slot_drop_query(slot, query, "cancelled");
    }
    json_decref(cancelled);
}

static void on_beat(void *context)
{
    struct slot *slot = context;
    struct buf body, query;
    if (slot->hold.call != NULL)
        return;
    buf_init(&query, SLOT_QUERY_MAX_BYTES);
    slot_put_engine(slot, &query);
    buf_init(&body, BODY_MAX_BYTES);
    buf_lit(&body, "{\"Topic\":");
    buf_put_json(&body, slot->hold.claim.topic);
    slot_hold_put_lease(slot, &body);
    buf_put_char(&body, '}');
    struct link_request request = {.path = "/api/extend-claim",
                                   .query = buf_str(&query),
                                   .body = buf_str(&body),
                                   .timeout_ms = CALL_TIMEOUT_MS,
                                   .home = slot->number,
                                   .kind = LINK_EXTEND};
    slot->hold.call = link_start(slot->engine->link, &request, on_beat_done, slot);
    buf_fini(&query);
    buf_fini(&body);
}

void slot_hold_take(struct slot *slot, const struct claim *claim)
{
    slot->hold.claim = *claim;
    note_time(slot);
}

void slot_hold_start_beats(struct slot *slot)
{
    slot->hold.backoff.failures = 0;
    if (slot->hold.claim.lease != NULL)
        set_beat(slot);
}

void slot_hold_stop_beats(struct slot *slot)
{
    timer_stop(&slot->hold.timer);
    link_cancel(slot->hold.call);
    slot->hold.call = NULL;
}

void slot_hold_end(struct slot *slot)
{
    slot_hold_stop_beats(slot);
    link_end_claim(slot->engine->link, slot->hold.claim.socket);
    claim_fini(&slot->hold.claim);
}

void slot_hold_end_query(struct slot *slot, struct claim_query *query, enum query_state state)
{
    claim_end_query(query, state);
}

void slot_hold_note_answer(struct slot *slot, const struct claim_query *query, struct str answer)
{
    claim_note_answer(&slot->hold.claim, query, answer);
}

void slot_hold_init(struct slot *slot)
{
    slot->hold.timer = (struct timer){.fire = on_beat, .context = slot};
}
