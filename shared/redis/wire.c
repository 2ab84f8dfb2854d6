/* SPDX-License-Identifier: MIT
 * wire.c - see wire.h and the protocol's description at
 * https://redis.io/docs/reference/protocol-spec. Written by hand rather than by hiredis because a
 * turn's verbs are put together piece by piece, and hiredis formats whole commands only. */
#include "shared/redis/wire.h"

void wire_begin(struct buf *wire, size_t word_n)
{
    buf_put_char(wire, '*');
    buf_put_u64(wire, word_n);
    buf_lit(wire, "\r\n");
}

void wire_put(struct buf *wire, struct str word)
{
    buf_put_char(wire, '$');
    buf_put_u64(wire, word.n);
    buf_lit(wire, "\r\n");
    buf_put(wire, word);
    buf_lit(wire, "\r\n");
}

void wire_put_u64(struct buf *wire, uint64_t word)
{
    char digits[20]; /* of 2^64 - 1 */
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + word % 10);
        word /= 10;
    } while (word > 0);
    wire_put(wire, (struct str){digits + at, sizeof digits - at});
}

void wire_put_words(struct buf *wire, const struct str *words, size_t n)
{
    wire_begin(wire, n);
    for (size_t i = 0; i < n; i++)
        wire_put(wire, words[i]);
}
