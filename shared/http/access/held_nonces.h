/* SPDX-License-Identifier: MIT
 *
 * held_nonces: lets proxies and browsers repeat a signed GET that a node holds (a poll,
 * check-query) when the node dies or the connection breaks (ADR 7). Its nonce is used up like all
 * others; in addition this node reports to Redis which such requests it holds, and how each ended
 * (lua/auth/nonces_held.lua). A request whose nonce was used is then admitted if it is the same one
 * and was lost. One per server, on the loop's thread.
 *
 * Nothing waits for these reports: they are sent with the calls of the turn in which a request was
 * parked, or in which its answer began.
 */
#ifndef PARLEY_HTTP_HELD_NONCES_H
#define PARLEY_HTTP_HELD_NONCES_H

#include "shared/http/request/request.h"

/* The end of a held request. */
enum held_end {
    HELD_ANSWERED, /* its answer begins: the nonce is used up for good */
    HELD_LOST, /* its client has left, or is asked to send it again: the same request may come */
};

struct held_nonces {
    struct buf news[SHARDS_MAX]; /* what was not reported to each shard yet */
    uint64_t sync_ms;            /* the longest time between two syncs; set by the caller */
};

struct held_nonces *held_nonces_create(void) must_check;
void held_nonces_destroy(struct held_nonces *held);
/* Reports what has happened since the last call. Call it before each flush of the turns. */
void held_nonces_report(struct server *server);

/* Notes that the request is parked. Does nothing if it is not signed, or its route holds nobody. */
void held_nonces_park(struct request *r);
/* Notes how the request ended; only the first call counts. Does nothing for a request that was not
 * parked. */
void held_nonces_end(struct request *r, enum held_end end);

/* Handles a request whose nonce was used before. Returns true after it has ended what the handler
 * had begun and has asked Redis whether the request may begin again; the request then does, or is
 * answered with an error. While a living node holds the same request, Redis is asked again for a
 * moment: the news that its client has left may be on its way. Returns false if this route holds
 * nobody. */
bool held_nonces_try_again(struct request *r) must_check;

#endif
