/* SPDX-License-Identifier: MIT
 *
 * rates: how many requests an account may send a second (max_rate), and how many nonces it may use
 * up a day (max_nonces), on all nodes together (ADR 36). A node counts by itself and admits its
 * share, so a request costs no call. Once a second it states the accounts that are near a limit to
 * Redis, by a verb that travels with the turn that is sent anyway, and hears what the other nodes'
 * asked for (lua/auth/rates.lua): the share of a node is all that the others leave, or, where they
 * want more together than there is, its part of what is wanted. A node that has just begun to
 * count an account takes it for its own, for a second.
 *
 * Accounts are counted once they are proven; who is not asked for a minute is forgotten. They may
 * be lost at any moment. One per server, on the loop's thread.
 */
#ifndef PARLEY_HTTP_RATES_H
#define PARLEY_HTTP_RATES_H

#include "shared/auth/accounts.h"
#include "shared/op/loop.h"
#include "shared/redis/shards.h"

struct rates;
/* All is borrowed. */
struct rates *rates_create(struct loop *loop, struct shards *shards) must_check;
/* Accepts NULL. Before the loop's end. */
void rates_destroy(struct rates *rates);

enum rates_answer { RATES_ADMITTED, RATES_TOO_FAST, RATES_TOO_MANY_NONCES, RATES_NR };

/* Counts one request of an account; a signed one uses a nonce up. One that is not admitted does
 * not, and *ret_retry_s says in how many seconds to come again. `is_login`: these may use up as
 * many again, since a token needs none. */
enum rates_answer rates_admit(struct rates *rates, const struct account *account, bool is_signed,
                              bool is_login, unsigned *ret_retry_s);
/* Its nonce had been used before: nothing was stored for it. Accepts a NULL account. */
void rates_return_nonce(struct rates *rates, const struct account *account);

#endif
