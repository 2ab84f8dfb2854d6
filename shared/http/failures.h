/* SPDX-License-Identifier: MIT
 *
 * failures: how often logins have failed, per account as claimed and network of the sender. Right
 * credentials never look here, so nobody can lock anybody out. Senders invent accounts, and have
 * networks without number, so nothing is kept per name: a pair falls into two of 131,072 slots, one
 * of each half, under a hash with the cluster's key, and the lower count of both is its own or more
 * (a count-min sketch, Cormode and Muthukrishnan 2005). Known and unknown accounts are counted
 * alike. Who shares both slots with others gets 429 a little early, for credentials that are wrong
 * anyhow.
 *
 * The count of the cluster is Redis's (lua/auth/failure.lua). `struct failures` is one thread's
 * own: what Redis said of a slot, and a brake of its own while Redis cannot count. It may be lost
 * at any moment. One per server, on the loop's thread.
 */
#ifndef PARLEY_HTTP_FAILURES_H
#define PARLEY_HTTP_FAILURES_H

#include "shared/auth/token.h"

enum { FAILURES_MAX = 10, FAILURES_WINDOW_MS = 60000, FAILURES_HALF = 1 << 16 };

struct failures_slots {
    unsigned of[2]; /* below FAILURES_HALF, and from there to below twice that */
};

struct failures;
struct failures *failures_create(void) must_check;
/* Accepts NULL. */
void failures_destroy(struct failures *failures);

/* The slots of an account and a network (peer_put_network), any bytes. Pure. */
struct failures_slots failures_slots(const struct token_key *key, struct str network,
                                     struct str account);
/* Counts a failure on this thread. Returns the milliseconds for which the slots are to be refused,
 * this failure included; 0: they are not yet. */
uint64_t failures_count(struct failures *failures, struct failures_slots slots, uint64_t now_ms);
/* Redis says so: the slots are refused for `ttl_ms`. */
void failures_refuse(struct failures *failures, struct failures_slots slots, uint64_t now_ms,
                     uint64_t ttl_ms);

#endif
