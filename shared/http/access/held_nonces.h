/* SPDX-License-Identifier: MIT
 *
 * held_nonces: signed GETs that are held (a poll, check-query) may be repeated by proxies and
 * browsers when their node dies or their connection breaks (ADR 7). Their nonces are used
 * up as all are; in addition this node reports to Redis which of them it holds, and how each ended
 * (lua/auth/nonces_held.lua). A request whose nonce was used is then admitted if it is the same one
 * and was lost. One per server, on the loop's thread.
 *
 * Nothing waits for what is reported here: it travels with the calls of the turn in which a request
 * was parked, or in which its answer began.
 */
#ifndef PARLEY_HTTP_HELD_NONCES_H
#define PARLEY_HTTP_HELD_NONCES_H

#include "shared/http/request/request.h"

/* How a held request has ended. */
enum held_end {
    HELD_ANSWERED, /* its answer begins: the nonce is used up for good */
    HELD_LOST,     /* its client has left, or reads "send it again": the same request may come */
};

struct held_nonces {
    struct buf news[SHARDS_MAX]; /* what was not reported to each shard yet */
    uint64_t sync_ms;            /* the longest time between two syncs; set by the caller */
};

struct held_nonces *held_nonces_create(void) must_check;
void held_nonces_destroy(struct held_nonces *held);
/* Reports what has happened since the last call. Call it before each flush of the turns. */
void held_nonces_report(struct server *server);

/* The request is parked now. Does nothing if it is not signed, or its route holds nobody. */
void held_nonces_park(struct request *r);
/* The first end counts. Does nothing for a request that was not parked. */
void held_nonces_end(struct request *r, enum held_end end);

/* Its nonce was used before. True: what its handler has begun is ended, and Redis is asked whether
 * the request may begin again; it does, or is answered with an error. While a node that lives holds
 * the same request, that is asked again for a moment: the news that its client has left may be on
 * its way. False: this route holds nobody. */
bool held_nonces_try_again(struct request *r) must_check;

#endif
