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

/* Puts what FUNCTION LOAD takes into `text`, and writes the name of its one function. */
void redis_library_put(struct buf *text, char ret_function[LIBRARY_NAME_BYTES]);

/* Redis's answer to FUNCTION LOAD says that another one was quicker. */
bool redis_library_is_there(const char *error);
/* A call's answer says that Redis does not have the library: it has certainly not run. */
bool redis_library_is_missing(const char *error);
/* Redis runs but cannot take work now: loading, read-only, out of memory, busy with a script. */
bool redis_error_passes(const char *error);

#endif
