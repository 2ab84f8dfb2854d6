/* SPDX-License-Identifier: MIT
 * engine_poll.c - an engine's request that waits for work, queries or lookups (broker.h). Every end
 * of the wait (deadline, drain, a newer poll of that engine, a client that leaves) is handled here,
 * with the route's empty answer. */
#include "services/broker/handlers.h"

static void answer_empty(struct engine_poll *p)
{
    loop_cancel_deadline(p->r->server->loop, &p->deadline);
    p->answer_empty(p->r);
}

static void on_claim(struct poll *poll, struct claim *claim)
{
    struct engine_poll *p = container_of(poll, struct engine_poll, poll);
    loop_cancel_deadline(p->r->server->loop, &p->deadline);
    p->on_claim(p, claim);
}

static void on_end(struct poll *poll, enum err error)
{
    struct engine_poll *p = container_of(poll, struct engine_poll, poll);
    if (error == ERR_OK) {
        answer_empty(p);
        return;
    }
    if (error == ERR_NONCE_USED && !p->is_extra) {
        loop_cancel_deadline(p->r->server->loop, &p->deadline);
        request_on_replay(p->r);
        return;
    }
    if (error == ERR_NOT_FOUND) { /* the client has left: this makes libh2o notice */
        request_end_connection(p->r);
        error = ERR_DRAINING;
    }
    if (p->is_extra) {
        answer_empty(p);
        return;
    }
    loop_cancel_deadline(p->r->server->loop, &p->deadline);
    respond_error(p->r, error, NULL);
}

static void on_parked(struct poll *poll)
{
    request_park(container_of(poll, struct engine_poll, poll)->r);
}

static bool is_alive(struct poll *poll)
{
    return !request_client_left(container_of(poll, struct engine_poll, poll)->r);
}

static void end(struct engine_poll *p)
{
    queue_poll_cancel(broker_of(p->r)->queue, &p->poll);
    answer_empty(p);
}

static void on_deadline(struct deadline *deadline)
{
    end(container_of(deadline, struct engine_poll, deadline));
}

/* A claim that it has already is left alone: nobody takes its bytes, and it is given back. */
static void on_left(struct left_listener *listener)
{
    struct engine_poll *p = container_of(listener, struct engine_poll, left);
    if (p->poll.state != POLL_IDLE) {
        queue_note_left(broker_of(p->r)->queue, &p->poll);
        end(p);
    }
}

static void set_up(struct engine_poll *p, struct request *r, uint64_t wait_s)
{
    p->r = r;
    p->wait_s = r->server->is_draining ? 0 : wait_s;
    p->poll.wait_ms = p->wait_s * 1000;
    struct str process = request_param(r, "Process");
    if (process.n > 0 && process.n <= ENGINE_MAX_BYTES)
        p->poll.process = names_of(r, process);
    p->poll.is_alive = is_alive;
    p->poll.on_parked = on_parked;
    p->poll.on_claim = on_claim;
    p->poll.on_end = on_end;
    p->deadline.on_expire = on_deadline;
    p->left.on_left = on_left;
}

/* From here on the client may leave, and the time may be up. */
static void begin_wait(struct engine_poll *p)
{
    request_on_left(p->r, &p->left);
    if (p->wait_s > 0) {
        p->r->was_parked = true;
        loop_set_deadline(p->r->server->loop, &p->deadline, p->wait_s * 1000);
    }
}

void engine_poll_start(struct engine_poll *p, struct request *r, struct str models, uint64_t wait_s)
{
    set_up(p, r, wait_s);
    begin_wait(p);
    queue_poll_start(broker_of(r)->queue, &p->poll, r->account->name_token, models, &r->nonce,
                     p->wait_s > 0);
}

static bool on_joined(struct poll *poll, enum err error, struct lines *reply)
{
    struct engine_poll *p = container_of(poll, struct engine_poll, poll);
    if (!p->on_joined(p, error, reply))
        return false;
    begin_wait(p);
    return true;
}

bool engine_poll_join(struct engine_poll *p, struct request *r, struct str models, uint64_t wait_s,
                      struct poll_join *ret_join)
{
    set_up(p, r, wait_s);
    p->poll.on_joined = on_joined;
    return queue_poll_join(broker_of(r)->queue, &p->poll, r->account->name_token, models, &r->nonce,
                           p->wait_s > 0, ret_join);
}

void engine_poll_fini(struct engine_poll *p)
{
    if (p->poll.state != POLL_IDLE)
        queue_note_left(broker_of(p->r)->queue, &p->poll);
    queue_poll_cancel(broker_of(p->r)->queue, &p->poll);
    loop_cancel_deadline(p->r->server->loop, &p->deadline);
    claim_reply_finish(&p->delivery, p->r);
}
