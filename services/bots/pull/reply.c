/* SPDX-License-Identifier: MIT
 * reply.c - see reply.h. */
#include "services/bots/pull/reply.h"

#include "generated/verbs.h"
#include "services/bots/bots.h"
#include "services/bots/rooms/post.h"
#include "shared/http/request/respond.h"
#include "shared/queue/lines.h"

struct replying {
    struct posting *posting; /* NULL: it has ended */
    reply_cb *on_stored;
};

static void on_posted(void *context, const struct post_end *end)
{
    struct request *r = context;
    struct replying *replying = r->state;
    replying->posting = NULL;
    if (end->outcome == POSTED)
        replying->on_stored(r, &end->message);
    else if (end->error == ERR_NOT_FOUND)
        respond_error(r, ERR_NOT_FOUND, "This bot has no such delivery, or its room was deleted.");
    else
        respond_error(r, end->error, end->detail);
}

static void on_gone(struct request *r)
{
    struct replying *replying = r->state;
    post_leave(replying->posting);
}

void reply_start(struct request *r, const struct caller *caller, struct str room,
                 struct str delivery, struct str text, reply_cb *on_stored)
{
    struct replying *replying = request_alloc(r, sizeof *replying);
    struct str namespace = lines_namespace_of(caller->name);
    struct post post = {.kind = POST_REPLY,
                        .room = room,
                        .namespace = namespace.n > 0 ? namespace : STR("%"),
                        .text = text,
                        .max_stored = NO_NUMBER,
                        .max_stored_per_user = NO_NUMBER,
                        .bot = caller->username,
                        .delivery = delivery};
    *replying = (struct replying){.on_stored = on_stored};
    r->state = replying;
    r->on_gone = on_gone;
    replying->posting = post_start(bots_of(r), &post, on_posted, r);
}
