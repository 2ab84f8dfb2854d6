/* SPDX-License-Identifier: MIT
 *
 * token_text: the texts of the streams of mode `tokens`. Any part of a text can be made and checked
 * by itself, so nobody has to keep it: a token is three letters, which follow from the number of
 * its stream and its own, and a space. No byte of it needs an escape. Pure functions.
 */
#ifndef PARLEY_BENCH_TOKEN_TEXT_H
#define PARLEY_BENCH_TOKEN_TEXT_H

#include "shared/base/buf.h"

enum { BENCH_TOKEN_BYTES = 4 };

/* Puts the bytes `from` to `to` of a stream's text. */
void bench_token_text_put(struct buf *b, uint64_t stream, uint64_t from, uint64_t to);
/* Returns whether `text` is what the stream's text has at `from`. */
bool bench_token_text_has(uint64_t stream, uint64_t from, struct str text);

#endif
