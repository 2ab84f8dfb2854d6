/* SPDX-License-Identifier: MIT
 * turn_hold.c - a shard that moves to another server (turn_internal.h, ADR 55). Used only with a
 * topology.
 *
 *   running --a batch is refused: MOVED, ASK, READONLY, ...--> paused
 *   paused  --the oldest batch has run------------------------> running: all are sent, in order
 *      '----a batch was held for HOLD_MAX_MS------------------> that one fails
 *      '----no connection for HOLD_MAX_MS---------------------> lost
 *
 * What is refused so has certainly not run. It is kept, and so are the calls that are collected
 * from then on. When nothing is in flight any more, the connection is made again if another server
 * has the shard now. Then the oldest batch is sent alone, again and again: its success ends the
 * pause. ASK is never followed: keys that are already there and keys that are not would be two
 * halves. */
#include "shared/redis/topology.h"
#include "shared/redis/turn_internal.h"

#include <stdio.h>

enum {
    HOLD_MAX_MS = 5000,
    HOLD_MAX_BYTES = 16 << 20,
    PAUSE_MIN_MS = 10,
    PAUSE_MAX_MS = 160,
};

static void set_timer(struct turn *turn)
{
    loop_set_deadline(turn->loop, &turn->pause, turn->pause_ms);
}

/* In the order in which they were collected. One that was refused before is held since then. */
static void put(struct turn *turn, struct batch *batch)
{
    struct batch **at = &turn->held;
    while (*at != NULL && (*at)->number < batch->number)
        at = &(*at)->next;
    if (batch->held_ms == 0)
        batch->held_ms = clock_mono_ms();
    batch->next = *at;
    *at = batch;
    turn->held_bytes += batch->wire.n;
}

static struct batch *take(struct turn *turn)
{
    struct batch *batch = turn->held;
    turn->held = batch->next;
    turn->held_bytes -= batch->wire.n;
    batch->next = NULL;
    return batch;
}

static void begin_pause(struct turn *turn, const char *error)
{
    uint64_t times;
    if (turn->is_paused)
        return;
    turn->is_paused = true;
    turn->pause_ms = PAUSE_MIN_MS;
    snprintf(turn->hold_error, sizeof turn->hold_error, "%s", error);
    if (log_limit_passes(&turn->pause_limit, error, &times))
        log_write(LOG_INFO, "redis moves a shard: its calls wait",
                  LOG_STR("prefix", str_of(turn->config.prefix)), LOG_S("error", error),
                  LOG_U("times", times));
}

/* Where the shard is now, the topology says. Callers that got no answer hear so first. */
static void reconnect(struct turn *turn)
{
    char reason[TURN_REASON_BYTES];
    snprintf(reason, sizeof reason, "%s", turn->leave_reason);
    turn->leave_reason[0] = 0;
    redis_conn_reset(turn->conn, reason);
}

bool turn_hold_refused(struct turn *turn, struct batch *batch, const char *error)
{
    if (!topology_is_passing(turn->address, error))
        return false;
    topology_hint(turn->address, redis_conn_place(turn->conn), error);
    if (topology_is_elsewhere(turn->address, error))
        snprintf(turn->leave_reason, sizeof turn->leave_reason, "%s", error);
    turn->is_probing = false;
    batch->is_freeing = false;
    put(turn, batch);
    begin_pause(turn, error);
    snprintf(turn->hold_error, sizeof turn->hold_error, "%s", error);
    if (turn->leave_reason[0] != 0 && turn->in_flight_n == 0)
        reconnect(turn);
    set_timer(turn);
    return true;
}

bool turn_hold_new(struct turn *turn, struct batch *batch)
{
    if (!turn->is_paused || turn->held_bytes + batch->wire.n > HOLD_MAX_BYTES)
        return false;
    put(turn, batch);
    return true;
}

void turn_hold_rest(struct turn *turn, struct batch *batch)
{
    put(turn, batch);
}

void turn_leave(struct turn *turn, const char *reason)
{
    if (!turn->is_up) {
        redis_conn_reset(turn->conn, reason);
        return;
    }
    snprintf(turn->leave_reason, sizeof turn->leave_reason, "%s", reason);
    begin_pause(turn, reason);
    set_timer(turn);
}

/* Everything that is held is sent; waiters look again if the server is another one. */
static void end_pause(struct turn *turn)
{
    bool is_replaced = turn->is_replaced;
    turn->is_paused = turn->is_replaced = false;
    loop_cancel_deadline(turn->loop, &turn->pause);
    while (turn->held != NULL)
        turn_send_batch(turn, take(turn));
    if (is_replaced)
        turn->config.on_up(turn->config.arg);
    redis_conn_flush(turn->conn);
}

void turn_hold_answered(struct turn *turn)
{
    if (!turn->is_probing)
        return;
    turn->is_probing = false;
    if (turn->leave_reason[0] == 0) /* else the next server ends the pause */
        end_pause(turn);
}

void turn_fail_held(struct turn *turn, enum err error)
{
    while (turn->held != NULL)
        turn_fail_batch(turn, take(turn), error);
}

/* Returns the error of what was held for too long. If nothing was refused, the server that is to be
 * left does not answer what is in flight. */
static enum err late_error(const struct turn *turn, enum redis_trouble trouble)
{
    if (!turn->is_up)
        return ERR_REDIS_LOST;
    return trouble == REDIS_FINE ? ERR_STORE_BUSY : redis_trouble_info(trouble)->error;
}

/* Those that were held for too long, if any; the pause continues. */
static void expire(struct turn *turn, uint64_t now_ms)
{
    enum redis_trouble trouble = redis_trouble_of(turn->hold_error);
    bool is_late = turn->held != NULL && now_ms >= turn->held->held_ms + HOLD_MAX_MS;
    if (is_late && turn->is_up && trouble != REDIS_FINE)
        turn_set_trouble(turn, trouble, turn->hold_error);
    while (turn->held != NULL && now_ms >= turn->held->held_ms + HOLD_MAX_MS)
        turn_fail_batch(turn, take(turn), late_error(turn, trouble));
}

static void give_up(struct turn *turn)
{
    turn->is_paused = turn->is_replaced = false;
    turn->trouble = REDIS_FINE;
    turn_fail_held(turn, ERR_REDIS_LOST);
    turn->config.on_lost(turn->config.arg);
}

static void probe(struct turn *turn)
{
    turn_hold_collected(turn);
    if (turn->held == NULL) {
        end_pause(turn);
        return;
    }
    turn->is_probing = true;
    turn_send_batch(turn, take(turn));
    redis_conn_flush(turn->conn);
}

static void on_pause(struct deadline *deadline)
{
    struct turn *turn = container_of(deadline, struct turn, pause);
    uint64_t now_ms = clock_mono_ms();
    expire(turn, now_ms);
    if (!turn->is_up && now_ms >= turn->down_since_ms + HOLD_MAX_MS) {
        give_up(turn);
        return;
    }
    turn->pause_ms = turn->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : turn->pause_ms * 2;
    set_timer(turn);
    if (turn->in_flight_n > 0 || !turn->is_up)
        return;
    if (turn->leave_reason[0] != 0)
        reconnect(turn);
    else
        probe(turn);
}

bool turn_hold_lost(struct turn *turn)
{
    if (!turn->is_paused)
        return false;
    if (turn->is_up)
        turn->down_since_ms = clock_mono_ms();
    turn->is_probing = false;
    turn->leave_reason[0] = 0;
    return true;
}

bool turn_hold_up(struct turn *turn)
{
    if (!turn->is_paused)
        return false;
    turn->is_replaced = true;
    turn->pause_ms = PAUSE_MIN_MS;
    loop_set_deadline(turn->loop, &turn->pause, 0);
    return true;
}

void turn_hold_init(struct turn *turn)
{
    turn->pause.on_expire = on_pause;
}

void turn_hold_fini(struct turn *turn)
{
    turn->is_paused = false;
    loop_cancel_deadline(turn->loop, &turn->pause);
    turn_fail_held(turn, ERR_REDIS_LOST);
}
