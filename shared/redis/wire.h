/* SPDX-License-Identifier: MIT
 *
 * wire: commands in Redis's protocol (RESP): a list of words, each with its length in front. Only
 * written, never read: hiredis reads. Appends to the caller's buf, past whose maximum the buf is
 * over (see buf.h) and must not be sent. Any thread.
 */
#ifndef PARLEY_REDIS_WIRE_H
#define PARLEY_REDIS_WIRE_H

#include "shared/base/buf.h"

/* Begins a command of `word_n` words; exactly so many wire_put must follow. */
void wire_begin(struct buf *wire, size_t word_n);
void wire_put(struct buf *wire, struct str word);
/* The length of a last word that is sent by itself (redis_conn_send_long). */
void wire_put_head(struct buf *wire, size_t word_bytes);
/* A word in decimal digits. */
void wire_put_u64(struct buf *wire, uint64_t word);
/* A whole command. */
void wire_put_words(struct buf *wire, const struct str *words, size_t n);

#endif
