/* SPDX-License-Identifier: MIT
 *
 * failures: counts failed logins per claimed account and network of the sender. Correct credentials
 * are never checked against it, so nobody can lock out an account. Attackers can invent accounts
 * and use any number of networks, so nothing is stored per name: a keyed hash maps each pair to two
 * of 131,072 slots, one in each half, and the lower count is an upper bound of its own (a count-min
 * sketch, Cormode and Muthukrishnan 2005). Known and unknown accounts are counted alike. A pair
 * that shares both slots with others gets 429 slightly early, but only for wrong credentials.
 *
 * Redis holds the count of the cluster (lua/auth/failure.lua). `struct failures` is one thread's
 * cache of what Redis returned, and its own limit while Redis cannot count. It may be lost at any
 * time. One per server, on the loop's thread.
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
/* Counts a failure on this thread. Returns for how many milliseconds to refuse the slots, including
 * this failure; 0: not yet. */
uint64_t failures_count(struct failures *failures, struct failures_slots slots, uint64_t now_ms);
/* Returns for how many milliseconds this thread refuses the slots; 0: it does not. Counts
 * nothing. */
uint64_t failures_left(struct failures *failures, struct failures_slots slots, uint64_t now_ms);
/* Redis has decided: the slots are refused for `ttl_ms`. */
void failures_refuse(struct failures *failures, struct failures_slots slots, uint64_t now_ms,
                     uint64_t ttl_ms);

#endif
