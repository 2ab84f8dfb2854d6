/* SPDX-License-Identifier: MIT
 * dispatcher.c - see dispatcher.h: what happens to a delivery, and when.
 *
 *   dispatcher_start --> WAITING <-a slot--> FINDING --> BEGINNING --> READING --> CALLING
 *                         |   ^                |             |            |        |  |  |
 *                         |   |  +-- RESTING <-+-------------|------------|--------+  |  |
 *                         |   +--+      |      |             |            |           |  |
 *                         |   time over |      | none, rests | over, busy |           |  | an
 * answer v             v      v             v            v   refused v  v ENDING
 * <------------------------------------------------------- REPLYING |            a notice in the
 * room, or nothing to say            | v v ENDED: done, failed, accepted, or no longer ours
 * <----------------+
 *
 * The room and the bot are read for each attempt, so that a delivery holds little while it waits,
 * and a key that was rotated or an endpoint that was replaced counts from the next attempt on. One
 * whose bot is a model waits again, for its turn among the questions: it stays in the queue for
 * long and takes no slot from calls. A verb that fails ends it here without a word: its lease ends,
 * and a node takes it. */
#include "services/bots/dispatch/delivery.h"

#include "generated/verbs.h"
#include "services/bots/dispatch/talk_read.h"
#include "services/bots/registry/endpoint.h"
#include "services/bots/rooms/post.h"
#include "shared/base/sm.h"
#include "shared/queue/lines.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    REST_MS = 1000, /* before the second attempt; twice as long before each further one */
    TRIAL_REST_MS = 1000,
    REASON_BYTES = 200,
    ROOM_LEAST = 20,
    NAMESPACE_BYTES = BOTS_NAME_MAX_BYTES,
};

static const struct sm_state states[] = {
    [DELIVERY_WAITING] = {"WAITING",
                          SM(DELIVERY_FINDING) | SM(DELIVERY_ENDING) | SM(DELIVERY_ENDED)},
    [DELIVERY_FINDING] = {"FINDING", SM(DELIVERY_WAITING) | SM(DELIVERY_BEGINNING) |
                                         SM(DELIVERY_RESTING) | SM(DELIVERY_ENDING) |
                                         SM(DELIVERY_ENDED)},
    [DELIVERY_BEGINNING] = {"BEGINNING",
                            SM(DELIVERY_READING) | SM(DELIVERY_ENDING) | SM(DELIVERY_ENDED)},
    [DELIVERY_READING] = {"READING",
                          SM(DELIVERY_CALLING) | SM(DELIVERY_ENDING) | SM(DELIVERY_ENDED)},
    [DELIVERY_CALLING] = {"CALLING", SM(DELIVERY_RESTING) | SM(DELIVERY_REPLYING) |
                                         SM(DELIVERY_ENDING) | SM(DELIVERY_ENDED)},
    [DELIVERY_RESTING] = {"RESTING",
                          SM(DELIVERY_WAITING) | SM(DELIVERY_ENDING) | SM(DELIVERY_ENDED)},
    [DELIVERY_REPLYING] = {"REPLYING",
                           SM(DELIVERY_RESTING) | SM(DELIVERY_ENDING) | SM(DELIVERY_ENDED)},
    [DELIVERY_ENDING] = {"ENDING", SM(DELIVERY_ENDED)},
    [DELIVERY_ENDED] = {"ENDED", 0},
};
static const struct sm sm = SM_OF("delivery", states);

static void move(struct delivery *d, enum delivery_state to)
{
    d->dispatcher->resting_n -= d->state == DELIVERY_RESTING;
    d->state = sm_move(&sm, d->number, d->state, to);
    d->dispatcher->resting_n += to == DELIVERY_RESTING;
}

static struct loop *loop_of(const struct delivery *d)
{
    return d->dispatcher->bots->server->loop;
}

static struct shards *shards_of(const struct delivery *d)
{
    return d->dispatcher->bots->server->shards;
}

/* --- deliveries of this node ------------------------------------------------------------------ */

static void finish(struct delivery *d, enum delivery_outcome outcome, bool is_final)
{
    struct dispatcher *dispatcher = d->dispatcher;
    move(d, DELIVERY_ENDED);
    dispatch_count_outcome(outcome);
    dispatch_count_held(-1);
    loop_cancel_deadline(loop_of(d), &d->deadline);
    call_detach(&d->call);
    bot_call_cancel(d->running, is_final);
    post_leave(d->posting);
    bot_vacancy_leave(&d->vacancy);
    slots_leave(d);
    lease_let_go(&d->lease);
    free(d->bot);
    free(d->account);
    free(d->user);
    free(d->found);
    free(d);
    slots_fill(dispatcher);
}

void delivery_drop(struct delivery *d)
{
    finish(d, OUTCOME_LOST, false);
}

/* --- the bot's circuit ------------------------------------------------------------------------ */

/* What the registry is told once per delivery; it may be lost. */
static void count_for_circuit(struct delivery *d, bool is_good)
{
    if (d->is_counted || d->found == NULL)
        return;
    d->is_counted = true;
    call_bot_outcome(shards_forget(shards_of(d)), .bot = str_of(d->bot), .id = d->target.id,
                     .is_good = is_good);
}

/* --- the end ---------------------------------------------------------------------------------- */

static struct str username_of(const struct delivery *d)
{
    return lines_name_within(str_of(d->bot)); /* the characters of usernames need no escapes */
}

static void on_ended(struct call *call, enum err error, struct str reply)
{
    struct delivery *d = H2O_STRUCT_FROM_MEMBER(struct delivery, call, call);
    struct lines lines = lines_of(reply);
    bool is_stored = error == ERR_OK && str_eq(lines_next(&lines), STR("ok"));
    finish(d, is_stored ? d->outcome : OUTCOME_LOST, true);
}

static void begin_to_end(struct delivery *d, enum delivery_outcome outcome)
{
    move(d, DELIVERY_ENDING);
    loop_cancel_deadline(loop_of(d), &d->deadline);
    d->outcome = outcome;
}

/* Without counting it for the bot's circuit. */
static void give_up(struct delivery *d, struct str reason)
{
    struct buf text, json;
    buf_init(&text, NOTICE_MAX_BYTES);
    buf_init(&json, 6 * NOTICE_MAX_BYTES);
    notice_put(&text, username_of(d), reason);
    buf_put_json(&json, buf_str(&text));
    begin_to_end(d, OUTCOME_FAILED);
    call_delivery_fail(shards_call(shards_of(d), &d->call, on_ended), .room = d->room,
                       .delivery = delivery_id(d), .fence = d->lease.fence, .text = buf_str(&json));
    buf_fini(&text);
    buf_fini(&json);
}

static void end_silent(struct delivery *d)
{
    begin_to_end(d, OUTCOME_SILENT);
    call_delivery_silent(shards_call(shards_of(d), &d->call, on_ended), .room = d->room,
                         .delivery = delivery_id(d), .fence = d->lease.fence,
                         .bot = str_of(d->bot));
}

static void fail(struct delivery *d, struct str reason)
{
    count_for_circuit(d, false);
    give_up(d, reason);
}

/* --- attempts --------------------------------------------------------------------------------- */

static uint64_t age_ms(const struct delivery *d)
{
    return clock_mono_ms() - d->since_ms;
}

/* It has waited for a slot for as long as it may. */
static void on_waited(struct deadline *deadline)
{
    struct delivery *d = H2O_STRUCT_FROM_MEMBER(struct delivery, deadline, deadline);
    slots_leave(d);
    give_up(d, STR("is busy and could not be called in time"));
}

static void wait_for_slot(struct delivery *d)
{
    struct dispatcher *dispatcher = d->dispatcher;
    uint64_t age = age_ms(d);
    slots_wait(d);
    d->deadline.on_expire = on_waited;
    loop_set_deadline(loop_of(d), &d->deadline,
                      age < DELIVERY_CALL_MS ? DELIVERY_CALL_MS - age : 0);
    slots_fill(dispatcher);
}

static void on_rested(struct deadline *deadline)
{
    struct delivery *d = H2O_STRUCT_FROM_MEMBER(struct delivery, deadline, deadline);
    loop_cancel_deadline(loop_of(d), deadline);
    move(d, DELIVERY_WAITING);
    wait_for_slot(d);
}

/* False: it rests until its lease ends, and is dropped. */
static bool rest(struct delivery *d, uint64_t ms)
{
    struct dispatcher *dispatcher = d->dispatcher;
    if (dispatcher->resting_n >= DISPATCH_HELD_MAX) {
        delivery_drop(d);
        return false;
    }
    move(d, DELIVERY_RESTING);
    slots_leave(d);
    d->deadline.on_expire = on_rested;
    loop_set_deadline(loop_of(d), &d->deadline, ms);
    slots_fill(dispatcher);
    return true;
}

/* The attempt has failed; is there time for another one? */
static void try_again(struct delivery *d, struct str reason, uint64_t after_ms)
{
    uint64_t rest_ms = (uint64_t)REST_MS << (d->attempt - 1);
    if (after_ms > 0)
        rest_ms = after_ms;
    if (d->attempt >= DELIVERY_ATTEMPTS || age_ms(d) + rest_ms >= DELIVERY_CALL_MS)
        fail(d, reason);
    else
        (void)rest(d, rest_ms);
}

/* --- room in the queue ------------------------------------------------------------------------ */

static void on_vacancy(struct bot_vacancy *vacancy)
{
    on_rested(&H2O_STRUCT_FROM_MEMBER(struct delivery, vacancy, vacancy)->deadline);
}

static void on_full_for_long(struct deadline *deadline)
{
    struct delivery *d = H2O_STRUCT_FROM_MEMBER(struct delivery, deadline, deadline);
    bot_vacancy_leave(&d->vacancy);
    give_up(d, STR("has too many questions in the queue"));
}

/* That was no attempt. */
static void wait_for_room(struct delivery *d, const struct bot_refused *refused)
{
    uint64_t age = age_ms(d);
    d->attempt--;
    if (!rest(d, age < DELIVERY_CALL_MS ? DELIVERY_CALL_MS - age : 0))
        return;
    d->deadline.on_expire = on_full_for_long;
    d->vacancy.on_vacancy = on_vacancy;
    bot_vacancy_wait(d->dispatcher->bots, &d->vacancy, refused);
}

/* --- replies ---------------------------------------------------------------------------------- */

static void on_posted(void *context, const struct post_end *end)
{
    struct delivery *d = context;
    d->posting = NULL;
    if (end->outcome == POSTED) {
        finish(d, OUTCOME_REPLIED, true);
    } else if (end->outcome == POST_REFUSED && !err_is_outage(end->error)) {
        /* Storage is full, for instance: the bot is asked again, for as long as there is time. */
        try_again(d, STR("answered, and the answer could not be stored"), 0);
    } else {
        finish(d, OUTCOME_LOST, true);
    }
}

static void reply(struct delivery *d, struct str text)
{
    struct str namespace = lines_namespace_of(str_of(d->bot));
    struct post post = {.kind = POST_REPLY,
                        .room = d->room,
                        .namespace = namespace.n > 0 ? namespace : STR("%"),
                        .text = text,
                        .max_stored = NO_NUMBER,
                        .max_stored_per_user = NO_NUMBER,
                        .bot = username_of(d),
                        .delivery = delivery_id(d),
                        .fence = d->lease.fence};
    move(d, DELIVERY_REPLYING);
    d->posting = post_start(d->dispatcher->bots, &post, on_posted, d);
}

static void on_accepted(struct call *call, enum err error, struct str reply)
{
    struct delivery *d = H2O_STRUCT_FROM_MEMBER(struct delivery, call, call);
    finish(d, error == ERR_OK && str_eq(reply, STR("ok")) ? OUTCOME_ACCEPTED : OUTCOME_LOST, true);
}

static void accept_later(struct delivery *d)
{
    move(d, DELIVERY_ENDING);
    call_delivery_accept(shards_call(shards_of(d), &d->call, on_accepted), .room = d->room,
                         .delivery = delivery_id(d), .fence = d->lease.fence);
}

static void on_called(void *context, const struct bot_call_end *end)
{
    struct delivery *d = context;
    d->running = NULL;
    if (end->outcome == BOT_CALL_NO_ROOM) {
        wait_for_room(d, &end->refused);
        return;
    }
    if (end->outcome != BOT_CALL_FAILED && end->outcome != BOT_CALL_REFUSED)
        count_for_circuit(d, true);
    switch (end->outcome) {
    case BOT_CALL_REPLIED: reply(d, end->text); return;
    case BOT_CALL_SILENT: end_silent(d); return;
    case BOT_CALL_ACCEPTED: accept_later(d); return;
    case BOT_CALL_FAILED: try_again(d, end->reason, end->retry_after_ms); return;
    default: fail(d, end->reason); return;
    }
}

/* --- an attempt ------------------------------------------------------------------------------- */

/* A model keeps its question in the queue between attempts, so one attempt has all the time. */
static uint64_t timeout_ms(const struct delivery *d)
{
    uint64_t age = age_ms(d), left = age < DELIVERY_OVER_MS ? DELIVERY_OVER_MS - age : 1;
    if (endpoint_kind_of(d->target.endpoint) == ENDPOINT_MODEL || left < BOT_CALL_TIMEOUT_MS)
        return left;
    return BOT_CALL_TIMEOUT_MS;
}

static void on_read(struct call *call, enum err error, struct str reply)
{
    struct delivery *d = H2O_STRUCT_FROM_MEMBER(struct delivery, call, call);
    struct talk_reading reading;
    if (error != ERR_OK || !talk_read(&reading, reply, d->target.username)) {
        delivery_drop(d);
        return;
    }
    reading.talk.room = d->room;
    struct bot_call_settings settings = {.bot = d->target,
                                         .delivery = delivery_id(d),
                                         .talk = &reading.talk,
                                         .timeout_ms = timeout_ms(d)};
    move(d, DELIVERY_CALLING);
    dispatch_count_attempt();
    d->running = bot_call_start(d->dispatcher->bots, &settings, on_called, d);
    talk_read_fini(&reading);
}

static void on_begun(struct call *call, enum err error, struct str reply)
{
    struct delivery *d = H2O_STRUCT_FROM_MEMBER(struct delivery, call, call);
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error == ERR_OK && str_eq(tag, STR("ok"))) {
        d->since_ms = clock_mono_ms() - lines_next_u64(&lines);
        d->attempt++;
        move(d, DELIVERY_READING);
        call_delivery_read(shards_call(shards_of(d), &d->call, on_read), .room = d->room,
                           .delivery = delivery_id(d));
    } else if (error == ERR_OK && str_eq(tag, STR("busy"))) {
        give_up(d, STR("is busy: too many messages to it are waiting"));
    } else if (error == ERR_OK && str_eq(tag, STR("over"))) {
        fail(d, STR("could not be called in time"));
    } else {
        delivery_drop(d);
    }
}

/* As lua/bots/bot_find.lua returns it, after "ok" and whether it may be called. */
static void read_target(struct bot_target *target, struct lines lines)
{
    *target = (struct bot_target){.name = lines_next(&lines)};
    target->id = lines_next(&lines);
    target->username = lines_next(&lines);
    target->emulates = lines_next(&lines);
    target->endpoint = lines_next(&lines);
    if (!bot_format_of(lines_next(&lines), &target->format))
        target->format = BOT_FORMAT_ANNEX;
    target->account = lines_next(&lines);
    target->user = lines_next(&lines);
    lines_next(&lines); /* the role */
    target->generation = lines_next_u64(&lines);
    target->has_former = str_eq(lines_next(&lines), STR("1"));
}

static void attempt(struct delivery *d)
{
    bool is_model = endpoint_kind_of(d->target.endpoint) == ENDPOINT_MODEL;
    if (is_model != d->is_model) {
        slots_leave(d);
        d->is_model = is_model;
        move(d, DELIVERY_WAITING);
        wait_for_slot(d);
        return;
    }
    move(d, DELIVERY_BEGINNING);
    call_delivery_attempt(shards_call(shards_of(d), &d->call, on_begun), .room = d->room,
                          .delivery = delivery_id(d), .fence = d->lease.fence,
                          .attempt = d->attempt + 1);
}

static void on_found(struct call *call, enum err error, struct str reply)
{
    struct delivery *d = H2O_STRUCT_FROM_MEMBER(struct delivery, call, call);
    if (error != ERR_OK) {
        delivery_drop(d);
        return;
    }
    free(d->found);
    d->found = str_copy(reply);
    struct lines lines = lines_of(str_of(d->found));
    if (!str_eq(lines_next(&lines), STR("ok"))) {
        give_up(d, STR("is not registered any more"));
        return;
    }
    struct str may = lines_next(&lines);
    read_target(&d->target, lines);
    if (str_eq(may, STR("rest"))) {
        give_up(d, STR("rests, because it has not answered several times in a row"));
    } else if (str_eq(may, STR("wait"))) {
        if (age_ms(d) + TRIAL_REST_MS >= DELIVERY_CALL_MS)
            give_up(d, STR("rests, because it has not answered several times in a row"));
        else
            (void)rest(d, TRIAL_REST_MS);
    } else {
        attempt(d);
    }
}

void delivery_begin(struct delivery *d)
{
    move(d, DELIVERY_FINDING);
    loop_cancel_deadline(loop_of(d), &d->deadline);
    call_bot_find(shards_call(shards_of(d), &d->call, on_found), .bot = str_of(d->bot),
                  .is_calling = true);
}

/* --- starting and ending ---------------------------------------------------------------------- */

static struct delivery *create(struct dispatcher *dispatcher, const struct delivery_lease *lease)
{
    struct delivery *d = calloc(1, sizeof *d);
    uint64_t now_ms = clock_mono_ms();
    if (d == NULL)
        abort();
    *d = (struct delivery){.dispatcher = dispatcher,
                           .number = sm_number(),
                           .bot = str_copy(lease->bot),
                           .account = str_copy(lease->account),
                           .user = str_copy(lease->user),
                           .attempt = lease->attempt,
                           .since_ms = now_ms > lease->age_ms ? now_ms - lease->age_ms : 0};
    dispatch_count_held(1);
    lease_hold(&dispatcher->leases, &d->lease, lease->id, lease->fence);
    d->room = lease_home(&d->lease);
    return d;
}

void delivery_start(struct dispatcher *dispatcher, const struct delivery_lease *lease)
{
    if (lease->id.n <= 4 + ROOM_ID_BYTES || lease->id.n > DELIVERY_ID_MAX_BYTES)
        return; /* of a newer version */
    struct delivery *d = create(dispatcher, lease);
    switch (lease->task) {
    case TASK_CALL: wait_for_slot(d); return;
    case TASK_BUSY: give_up(d, STR("is busy: too many messages wait for it")); return;
    case TASK_LATE: give_up(d, STR("has not answered yet")); return;
    default: give_up(d, STR("has not answered within 15 minutes")); return;
    }
}

void dispatcher_start(struct dispatcher *dispatcher, const struct bots_delivery *delivery)
{
    delivery_start(dispatcher, &(struct delivery_lease){.id = delivery->id,
                                                        .bot = delivery->bot,
                                                        .account = delivery->account,
                                                        .user = delivery->user,
                                                        .fence = delivery->fence});
}

/* A full one takes a few all the same: they may be of somebody whose turn comes first. */
unsigned dispatcher_room(const struct dispatcher *dispatcher)
{
    size_t waiting_n = fair_slots_waiting(dispatcher->calls);
    if (dispatcher->bots->server->is_draining)
        return 0;
    return waiting_n + ROOM_LEAST < DISPATCH_HELD_MAX ? (unsigned)(DISPATCH_HELD_MAX - waiting_n)
                                                      : ROOM_LEAST;
}

struct dispatcher *dispatcher_create(struct bots *bots)
{
    struct dispatcher *dispatcher = calloc(1, sizeof *dispatcher);
    if (dispatcher == NULL)
        abort();
    dispatcher->bots = bots;
    slots_init(dispatcher);
    leases_init(&dispatcher->leases, &delivery_leases, bots->server->loop, bots->server->shards,
                &bots->server->is_draining);
    return dispatcher;
}

void dispatcher_destroy(struct dispatcher *dispatcher)
{
    if (dispatcher == NULL)
        return;
    dispatcher->is_starting = true; /* nothing begins any more */
    leases_fini(&dispatcher->leases);
    slots_fini(dispatcher);
    free(dispatcher);
}

/* Those that wait are left to other nodes, which take them when their leases end. */
void dispatcher_drain(struct dispatcher *dispatcher)
{
    dispatcher->is_starting = true;
    leases_drain(&dispatcher->leases);
}
