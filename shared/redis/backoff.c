/* SPDX-License-Identifier: MIT
 * backoff.c - see backoff.h. */
#include "shared/redis/backoff.h"

#include <openssl/rand.h>
#include <stdint.h>

enum { BACKOFF_MIN_MS = 50, BACKOFF_MAX_MS = 2000 };

unsigned redis_backoff_next_ms(unsigned *backoff_ms)
{
    uint32_t random = 0;
    *backoff_ms = *backoff_ms == 0 ? BACKOFF_MIN_MS : *backoff_ms * 2;
    if (*backoff_ms > BACKOFF_MAX_MS)
        *backoff_ms = BACKOFF_MAX_MS;
    (void)RAND_bytes((unsigned char *)&random, sizeof random); /* without it: the shorter half */
    return *backoff_ms / 2 + random % (*backoff_ms / 2 + 1);
}
