/* SPDX-License-Identifier: MIT
 *
 * listen: binds the addresses on which servers accept. Any thread; the caller owns the descriptors.
 */
#ifndef PARLEY_HTTP_LISTEN_H
#define PARLEY_HTTP_LISTEN_H

#include "shared/base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* A bound and listening descriptor for "host:port" or "unix:/path". With `is_shared` several
 * threads may bind the same port. Port 0 takes a free one; *ret_port says which (0 for unix). */
int server_listen(const char *address, bool is_shared, int *ret_port, char *reason,
                  size_t reason_size) must_check;

/* Is that such an address, as far as can be told without binding it? */
bool server_check_address(const char *address) must_check;

#endif
