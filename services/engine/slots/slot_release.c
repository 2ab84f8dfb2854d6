/* SPDX-License-Identifier: MIT
 * slot_release.c - see slot_release.h. */
#include "services/engine/slots/slot.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <stdio.h>

static bool is_of_one(const struct slot_release *release)
{
    return release->failed_seq != 0 && !release->is_retry;
}

/* After an answer that failed the slot waits, or it would claim the same query again and use up its
 * attempts within a second. While the model is away the rest holds it up (slot_poll_nodes). */
static void end(struct slot *slot)
{
    if (is_of_one(&slot->release)) {
        slot_next_query(slot);
        return;
    }
    bool has_failed = slot->release.is_retry && !slot->release.is_away && !slot->is_stopping;
    slot_go_idle(slot, has_failed ? backoff_next_ms(&slot->engine->model_backoff, 1) : 0);
}

static void on_released(void *context, const struct link_reply *reply)
{
    struct slot *slot = context;
    struct slot_release *release = &slot->release;
    char ids[CLAIM_IDS_BYTES];
    release->call = NULL;
    if (reply->verdict == LINK_RETRY && clock_mono_ms() < slot->hold.until_ms) {
        timer_set(&slot->engine->timers, &release->timer,
                  backoff_next_ms(&release->backoff, reply->retry_after_s));
        return;
    }
    if (reply->verdict != LINK_OK)
        log_write(LOG_INFO, "claim not given back: its lease has expired",
                  LOG_STR("topic", slot->hold.claim.topic), LOG_U("status", reply->status),
                  LOG_S("reason", reply->reason), claim_log_ids(&slot->hold.claim, ids));
    else
        log_write(LOG_DEBUG, "claim given back", LOG_STR("topic", slot->hold.claim.topic),
                  claim_log_ids(&slot->hold.claim, ids));
    release->backoff.failures = 0;
    if (reply->verdict == LINK_RETRY && is_of_one(release))
        slot_go_idle(slot, 0); /* the lease has ended, and the others with it */
    else
        end(slot);
}

static void send(struct slot *slot)
{
    struct slot_release *release = &slot->release;
    const struct claim *claim = &slot->hold.claim;
    struct str reason = str_of(release->reason);
    struct buf body;
    timer_stop(&release->timer); /* slot_release_go_on does not wait for it */
    if (slot->is_stopping && !slot->engine->may_give_back)
        return; /* until slot_give_back */
    if (claim->lease == NULL) {
        end(slot);
        return;
    }
    if (!is_of_one(release))
        slot_hold_stop_beats(slot);
    buf_init(&body, BODY_MAX_BYTES);
    buf_lit(&body, "{\"Topic\":");
    buf_put_json(&body, claim->topic);
    slot_hold_put_lease(slot, &body);
    buf_lit(&body, ",\"Reason\":");
    buf_put_json(&body, str_is_utf8(reason) ? reason : STR("the model server failed"));
    buf_printf(&body, ",\"Retry\":%s,\"Away\":%s", release->is_retry ? "true" : "false",
               release->is_away ? "true" : "false");
    if (release->error != NULL) {
        buf_put_key(&body, "Error");
        buf_put_json_value(&body, release->error);
    }
    if (release->failed_seq != 0)
        buf_printf(&body, ",\"Seq\":%llu", (unsigned long long)release->failed_seq);
    buf_put_char(&body, '}');
    struct link_request request = {.path = "/api/release-claim",
                                   .body = buf_str(&body),
                                   .request_id = claim_request_id(claim),
                                   .timeout_ms = CALL_TIMEOUT_MS,
                                   .home = slot->number,
                                   .kind = is_of_one(release) ? LINK_RELEASE_ONE : LINK_RELEASE};
    release->call = link_start(slot->engine->link, &request, on_released, slot);
    buf_fini(&body);
}

/* Takes `error` over. `reason` may lie in what the end of the work frees. */
static void begin(struct slot *slot, bool is_retry, bool is_away, uint64_t failed_seq,
                  const char *reason, json_t *error)
{
    struct slot_release *release = &slot->release;
    char ids[CLAIM_IDS_BYTES];
    snprintf(release->reason, sizeof release->reason, "%s", reason);
    release->is_retry = is_retry;
    release->is_away = is_away;
    release->failed_seq = failed_seq;
    slot_end_work(slot);
    release->error = error;
    slot_move(slot, SLOT_RELEASING);
    log_write(is_retry ? LOG_INFO : LOG_WARN, is_retry ? "giving a claim back" : "queries failed",
              LOG_STR("topic", slot->hold.claim.topic), LOG_U("seq", failed_seq),
              LOG_S("reason", release->reason), claim_log_ids(&slot->hold.claim, ids));
    send(slot);
}

void slot_release_failed(struct slot *slot, const char *reason)
{
    begin(slot, true, false, slot->work.query->seq, reason, NULL);
}

void slot_release_query(struct slot *slot, const char *reason, const json_t *error)
{
    struct claim_query *query = slot->work.query;
    json_t *kept = json_incref((json_t *)(uintptr_t)error);
    slot_hold_end_query(slot, query, QUERY_REFUSED);
    begin(slot, false, false, query->seq, reason, kept);
}

void slot_release_unused(struct slot *slot, const char *reason)
{
    begin(slot, true, true, 0, reason, NULL);
}

void slot_release_unreadable(struct slot *slot, const struct claim *claim, const char *reason)
{
    char why[RELEASE_REASON_BYTES];
    snprintf(why, sizeof why, "the engine cannot read the question: %.300s", reason);
    slot_hold_take(slot, claim);
    begin(slot, false, false, 0, why, NULL);
}

void slot_release_go_on(struct slot *slot)
{
    if (slot->release.call == NULL)
        send(slot);
}

void slot_release_cancel(struct slot *slot)
{
    link_cancel(slot->release.call);
    slot->release.call = NULL;
    json_decref(slot->release.error);
    slot->release.error = NULL;
    timer_stop(&slot->release.timer);
}

static void on_timer(void *context)
{
    send(context);
}

void slot_release_init(struct slot *slot)
{
    slot->release.timer = (struct timer){.fire = on_timer, .context = slot};
}
