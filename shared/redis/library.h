/* SPDX-License-Identifier: MIT
 *
 * library: the function library (lua/library.lua) as Redis is given it, and what its errors mean:
 * shared by the connection of loops (turn) and the one of threads that wait (sync). The function's
 * name holds a digest of the text, so programs of several versions work on one Redis side by side.
 * Pure functions, any thread.
 */
#ifndef PARLEY_REDIS_LIBRARY_H
#define PARLEY_REDIS_LIBRARY_H

#include "shared/base/buf.h"

enum { LIBRARY_NAME_BYTES = 32, LIBRARY_MAX_BYTES = 4 << 20 };

/* The names of its two functions: one runs every verb, and is refused whole while Redis is at its
 * maxmemory; the other runs then too, and refuses the verbs that would make Redis fuller
 * (lua/turn/full.lua). */
struct redis_library_names {
    char turn[LIBRARY_NAME_BYTES], turn_freeing[LIBRARY_NAME_BYTES];
};

/* Puts what FUNCTION LOAD takes into `text`. */
void redis_library_put(struct buf *text, struct redis_library_names *ret_names);

/* Redis's answer to FUNCTION LOAD says that another one was quicker. */
bool redis_library_is_there(const char *error);
/* A call's answer says that Redis does not have the library: it has certainly not run. */
bool redis_library_is_missing(const char *error);
/* A verb's own answer in a turn of turn_freeing: it has not run, for it would need room. */
bool redis_verb_is_refused(const char *error);

#endif
