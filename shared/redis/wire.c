/* SPDX-License-Identifier: MIT
 * wire.c - see wire.h and the protocol's description at
 * https://redis.io/docs/reference/protocol-spec. Written by hand rather than by hiredis because a
 * turn's verbs are put together piece by piece, and hiredis formats whole commands only. */
#include "shared/redis/wire.h"

#include <stdlib.h>

void wire_begin(struct buf *wire, size_t word_n)
{
    buf_put_char(wire, '*');
    buf_put_u64(wire, word_n);
    buf_lit(wire, "\r\n");
}

void wire_put(struct buf *wire, struct str word)
{
    char head[24] = "$"; /* of the longest length, 20 digits */
    size_t head_n = 1 + str_put_u64(head + 1, word.n);
    head[head_n++] = '\r';
    head[head_n++] = '\n';
    char *at = buf_reserve(wire, head_n + word.n + 2);
    if (at == NULL)
        return;
    memcpy(at, head, head_n);
    if (word.n > 0)
        memcpy(at + head_n, word.at, word.n);
    memcpy(at + head_n + word.n, "\r\n", 2);
    wire->n += head_n + word.n + 2;
}

void wire_put_head(struct buf *wire, size_t word_bytes)
{
    buf_put_char(wire, '$');
    buf_put_u64(wire, word_bytes);
    buf_lit(wire, "\r\n");
}

void wire_put_u64(struct buf *wire, uint64_t word)
{
    char digits[STR_U64_MAX];
    wire_put(wire, (struct str){digits, str_put_u64(digits, word)});
}

size_t wire_put_numbered(struct buf *wire, struct str name, unsigned digits)
{
    wire_put_head(wire, name.n + 1 + digits);
    buf_put(wire, name);
    buf_put_char(wire, ' ');
    size_t at = wire->n;
    buf_put(wire, (struct str){"0000000000", digits});
    buf_lit(wire, "\r\n");
    return at;
}

void wire_set_number(struct buf *wire, size_t at, unsigned digits, unsigned number)
{
    if (wire->is_over)
        return;
    for (unsigned i = digits; i > 0; i--, number /= 10)
        wire->at[at + i - 1] = (char)('0' + number % 10);
    if (number > 0)
        abort();
}

void wire_put_words(struct buf *wire, const struct str *words, size_t n)
{
    wire_begin(wire, n);
    for (size_t i = 0; i < n; i++)
        wire_put(wire, words[i]);
}
