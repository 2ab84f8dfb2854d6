/* SPDX-License-Identifier: MIT
 *
 * wire: writes commands in Redis's protocol (RESP): lists of words prefixed with their length.
 * hiredis does the reading. Appends to the caller's buf; if the buf overflows (buf.h), it must not
 * be sent. Any thread.
 */
#ifndef PARLEY_REDIS_WIRE_H
#define PARLEY_REDIS_WIRE_H

#include "shared/base/buf.h"

/* Begins a command of `word_n` words; exactly that many wire_put calls must follow. */
void wire_begin(struct buf *wire, size_t word_n);
void wire_put(struct buf *wire, struct str word);
/* Puts the length of a last word that is sent separately (redis_conn_send_long). */
void wire_put_head(struct buf *wire, size_t word_bytes);
/* Puts a word in decimal digits. */
void wire_put_u64(struct buf *wire, uint64_t word);
/* Puts "<name> <number>" as one word, for a number of `digits` digits, at most 10, that is not
 * known yet. Returns where its digits begin, for wire_set_number. */
size_t wire_put_numbered(struct buf *wire, struct str name, unsigned digits);
/* Does nothing if the buffer is over (buf.h); aborts if the number has more digits. */
void wire_set_number(struct buf *wire, size_t at, unsigned digits, unsigned number);
/* Puts a whole command. */
void wire_put_words(struct buf *wire, const struct str *words, size_t n);

#endif
