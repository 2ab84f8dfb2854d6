/* SPDX-License-Identifier: MIT
 *
 * listen: the address on which the servers of one process accept. It is theirs alone: a second
 * process on it is refused, also when both start at the same moment. At start and end of the
 * process, on its main thread; the caller owns the descriptors.
 */
#ifndef PARLEY_HTTP_LISTEN_H
#define PARLEY_HTTP_LISTEN_H

#include "shared/base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What was bound. */
struct listen_place {
    int port;  /* 0: a path */
    dev_t dev; /* of a path: which file, so that only our own is removed */
    ino_t ino;
};

/* Binds "host:port" or "unix:/path" and listens, with `n` descriptors in `ret_fds`, one a thread,
 * each with its own queue of connections (a path has one queue). Port 0 takes a free one;
 * ret_place->port says which. A path gets the mode that the umask leaves of 0777. A socket file on
 * which nobody listens is replaced, nothing else is. On failure `reason` says why and what to do.
 */
bool listen_open(const char *address, unsigned n, int *ret_fds, struct listen_place *ret_place,
                 char *reason, size_t reason_size) must_check;

/* Removes the socket file of "unix:/path" if it is still the one that was bound. Call it while the
 * descriptors are open: a process that is about to take the path over sees a live socket until
 * then. Nothing to do for "host:port". */
void listen_remove(const char *address, const struct listen_place *place);

/* Is that such an address, as far as can be told without binding it? */
bool listen_check_address(const char *address) must_check;

#endif
