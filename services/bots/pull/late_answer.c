/* SPDX-License-Identifier: MIT
 * late_answer.c - POST /api/rooms/{id}/messages with X-CALLER-KEY: what a bot says to a delivery
 * after it has answered 202 to its call. */
#include "services/bots/pull/pull.h"

#include "services/bots/pull/reply.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/respond.h"

enum { ID_MAX_BYTES = 128 };

static void on_stored(struct request *r, const struct message *message)
{
    struct buf b;
    buf_init(&b, MESSAGE_JSON_MAX_BYTES);
    message_put(&b, message);
    respond_json(r, 201, &b);
    buf_fini(&b);
}

static void on_caller(struct request *r, const struct caller *caller)
{
    struct str room = request_path_param(r, "id"), text, delivery;
    if (!request_body(r) || !request_text(r, "text", 1, MESSAGE_TEXT_MAX_BYTES, &text) ||
        !request_text(r, "delivery", 1, ID_MAX_BYTES, &delivery))
        return;
    if (!str_eq(delivery_room(delivery), room))
        explain(r, ERR_NOT_FOUND, "This bot has no delivery %s in the room %s.",
                explain_quoted(r, delivery), explain_quoted(r, room));
    else
        reply_start(r, caller, room, delivery, text, on_stored);
}

void pull_late_answer(struct request *r)
{
    caller_start(r, on_caller);
}
