/* SPDX-License-Identifier: MIT
 * gather.c - see gather.h. */
#include "shared/http/gather.h"

static void on_reply(struct request *r, enum err error, struct str reply)
{
    struct gather *gather = r->gather;
    if (gather->error == ERR_OK)
        gather->error = error;
    bool is_only = gather->n == 1 || error != ERR_OK;
    gather->replies[r->replied_shard] = is_only ? reply : request_copy(r, reply);
    if (--gather->left_n == 0)
        gather->on_all(r, gather->error, gather);
}

struct gather *gather_begin(struct request *r, gather_cb *on_all)
{
    struct gather *gather = r->gather;
    if (gather == NULL) {
        unsigned n = r->server->shards->n;
        gather = r->gather = request_alloc(r, sizeof *gather);
        *gather = (struct gather){.n = n};
        gather->replies = request_alloc(r, n * sizeof *gather->replies);
    }
    gather->left_n = gather->n;
    gather->error = ERR_OK;
    gather->on_all = on_all;
    return gather;
}

struct call_start gather_call(struct request *r, unsigned shard)
{
    return request_call_at(r, shard, on_reply);
}
