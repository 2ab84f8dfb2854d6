/* SPDX-License-Identifier: MIT
 * fuzz_redis_url.c - where Redis is: what is taken fits its arrays, and names a host or a path. */
#include "shared/redis/conn.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_ended(const char *text, size_t size)
{
    return memchr(text, 0, size) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char reason[128] = "";
    struct redis_address a;
    memset(&a, 0xee, sizeof a);
    if (!redis_parse_url((struct str){(const char *)data, size}, &a, reason, sizeof reason)) {
        if (reason[0] == 0 || (unsigned char)a.host[0] != 0xee)
            abort();
        return 0;
    }
    if (!is_ended(a.host, sizeof a.host) || !is_ended(a.path, sizeof a.path) ||
        !is_ended(a.user, sizeof a.user) || !is_ended(a.password, sizeof a.password))
        abort();
    if (!is_ended(a.seeds, sizeof a.seeds) || !is_ended(a.master, sizeof a.master))
        abort();
    if ((a.kind == REDIS_SERVER) == (a.seeds[0] != 0) ||
        (a.kind == REDIS_SENTINEL) != (a.master[0] != 0))
        abort();
    if (a.port < (a.kind == REDIS_SERVER) || a.port > 65535 || a.db < 0 || a.db > 9999)
        abort();
    return 0;
}
