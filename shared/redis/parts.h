/* SPDX-License-Identifier: MIT
 *
 * parts: the texts that a turn returned. A long text comes in parts (lua/turn/parts.lua), preceded
 * by the byte 1, which no text begins with, and their number. Any thread.
 */
#ifndef PARLEY_REDIS_PARTS_H
#define PARLEY_REDIS_PARTS_H

#include "shared/base/buf.h"

#include <hiredis/hiredis.h>

/* Returns the start of the text after the one at `at` in an array reply. `at` is less than its
 * elements. */
size_t parts_next(const redisReply *array, size_t at);

/* Returns the text at `at`, borrowed from the reply or from `joined`. Empty if there is no text:
 * past the end, or an error. */
struct str parts_text(const redisReply *array, size_t at, struct buf *joined);

#endif
