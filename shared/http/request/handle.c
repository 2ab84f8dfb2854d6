/* SPDX-License-Identifier: MIT
 * handle.c - runs handlers: at once, or later for a long body, or after the request's nonce was
 * used up (request.h). */
#include "shared/http/request/handle.h"

#include "shared/http/request/once.h"
#include "shared/http/request/peer.h"
#include "shared/http/request/respond.h"
#include "shared/http/wire/leave.h"

enum { LONG_BODY_BYTES = 32 << 10 };

/* Its client has left, or it has lost its right, before the handler could listen for that: the
 * handler begins as if it had not, and is notified of it then. */
static void handle_late(struct request *r)
{
    bool has_left = r->exchange.has_left;
    enum err revoked = r->revoked;
    r->exchange.has_left = false;
    r->revoked = ERR_OK;
    r->route->handle(r);
    r->exchange.has_left = has_left;
    r->revoked = revoked;
    leave_notify(&r->exchange);
}

static void handle_now(struct request *r)
{
    if (once_must_bind(r))
        once_bind(r);
    else if (r->exchange.has_left || r->revoked != ERR_OK)
        handle_late(r);
    else
        r->route->handle(r);
}

static void begin_next_long(struct server *server)
{
    struct fair_entry *entry = fair_slots_next(server->requests.long_bodies);
    if (entry != NULL)
        loop_begin_steps(server->loop, &container_of(entry, struct request, body_turn)->handling);
}

void handle_cancel(struct request *r)
{
    steps_end(&r->handling);
    if (r->body_turn.part == NULL)
        return;
    fair_slots_leave(r->server->requests.long_bodies, &r->body_turn);
    begin_next_long(r->server);
}

static bool handle_long(struct steps *steps)
{
    struct request *r = container_of(steps, struct request, handling);
    if (once_read_some(r))
        return true;
    handle_cancel(r);
    handle_now(r);
    return false;
}

/* To read a long body takes milliseconds, and many may come at once: accounts take turns. */
void request_handle(struct request *r)
{
    const struct fair_owner owner = {r->account == NULL ? peer_address(r) : r->account->name_token,
                                     STR(""), STR("")};
    if (r->exchange.h2o->entity.len <= LONG_BODY_BYTES && !once_read_some(r)) {
        handle_now(r);
        return;
    }
    r->handling.step = handle_long;
    fair_slots_wait(r->server->requests.long_bodies, &r->body_turn, &owner, 1);
    begin_next_long(r->server);
}

/* With several shards, the nonce is most likely on one and the request's verb on another. */
static void on_nonce_used_first(struct request *r, enum err error, struct str reply)
{
    (void)reply; /* "ok": a replay has been answered with that */
    if (error != ERR_OK)
        respond_error(r, error, NULL);
    else
        request_handle(r);
}

void request_end_handler(struct request *r)
{
    handle_cancel(r);
    request_detach(r);
    if (r->on_gone != NULL)
        r->on_gone(r);
    r->on_gone = NULL;
    r->exchange.left = NULL;
}

void request_handle_after_nonce(struct request *r)
{
    request_use_nonce(r, on_nonce_used_first);
}
