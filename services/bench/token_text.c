/* SPDX-License-Identifier: MIT
 * token_text.c - see token_text.h. */
#include "services/bench/token_text.h"

enum { LETTERS = 26 };

/* Mixes both numbers (the finalizer of MurmurHash3), so that neighbours have nothing in common. */
static uint64_t mix(uint64_t stream, uint64_t token)
{
    uint64_t x = (stream << 40) + token + 1;
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
}

static char byte_at(uint64_t stream, uint64_t at)
{
    unsigned place = (unsigned)(at % BENCH_TOKEN_BYTES);
    if (place == BENCH_TOKEN_BYTES - 1)
        return ' ';
    return (char)('a' + (mix(stream, at / BENCH_TOKEN_BYTES) >> (place * 16) & 0xffff) % LETTERS);
}

void bench_token_text_put(struct buf *b, uint64_t stream, uint64_t from, uint64_t to)
{
    for (uint64_t at = from; at < to; at++)
        buf_put_char(b, byte_at(stream, at));
}

bool bench_token_text_has(uint64_t stream, uint64_t from, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.at[i] != byte_at(stream, from + i))
            return false;
    return true;
}
