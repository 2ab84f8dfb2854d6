/* SPDX-License-Identifier: MIT
 *
 * listen: opens the address on which the servers of one process accept connections. A second
 * process on the same address is refused, even if both start at the same moment. Used at start and
 * end of the process, on its main thread, except listen_refuse; the caller owns the descriptors.
 */
#ifndef PARLEY_HTTP_LISTEN_H
#define PARLEY_HTTP_LISTEN_H

#include "shared/base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A bound address. */
struct listen_place {
    int port;  /* 0: a path */
    dev_t dev; /* of a path: identifies our own file, so that no other is removed */
    ino_t ino;
};

/* Binds "host:port" or "unix:/path" and listens, with `n` descriptors in `ret_fds`, one per thread,
 * each with its own queue of connections (a path has one queue). Port 0 picks a free port, returned
 * in ret_place->port. A path gets mode 0777 minus the umask. A socket file on which nobody listens
 * is replaced, nothing else is. On failure `reason` says why and what to do.
 */
bool listen_open(const char *address, unsigned n, int *ret_fds, struct listen_place *ret_place,
                 char *reason, size_t reason_size) must_check;

/* Removes the socket file of "unix:/path" if it is still the one that was bound. Call it while the
 * descriptors are open, so that a process that wants to take over the path still sees a live
 * socket. Does nothing for "host:port". */
void listen_remove(const char *address, const struct listen_place *place);

/* Stops clients from beginning connections to this descriptor; those that were begun complete and
 * wait to be accepted. Close the descriptor soon: until then a client's attempt is not refused, but
 * repeated by its system after a second. Does nothing for a path: listen_remove has done it. On any
 * thread. */
void listen_refuse(int fd);

/* Returns whether `address` is valid, as far as can be checked without binding it. */
bool listen_check_address(const char *address) must_check;

#endif
