/* SPDX-License-Identifier: MIT
 * slot_answer.c - see slot_answer.h. ANSWERING ends only when a node accepts the answer or refuses
 * it permanently. */
#include "services/engine/slots/paragraphs.h"
#include "services/engine/slots/slot.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"

#include "shared/text/chars.h"

#include <stdio.h>

enum { CUT_TEXT_BYTES = 64 << 10 };

static const char *model_of(const struct slot *slot)
{
    struct backend *backend = slot_backend(slot);
    return backend->ops->model(backend, &slot->work.prompt);
}

static void note_accepted(struct slot *slot, const struct link_reply *reply)
{
    log_write(LOG_INFO, "answered", LOG_STR("topic", slot->hold.claim.topic),
              LOG_U("seq", slot->work.query->seq), LOG_S("model", model_of(slot)),
              LOG_U("bytes", slot->text.draft.answer.n),
              LOG_U("passages", slot->work.prompt.source_n),
              LOG_U("ms", clock_mono_ms() - slot->work.started_ms), claim_log_id(slot->work.query));
    slot->engine->model_backoff.failures = 0;
    slot->answer.gap_backoff.failures = 0;
    slot_hold_note_answer(slot, slot->work.query, buf_str(&slot->text.draft.answer));
    struct claim next = {0};
    if (reply->verdict == LINK_UNREADABLE && claim_rescue(&next, reply->body, true)) {
        slot_end_claim(slot);
        slot_release_unreadable(slot, &next, reply->reason);
        return;
    }
    const json_t *next_json = json_object_get(reply->json, "Next");
    bool has_next = next_json != NULL && claim_read(&next, next_json) && next.root != NULL;
    if (!has_next) {
        slot_finish_query(slot, QUERY_ANSWERED);
        return;
    }
    slot_end_claim(slot);
    slot_take_claim(slot, &next);
}

static void on_answered(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    struct slot_answer *answer = &slot->answer;
    answer->call = NULL;
    if (reply->verdict == LINK_RETRY) {
        log_write(LOG_WARN, "answer not accepted yet: retrying",
                  LOG_STR("topic", slot->hold.claim.topic), LOG_U("seq", slot->work.query->seq),
                  LOG_U("status", reply->status), LOG_S("reason", reply->reason),
                  claim_log_id(slot->work.query));
        timer_set(&slot->engine->timers, &answer->timer,
                  backoff_next_ms(&answer->backoff, reply->retry_after_s));
        return;
    }
    answer->backoff.failures = 0;
    if (reply->verdict == LINK_OK || reply->verdict == LINK_UNREADABLE) {
        note_accepted(slot, reply);
        return;
    }
    log_write(LOG_WARN, "answer refused", LOG_STR("topic", slot->hold.claim.topic),
              LOG_U("seq", slot->work.query->seq), LOG_U("status", reply->status),
              LOG_S("code", reply->code), LOG_S("reason", reply->reason),
              LOG_U("bytes", slot->text.draft.answer.n), claim_log_id(slot->work.query));
    const json_t *expected = json_object_get(reply->json, "expected");
    if (strcmp(reply->code, "lease_lost") == 0) {
        slot_drop_claim(slot, reply->reason);
    } else if (slot->text.draft.has_deltas && json_is_integer(expected) &&
               json_integer_value(expected) >= 0) {
        slot_text_send_again(slot, (uint64_t)json_integer_value(expected),
                             backoff_next_ms(&answer->gap_backoff, 0));
    } else if (reply->status == 409 || reply->status == 404) {
        slot_finish_query(slot, QUERY_GONE);
    } else {
        char refusal[RELEASE_REASON_BYTES];
        snprintf(refusal, sizeof refusal, "the answer was refused: %.300s", reply->reason);
        slot_release_query(slot, refusal, NULL);
    }
}

/* Puts one text as it is for a query with messages of its own or one that asks for an object, and
 * for the request of a client of a door, whose text may be cut: it has the deltas. */
static void put_texts(struct buf *body, const struct slot *slot, bool is_cut)
{
    const struct prompt *prompt = &slot->work.prompt;
    struct str answer = buf_str(&slot->text.draft.answer);
    if (prompt->kind == PROMPT_ANSWER && prompt->messages == NULL && prompt->api == API_NONE) {
        paragraphs_put_json(body, answer);
        return;
    }
    if (is_cut && answer.n > CUT_TEXT_BYTES)
        answer.n = text_floor(answer, CUT_TEXT_BYTES);
    buf_put_char(body, '[');
    buf_put_json(body, answer);
    buf_put_char(body, ']');
}

static void put_facts(const struct completion_facts *facts, struct buf *body)
{
    if (facts->finish[0] != 0) {
        buf_put_key(body, "FinishReason");
        buf_put_json(body, str_of(facts->finish));
    }
    if (facts->has_usage)
        buf_printf(body, ",\"Usage\":{\"prompt_tokens\":%llu,\"completion_tokens\":%llu}",
                   (unsigned long long)facts->prompt_tokens,
                   (unsigned long long)facts->completion_tokens);
}

/* The deltas that no partial answer has sent. */
static void put_deltas(const struct slot *slot, struct buf *body)
{
    const struct draft *draft = &slot->text.draft;
    struct draft_piece piece = {.offset = draft_end(draft)};
    if (!draft->has_deltas)
        return;
    (void)!draft_next(draft, &piece);
    buf_printf(body, ",\"Offset\":%llu,\"Deltas\":", (unsigned long long)piece.offset);
    delta_log_put(&draft->deltas, &piece.deltas, body);
}

static void put_answer(const struct slot *slot, struct buf *body, bool has_think, bool is_cut)
{
    const struct draft *draft = &slot->text.draft;
    buf_lit(body, "{\"Query\":");
    buf_put_json(body, slot->work.query->text);
    buf_lit(body, ",\"Topic\":");
    buf_put_json(body, slot->hold.claim.topic);
    buf_printf(body, ",\"Seq\":%llu,\"Think\":", (unsigned long long)slot->work.query->seq);
    if (has_think && draft->think.n > 0) {
        buf_put_char(body, '[');
        buf_put_json(body, buf_str(&draft->think));
        buf_put_char(body, ']');
    } else {
        buf_lit(body, "null");
    }
    buf_lit(body, ",\"Answer\":");
    put_texts(body, slot, is_cut);
    buf_lit(body, ",\"Model\":");
    buf_put_json(body, str_of(model_of(slot)));
    put_facts(&slot->answer.facts, body);
    put_deltas(slot, body);
    slot_hold_put_lease(slot, body);
    buf_put_char(body, '}');
}

static void send(struct slot *slot)
{
    struct slot_answer *answer = &slot->answer;
    const struct claim *claim = &slot->hold.claim;
    struct buf body, query;
    buf_init(&body, BODY_MAX_BYTES);
    buf_init(&query, SLOT_QUERY_MAX_BYTES);
    put_answer(slot, &body, true, false);
    if (body.is_over) {
        buf_clear(&body);
        put_answer(slot, &body, false, slot->work.prompt.api != API_NONE);
    }
    if (body.is_over) {
        slot_release_query(slot, "the answer is too large", NULL);
    } else {
        bool asks_next = !slot->is_stopping && !answer->has_asked_next &&
                         !claim_has_open_after(claim, slot->work.query);
        answer->has_asked_next = answer->has_asked_next || asks_next;
        if (asks_next) {
            buf_lit(&query, "Next=true&");
            slot_poll_put_query(slot, &query);
        }
        struct link_request request = {.path = "/api/give-new-answer",
                                       .query = buf_str(&query),
                                       .body = buf_str(&body),
                                       .request_id = slot->work.query->request_id,
                                       .timeout_ms = CALL_TIMEOUT_MS,
                                       .home = slot->number,
                                       .kind = LINK_ANSWER};
        answer->call = link_start(slot->engine->link, &request, on_answered, slot);
    }
    buf_fini(&body);
    buf_fini(&query);
}

static void on_timer(void *context)
{
    send(context);
}

void slot_answer_start(struct slot *slot, const struct completion_facts *facts)
{
    slot_move(slot, SLOT_ANSWERING);
    slot->answer.facts = *facts;
    slot->answer.has_asked_next = false;
    slot->answer.backoff.failures = 0;
    send(slot);
}

void slot_answer_cancel(struct slot *slot)
{
    link_cancel(slot->answer.call);
    slot->answer.call = NULL;
    timer_stop(&slot->answer.timer);
}

void slot_answer_init(struct slot *slot)
{
    slot->answer.timer = (struct timer){.fire = on_timer, .context = slot};
}
