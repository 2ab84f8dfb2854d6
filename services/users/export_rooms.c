/* SPDX-License-Identifier: MIT
 * export_rooms.c - messages.json: what the user wrote in rooms, room by room, oldest first;
 * bots.json: the bots that the user registered, newest first. */
#include "services/users/export.h"

#include "generated/verbs.h"

/* Up to the '-' of a message's id: when it was stored, in ms. */
static uint64_t time_of(struct str id)
{
    uint64_t ms = 0;
    return str_parse_u64(str_cut(&id, '-'), &ms) ? ms : 0;
}

/* Its room, the room's name, and the 7 lines of a message, see lua/bots/messages.lua. */
static void put_message(struct export *x, struct lines *lines)
{
    struct buf *b = &x->made;
    export_begin_item(x);
    struct str room = lines_next(lines), name = lines_next(lines), id = lines_next(lines);
    (void)lines_next(lines); /* its kind */
    (void)lines_next(lines); /* from: the user */
    buf_printf(b, "{\"room\":\"%.*s\"", STR_ARG(room));
    export_put_member(b, "name", name);
    buf_printf(b, ",\"id\":\"%.*s\"", STR_ARG(id));
    export_put_member(b, "text", lines_next(lines));
    export_put_member(b, "tagged", lines_next(lines));
    struct str reply_to = lines_next(lines);
    (void)lines_next(lines); /* its hop */
    buf_put_key(b, "reply_to");
    if (reply_to.n > 0)
        buf_put_json(b, reply_to);
    else
        buf_lit(b, "null");
    buf_put_key(b, "timestamp");
    buf_put_json_time(b, time_of(id));
    buf_put_char(b, '}');
}

static void on_messages(struct request *r, enum err error, struct str reply)
{
    struct export *x = r->state;
    struct lines lines = lines_of(reply);
    if (!export_takes(x, error, &lines, STR("")))
        return;
    struct str from = lines_next(&lines);
    bool is_last = from.n == 0;
    export_set(&x->after, lines_next(&lines));
    if (!str_parse_u64(from, &x->from))
        x->from = 0;
    while (lines_are_left(&lines))
        put_message(x, &lines);
    if (is_last && ++x->shard == x->r->server->shards->n) {
        export_end_list(x);
        x->shard = 0;
        x->stage = EXPORT_BOTS;
    }
    export_go_on(x);
}

void export_messages(struct export *x)
{
    if (x->shard == 0 && x->from == 0 && x->after.n == 0)
        export_begin_file(x, STR("messages.json"));
    call_rooms_of_user(export_call_at(x, x->shard, on_messages),
                       .user = x->person.on_behalf.user_name, .from = x->from,
                       .after = buf_str(&x->after));
}

/* --- bots ------------------------------------------------------------------------------------- */

/* Takes the 17 lines of a bot, see lua/bots/bot_list.lua. */
static void take_bot(struct export *x, struct lines *lines)
{
    struct buf *b = &x->made;
    struct str of[17];
    uint64_t created_ms = 0;
    for (size_t i = 0; i < 17; i++)
        of[i] = lines_next(lines);
    if (!str_eq(of[8], x->person.on_behalf.user_name))
        return;
    export_begin_item(x);
    buf_lit(b, "{\"username\":");
    buf_put(b, of[3]);
    export_put_member(b, "emulates", of[4]);
    buf_put_key(b, "endpoint");
    if (of[5].n > 0)
        buf_put_json(b, of[5]);
    else
        buf_lit(b, "null");
    buf_put_key(b, "format");
    buf_put_json(b, of[6]);
    buf_put_key(b, "account");
    buf_put_json_of_name(b, x->r->account->namespace.n > 0 ? lines_name_within(of[7]) : of[7]);
    buf_put_key(b, "timestamp");
    buf_put_json_time(b, str_parse_u64(of[13], &created_ms) ? created_ms : 0);
    buf_put_char(b, '}');
}

static void on_bots(struct request *r, enum err error, struct str reply)
{
    struct export *x = r->state;
    struct lines lines = lines_of(reply);
    if (!export_takes(x, error, &lines, STR("")))
        return;
    struct str next = lines_next(&lines);
    while (lines_are_left(&lines))
        take_bot(x, &lines);
    export_set(&x->after, next);
    if (next.n == 0) {
        export_end_list(x);
        x->stage = EXPORT_EVALUATIONS;
    }
    export_go_on(x);
}

void export_bots(struct export *x)
{
    if (x->after.n == 0)
        export_begin_file(x, STR("bots.json"));
    call_bot_list(export_call(x, on_bots), .namespace = x->person.namespace, .limit = NO_NUMBER,
                  .after = buf_str(&x->after));
}
