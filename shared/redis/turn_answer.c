/* SPDX-License-Identifier: MIT
 * turn_answer.c - gives each call of a batch its part of Redis's reply. The reply is an array: a
 * string for all nonces without a verb, if there are any; a reply for each verb, lane by lane; then
 * the events (lua/turn/frame.lua). A long text takes several elements (parts.h). If the replies
 * grew long, one string stands for those of the verbs that have not run. */
#include "shared/redis/turn_internal.h"

#include "shared/metrics/metrics.h"
#include "shared/redis/parts.h"

#include <hiredis/hiredis.h>

enum { JOINED_KEPT_BYTES = 64 << 10, REST_MARK = 2 };

/* The call is free before anything of its owner's runs, which may begin another verb with it. */
void turn_end_call(struct turn *turn, struct call_slot *slot, enum err error, struct str reply)
{
    struct call *call = slot->call;
    turn->pending_n--;
    if (call != NULL) {
        call_detach(call);
        slot->on_reply(call, error, reply);
    } else if (slot->on_orphan != NULL) {
        slot->on_orphan(slot->context, error, reply);
    }
}

void turn_answer_call(struct turn *turn, struct call_slot *slot, uint64_t now_us, enum err error,
                      struct str reply)
{
    turn->took_us = now_us - slot->begin_us;
    if (turn->config.metrics != NULL)
        metrics_count_verb(turn->config.metrics, slot->verb->id, error != ERR_OK, turn->took_us);
    bool is_awaited = slot->call != NULL || slot->on_orphan != NULL;
    if (turn->fence != NULL && error == ERR_OK && slot->verb->is_durable && is_awaited)
        turn->fence->hold(turn->fence, slot, reply);
    else
        turn_end_call(turn, slot, error, reply);
}

/* A verb that broke is a bug of ours, which the others of its batch do not suffer from. */
static enum err error_of(const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ERROR)
        return ERR_OK;
    if (redis_verb_is_refused(reply->str))
        return ERR_STORE_FULL;
    log_write(LOG_ERROR, "a verb failed", LOG_S("error", reply->str));
    return ERR_INTERNAL;
}

/* The lane's next call, which waits no longer. */
static struct call_slot *take_slot(struct lane *lane)
{
    struct call_slot *slot = lane->first;
    lane->first = slot->next;
    lane->call_n--;
    return slot;
}

/* The first `n` calls of the lane; their replies begin at `at`. */
static void answer_lane(struct turn *turn, struct lane *lane, unsigned n, uint64_t now_us,
                        const redisReply *reply, size_t at)
{
    for (; n > 0; n--) {
        struct call_slot *slot = take_slot(lane);
        enum err error = at >= reply->elements ? ERR_INTERNAL : error_of(reply->element[at]);
        turn_answer_call(turn, slot, now_us, error,
                         error == ERR_OK ? parts_text(reply, at, &turn->joined)
                                         : (struct str){NULL, 0});
        at = at >= reply->elements ? at : parts_next(reply, at);
    }
}

/* Reads "<which> <outcome>" off `lines`; at their end it reads nothing. */
static bool next_used(struct str *lines, uint64_t *ret_which, struct str *ret_outcome)
{
    if (lines->n == 0)
        return true;
    *ret_outcome = str_cut(lines, '\n');
    return str_parse_u64(str_cut(ret_outcome, ' '), ret_which);
}

/* Nonces without a verb: the reply's first string has those that were used before. */
static void answer_alone(struct turn *turn, struct batch *batch, uint64_t now_us,
                         const redisReply *reply)
{
    bool is_good = reply->elements > 0 && reply->element[0]->type == REDIS_REPLY_STRING;
    struct str lines = {NULL, 0}, outcome = {NULL, 0};
    uint64_t i = 0, used = 0;
    if (is_good)
        lines = (struct str){reply->element[0]->str, reply->element[0]->len};
    for (int lane = ALONE_NONCES; lane <= ALONE_MARKED; lane++)
        while (batch->lanes[lane].call_n > 0) {
            struct call_slot *slot = take_slot(&batch->lanes[lane]);
            if (used <= i)
                is_good = is_good && next_used(&lines, &used, &outcome);
            turn_answer_call(turn, slot, now_us, is_good ? ERR_OK : ERR_INTERNAL,
                             ++i == used ? outcome : STR("ok"));
        }
}

/* Returns what stands for the replies of verbs that have not run; NULL if the element is something
 * else. */
static struct str rest_of(const redisReply *element)
{
    if (element->type != REDIS_REPLY_STRING || element->len == 0 || element->str[0] != REST_MARK)
        return (struct str){NULL, 0};
    return (struct str){element->str + 1, (size_t)element->len - 1};
}

/* Where in a reply the replies of each lane begin, and how many. */
struct layout {
    size_t at[LANE_NR], events_at;
    unsigned n[LANE_NR];
    struct str rest; /* NULL: all verbs have run */
};

/* A call without a reply, which would be a bug, has one past the end. */
static struct layout lay_out(const struct batch *batch, const redisReply *reply, size_t at)
{
    struct layout layout = {0};
    for (int i = 0; i < LANE_NR; i++) {
        layout.at[i] = at;
        while (layout.n[i] < batch->lanes[i].call_n && layout.rest.at == NULL) {
            if (at < reply->elements) {
                layout.rest = rest_of(reply->element[at]);
                at = parts_next(reply, at);
            }
            layout.n[i] += layout.rest.at == NULL;
        }
    }
    layout.events_at = at;
    return layout;
}

/* Polls first, so that they are parked; then what was handed to them and other events, for somebody
 * waits for these; the senders' own answers last. */
bool turn_answer_batch(struct turn *turn, struct batch *batch, const redisReply *reply)
{
    bool has_alone = batch_has_alone(batch);
    struct layout to = lay_out(batch, reply, has_alone);
    uint64_t now_us = clock_mono_us();
    if (turn->config.metrics != NULL)
        metrics_observe(turn->config.metrics, METRIC_HISTOGRAM_ROUND_TRIP, now_us - batch->sent_us);
    answer_lane(turn, &batch->lanes[LANE_CLAIM], to.n[LANE_CLAIM], now_us, reply,
                to.at[LANE_CLAIM]);
    for (size_t i = to.events_at; i < reply->elements; i = parts_next(reply, i))
        turn->config.on_event(turn->config.arg, parts_text(reply, i, &turn->joined));
    if (has_alone)
        answer_alone(turn, batch, now_us, reply);
    for (int i = 0; i < LANE_NR; i++)
        if (i != LANE_CLAIM)
            answer_lane(turn, &batch->lanes[i], to.n[i], now_us, reply, to.at[i]);
    if (turn->joined.cap > JOINED_KEPT_BYTES) {
        buf_fini(&turn->joined);
        buf_init(&turn->joined, TURN_JOINED_MAX_BYTES);
    }
    if (to.rest.at != NULL)
        batch_continue(batch, to.rest);
    return to.rest.at == NULL;
}
