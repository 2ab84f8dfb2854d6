/* SPDX-License-Identifier: MIT
 * slot_report.c - partial answers and heartbeats of a slot, see slot.h.
 *
 * At most one of each is on its way. A partial that a node took renews the lease, so the heartbeat
 * is put off. Both bring bad news: cancelled queries, and that the lease is lost. A failed partial
 * is no harm: the next one carries its text too, and the answer carries all. */
#include "services/engine/slots/slot.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"

enum { PARTIAL_INTERVAL_MS = 250, PARTIAL_INTERVAL_MAX_MS = 60000 };

static void put_lease(struct buf *b, const struct claim *claim)
{
    if (claim->lease == NULL)
        return;
    buf_lit(b, ",\"Lease\":");
    buf_put_json_value(b, claim->lease);
}

static void set_beat(struct slot *slot)
{
    timer_set(&slot->engine->timers, &slot->beat_timer, slot->claim.lease_s * 1000 / 3);
}

static void note_renewal(struct slot *slot)
{
    slot->lease_until_ms = clock_mono_ms() + slot->claim.lease_s * 1000;
    slot->beat_backoff.failures = 0;
    set_beat(slot);
}

static bool is_code(const struct link_reply *reply, const char *code)
{
    return strcmp(reply->code, code) == 0;
}

/* ---- heartbeats ---- */

static void on_beat_done(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    slot->beat_call = NULL;
    if (reply->verdict == LINK_RETRY) {
        timer_set(&slot->engine->timers, &slot->beat_timer,
                  backoff_next_ms(&slot->beat_backoff, reply->retry_after_s));
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
        slot->claim.lease_s = (uint64_t)json_number_value(lease_s);
    note_renewal(slot);
    /* Dropping a query may end the claim, and the list with it. */
    json_t *cancelled = json_incref(json_object_get(reply->json, "Cancelled")), *seq;
    size_t i;
    json_array_foreach(cancelled, i, seq)
    {
        struct claim_query *query = claim_find(&slot->claim, (uint64_t)json_integer_value(seq));
        if (query != NULL)
            slot_drop_query(slot, query, "cancelled");
    }
    json_decref(cancelled);
}

static void on_beat(void *context)
{
    struct slot *slot = context;
    struct buf body;
    if (slot->beat_call != NULL)
        return;
    buf_init(&body, BODY_MAX_BYTES);
    buf_lit(&body, "{\"Topic\":");
    buf_put_json(&body, slot->claim.topic);
    put_lease(&body, &slot->claim);
    buf_put_char(&body, '}');
    struct link_request request = {.path = "/api/extend-claim",
                                   .body = buf_str(&body),
                                   .timeout_ms = CALL_TIMEOUT_MS,
                                   .home = slot->number};
    slot->beat_call = link_start(slot->engine->link, &request, on_beat_done, slot);
    buf_fini(&body);
}

/* ---- partial answers ---- */

static void set_partial(struct slot *slot, uint64_t after_ms)
{
    timer_set(&slot->engine->timers, &slot->partial_timer, after_ms);
}

static void read_partial_reply(struct slot *slot, const struct link_reply *reply)
{
    const json_t *next = json_object_get(reply->json, "Next");
    const json_t *interval = json_object_get(reply->json, "IntervalMs");
    if (json_is_number(interval) && json_number_value(interval) >= 0)
        slot->partial_interval_ms = json_number_value(interval) < PARTIAL_INTERVAL_MAX_MS
                                        ? (uint64_t)json_number_value(interval)
                                        : PARTIAL_INTERVAL_MAX_MS;
    if (json_is_integer(next) && json_integer_value(next) >= 0)
        draft_set_sent(&slot->draft, (uint64_t)json_integer_value(next));
    note_renewal(slot);
    slot->partial_backoff.failures = 0;
    if (json_is_true(json_object_get(reply->json, "Cancelled")))
        slot_drop_query(slot, slot->query, "cancelled");
    else
        report_text(slot);
}

static void on_partial_done(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    const json_t *expected = json_object_get(reply->json, "expected");
    slot->partial_call = NULL;
    if (reply->verdict == LINK_OK) {
        read_partial_reply(slot, reply);
    } else if (reply->verdict == LINK_RETRY) {
        draft_set_sent(&slot->draft, slot->partial_offset);
        set_partial(slot, backoff_next_ms(&slot->partial_backoff, reply->retry_after_s));
    } else if (json_is_integer(expected) && json_integer_value(expected) >= 0) {
        /* A gap: that node, or the one that it asked, has less than we thought. */
        draft_set_sent(&slot->draft, (uint64_t)json_integer_value(expected));
        set_partial(slot, backoff_next_ms(&slot->partial_backoff, 0));
    } else if (is_code(reply, "lease_lost")) {
        slot_drop_claim(slot, reply->reason);
    } else if (reply->status == 409 || reply->status == 404) {
        slot_drop_query(slot, slot->query, reply->code[0] != 0 ? reply->code : reply->reason);
    } else {
        /* It will not be taken; the answer still may. */
        log_write(LOG_WARN, "a partial answer was refused", LOG_STR("topic", slot->claim.topic),
                  LOG_U("seq", slot->query->seq), LOG_U("status", reply->status),
                  LOG_S("reason", reply->reason));
    }
}

static void send_partial(struct slot *slot)
{
    struct draft_piece piece;
    struct buf body;
    if (!draft_next(&slot->draft, &piece))
        return;
    buf_init(&body, BODY_MAX_BYTES);
    buf_lit(&body, "{\"Topic\":");
    buf_put_json(&body, slot->claim.topic);
    buf_printf(&body,
               ",\"Seq\":%llu,\"Offset\":%llu,\"Think\":", (unsigned long long)slot->query->seq,
               (unsigned long long)piece.offset);
    buf_put_json(&body, piece.think);
    buf_lit(&body, ",\"Answer\":");
    buf_put_json(&body, piece.answer);
    put_lease(&body, &slot->claim);
    buf_put_char(&body, '}');
    struct link_request request = {.path = "/api/give-partial",
                                   .body = buf_str(&body),
                                   .timeout_ms = CALL_TIMEOUT_MS,
                                   .home = slot->number};
    slot->partial_at_ms = clock_mono_ms();
    slot->partial_offset = piece.offset;
    draft_set_sent(&slot->draft, piece.offset + piece.think.n + piece.answer.n);
    slot->partial_call = link_start(slot->engine->link, &request, on_partial_done, slot);
    buf_fini(&body);
}

static void on_partial_time(void *context)
{
    struct slot *slot = context;
    if (slot->partial_call == NULL && slot->state == SLOT_GENERATING)
        send_partial(slot);
}

void report_text(struct slot *slot)
{
    struct draft_piece piece;
    /* Partials belong to a lease; without one (a node that knows no Detail) there are none. */
    if (slot->claim.lease == NULL || slot->partial_call != NULL || slot->partial_timer.in != NULL ||
        slot->state != SLOT_GENERATING || !draft_next(&slot->draft, &piece))
        return;
    uint64_t since_ms = clock_mono_ms() - slot->partial_at_ms;
    set_partial(slot,
                since_ms >= slot->partial_interval_ms ? 0 : slot->partial_interval_ms - since_ms);
}

void report_text_end(struct slot *slot)
{
    timer_stop(&slot->partial_timer);
    link_cancel(slot->partial_call);
    slot->partial_call = NULL;
    slot->partial_backoff.failures = 0;
}

void report_start(struct slot *slot)
{
    slot->partial_interval_ms = PARTIAL_INTERVAL_MS;
    slot->partial_at_ms = 0;
    slot->lease_until_ms = clock_mono_ms() + slot->claim.lease_s * 1000;
    slot->beat_backoff.failures = 0;
    if (slot->claim.lease != NULL)
        set_beat(slot);
}

void report_stop(struct slot *slot)
{
    report_text_end(slot);
    timer_stop(&slot->beat_timer);
    link_cancel(slot->beat_call);
    slot->beat_call = NULL;
}

void report_init(struct slot *slot)
{
    slot->beat_timer = (struct timer){.fire = on_beat, .context = slot};
    slot->partial_timer = (struct timer){.fire = on_partial_time, .context = slot};
}
