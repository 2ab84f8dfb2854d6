/* SPDX-License-Identifier: MIT
 *
 * addresses: bookkeeping per client address: its idle connections and the bytes held for its
 * request bodies. Private to shared/http; one per thread, on its loop's thread.
 *
 * The address is the socket's, which may be a proxy's; IPv6 is counted by /64, ::ffff:a.b.c.d as
 * a.b.c.d.
 */
#ifndef PARLEY_HTTP_ADDRESSES_H
#define PARLEY_HTTP_ADDRESSES_H

#include "shared/base/list.h"
#include "shared/base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { IDLE_ANONYMOUS, IDLE_AUTHENTICATED, IDLE_NR };

struct address {
    struct list_link link; /* of the same hash */
    unsigned char key[16];
    unsigned connection_n;
    unsigned idle_n[IDLE_NR];
    struct list idle[IDLE_NR]; /* links of what is idle, oldest first */
    size_t held_bytes;
    size_t unread_bytes; /* of answers (connection_unread.c) */
    struct list unread;  /* struct unread, oldest first */
};

struct addresses;

struct addresses *addresses_create(void) must_check;
/* Accepts NULL. Call it once no connection is left, or at the end of the process. */
void addresses_destroy(struct addresses *addresses);

/* Counts one more connection; `socket_address` may be of any family. Never NULL. */
struct address *addresses_enter(struct addresses *addresses, const struct sockaddr *socket_address);
/* Counts one less; the last one frees `address`. */
void addresses_leave(struct addresses *addresses, struct address *address);

void address_put_idle(struct address *address, struct list_link *link, bool is_authenticated);
/* Does nothing if it is not idle. */
void address_take_idle(struct address *address, struct list_link *link, bool is_authenticated);

/* Counts the idle connections of each kind. Visits all addresses. */
void addresses_count_idle(const struct addresses *addresses, size_t ret_n[IDLE_NR]);

/* Returns the connection to close next: the longest idle one of the address with the most idle
 * connections. Anonymous clients are closed first, except the `newcomers_n` most recent ones, which
 * need time to send a request. NULL: none is idle. */
struct list_link *addresses_oldest_idle(const struct addresses *addresses, size_t newcomers_n);

#endif
