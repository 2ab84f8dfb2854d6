/* SPDX-License-Identifier: MIT
 * request_call.c - the verbs that a request starts (request.h). */
#include "generated/verbs.h"
#include "shared/base/hash.h"
#include "shared/http/request/peer.h"
#include "shared/http/request/respond.h"

/* In the request's pool. */
struct request_call {
    struct call call;
    struct request *request;
    request_reply_cb *on_reply;
    unsigned shard;            /* of request_call_at */
    struct request_call *next; /* of all of the request */
};

void request_detach(struct request *r)
{
    for (struct request_call *call = r->calls; call != NULL; call = call->next)
        call_detach(&call->call);
}

void request_on_replay(struct request *r)
{
    request_detach(r);
    if (r->server->hooks->replayed(r))
        return;
    metrics_add(r->server->metrics, METRIC_NONCES_REUSED, 1);
    if (!r->exchange.is_answered || r->held != NULL)
        respond_instead(r, ERR_NONCE_USED);
}

static void on_call_reply(struct call *handle, enum err error, struct str reply)
{
    struct request_call *call = container_of(handle, struct request_call, call);
    struct request *r = call->request;
    if (error == ERR_OK && str_eq(reply, STR("replay"))) {
        request_on_replay(r);
        return;
    }
    r->replied_shard = call->shard;
    call->on_reply(r, error, reply);
}

static struct request_call *free_call(struct request *r)
{
    struct request_call *call = r->calls;
    while (call != NULL && call_is_under_way(&call->call))
        call = call->next;
    if (call == NULL) {
        call = request_alloc(r, sizeof *call);
        *call = (struct request_call){.request = r, .next = r->calls};
        r->calls = call;
    }
    return call;
}

/* Accounts take turns at slow verbs, those without one by their addresses, and then the users for
 * whom they act. A provider's users are accounts, too. */
static void set_owner(struct request *r, struct call_start *start)
{
    struct str user = request_param(r, "OnBehalfOf");
    start->owner = hash_fnv64(r->account != NULL ? r->account->name_token : peer_address(r), 0);
    start->user = user.n == 0 ? 0 : hash_fnv64(user, 0);
}

struct call_start request_call(struct request *r, request_reply_cb *on_reply)
{
    struct request_call *call = free_call(r);
    call->on_reply = on_reply;
    struct call_start start = shards_call(r->server->shards, &call->call, on_call_reply);
    start.nonce = &r->nonce;
    set_owner(r, &start);
    return start;
}

struct call_start request_call_at(struct request *r, unsigned shard, request_reply_cb *on_reply)
{
    struct request_call *call = free_call(r);
    call->on_reply = on_reply;
    call->shard = shard;
    struct call_start start =
        turn_call(r->server->shards->turns[shard], &call->call, on_call_reply);
    start.nonce = &r->nonce;
    set_owner(r, &start);
    return start;
}

void request_use_nonce(struct request *r, request_reply_cb *on_reply)
{
    request_detach(r);
    call_nonce(request_call(r, on_reply));
}
