/* SPDX-License-Identifier: MIT
 * engine_poll.c - an engine's request that waits for work, queries or lookups (broker.h). Whatever
 * ends the wait, the deadline, a drain, a newer poll of that engine or a client that leaves, ends
 * it here, with the answer that its route has for nothing. */
#include "services/broker/handlers.h"

static void answer_empty(struct engine_poll *p)
{
    loop_cancel_deadline(p->r->server->loop, &p->deadline);
    p->answer_empty(p->r);
}

static void on_claim(struct poll *poll, struct claim *claim)
{
    struct engine_poll *p = H2O_STRUCT_FROM_MEMBER(struct engine_poll, poll, poll);
    loop_cancel_deadline(p->r->server->loop, &p->deadline);
    p->on_claim(p, claim);
}

static void on_end(struct poll *poll, enum err error)
{
    struct engine_poll *p = H2O_STRUCT_FROM_MEMBER(struct engine_poll, poll, poll);
    if (error == ERR_OK) {
        answer_empty(p);
        return;
    }
    loop_cancel_deadline(p->r->server->loop, &p->deadline);
    if (error == ERR_NOT_FOUND) { /* the client has left: this makes libh2o notice */
        p->r->h2o->http1_is_persistent = 0;
        error = ERR_DRAINING;
    }
    respond_error(p->r, error, NULL);
}

static bool is_alive(struct poll *poll)
{
    return !request_client_left(H2O_STRUCT_FROM_MEMBER(struct engine_poll, poll, poll)->r);
}

static void end(struct engine_poll *p)
{
    queue_poll_cancel(broker_of(p->r)->queue, &p->poll);
    answer_empty(p);
}

static void on_deadline(struct deadline *deadline)
{
    end(H2O_STRUCT_FROM_MEMBER(struct engine_poll, deadline, deadline));
}

/* A claim that it has already is left alone: nobody takes its bytes, and it is given back. */
static void on_left(struct left_listener *listener)
{
    struct engine_poll *p = H2O_STRUCT_FROM_MEMBER(struct engine_poll, left, listener);
    if (p->poll.state != POLL_IDLE)
        end(p);
}

void engine_poll_start(struct engine_poll *p, struct request *r, struct str models, uint64_t wait_s)
{
    p->r = r;
    p->poll.is_alive = is_alive;
    p->poll.on_claim = on_claim;
    p->poll.on_end = on_end;
    p->deadline.on_expire = on_deadline;
    p->left.on_left = on_left;
    request_on_left(r, &p->left);
    bool may_park = wait_s > 0 && !r->server->is_draining;
    if (may_park) {
        r->was_parked = true;
        loop_set_deadline(r->server->loop, &p->deadline, wait_s * 1000);
    }
    queue_poll_start(broker_of(r)->queue, &p->poll, r->account->name_token, models, &r->nonce,
                     may_park);
}

void engine_poll_fini(struct engine_poll *p)
{
    queue_poll_cancel(broker_of(p->r)->queue, &p->poll);
    loop_cancel_deadline(p->r->server->loop, &p->deadline);
    delivery_settle(&p->delivery, p->r);
}
