/* SPDX-License-Identifier: MIT
 * handle.c - the life of a request (request.h): its handler runs at once, or later for a long body,
 * or after its nonce was used up. A small shared chunk hangs on the request's pool; its destructor
 * notifies us that libh2o has finished with the request. */
#include "shared/base/clock.h"
#include "shared/http/request/gather.h"
#include "shared/http/request/once.h"
#include "shared/http/request/peer.h"
#include "shared/http/request/respond.h"
#include "shared/http/wire/connection.h"
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
        once_bind(r, request_handle);
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

/* Keeps a handler that waits for its turn from running. */
static void cancel(struct request *r)
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
    cancel(r);
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
    cancel(r);
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

/* --- begin and end ---------------------------------------------------------------------------- */

/* Requests that have an account are listed: it may lose its right while they run. */
static void list(struct request *r)
{
    list_prepend(&r->server->requests.with_account, &r->link);
}

static void on_disposed(void *chunk)
{
    struct request *r = *(struct request **)chunk;
    r->server->requests.open_n--;
    r->server->hooks->gone(r);
    list_remove(&r->link);
    leave_unwatch(&r->exchange);
    cancel(r);
    r->exchange.is_authenticated = r->account != NULL;
    connection_end(&r->exchange);
    request_detach(r);
    if (r->on_gone != NULL)
        r->on_gone(r);
    once_fini(r);
    gather_fini(r->gather);
}

static void on_left(struct exchange *x)
{
    struct request *r = container_of(x, struct request, exchange);
    r->server->hooks->left(r);
}

struct request *request_create(struct server *server, h2o_req_t *h2o)
{
    struct request *r = h2o_mem_alloc_pool(&h2o->pool, sizeof *r);
    *r = (struct request){.exchange = {.h2o = h2o, .on_left = on_left},
                          .server = server,
                          .start_us = clock_mono_us()};
    struct request **chunk = h2o_mem_alloc_shared(&h2o->pool, sizeof *chunk, on_disposed);
    *chunk = r;
    server->requests.open_n++;
    connection_begin(&r->exchange);
    leave_watch(&r->exchange);
    request_split_target((struct str){h2o->path.base, h2o->path.len}, &r->path, &r->query);
    r->id = request_id_of(server, h2o);
    if (server->is_draining)
        h2o->http1_is_persistent = 0;
    return r;
}

void request_admit(struct request *r)
{
    if (r->account != NULL) {
        list(r);
        r->exchange.is_authenticated = true;
        connection_note_account(&r->exchange);
    }
    if (r->rejection != ERR_OK)
        respond_error(r, r->rejection, r->rejection_detail);
    else if (r->nonce.is_set && r->server->shards->n > 1 && !r->route->uses_nonce_itself)
        request_handle_after_nonce(r);
    else
        request_handle(r);
}
