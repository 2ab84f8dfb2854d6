/* SPDX-License-Identifier: MIT
 *
 * backoff: how long a connection to Redis that was lost waits before the next try: from 50 ms on,
 * doubled each time, up to 2 s, of which one half is random, so that many nodes do not come back at
 * the same moment. For conn.c and sync.c. Any thread.
 */
#ifndef PARLEY_REDIS_BACKOFF_H
#define PARLEY_REDIS_BACKOFF_H

/* The wait before the next try, in milliseconds. `backoff_ms`: its owner's, 0 before the first try
 * and again after a success. */
unsigned redis_backoff_next_ms(unsigned *backoff_ms);

#endif
