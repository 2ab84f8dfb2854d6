/* SPDX-License-Identifier: MIT
 * ending.c - ends deliveries that have no reply (delivery.h): with a notice in the room, or in
 * silence; and what the circuit of its bot is informed of. */
#include "services/bots/dispatch/delivery.h"

#include "generated/verbs.h"
#include "shared/queue/lines.h"

/* --- the bot's circuit ------------------------------------------------------------------------ */

void delivery_count_for_circuit(struct delivery *d, bool is_good)
{
    if (d->is_counted || d->found == NULL)
        return;
    d->is_counted = true;
    call_bot_outcome(shards_forget(delivery_shards(d)), .bot = str_of(d->bot), .id = d->target.id,
                     .is_good = is_good);
}

/* --- the end ---------------------------------------------------------------------------------- */

struct str delivery_username(const struct delivery *d)
{
    return lines_name_within(str_of(d->bot)); /* the characters of usernames need no escapes */
}

static void on_ended(struct call *call, enum err error, struct str reply)
{
    struct delivery *d = container_of(call, struct delivery, call);
    struct lines lines = lines_of(reply);
    bool is_stored = error == ERR_OK && str_eq(lines_next(&lines), STR("ok"));
    delivery_finish(d, is_stored ? d->outcome : OUTCOME_LOST, true);
}

static void begin_to_end(struct delivery *d, enum delivery_outcome outcome)
{
    delivery_move(d, DELIVERY_ENDING);
    loop_cancel_deadline(delivery_loop(d), &d->deadline);
    d->outcome = outcome;
}

void delivery_give_up(struct delivery *d, struct str reason)
{
    struct buf text, json;
    buf_init(&text, NOTICE_MAX_BYTES);
    buf_init(&json, 6 * NOTICE_MAX_BYTES);
    notice_put(&text, delivery_username(d), reason);
    buf_put_json(&json, buf_str(&text));
    begin_to_end(d, OUTCOME_FAILED);
    call_delivery_fail(shards_call(delivery_shards(d), &d->call, on_ended), .room = d->room,
                       .delivery = delivery_id(d), .fence = d->lease.fence, .text = buf_str(&json));
    buf_fini(&text);
    buf_fini(&json);
}

void delivery_end_silent(struct delivery *d)
{
    begin_to_end(d, OUTCOME_SILENT);
    call_delivery_silent(shards_call(delivery_shards(d), &d->call, on_ended), .room = d->room,
                         .delivery = delivery_id(d), .fence = d->lease.fence,
                         .bot = str_of(d->bot));
}

void delivery_fail(struct delivery *d, struct str reason)
{
    delivery_count_for_circuit(d, false);
    delivery_give_up(d, reason);
}
