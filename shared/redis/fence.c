/* SPDX-License-Identifier: MIT
 * fence.c - see fence.h.
 *
 *   IDLE --something is held--> UNDER_WAY --enough have it, or not within FENCE_WAIT_MS--> IDLE
 *    ^                              |
 *    +------ connection lost -------+
 *
 * A round is two commands that are sent together: the verb `fence`, called on its own and by the
 * function that runs while Redis is full, and WAIT. If either is refused, the connection is made
 * again: the shard may move, and a library that is missing is loaded by the turn.
 *
 * What is not confirmed stays held until its time is over: a round that ends without enough copies
 * is repeated for what has come since it began. */
#include "shared/redis/fence.h"

#include "generated/verb_ids.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"
#include "shared/metrics/metrics.h"
#include "shared/redis/turn_internal.h"

#include <hiredis/hiredis.h>

enum {
    ANSWER_MAX_MS = FENCE_WAIT_MS + TURN_ANSWER_MAX_MS,
    /* Between two connections that are closed because their histories differ. */
    RESET_EVERY_MS = 1000,
    PROBE_EVERY_MS = 1000, /* the least from round to round while nothing is held */
    SLOW_FOR_MS = 60000    /* so long after a slow round, rounds are taken to be slow */
};
enum fence_state { FENCE_IDLE, FENCE_UNDER_WAY };

static const struct sm_state states[] = {
    [FENCE_IDLE] = {"IDLE", SM(FENCE_UNDER_WAY)},
    [FENCE_UNDER_WAY] = {"UNDER_WAY", SM(FENCE_IDLE)},
};
static const struct sm sm = SM_OF("fence", states);

struct held {
    struct call_slot slot;
    struct held *next;
    uint64_t number, until_ms;
    char history[HISTORY_BYTES];
    size_t reply_n;
    char reply[];
};

struct fence {
    struct turn_fence hooks; /* that the turn calls */
    struct turn *owner;      /* whose replies are held */
    struct redis_conn *conn; /* its own */
    bool is_up;
    struct durability durability; /* with the history of the server at which `conn` is */
    struct held *first, **last;   /* in the order of their times */
    uint64_t number;              /* of the last one held */
    uint64_t covered;             /* by the round that is under way, or was last: up to this one */
    struct deadline expiry;       /* of the first one */
    struct deadline late;         /* of the round that is under way */
    enum fence_state state;
    uint64_t state_number; /* for the log of its states */
    bool is_unconfirmed;
    uint64_t begun_ms;      /* the round that is under way, or was last */
    uint64_t sent_us;       /* its verb */
    uint64_t slow_until_ms; /* 0: none was slow */
    uint64_t reset_ms;
    struct log_limit limit;
};

static struct fence *of(const struct turn_fence *hooks)
{
    return container_of(hooks, struct fence, hooks);
}

static void move(struct fence *fence, enum fence_state to)
{
    fence->state = sm_move(&sm, fence->state_number, fence->state, to);
}

static bool is_same(const char *a, const char *b)
{
    return a[0] != 0 && strcmp(a, b) == 0;
}

/* --- what is held ------------------------------------------------------------------------------
 */

/* Links out the one at `*at` and ends its call. Its owner may hold another one meanwhile. */
static void end_held(struct fence *fence, struct held **at, enum err error)
{
    struct held *held = *at;
    struct str reply = {held->reply, held->reply_n};
    *at = held->next;
    if (*at == NULL)
        fence->last = at;
    fence->owner->took_us = clock_mono_us() - held->slot.begin_us;
    turn_end_call(fence->owner, &held->slot, error, error == ERR_OK ? reply : (struct str){0});
    free(held);
}

static void set_expiry(struct fence *fence)
{
    uint64_t now_ms = clock_mono_ms();
    loop_cancel_deadline(fence->owner->loop, &fence->expiry);
    if (fence->first != NULL)
        loop_set_deadline(fence->owner->loop, &fence->expiry,
                          fence->first->until_ms > now_ms ? fence->first->until_ms - now_ms : 0);
}

static void say_unconfirmed(struct fence *fence)
{
    uint64_t times;
    bool is_disk = fence->owner->config.durable == DURABLE_DISK;
    fence->is_unconfirmed = true;
    if (log_limit_passes(&fence->limit, "unconfirmed", &times))
        log_write(LOG_WARN,
                  is_disk ? "redis's append-only file does not confirm writes: adds and answers "
                            "get 503 not_durable"
                          : "no replica confirms writes: adds and answers get 503 not_durable",
                  LOG_U("times", times));
}

static void say_confirmed(struct fence *fence)
{
    if (fence->is_unconfirmed)
        log_write(LOG_INFO, fence->owner->config.durable == DURABLE_DISK
                                ? "redis's append-only file confirms writes again"
                                : "a replica confirms writes again");
    fence->is_unconfirmed = false;
}

static void on_expiry(struct deadline *deadline)
{
    struct fence *fence = container_of(deadline, struct fence, expiry);
    uint64_t now_ms = clock_mono_ms();
    say_unconfirmed(fence);
    while (fence->first != NULL && fence->first->until_ms <= now_ms)
        end_held(fence, &fence->first, ERR_NOT_DURABLE);
    set_expiry(fence);
}

static void answer_covered(struct fence *fence)
{
    struct held **at = &fence->first;
    while (*at != NULL && (*at)->number <= fence->covered)
        if (is_same((*at)->history, fence->durability.history))
            end_held(fence, at, ERR_OK);
        else
            at = &(*at)->next;
    set_expiry(fence);
}

static void hold(struct turn_fence *hooks, struct call_slot *slot, struct str reply)
{
    struct fence *fence = of(hooks);
    struct held *held = mem_alloc(sizeof *held + reply.n + 1);
    *held = (struct held){.slot = *slot,
                          .number = ++fence->number,
                          .until_ms = clock_mono_ms() + FENCE_WAIT_MS,
                          .reply_n = reply.n};
    held->slot.next = NULL;
    memcpy(held->history, fence->owner->durability.history, sizeof held->history);
    if (reply.n > 0)
        memcpy(held->reply, reply.at, reply.n);
    held->reply[reply.n] = 0;
    if (slot->call != NULL)
        slot->call->slot = &held->slot;
    slot->call = NULL;
    slot->on_orphan = NULL;
    *fence->last = held;
    fence->last = &held->next;
    if (fence->first == held)
        set_expiry(fence);
}

/* --- rounds ------------------------------------------------------------------------------------
 */

static uint64_t slow_ms(const struct fence *fence)
{
    return fence->owner->config.delivery_ms / 4;
}

static void end_round(struct fence *fence)
{
    uint64_t now_ms = clock_mono_ms();
    if (now_ms - fence->begun_ms > slow_ms(fence))
        fence->slow_until_ms = now_ms + SLOW_FOR_MS;
    loop_cancel_deadline(fence->owner->loop, &fence->late);
    move(fence, FENCE_IDLE);
}

/* One of the two connections is at a server that is not the master any more: the older one, as far
 * as can be known here. */
static void leave_older(struct fence *fence, uint64_t now_ms)
{
    static const char other_master[] = "another server is the master by now";
    const struct durability *owner = &fence->owner->durability, *own = &fence->durability;
    if (owner->history[0] == 0 || own->history[0] == 0 || is_same(owner->history, own->history) ||
        now_ms - fence->reset_ms < RESET_EVERY_MS)
        return;
    fence->reset_ms = now_ms;
    redis_conn_reset(owner->since_ms < own->since_ms ? fence->owner->conn : fence->conn,
                     other_master);
}

/* WAIT replies how many replicas have it; WAITAOF whether this server has, and how many replicas.
 */
static bool has_enough(const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements > 0)
        reply = reply->element[0];
    return reply->type == REDIS_REPLY_INTEGER && reply->integer >= 1;
}

/* A connection that was lost, or is reset here, ends the round in on_lost. */
static void on_waited(void *arg, const redisReply *reply)
{
    struct fence *fence = arg;
    if (reply == NULL || fence->state != FENCE_UNDER_WAY)
        return;
    if (reply->type == REDIS_REPLY_ERROR) {
        turn_say_trouble(fence->owner, "redis refuses to wait for copies of writes (--durability)",
                         reply->str);
        redis_conn_reset(fence->conn, reply->str);
        return;
    }
    end_round(fence);
    if (!has_enough(reply)) {
        say_unconfirmed(fence);
        return;
    }
    say_confirmed(fence);
    answer_covered(fence);
}

/* Returns why the verb has not run, or NULL. */
static const char *refusal_of(const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements > 0)
        reply = reply->element[0];
    if (reply->type == REDIS_REPLY_STRING)
        return NULL;
    return reply->type == REDIS_REPLY_ERROR ? reply->str : "unexpected reply";
}

static void count_verb(struct fence *fence, bool is_error)
{
    struct metrics *metrics = fence->owner->config.metrics;
    uint64_t took_us = clock_mono_us() - fence->sent_us;
    if (metrics == NULL)
        return;
    metrics_observe(metrics, METRIC_HISTOGRAM_ROUND_TRIP, took_us);
    metrics_count_verb(metrics, VERB_FENCE, is_error, took_us);
}

static void on_written(void *arg, const redisReply *reply)
{
    struct fence *fence = arg;
    if (reply == NULL || fence->state != FENCE_UNDER_WAY)
        return;
    const char *refusal = refusal_of(reply);
    count_verb(fence, refusal != NULL);
    if (refusal == NULL)
        return;
    if (redis_library_is_missing(refusal))
        turn_load_library(fence->owner);
    redis_conn_reset(fence->conn, refusal);
}

static void on_late(struct deadline *deadline)
{
    struct fence *fence = container_of(deadline, struct fence, late);
    redis_conn_reset(fence->conn, "no answer in time");
}

static void send_write(struct fence *fence)
{
    struct turn *owner = fence->owner;
    struct str words[] = {STR("FCALL"),
                          str_of(owner->functions.turn_freeing),
                          STR("1"),
                          str_of(owner->config.prefix),
                          buf_str(turn_settings(owner)),
                          STR("0"), /* nonces */
                          STR("fence 0")};
    fence->sent_us = clock_mono_us();
    if (redis_conn_command(fence->conn, on_written, fence, words, 7) == ERR_OK)
        owner->config.on_sent(owner->config.arg, 1);
}

static void send_wait(struct fence *fence)
{
    char ms[16];
    bool is_disk = fence->owner->config.durable == DURABLE_DISK;
    struct str until = {ms, (size_t)snprintf(ms, sizeof ms, "%d", FENCE_WAIT_MS)};
    struct str replica[] = {STR("WAIT"), STR("1"), until};
    struct str disk[] = {STR("WAITAOF"), STR("1"), STR("0"), until};
    if (redis_conn_command(fence->conn, on_waited, fence, is_disk ? disk : replica,
                           is_disk ? 4 : 3) == ERR_OK)
        redis_conn_flush(fence->conn); /* else lost: on_lost ends the round */
}

/* Both connections are at another master by now: what the former one stored will not be confirmed.
 */
static void end_former(struct fence *fence)
{
    struct held **at = &fence->first;
    if (!is_same(fence->owner->durability.history, fence->durability.history))
        return;
    while (*at != NULL)
        if (is_same((*at)->history, fence->durability.history))
            at = &(*at)->next;
        else
            end_held(fence, at, ERR_NOT_DURABLE);
    set_expiry(fence);
}

/* Is anything held that a round can confirm? Without that, while nothing is confirmed, whether it
 * is again: nobody may ask for a while, and operators read about it. */
static bool is_needed(const struct fence *fence)
{
    if (fence->first == NULL)
        return fence->is_unconfirmed && clock_mono_ms() - fence->begun_ms >= PROBE_EVERY_MS;
    for (const struct held *held = fence->first; held != NULL; held = held->next)
        if (is_same(held->history, fence->durability.history))
            return true;
    return false;
}

static void begin_round(struct fence *fence)
{
    move(fence, FENCE_UNDER_WAY);
    fence->covered = fence->number;
    fence->begun_ms = clock_mono_ms();
    loop_set_deadline(fence->owner->loop, &fence->late, ANSWER_MAX_MS);
    send_write(fence);
    send_wait(fence);
}

static void flush(struct turn_fence *hooks)
{
    struct fence *fence = of(hooks);
    if (fence->first != NULL && fence->is_up)
        leave_older(fence, clock_mono_ms());
    if (fence->state != FENCE_IDLE || !fence->is_up)
        return;
    if (fence->first != NULL)
        end_former(fence);
    if (is_needed(fence))
        begin_round(fence);
}

/* --- its connection ----------------------------------------------------------------------------
 */

/* The loop's turn ends with a flush. */
static void on_connect(void *arg)
{
    struct fence *fence = arg;
    fence->is_up = true;
    durability_ask(fence->conn, &fence->durability);
}

/* Keeps what is held: it may still be confirmed if the same server is reached again in time. */
static void on_lost(void *arg)
{
    struct fence *fence = arg;
    fence->is_up = false;
    if (fence->state == FENCE_UNDER_WAY)
        end_round(fence);
}

static void destroy(struct turn_fence *hooks)
{
    struct fence *fence = of(hooks);
    redis_conn_destroy(fence->conn);
    if (fence->state == FENCE_UNDER_WAY)
        end_round(fence);
    loop_cancel_deadline(fence->owner->loop, &fence->expiry);
    while (fence->first != NULL)
        end_held(fence, &fence->first, ERR_REDIS_LOST);
    free(fence);
}

static bool is_confirmed(const struct turn_fence *hooks)
{
    return !of(hooks)->is_unconfirmed;
}

/* Also not while a round takes so long, or has recently, that a claim in a held reply could end
 * first: more than a quarter of config.delivery_ms. */
static bool is_prompt(const struct turn_fence *hooks)
{
    const struct fence *fence = of(hooks);
    uint64_t now_ms = clock_mono_ms();
    bool is_late = fence->state == FENCE_UNDER_WAY && now_ms - fence->begun_ms > slow_ms(fence);
    return !fence->is_unconfirmed && !is_late && now_ms >= fence->slow_until_ms;
}

void fence_create(struct turn *turn)
{
    struct fence *fence = mem_zeroed(sizeof *fence);
    fence->durability.needs_history = turn->durability.needs_history = true;
    fence->hooks = (struct turn_fence){hold, flush, destroy, is_confirmed, is_prompt};
    fence->owner = turn;
    fence->last = &fence->first;
    fence->state_number = sm_number();
    fence->expiry.on_expire = on_expiry;
    fence->late.on_expire = on_late;
    fence->conn =
        redis_conn_create(turn->loop, &(struct redis_conn_config){.address = turn->address,
                                                                  .name = "parley-fence",
                                                                  .map = turn->config.map,
                                                                  .shard = turn->config.shard,
                                                                  .on_connect = on_connect,
                                                                  .on_lost = on_lost,
                                                                  .arg = fence});
    turn->fence = &fence->hooks;
}
