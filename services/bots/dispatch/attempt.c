/* SPDX-License-Identifier: MIT
 * attempt.c - an attempt to call the bot of a delivery (delivery.h), from the wait for a slot to
 * its reply, and what comes after one that failed. */
#include "services/bots/dispatch/delivery.h"

#include "generated/verbs.h"
#include "services/bots/dispatch/talk_read.h"
#include "services/bots/registry/endpoint.h"
#include "services/bots/rooms/post.h"
#include "shared/queue/lines.h"

#include <stdlib.h>

enum {
    REST_MS = 1000, /* before the second attempt; twice as long before each further one */
    TRIAL_REST_MS = 1000,
};

/* --- attempts --------------------------------------------------------------------------------- */

static uint64_t age_ms(const struct delivery *d)
{
    return clock_mono_ms() - d->since_ms;
}

/* It has waited for a slot for as long as it may. */
static void on_waited(struct deadline *deadline)
{
    struct delivery *d = container_of(deadline, struct delivery, deadline);
    slots_leave(d);
    delivery_give_up(d, STR("is busy and could not be called in time"));
}

void delivery_wait(struct delivery *d)
{
    struct dispatcher *dispatcher = d->dispatcher;
    uint64_t age = age_ms(d);
    slots_wait(d);
    d->deadline.on_expire = on_waited;
    loop_set_deadline(delivery_loop(d), &d->deadline,
                      age < DELIVERY_CALL_MS ? DELIVERY_CALL_MS - age : 0);
    slots_fill(dispatcher);
}

static void on_rested(struct deadline *deadline)
{
    struct delivery *d = container_of(deadline, struct delivery, deadline);
    loop_cancel_deadline(delivery_loop(d), deadline);
    delivery_move(d, DELIVERY_WAITING);
    delivery_wait(d);
}

/* False: it rests until its lease ends, and is dropped. */
static bool rest(struct delivery *d, uint64_t ms)
{
    struct dispatcher *dispatcher = d->dispatcher;
    if (dispatcher->resting_n >= DISPATCH_HELD_MAX) {
        delivery_drop(d);
        return false;
    }
    delivery_move(d, DELIVERY_RESTING);
    slots_leave(d);
    d->deadline.on_expire = on_rested;
    loop_set_deadline(delivery_loop(d), &d->deadline, ms);
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
        delivery_fail(d, reason);
    else
        (void)rest(d, rest_ms);
}

/* --- room in the queue ------------------------------------------------------------------------ */

static void on_vacancy(struct bot_vacancy *vacancy)
{
    on_rested(&container_of(vacancy, struct delivery, vacancy)->deadline);
}

static void on_full_for_long(struct deadline *deadline)
{
    struct delivery *d = container_of(deadline, struct delivery, deadline);
    bot_vacancy_leave(&d->vacancy);
    delivery_give_up(d, STR("has too many questions in the queue"));
}

/* That was no attempt. */
static void wait_for_vacancy(struct delivery *d, const struct bot_refused *refused)
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
        delivery_finish(d, OUTCOME_REPLIED, true);
    } else if (end->outcome == POST_REFUSED && !err_is_outage(end->error)) {
        /* Storage is full, for instance: the bot is asked again, for as long as there is time. */
        try_again(d, STR("answered, and the answer could not be stored"), 0);
    } else {
        delivery_finish(d, OUTCOME_LOST, true);
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
                        .bot = delivery_username(d),
                        .delivery = delivery_id(d),
                        .fence = d->lease.fence};
    delivery_move(d, DELIVERY_REPLYING);
    d->posting = post_start(d->dispatcher->bots, &post, on_posted, d);
}

static void on_accepted(struct call *call, enum err error, struct str reply)
{
    struct delivery *d = container_of(call, struct delivery, call);
    delivery_finish(
        d, error == ERR_OK && str_eq(reply, STR("ok")) ? OUTCOME_ACCEPTED : OUTCOME_LOST, true);
}

static void accept_later(struct delivery *d)
{
    delivery_move(d, DELIVERY_ENDING);
    call_delivery_accept(shards_call(delivery_shards(d), &d->call, on_accepted), .room = d->room,
                         .delivery = delivery_id(d), .fence = d->lease.fence);
}

static void on_called(void *context, const struct bot_call_end *end)
{
    struct delivery *d = context;
    d->running = NULL;
    if (end->outcome == BOT_CALL_NO_ROOM) {
        wait_for_vacancy(d, &end->refused);
        return;
    }
    if (end->outcome != BOT_CALL_FAILED && end->outcome != BOT_CALL_REFUSED)
        delivery_count_for_circuit(d, true);
    switch (end->outcome) {
    case BOT_CALL_REPLIED: reply(d, end->text); return;
    case BOT_CALL_SILENT: delivery_end_silent(d); return;
    case BOT_CALL_ACCEPTED: accept_later(d); return;
    case BOT_CALL_FAILED: try_again(d, end->reason, end->retry_after_ms); return;
    default: delivery_fail(d, end->reason); return;
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
    struct delivery *d = container_of(call, struct delivery, call);
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
    delivery_move(d, DELIVERY_CALLING);
    dispatch_count_attempt();
    d->running = bot_call_start(d->dispatcher->bots, &settings, on_called, d);
    talk_read_fini(&reading);
}

static void on_begun(struct call *call, enum err error, struct str reply)
{
    struct delivery *d = container_of(call, struct delivery, call);
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error == ERR_OK && str_eq(tag, STR("ok"))) {
        d->since_ms = clock_mono_ms() - lines_next_u64(&lines);
        d->attempt++;
        delivery_move(d, DELIVERY_READING);
        call_delivery_read(shards_call(delivery_shards(d), &d->call, on_read), .room = d->room,
                           .delivery = delivery_id(d));
    } else if (error == ERR_OK && str_eq(tag, STR("busy"))) {
        delivery_give_up(d, STR("is busy: too many messages to it are waiting"));
    } else if (error == ERR_OK && str_eq(tag, STR("over"))) {
        delivery_fail(d, STR("could not be called in time"));
    } else {
        delivery_drop(d);
    }
}

static void attempt(struct delivery *d)
{
    bool is_model = endpoint_kind_of(d->target.endpoint) == ENDPOINT_MODEL;
    if (is_model != d->is_model) {
        slots_leave(d);
        d->is_model = is_model;
        delivery_move(d, DELIVERY_WAITING);
        delivery_wait(d);
        return;
    }
    delivery_move(d, DELIVERY_BEGINNING);
    call_delivery_attempt(shards_call(delivery_shards(d), &d->call, on_begun), .room = d->room,
                          .delivery = delivery_id(d), .fence = d->lease.fence,
                          .attempt = d->attempt + 1);
}

static void on_found(struct call *call, enum err error, struct str reply)
{
    struct delivery *d = container_of(call, struct delivery, call);
    if (error != ERR_OK) {
        delivery_drop(d);
        return;
    }
    free(d->found);
    d->found = str_copy(reply);
    if (!bot_target_read(str_of(d->found), &d->target))
        delivery_give_up(d, STR("is not registered any more"));
    else if (str_eq(d->target.may, STR("go")))
        attempt(d);
    else if (str_eq(d->target.may, STR("wait")) && age_ms(d) + TRIAL_REST_MS < DELIVERY_CALL_MS)
        (void)rest(d, TRIAL_REST_MS);
    else
        delivery_give_up(d, STR("rests, because it has not answered several times in a row"));
}

void delivery_begin(struct delivery *d)
{
    delivery_move(d, DELIVERY_FINDING);
    loop_cancel_deadline(delivery_loop(d), &d->deadline);
    call_bot_find(shards_call(delivery_shards(d), &d->call, on_found), .bot = str_of(d->bot),
                  .is_calling = true);
}
