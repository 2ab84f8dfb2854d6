/* SPDX-License-Identifier: MIT
 * slot_text.c - see slot_text.h. At most one partial answer is on its way. */
#include "services/engine/slots/slot.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <stdio.h>

enum { PARTIAL_INTERVAL_MS = 250, PARTIAL_INTERVAL_MAX_MS = 60000 };

static bool is_code(const struct link_reply *reply, const char *code)
{
    return strcmp(reply->code, code) == 0;
}

static void set_timer(struct slot *slot, uint64_t after_ms)
{
    timer_set(&slot->engine->timers, &slot->text.timer, after_ms);
}

/* There is new text, or room for another partial. */
static void schedule(struct slot *slot)
{
    struct slot_text *text = &slot->text;
    struct draft_piece piece;
    /* Partials belong to a lease; without one (a node that knows no Detail) there are none. */
    if (slot->hold.claim.lease == NULL || text->call != NULL || list_is_linked(&text->timer.link) ||
        slot->state != SLOT_GENERATING || (!draft_next(&text->draft, &piece) && !text->is_whole))
        return;
    uint64_t since_ms = text->is_whole ? PARTIAL_INTERVAL_MAX_MS : clock_mono_ms() - text->at_ms;
    uint64_t interval_ms = text->is_streaming ? text->socket_interval_ms : text->interval_ms;
    set_timer(slot, since_ms >= interval_ms ? 0 : interval_ms - since_ms);
}

static void read_reply(struct slot *slot, const struct link_reply *reply)
{
    struct slot_text *text = &slot->text;
    const json_t *next = json_object_get(reply->json, "Next");
    const json_t *interval = json_object_get(reply->json, "IntervalMs");
    if (json_is_number(interval) && json_number_value(interval) >= 0)
        text->interval_ms = json_number_value(interval) < PARTIAL_INTERVAL_MAX_MS
                                ? (uint64_t)json_number_value(interval)
                                : PARTIAL_INTERVAL_MAX_MS;
    if (json_is_integer(next) && json_integer_value(next) >= 0)
        draft_set_sent(&text->draft, (uint64_t)json_integer_value(next));
    slot_hold_note_renewal(slot);
    text->backoff.failures = 0;
    if (json_is_true(json_object_get(reply->json, "Cancelled")))
        slot_drop_query(slot, slot->work.query, "cancelled");
    else
        schedule(slot);
}

/* `sent_before`: where to send from again, when nothing is known of what was sent. */
static void read_refusal(struct slot *slot, const struct link_reply *reply, uint64_t sent_before)
{
    struct slot_text *text = &slot->text;
    const json_t *expected = json_object_get(reply->json, "expected");
    if (reply->verdict == LINK_RETRY) {
        draft_set_sent(&text->draft, sent_before);
        set_timer(slot, backoff_next_ms(&text->backoff, reply->retry_after_s));
    } else if (json_is_integer(expected) && json_integer_value(expected) >= 0) {
        /* A gap: that node, or the one that it asked, has less than we thought. */
        draft_set_sent(&text->draft, (uint64_t)json_integer_value(expected));
        set_timer(slot, backoff_next_ms(&text->backoff, 0));
    } else if (is_code(reply, "lease_lost")) {
        slot_drop_claim(slot, reply->reason);
    } else if (reply->status == 409 || reply->status == 404) {
        slot_drop_query(slot, slot->work.query, reply->code[0] != 0 ? reply->code : reply->reason);
    } else if (text->draft.has_deltas) {
        char refusal[RELEASE_REASON_BYTES];
        snprintf(refusal, sizeof refusal, "the partial answer was refused: %.300s", reply->reason);
        slot_fail_query(slot, refusal);
    } else {
        /* It will not be taken; the answer still may. */
        log_write(LOG_WARN, "partial answer refused", LOG_STR("topic", slot->hold.claim.topic),
                  LOG_U("seq", slot->work.query->seq), LOG_U("status", reply->status),
                  LOG_S("reason", reply->reason), claim_log_id(slot->work.query));
    }
}

static void on_partial_done(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    slot->text.call = NULL;
    if (reply->verdict == LINK_OK)
        read_reply(slot, reply);
    else
        read_refusal(slot, reply, slot->text.offset);
}

/* Text over the socket is not acknowledged piece by piece. */
static void on_stored(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    struct slot_text *text = &slot->text;
    const json_t *next = json_object_get(reply->json, "Next");
    const json_t *interval = json_object_get(reply->json, "IntervalMs");
    bool is_cancelled = json_is_true(json_object_get(reply->json, "Cancelled"));
    if (slot->state != SLOT_GENERATING) {
        return;
    } else if (reply->verdict != LINK_OK) {
        read_refusal(slot, reply, text->stored);
    } else if (is_cancelled) {
        slot_drop_query(slot, slot->work.query, "cancelled");
    } else {
        if (json_is_integer(next) && json_integer_value(next) >= 0)
            text->stored = (uint64_t)json_integer_value(next);
        if (json_is_integer(interval) && json_integer_value(interval) >= 0 &&
            json_integer_value(interval) <= PARTIAL_INTERVAL_MAX_MS)
            text->socket_interval_ms = (uint64_t)json_integer_value(interval);
        slot_hold_note_renewal(slot);
    }
}

/* The remaining deltas are part of the answer, unless they are too long for it. */
static bool is_last(const struct slot_text *text, const struct draft_piece *piece)
{
    return text->is_whole && piece->offset + piece->bytes == draft_end(&text->draft) &&
           piece->bytes <= DRAFT_PIECE_MAX_BYTES;
}

static void put_piece(const struct slot *slot, const struct draft_piece *piece, struct buf *body)
{
    const struct draft *draft = &slot->text.draft;
    buf_lit(body, "{\"Topic\":");
    buf_put_json(body, slot->hold.claim.topic);
    buf_printf(body, ",\"Seq\":%llu,\"Offset\":%llu", (unsigned long long)slot->work.query->seq,
               (unsigned long long)piece->offset);
    if (draft->has_deltas) {
        buf_lit(body, ",\"Deltas\":");
        delta_log_put(&draft->deltas, &piece->deltas, body);
    } else {
        buf_lit(body, ",\"Think\":");
        buf_put_json(body, piece->think);
        buf_lit(body, ",\"Answer\":");
        buf_put_json(body, piece->answer);
    }
    slot_hold_put_lease(slot, body);
    buf_put_char(body, '}');
}

static void answer(struct slot *slot)
{
    struct completion_facts facts = slot->text.facts;
    slot_give_answer(slot, &facts);
}

static void send_partial(struct slot *slot)
{
    struct slot_text *text = &slot->text;
    struct draft_piece piece;
    struct buf body;
    bool has_piece = draft_next(&text->draft, &piece);
    if (text->is_whole && (!has_piece || is_last(text, &piece))) {
        answer(slot);
        return;
    }
    if (!has_piece)
        return;
    buf_init(&body, BODY_MAX_BYTES);
    put_piece(slot, &piece, &body);
    text->at_ms = clock_mono_ms();
    text->offset = piece.offset;
    draft_set_sent(&text->draft, piece.offset + piece.bytes);
    text->is_streaming = link_send_piece(slot->engine->link, slot->hold.claim.lease,
                                         slot->work.query->seq, buf_str(&body), on_stored, slot);
    if (text->is_streaming) {
        buf_fini(&body);
        schedule(slot);
        return;
    }
    struct link_request request = {.path = "/api/give-partial",
                                   .body = buf_str(&body),
                                   .request_id = slot->work.query->request_id,
                                   .timeout_ms = CALL_TIMEOUT_MS,
                                   .home = slot->number};
    text->call = link_start(slot->engine->link, &request, on_partial_done, slot);
    buf_fini(&body);
}

static void on_timer(void *context)
{
    struct slot *slot = context;
    if (slot->text.call == NULL && slot->state == SLOT_GENERATING)
        send_partial(slot);
}

bool slot_text_add(struct slot *slot, struct str think, struct str answer)
{
    bool has_room = draft_add(&slot->text.draft, think, answer);
    if (slot->text.draft.has_deltas)
        return true; /* the answer shows the beginning of the text */
    schedule(slot);
    return has_room;
}

bool slot_text_add_delta(struct slot *slot, struct str delta)
{
    bool has_room = delta_log_add(&slot->text.draft.deltas, delta);
    schedule(slot);
    return has_room;
}

/* Sends what is left. */
static void finish(struct slot *slot, uint64_t after_ms)
{
    slot->text.is_whole = true;
    if (slot->text.call == NULL)
        set_timer(slot, after_ms);
}

void slot_text_finish(struct slot *slot, const struct completion_facts *facts)
{
    slot->text.facts = *facts;
    if (slot->text.draft.has_deltas && slot->hold.claim.lease != NULL)
        finish(slot, 0);
    else
        answer(slot);
}

void slot_text_send_again(struct slot *slot, uint64_t offset, uint64_t after_ms)
{
    draft_set_sent(&slot->text.draft, offset);
    slot_move(slot, SLOT_GENERATING);
    finish(slot, after_ms);
}

void slot_text_stop(struct slot *slot)
{
    timer_stop(&slot->text.timer);
    link_cancel(slot->text.call);
    link_end_pieces(slot->engine->link, slot);
    slot->text.call = NULL;
    slot->text.stored = 0;
    slot->text.is_whole = false;
    slot->text.backoff.failures = 0;
}

void slot_text_clear(struct slot *slot)
{
    slot_text_stop(slot);
    draft_clear(&slot->text.draft);
}

void slot_text_new_claim(struct slot *slot)
{
    slot->text.interval_ms = PARTIAL_INTERVAL_MS;
    slot->text.socket_interval_ms = 0;
    slot->text.at_ms = 0;
}

void slot_text_init(struct slot *slot)
{
    slot->text.timer = (struct timer){.fire = on_timer, .context = slot};
    draft_init(&slot->text.draft);
}

void slot_text_fini(struct slot *slot)
{
    slot_text_clear(slot);
    draft_fini(&slot->text.draft);
}
