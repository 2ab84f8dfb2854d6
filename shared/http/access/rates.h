/* SPDX-License-Identifier: MIT
 *
 * rates: limits the requests per second (max_rate) and the nonces per day (max_nonces) of an
 * account on all nodes together (ADR 36). A node counts locally and admits its share, so a request
 * needs no call. Once a second it reports the accounts near a limit to Redis, with a verb in a turn
 * that is sent anyway, and receives the demand of the other nodes (lua/auth/rates.lua). Its share
 * is what the others leave, or its proportion of the demand if that exceeds the limit. For the
 * first second of counting an account, a node assumes that no other node serves it.
 *
 * Accounts are counted once they are authenticated, and forgotten after a minute without requests.
 * The counts may be lost at any time. One per server, on the loop's thread.
 */
#ifndef PARLEY_HTTP_RATES_H
#define PARLEY_HTTP_RATES_H

#include "shared/auth/accounts.h"
#include "shared/op/loop.h"
#include "shared/redis/shards.h"

struct rates;
/* Borrows everything. */
struct rates *rates_create(struct loop *loop, struct shards *shards) must_check;
/* Accepts NULL. Call it before the loop ends. */
void rates_destroy(struct rates *rates);

enum rates_answer { RATES_ADMITTED, RATES_TOO_FAST, RATES_TOO_MANY_NONCES, RATES_NR };

/* Counts one request of an account; an admitted signed request uses up a nonce. If it is not
 * admitted, *ret_retry_s is the seconds after which to retry. `is_login`: logins have a second
 * allowance of the same size, because tokens need no nonces. */
enum rates_answer rates_admit(struct rates *rates, const struct account *account, bool is_signed,
                              bool is_login, unsigned *ret_retry_s);
/* Returns a nonce that turned out to be used before, for which nothing was stored. Accepts a NULL
 * account. */
void rates_return_nonce(struct rates *rates, const struct account *account);

#endif
