/* SPDX-License-Identifier: MIT
 * gather.c - see gather.h. */
#include "shared/http/request/gather.h"

#include "shared/base/mem.h"
#include "shared/http/request/respond.h"
#include "shared/http/wire/connection.h"

#include <string.h>

struct kept_reply {
    struct kept_reply *next;
    char bytes[];
};

/* False: there is no room for it. */
static bool keep(struct request *r, struct str reply, struct str *ret_kept)
{
    struct gather *gather = r->gather;
    if (!connection_gather(&r->exchange, reply.n))
        return false;
    struct kept_reply *kept = mem_alloc(sizeof *kept + reply.n);
    kept->next = gather->kept;
    gather->kept = kept;
    gather->kept_bytes += reply.n;
    memcpy(kept->bytes, reply.at, reply.n);
    *ret_kept = (struct str){kept->bytes, reply.n};
    return true;
}

static void free_kept(struct kept_reply *kept)
{
    for (struct kept_reply *next; kept != NULL; kept = next) {
        next = kept->next;
        free(kept);
    }
}

bool gather_keep(struct request *r)
{
    struct gather *gather = r->gather;
    struct str *last = &gather->replies[r->replied_shard];
    size_t bytes = 0;
    for (unsigned i = 0; i < gather->n; i++)
        bytes += i == r->replied_shard ? 0 : gather->replies[i].n;
    if (!connection_gather(&r->exchange, bytes) || !keep(r, *last, last)) {
        respond_error(r, ERR_BUSY,
                      "This node is putting together too many long answers: ask for fewer items at "
                      "a time (limit), or retry shortly.");
        return false;
    }
    gather->kept->next = *gather->ended;
    *gather->ended = NULL;
    gather->kept_bytes += bytes;
    return true;
}

/* The request may be gone after the callback, or have begun to gather again. */
static void finish(struct request *r)
{
    struct gather *gather = r->gather;
    struct kept_reply *kept = gather->kept;
    connection_ungather(&r->exchange, gather->kept_bytes);
    gather->kept = NULL;
    gather->kept_bytes = 0;
    loop_cancel_deadline(r->server->loop, &gather->late);
    gather->ended = &kept;
    gather->on_all(r, gather->error, gather);
    free_kept(kept);
}

void gather_fini(struct gather *gather)
{
    if (gather == NULL)
        return;
    loop_cancel_deadline(gather->r->server->loop, &gather->late);
    free_kept(gather->kept);
    buf_fini(&gather->answer);
}

static void on_reply(struct request *r, enum err error, struct str reply)
{
    struct gather *gather = r->gather;
    bool is_missing =
        gather->may_miss && (gather->n > 1 || gather->may_miss_all) && err_is_outage(error);
    if (is_missing)
        gather->missing |= UINT64_C(1) << r->replied_shard;
    bool are_all_missing = is_missing && !gather->may_miss_all &&
                           (unsigned)__builtin_popcountll(gather->missing) == gather->n;
    if (gather->error == ERR_OK && (!is_missing || are_all_missing))
        gather->error = error;
    bool is_last = --gather->left_n == 0;
    gather->replied |= UINT64_C(1) << r->replied_shard;
    struct str *kept = &gather->replies[r->replied_shard];
    *kept = reply;
    if (error == ERR_OK && !is_last && !keep(r, reply, kept) && gather->error == ERR_OK)
        gather->error = ERR_BUSY;
    if (is_last)
        finish(r);
}

void gather_give_up(struct request *r)
{
    struct gather *gather = r->gather;
    request_detach(r);
    for (unsigned i = 0; i < gather->n; i++)
        if ((gather->replied >> i & 1) == 0)
            gather->missing |= UINT64_C(1) << i;
    finish(r);
}

static void on_late(struct deadline *deadline)
{
    gather_give_up(container_of(deadline, struct gather, late)->r);
}

struct gather *gather_begin(struct request *r, gather_cb *on_all)
{
    struct gather *gather = r->gather;
    if (gather == NULL) {
        unsigned n = r->server->shards->n;
        gather = r->gather = request_alloc(r, sizeof *gather);
        *gather = (struct gather){.n = n, .r = r, .late.on_expire = on_late};
        gather->replies = request_alloc(r, n * sizeof *gather->replies);
    }
    gather->left_n = gather->n;
    gather->error = ERR_OK;
    gather->on_all = on_all;
    gather->may_miss = gather->may_miss_all = false;
    gather->missing = gather->replied = 0;
    return gather;
}

struct gather *gather_begin_partial(struct request *r, gather_cb *on_all)
{
    struct gather *gather = gather_begin(r, on_all);
    gather->may_miss = true;
    return gather;
}

struct gather *gather_begin_until(struct request *r, gather_cb *on_all, uint64_t most_ms)
{
    struct gather *gather = gather_begin_partial(r, on_all);
    gather->may_miss_all = true;
    loop_set_deadline(r->server->loop, &gather->late, most_ms);
    return gather;
}

void gather_put_missing(struct buf *b, uint64_t missing)
{
    if (missing == 0)
        return;
    buf_lit(b, ",\"MissingShards\":[");
    for (bool is_first = true; missing != 0; missing &= missing - 1, is_first = false)
        buf_printf(b, "%s%d", is_first ? "" : ",", __builtin_ctzll(missing));
    buf_put_char(b, ']');
}

struct call_start gather_call(struct request *r, unsigned shard)
{
    return request_call_at(r, shard, on_reply);
}
