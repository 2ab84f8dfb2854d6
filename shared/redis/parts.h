/* SPDX-License-Identifier: MIT
 *
 * parts: the texts that a turn returned. A long one comes in parts (lua/turn/parts.lua): before
 * them stands how many they are, after the byte 1, which no text begins with. On any thread.
 */
#ifndef PARLEY_REDIS_PARTS_H
#define PARLEY_REDIS_PARTS_H

#include "shared/base/buf.h"

#include <hiredis/hiredis.h>

/* Where the text after the one at `at` begins, in an array reply. `at`: less than its elements. */
size_t parts_next(const redisReply *array, size_t at);

/* The text at `at`, which lies in the reply, or joined in `joined` until that is changed. Empty
 * where there is no text: past the end, or an error. */
struct str parts_text(const redisReply *array, size_t at, struct buf *joined);

#endif
