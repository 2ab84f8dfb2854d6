/* SPDX-License-Identifier: MIT
 *
 * private_address: recognises IP addresses that untrusted URLs must not reach. It checks an address
 * after DNS, never a name. A pure function, any thread.
 */
#ifndef PARLEY_HTTP_PRIVATE_ADDRESS_H
#define PARLEY_HTTP_PRIVATE_ADDRESS_H

#include <stdbool.h>

/* True for addresses that the public internet does not route (IANA's special-purpose registries,
 * RFC 6890): `family` AF_INET or AF_INET6, `address` in network order, 4 or 16 bytes. An IPv6
 * address that carries an IPv4 address counts as that one. Other families count as private. */
bool http_address_is_private(int family, const unsigned char *address);

#endif
