/* SPDX-License-Identifier: MIT
 * slot_work.c - the work on one query of a slot's claim, see slot.h: search passages, let the back
 * end write, give the answer. The diagram is in slot.c.
 *
 * GENERATING has either a completion or the timer for another try of the back end. ANSWERING is
 * left only by a node's word: taken, or refused for good. */
#include "services/engine/slots/slot.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <stdio.h>
#include <stdlib.h>

enum { MODEL_TRIES = 3, KEPT_MS = 20000, KEPT_JITTER_MS = 300 };

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
    slot_end_work(slot);
    work_next_query(slot);
}

static void note_accepted(struct slot *slot, const struct link_reply *reply)
{
    log_write(
        LOG_INFO, "answered", LOG_STR("topic", slot->claim.topic), LOG_U("seq", slot->query->seq),
        LOG_S("model", slot->engine->backend->ops->model(slot->engine->backend, &slot->prompt)),
        LOG_U("bytes", slot->draft.answer.n), LOG_U("passages", slot->prompt.source_n),
        LOG_U("ms", clock_mono_ms() - slot->started_ms));
    slot->engine->model_backoff.failures = 0;
    claim_note_answer(&slot->claim, slot->query, buf_str(&slot->draft.answer));
    struct claim next = {0};
    if (reply->verdict == LINK_UNREADABLE && claim_rescue(&next, reply->body, true)) {
        slot_end_claim(slot);
        slot->claim = next;
        slot_fail_unreadable(slot, reply->reason);
        return;
    }
    const json_t *next_json = json_object_get(reply->json, "Next");
    bool has_next = next_json != NULL && claim_read(&next, next_json) && next.root != NULL;
    if (!has_next) {
        finish_query(slot, QUERY_ANSWERED);
        return;
    }
    slot_end_claim(slot);
    slot->claim = next;
    if (slot->is_stopping)
        slot_release_unused(slot, "the engine is stopping");
    else
        slot_take_claim(slot);
}

static void on_answered(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    slot->call = NULL;
    if (reply->verdict == LINK_RETRY) {
        log_write(LOG_WARN, "an answer was not taken yet", LOG_STR("topic", slot->claim.topic),
                  LOG_U("seq", slot->query->seq), LOG_U("status", reply->status),
                  LOG_S("reason", reply->reason));
        slot_wait(slot, backoff_next_ms(&slot->backoff, reply->retry_after_s));
        return;
    }
    slot->backoff.failures = 0;
    if (reply->verdict == LINK_OK || reply->verdict == LINK_UNREADABLE) {
        note_accepted(slot, reply);
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

void work_send_answer(struct slot *slot)
{
    struct buf body, query;
    buf_init(&body, BODY_MAX_BYTES);
    buf_init(&query, SLOT_QUERY_MAX_BYTES);
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
            slot_put_poll_query(slot, &query);
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

/* An answer that failed may have failed over the prompt. It is tried a few times, under the same
 * lease, before the claim goes to other engines. Once there is text, people have seen it: then it
 * is a new attempt. */
static void try_again(struct slot *slot, const char *reason)
{
    if (slot->is_stopping || draft_bytes(&slot->draft) > 0 || ++slot->tries >= MODEL_TRIES) {
        slot_release(slot, true, reason);
        return;
    }
    log_write(LOG_WARN, "the model's server failed: it is asked again",
              LOG_STR("topic", slot->claim.topic), LOG_U("seq", slot->query->seq),
              LOG_S("reason", reason));
    slot_wait(slot, backoff_next_ms(&slot->engine->model_backoff, 0));
}

/* The model is busy or away. The claim is kept for a short rest, its lease renewed; for a long one
 * it goes back to the queue, where another engine may have it, and uses no attempt up. */
static void wait_for_model(struct slot *slot, const char *reason)
{
    uint64_t now_ms = clock_mono_ms(), left_ms = rest_left_ms(&slot->engine->rest);
    if (slot->kept_until_ms == 0)
        slot->kept_until_ms = now_ms + KEPT_MS;
    if (slot->is_stopping || draft_bytes(&slot->draft) > 0 ||
        now_ms + left_ms > slot->kept_until_ms)
        slot_release_unused(slot, reason);
    else
        slot_rest_with_claim(slot, left_ms + arc4random_uniform(KEPT_JITTER_MS));
}

static void on_generated(void *context, const struct completion_end *end)
{
    struct slot *slot = context;
    enum completion_outcome outcome = end->outcome;
    const char *reason = end->reason;
    slot->completion = NULL;
    report_text_end(slot);
    if (outcome == COMPLETION_DONE && slot->draft.answer.n == 0) {
        outcome = COMPLETION_RETRY;
        reason = "the model gave no text";
        draft_clear(&slot->draft);
    }
    if (outcome == COMPLETION_DONE || outcome == COMPLETION_REFUSED)
        rest_end(&slot->engine->rest);
    switch (outcome) {
    case COMPLETION_DONE:
        slot->state = SLOT_ANSWERING;
        work_send_answer(slot);
        break;
    case COMPLETION_RETRY: try_again(slot, reason); break;
    case COMPLETION_AWAY:
        rest_begin(&slot->engine->rest, end->retry_after_s, reason);
        wait_for_model(slot, reason);
        break;
    case COMPLETION_REFUSED:
        log_write(LOG_WARN, "the model refuses a query", LOG_STR("topic", slot->claim.topic),
                  LOG_U("seq", slot->query->seq), LOG_S("reason", reason));
        snprintf(slot->refusal, sizeof slot->refusal, "%s", reason);
        finish_query(slot, QUERY_REFUSED);
        break;
    }
}

void work_generate(struct slot *slot)
{
    static const struct completion_events events = {.on_text = on_text, .on_done = on_generated};
    slot->state = SLOT_GENERATING;
    if (rest_left_ms(&slot->engine->rest) > 0) { /* claimed before it was known, or rests again */
        char reason[REST_REASON_MAX_BYTES + 1];
        snprintf(reason, sizeof reason, "%s", slot->engine->rest.reason);
        wait_for_model(slot, reason);
        return;
    }
    slot->completion =
        slot->engine->backend->ops->start(slot->engine->backend, &slot->prompt, &events, slot);
}

/* ---- searching ---- */

static void on_found(void *context, const struct rag_index *index, const struct rag_query *query)
{
    struct slot *slot = context;
    struct rag_hit hits[PROMPT_SOURCES_MAX];
    uint64_t hashes[PROMPT_TERMS_MAX];
    double weights[PROMPT_TERMS_MAX];
    slot->lookup = NULL;
    size_t n = rag_index_search(index, query, slot->engine->top_k, hits);
    for (size_t i = 0; i < n; i++) {
        struct buf name;
        buf_init(&name, SIZE_MAX / 2);
        library_put_name(&name, hits[i].document);
        prompt_add_source(&slot->prompt, buf_str(&name),
                          rag_document_passage(hits[i].document, hits[i].chunk));
        buf_fini(&name);
    }
    slot->prompt.term_n = rag_index_weigh(index, query->text, PROMPT_TERMS_MAX, hashes, weights);
    for (size_t i = 0; i < slot->prompt.term_n; i++)
        slot->prompt.terms[i] = (struct prompt_term){hashes[i], weights[i]};
    library_count(slot->engine->library, &slot->prompt.searched_documents,
                  &slot->prompt.searched_passages);
    work_generate(slot);
}

void work_next_query(struct slot *slot)
{
    struct claim_query *query = slot->claim.queries, *end = query + slot->claim.query_n;
    while (query < end && query->state != QUERY_OPEN)
        query++;
    if (query == end) {
        if (has_refused(slot))
            slot_release(slot, false, slot->refusal);
        else
            slot_go_idle(slot, 0);
        return;
    }
    if (slot->is_stopping) {
        slot_release_unused(slot, "the engine is stopping");
        return;
    }
    slot->query = query;
    slot->started_ms = clock_mono_ms();
    slot->has_asked_next = false;
    slot->tries = 0;
    slot->kept_until_ms = 0;
    prompt_init(&slot->prompt, &slot->claim, query);
    /* A name that we did not offer means nothing to our model's server. */
    if (!str_is_listed(str_of(slot->engine->models), slot->prompt.model))
        slot->prompt.model = (struct str){NULL, 0};
    if (!prompt_wants_sources(&slot->prompt) || library_is_empty(slot->engine->library)) {
        work_generate(slot);
        return;
    }
    slot->state = SLOT_SEARCHING;
    slot->lookup = library_start(slot->engine->library, slot->prompt.question, on_found, slot);
}
