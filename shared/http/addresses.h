/* SPDX-License-Identifier: MIT
 *
 * addresses: who is connected from where: which connections of an address are idle, and how many
 * bytes of bodies are held for it. Private to shared/http; one per thread, on its loop's thread.
 *
 * An address is that of the socket, also of a proxy; IPv6 counts by /64, ::ffff:a.b.c.d as a.b.c.d.
 */
#ifndef PARLEY_HTTP_ADDRESSES_H
#define PARLEY_HTTP_ADDRESSES_H

#include "shared/base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Embedded by what is idle now and then. */
struct idle_link {
    struct idle_link *previous, *next; /* both NULL: not idle */
};

enum { IDLE_STRANGERS, IDLE_PROVEN, IDLE_NR };

struct address {
    struct address *previous, *next; /* of the same hash */
    unsigned char key[16];
    unsigned connection_n;
    unsigned idle_n[IDLE_NR];
    struct idle_link idle[IDLE_NR]; /* oldest first */
    size_t held_bytes;
};

struct addresses;

struct addresses *addresses_create(void) must_check;
/* Accepts NULL. Once no connection is left, or with the process. */
void addresses_destroy(struct addresses *addresses);

/* One connection more; `socket_address` may be of any family. Never NULL. */
struct address *addresses_enter(struct addresses *addresses, const struct sockaddr *socket_address);
/* One less; the last one frees `address`. */
void addresses_leave(struct addresses *addresses, struct address *address);

void address_put_idle(struct address *address, struct idle_link *link, bool is_proven);
/* Nothing when it is not idle. */
void address_take_idle(struct address *address, struct idle_link *link, bool is_proven);

/* How many are idle, of each kind. Goes through all addresses. */
void addresses_count_idle(const struct addresses *addresses, size_t ret_n[IDLE_NR]);

/* The connection to close next: the one that is idle for longest, of the address that has most of
 * them. Strangers go first, except for `newcomers_n` of them: those who have just come, and who
 * must have the time to send a request. NULL: none is idle. */
struct idle_link *addresses_oldest_idle(const struct addresses *addresses, size_t newcomers_n);

#endif
