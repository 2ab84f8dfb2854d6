/* SPDX-License-Identifier: MIT
 * answer_delivery.c - POST /api/bots/{username}/deliveries/{id}: what a bot that pulls has to say
 * to a delivery; the same JSON as in the response of one that is called. The first answer counts,
 * whichever process of the bot gives it, also after its lease. */
#include "services/bots/pull/pull.h"

#include "generated/verbs.h"
#include "services/bots/bots.h"
#include "services/bots/dispatch/answer.h"
#include "services/bots/pull/reply.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/respond.h"
#include "shared/queue/lines.h"

#include <stdio.h>

enum { DETAIL_BYTES = 160, RESPONSE_MAX_BYTES = MESSAGE_JSON_MAX_BYTES + 1024 };

static void refuse_missing(struct request *r)
{
    explain(r, ERR_NOT_FOUND, "This bot has no delivery %s.",
            explain_quoted(r, request_path_param(r, "id")));
}

/* --- a reply ---------------------------------------------------------------------------------- */

static void on_stored(struct request *r, const struct message *message)
{
    struct buf b;
    buf_init(&b, RESPONSE_MAX_BYTES);
    buf_lit(&b, "{\"id\":");
    buf_put_json(&b, request_path_param(r, "id"));
    buf_put_key(&b, "message");
    message_put(&b, message);
    buf_put_char(&b, '}');
    respond_json(r, 200, &b);
    buf_fini(&b);
}

/* --- nothing to say --------------------------------------------------------------------------- */

static void on_silent(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    struct buf *b = &r->server->scratch;
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
    } else if (str_eq(tag, STR("missing"))) {
        refuse_missing(r);
    } else if (!str_eq(tag, STR("ok"))) {
        respond_error(r, ERR_DELIVERY_ANSWERED, NULL);
    } else {
        struct str id = request_path_param(r, "id");
        buf_clear(b);
        buf_lit(b, "{\"id\":");
        buf_put_json(b, id);
        buf_lit(b, ",\"message\":null}");
        respond_json(r, 200, b);
    }
}

/* --- beginning -------------------------------------------------------------------------------- */

static void take(struct request *r, const struct caller *caller, struct str room,
                 const struct bot_answer *answer)
{
    struct str id = request_path_param(r, "id");
    if (answer->is_silent)
        call_delivery_silent(request_call(r, on_silent), .room = room, .delivery = id,
                             .fence = NO_NUMBER, .bot = caller->name);
    else
        reply_start(r, caller, room, id, answer->text, on_stored);
}

static void on_caller(struct request *r, const struct caller *caller)
{
    struct bot_answer answer;
    char detail[DETAIL_BYTES];
    enum bot_format format = BOT_FORMAT_ANNEX;
    struct str body = request_entity(r);
    struct str room = delivery_room(request_path_param(r, "id"));
    if (!pull_is_own(r, caller))
        return;
    if (room.at == NULL) {
        refuse_missing(r);
        return;
    }
    if (!bot_format_of(caller->format, &format))
        format = BOT_FORMAT_ANNEX;
    const char *fault = bot_answer_read(format, body, &answer);
    if (fault != NULL) {
        snprintf(detail, sizeof detail, "The answer %s.", fault);
        respond_error(r, ERR_BAD_REQUEST, detail);
        return;
    }
    take(r, caller, room, &answer);
    bot_answer_fini(&answer);
}

void pull_answer(struct request *r)
{
    caller_start(r, on_caller);
}
