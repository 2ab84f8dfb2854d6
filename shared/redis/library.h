/* SPDX-License-Identifier: MIT
 *
 * library: the function library (lua/library.lua) as it is loaded into Redis, and the meaning of
 * its errors; used by the connections of loops (turn) and of blocking threads (blocking). The
 * function's name contains a digest of the text, so programs of several versions can share a Redis.
 * Pure functions, any thread.
 */
#ifndef PARLEY_REDIS_LIBRARY_H
#define PARLEY_REDIS_LIBRARY_H

#include "shared/base/buf.h"

enum { LIBRARY_NAME_BYTES = 32, LIBRARY_MAX_BYTES = 4 << 20 };

/* The names of its two functions. The first runs every verb and is refused entirely while Redis is
 * at maxmemory. The second still runs then and refuses verbs that would need more memory
 * (lua/turn/full.lua). */
struct redis_library_names {
    char turn[LIBRARY_NAME_BYTES], turn_freeing[LIBRARY_NAME_BYTES];
};

/* Puts the argument of FUNCTION LOAD into `text`. */
void redis_library_put(struct buf *text, struct redis_library_names *ret_names);

/* Returns whether the error of FUNCTION LOAD says that the library is already loaded. */
bool redis_library_is_there(const char *error);
/* Returns whether the error of a call says that Redis does not have the library: the call has
 * certainly not run. */
bool redis_library_is_missing(const char *error);
/* Returns whether a verb was refused in a turn of turn_freeing because it needs memory: it has not
 * run. */
bool redis_verb_is_refused(const char *error);

#endif
