/* SPDX-License-Identifier: MIT
 *
 * backoff: the wait before reconnecting to Redis: starts at 50 ms and doubles up to 2 s; half of it
 * is random, so that many nodes do not reconnect at the same moment. For conn.c and blocking.c. Any
 * thread.
 */
#ifndef PARLEY_REDIS_BACKOFF_H
#define PARLEY_REDIS_BACKOFF_H

/* Returns the wait before the next attempt, in milliseconds. `backoff_ms` belongs to the caller: 0
 * before the first attempt and after a success. */
unsigned redis_backoff_next_ms(unsigned *backoff_ms);

#endif
