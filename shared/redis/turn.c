/* SPDX-License-Identifier: MIT
 * turn.c - see turn.h and lua/turn/frame.lua.
 *
 * A batch goes COLLECTING -> SENT -> answered. Its bytes are kept until the answer is there, so
 * that it can be sent again when Redis says that it does not know the function (a restart without
 * persistence, FUNCTION FLUSH): such a batch has certainly not run. A batch without an answer in
 * time means that Redis hangs: the connection is given up and everybody hears ERR_REDIS_LOST.
 *
 * A batch that is refused because Redis is full (OOM) has not run either. All of it is sent again,
 * as it is, to the library's other function, which runs the verbs that may run then and refuses the
 * others one by one (lua/turn/full.lua): so order, numbers of nonces and replies stay what they
 * are. Every batch tries the ordinary function first: a refusal costs Redis less than reading the
 * call, and nothing is refused a moment longer than Redis is full (ADR 5).
 *
 * A batch whose replies grew long returns before all its verbs have run, so that Redis serves
 * others in between. It is sent again for the rest, after those that have waited longer, and one
 * at a time: however much is read, what is begun meanwhile waits for a few calls (ADR 76).
 *
 * turn_answer.c passes the reply to the batch's calls, turn_library.c loads the library and keeps
 * what is wrong with Redis, turn_hold.c what waits while the shard moves to another server.
 *
 * Slow verbs are collected in batches of their own, which are sent one at a time (send_slow).
 *
 * While IN_FLIGHT_MAX batches are under way the next one grows. One that is full is sent unless
 * IN_FLIGHT_BYTES are under way, or UNWRITTEN_BYTES are not written yet: hiredis moves all that it
 * has not written with each call and each write, so what it is given must not grow with what
 * clients sent. While Redis is idle one of EARLY_CALLS verbs does not wait for the turn's end:
 * Redis runs them while the node reads the next requests. A batch with a new query waits for the
 * end, so that polls that arrive in the same turn are parked first: to queue and claim a query
 * costs a third more than to hand it over. */
#include "shared/redis/turn_internal.h"

#include "generated/verb_ids.h"
#include "shared/base/mem.h"
#include "shared/metrics/metrics.h"

#include <hiredis/hiredis.h>
#include <stdio.h>

enum {
    IN_FLIGHT_MAX = 8,
    IN_FLIGHT_LONG_MAX = 2,    /* while calls are long */
    IN_FLIGHT_BYTES = 8 << 20, /* more than Redis takes while the node serves others */
    UNWRITTEN_BYTES = 2 << 20, /* what hiredis moves and writes of them in a millisecond or two */
    EARLY_CALLS = 8,
    SETTINGS_MAX_BYTES = 1024,
    BYTES_A_MS = 4096, /* of a slow network: uploads get the time that they take on one */
};

/* --- batches -------------------------------------------------------------------------------- */

static struct batch *new_batch(struct turn *turn)
{
    struct batch *batch = turn->free;
    if (batch == NULL)
        return batch_create(turn);
    turn->free = batch->next;
    batch->next = NULL;
    return batch;
}

static void recycle(struct turn *turn, struct batch *batch)
{
    turn->query_n -= batch->query_n;
    batch_clear(batch);
    batch->next = turn->free;
    turn->free = batch;
}

/* Every call of the batch ends with `error`. */
void turn_fail_batch(struct turn *turn, struct batch *batch, enum err error)
{
    uint64_t now_us = clock_mono_us();
    for (int i = 0; i < BATCH_LANE_N; i++)
        for (struct call_slot *slot = batch->lanes[i].first; slot != NULL; slot = slot->next)
            turn_answer_call(turn, slot, now_us, error, (struct str){NULL, 0});
    recycle(turn, batch);
}

/* Verbs are still being begun: their owners are notified in turn_flush. */
static void fail_later(struct turn *turn, struct batch *batch, enum err error)
{
    batch->error = error;
    batch->next = turn->doomed;
    turn->doomed = batch;
}

/* Callbacks run, which may begin new verbs: these are for the next round. */
static void fail_doomed(struct turn *turn)
{
    struct batch *doomed = turn->doomed, *next;
    turn->doomed = NULL;
    for (; doomed != NULL; doomed = next) {
        next = doomed->next;
        turn_fail_batch(turn, doomed, doomed->error);
    }
}

static void unlink_sent(struct turn *turn, struct batch *batch)
{
    struct batch **at = &turn->sent;
    while (*at != batch)
        at = &(*at)->next;
    *at = batch->next;
    turn->in_flight_n--;
    turn->in_flight_bytes -= batch->wire.n;
    if (batch->is_slow)
        turn->is_slow_in_flight = false;
    if (batch->is_rest)
        turn->is_rest_in_flight = false;
    loop_cancel_deadline(turn->loop, &batch->deadline);
}

/* Puts what all calls of a node share: the frame's first word (lua/turn/frame.lua). */
static void put_settings(struct buf *settings, const struct turn_config *config)
{
    uint64_t numbers[] = {config->lease_ms,
                          config->delivery_ms,
                          config->max_attempts,
                          config->queue_max,
                          config->map == NULL ? 1 : config->map->n,
                          config->fallback_ms};
    buf_put(settings, str_of(config->node_id));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        buf_put_char(settings, ' ');
        buf_put_u64(settings, numbers[i]);
    }
}

/* The number of shards may be agreed on after the turn was made, not after it is up. */
const struct buf *turn_settings(struct turn *turn)
{
    if (turn->settings.n == 0)
        put_settings(&turn->settings, &turn->config);
    return &turn->settings;
}

static void send_freeing(struct turn *turn, struct batch *batch)
{
    batch->is_freeing = true;
    batch_write(batch, turn->functions.turn_freeing, turn->config.prefix, turn_settings(turn));
    turn_send_batch(turn, batch);
    redis_conn_flush(turn->conn);
}

/* An error that we do not know: most likely a bug of ours. */
static void say_failure(struct turn *turn, const char *error)
{
    uint64_t times;
    if (log_limit_passes(&turn->limit, error, &times))
        log_write(LOG_ERROR, "a turn failed", LOG_S("error", error), LOG_U("times", times));
}

/* The batch has not run. */
static void on_batch_refused(struct turn *turn, struct batch *batch, const char *error)
{
    if (redis_library_is_missing(error)) {
        turn_say_trouble(turn, "redis lost the function library: loading it again", error);
        batch->next = turn->parked;
        turn->parked = batch;
        turn_load_library(turn);
        return;
    }
    if (turn_hold_refused(turn, batch, error))
        return;
    enum redis_trouble trouble = redis_trouble_of(error);
    if (trouble != REDIS_FINE)
        turn_set_trouble(turn, trouble, error);
    else
        say_failure(turn, error);
    if (trouble == REDIS_FULL && !batch->is_freeing)
        send_freeing(turn, batch);
    else
        turn_fail_batch(turn, batch, redis_trouble_info(trouble)->error);
}

/* Its first verbs have run, and Redis may not be full any more. */
static void put_rest(struct turn *turn, struct batch *batch)
{
    batch->is_rest = true;
    batch->is_freeing = false;
    batch->held_ms = 0;
    batch_write(batch, turn->functions.turn, turn->config.prefix, turn_settings(turn));
    if (turn->is_paused)
        turn_hold_rest(turn, batch);
    else
        batch_queue_put(&turn->rest, batch);
}

/* Returns whether it has sent something. */
static bool send_rest(struct turn *turn)
{
    if (turn->rest.first == NULL || turn->is_paused || turn->is_rest_in_flight)
        return false;
    turn_send_batch(turn, batch_queue_take(&turn->rest));
    return true;
}

static void hold_rest(struct turn *turn)
{
    while (turn->rest.first != NULL)
        turn_hold_rest(turn, batch_queue_take(&turn->rest));
}

static void fail_rest(struct turn *turn)
{
    while (turn->rest.first != NULL)
        turn_fail_batch(turn, batch_queue_take(&turn->rest), ERR_REDIS_LOST);
}

static void on_batch_reply(void *arg, const redisReply *reply)
{
    struct batch *batch = arg;
    struct turn *turn = batch->turn;
    unlink_sent(turn, batch);
    if (reply == NULL) {
        turn_fail_batch(turn, batch, ERR_REDIS_LOST);
    } else if (reply->type == REDIS_REPLY_ARRAY) {
        bool is_over = turn->trouble != REDIS_FINE && !batch->is_freeing;
        if (turn_answer_batch(turn, batch, reply))
            recycle(turn, batch);
        else
            put_rest(turn, batch);
        turn_hold_answered(turn);
        if (is_over)
            turn_end_trouble(turn);
    } else {
        on_batch_refused(turn, batch,
                         reply->type == REDIS_REPLY_ERROR ? reply->str : "unexpected reply");
    }
}

static void on_batch_late(struct deadline *deadline)
{
    struct batch *batch = container_of(deadline, struct batch, deadline);
    redis_conn_reset(batch->turn->conn, "no answer in time");
}

void turn_send_batch(struct turn *turn, struct batch *batch)
{
    if (batch->wire.is_over ||
        redis_conn_send(turn->conn, buf_str(&batch->wire), on_batch_reply, batch) != ERR_OK) {
        fail_later(turn, batch, batch->wire.is_over ? ERR_INTERNAL : ERR_REDIS_LOST);
        return;
    }
    turn->config.on_sent(turn->config.arg, batch_waiting_n(batch));
    batch->next = turn->sent;
    turn->sent = batch;
    turn->in_flight_n++;
    turn->in_flight_bytes += batch->wire.n;
    if (batch->is_slow)
        turn->is_slow_in_flight = true;
    if (batch->is_rest)
        turn->is_rest_in_flight = true;
    batch->deadline.on_expire = on_batch_late;
    batch->sent_us = clock_mono_us();
    uint64_t now_ms = batch->sent_us / 1000;
    turn->moved_ms =
        (turn->moved_ms > now_ms ? turn->moved_ms : now_ms) + batch->wire.n / BYTES_A_MS;
    loop_set_deadline(turn->loop, &batch->deadline, turn->moved_ms - now_ms + TURN_ANSWER_MAX_MS);
}

static void send_new(struct turn *turn, struct batch *batch)
{
    if (!turn->is_up && !turn->is_paused) {
        fail_later(turn, batch, ERR_REDIS_LOST);
        return;
    }
    batch->number = ++turn->batch_n;
    batch_take_turns(batch);
    batch_write(batch, turn->functions.turn, turn->config.prefix, turn_settings(turn));
    if (!turn->is_paused)
        turn_send_batch(turn, batch);
    else if (!turn_hold_new(turn, batch))
        fail_later(turn, batch, ERR_STORE_BUSY);
}

static struct batch *take_collected(struct turn *turn)
{
    struct batch *batch = turn->collecting;
    turn->collecting = new_batch(turn);
    return batch;
}

static void send_collected(struct turn *turn)
{
    send_new(turn, take_collected(turn));
}

/* Returns true as well when nothing can be sent or all is held: batches then end or are held at
 * once. */
static bool has_room(const struct turn *turn)
{
    return turn->is_paused || !turn->is_up ||
           (turn->in_flight_bytes < IN_FLIGHT_BYTES &&
            redis_conn_unsent_bytes(turn->conn) < UNWRITTEN_BYTES);
}

/* Returns whether it has sent something. */
static bool send_full(struct turn *turn)
{
    bool is_sent = false;
    while (turn->full.first != NULL && has_room(turn)) {
        send_new(turn, batch_queue_take(&turn->full));
        is_sent = true;
    }
    return is_sent;
}

void turn_hold_collected(struct turn *turn)
{
    hold_rest(turn);
    send_full(turn);
    if (turn->collecting->call_n > 0)
        send_collected(turn);
    while (turn->slow.first != NULL)
        send_new(turn, batch_queue_take(&turn->slow));
}

/* --- slow verbs ------------------------------------------------------------------------------- */

static bool has_room_for(const struct batch *batch, uint64_t user)
{
    for (unsigned i = 0; user != 0 && i < batch->call_n; i++)
        if (batch->users[i] == user)
            return false;
    return batch->call_n < BATCH_SLOW_MAX;
}

static struct batch *new_slow_batch(struct turn *turn, uint64_t owner, uint64_t round)
{
    struct batch *batch = new_batch(turn);
    batch->is_slow = true;
    batch->owner = owner;
    batch->round = round;
    batch_queue_put_round(&turn->slow, batch);
    return batch;
}

/* The batch that the user's next slow verb goes into. Each owner has one in a round, and each of
 * its users one verb in it: a user that waits comes next, however many others have. */
static struct batch *slow_batch(struct turn *turn, uint64_t owner, uint64_t user)
{
    struct batch *at = turn->slow.first;
    uint64_t last = turn->slow_round;
    for (; at != NULL && !(at->owner == owner && has_room_for(at, user)); at = at->next)
        if (at->owner == owner)
            last = at->round;
    if (at == NULL)
        at = new_slow_batch(turn, owner, last + 1);
    at->users[at->call_n] = user;
    return at;
}

/* Between two of them Redis serves what other nodes, and this one's other verbs, have sent. Returns
 * whether it has sent something. */
static bool send_slow(struct turn *turn)
{
    bool is_sent = false;
    while (turn->slow.first != NULL && !turn->is_paused &&
           !(turn->is_up && turn->is_slow_in_flight)) {
        struct batch *batch = batch_queue_take(&turn->slow);
        turn->slow_round = batch->round;
        send_new(turn, batch);
        is_sent = true;
    }
    return is_sent;
}

/* Returns whether enough calls are under way, so that the next one grows instead. Those that are
 * sent one at a time do not count. */
static bool is_busy(const struct turn *turn)
{
    bool is_long = turn->is_rest_in_flight || turn->rest.first != NULL;
    unsigned n = turn->in_flight_n - turn->is_rest_in_flight - turn->is_slow_in_flight;
    return turn->is_up && n >= (is_long ? IN_FLIGHT_LONG_MAX : IN_FLIGHT_MAX);
}

void turn_flush(struct turn *turn)
{
    bool is_sent = send_full(turn);
    bool is_waiting = turn->is_paused || turn->full.first != NULL || is_busy(turn);
    if (turn->collecting->call_n > 0 && !is_waiting) {
        send_collected(turn);
        is_sent = true;
    }
    is_sent |= send_rest(turn);
    is_sent |= send_slow(turn);
    if (is_sent)
        redis_conn_flush(turn->conn);
    fail_doomed(turn);
    if (turn->fence != NULL)
        turn->fence->flush(turn->fence);
}

static struct str verb_name(unsigned verb)
{
    return verb_infos[verb].name;
}

/* --- verbs ---------------------------------------------------------------------------------- */

struct buf *turn_begin_verb(struct call_start start, const struct verb_info *verb)
{
    struct turn *turn = start.turn;
    bool is_query = verb->id == VERB_ADD || verb->id == VERB_ASK;
    turn->pending_n++;
    turn->query_n += is_query;
    turn->writing =
        verb->lane == LANE_SLOW ? slow_batch(turn, start.owner, start.user) : turn->collecting;
    turn->writing->query_n += is_query;
    return batch_begin(turn->writing, start, verb);
}

void turn_end_verb(struct turn *turn, unsigned argc)
{
    struct batch *batch = turn->writing;
    batch_end(batch, argc);
    if (batch->is_slow)
        return;
    bool is_behind = turn->full.first != NULL || !has_room(turn);
    bool is_idle = turn->is_up && !turn->is_paused && turn->in_flight_n == 0 && !is_behind &&
                   batch->query_n == 0 && batch->call_n >= EARLY_CALLS;
    if (batch_is_full(batch) && is_behind)
        batch_queue_put(&turn->full, take_collected(turn));
    else if (batch_is_full(batch) || is_idle)
        send_collected(turn);
    if (is_idle)
        redis_conn_push(turn->conn);
}

/* --- life ----------------------------------------------------------------------------------- */

static void on_connect(void *arg)
{
    struct turn *turn = arg;
    durability_ask(turn->conn, &turn->durability);
    turn_load_library(turn);
}

void turn_fail_parked(struct turn *turn, enum err error)
{
    struct batch *batch = turn->parked, *next;
    turn->parked = NULL;
    for (; batch != NULL; batch = next) {
        next = batch->next;
        turn_fail_batch(turn, batch, error);
    }
}

static void on_lost(void *arg)
{
    struct turn *turn = arg;
    bool was_up = turn->is_up, is_held = turn_hold_lost(turn);
    turn->is_up = turn->is_loading = false;
    turn->trouble = REDIS_FINE;
    turn_fail_parked(turn, ERR_REDIS_LOST);
    if (is_held)
        hold_rest(turn);
    else
        fail_rest(turn);
    if (was_up && !is_held)
        turn->config.on_lost(turn->config.arg);
}

static void on_emptied(void *arg)
{
    struct turn *turn = arg;
    log_write(LOG_WARN,
              "redis came back without its cluster record: what was stored in it is lost");
    turn->durability.has_lost_data = true;
}

static void on_elsewhere(void *arg)
{
    turn_leave(arg, "its shard is on another server now");
}

struct turn *turn_create(struct loop *loop, const struct redis_address *address,
                         const struct turn_config *config)
{
    struct turn *turn = mem_zeroed(sizeof *turn);
    turn->loop = loop;
    turn->config = *config;
    turn->address = address;
    turn_hold_init(turn);
    buf_init(&turn->settings, SETTINGS_MAX_BYTES);
    buf_init(&turn->library, LIBRARY_MAX_BYTES);
    redis_library_put(&turn->library, &turn->functions);
    buf_init(&turn->joined, TURN_JOINED_MAX_BYTES);
    turn->collecting = new_batch(turn);
    if (config->metrics != NULL)
        metrics_name_verbs(verb_name, verb_infos_n);
    turn->conn = redis_conn_create(loop, &(struct redis_conn_config){.address = address,
                                                                     .name = "parley-turn",
                                                                     .map = config->map,
                                                                     .shard = config->shard,
                                                                     .on_connect = on_connect,
                                                                     .on_lost = on_lost,
                                                                     .on_elsewhere = on_elsewhere,
                                                                     .on_emptied = on_emptied,
                                                                     .arg = turn});
    return turn;
}

static void destroy_batches(struct batch *batch)
{
    for (struct batch *next; batch != NULL; batch = next) {
        next = batch->next;
        batch_destroy(batch);
    }
}

void turn_stop(struct turn *turn)
{
    turn->is_up = false;
    redis_conn_destroy(turn->conn); /* what is sent hears ERR_REDIS_LOST */
    turn->conn = NULL;
    turn_fail_parked(turn, ERR_REDIS_LOST);
    turn_hold_fini(turn);
    fail_rest(turn);
    send_full(turn); /* in vain */
    if (turn->collecting->call_n > 0)
        send_collected(turn);
    send_slow(turn);
    fail_doomed(turn);
    if (turn->fence != NULL)
        turn->fence->destroy(turn->fence);
    turn->fence = NULL;
}

void turn_destroy(struct turn *turn)
{
    if (turn == NULL)
        return;
    if (turn->conn != NULL)
        turn_stop(turn);
    destroy_batches(turn->doomed);
    destroy_batches(turn->collecting);
    destroy_batches(turn->full.first);
    destroy_batches(turn->slow.first);
    destroy_batches(turn->free);
    buf_fini(&turn->settings);
    buf_fini(&turn->library);
    buf_fini(&turn->joined);
    free(turn);
}

bool turn_is_up(const struct turn *turn)
{
    return turn->is_up || turn->is_paused;
}

enum redis_trouble turn_trouble(const struct turn *turn)
{
    if (turn->conn == NULL)
        return REDIS_AWAY;
    return turn_is_up(turn) ? turn->trouble : redis_conn_trouble(turn->conn);
}

unsigned turn_warnings(const struct turn *turn)
{
    const struct turn_fence *fence = turn->fence;
    return turn->durability.warnings |
           (fence == NULL || fence->is_confirmed(fence) ? 0 : DURABILITY_UNCONFIRMED) |
           (turn->durability.has_lost_data ? DURABILITY_EMPTIED : 0);
}

bool turn_is_prompt(const struct turn *turn)
{
    return turn->fence == NULL || turn->fence->is_prompt(turn->fence);
}

bool turn_is_collecting(const struct turn *turn)
{
    return turn->collecting->call_n > 0 || (turn->full.first != NULL && has_room(turn)) ||
           (turn->slow.first != NULL && !turn->is_slow_in_flight);
}

unsigned turn_queries_n(const struct turn *turn)
{
    return turn->query_n;
}

size_t turn_pending_n(const struct turn *turn)
{
    return turn->pending_n;
}

uint64_t turn_took_us(const struct turn *turn)
{
    return turn->took_us;
}
