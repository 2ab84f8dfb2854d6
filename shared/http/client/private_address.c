/* SPDX-License-Identifier: MIT
 * private_address.c - see private_address.h. Of IPv6 only global unicast (2000::/3) is let through,
 * less what is special in it: what is assigned later counts as private until it is known here. */
#include "shared/http/client/private_address.h"

#include <netinet/in.h>
#include <string.h>

bool http_address_is_private(int family, const unsigned char *a)
{
    static const unsigned char v4_in_v6[12] = {[10] = 0xff, [11] = 0xff};
    static const unsigned char nat64[12] = {0x00, 0x64, 0xff, 0x9b};
    static const unsigned char zero[12];
    if (family == AF_INET)
        return a[0] == 0 || a[0] == 10 || a[0] == 127 || a[0] >= 224 ||
               (a[0] == 100 && (a[1] & 0xc0) == 64) || (a[0] == 169 && a[1] == 254) ||
               (a[0] == 172 && (a[1] & 0xf0) == 16) || (a[0] == 192 && a[1] == 168) ||
               (a[0] == 192 && a[1] == 0 && (a[2] == 0 || a[2] == 2)) ||
               (a[0] == 198 && (a[1] & 0xfe) == 18) || (a[0] == 198 && a[1] == 51 && a[2] == 100) ||
               (a[0] == 203 && a[1] == 0 && a[2] == 113);
    if (family != AF_INET6)
        return true;
    if (memcmp(a, v4_in_v6, 12) == 0 || memcmp(a, nat64, 12) == 0 || memcmp(a, zero, 12) == 0)
        return memcmp(a, zero, 12) == 0 || http_address_is_private(AF_INET, a + 12);
    if (a[0] == 0x20 && a[1] == 0x02) /* 6to4 carries an IPv4 address */
        return http_address_is_private(AF_INET, a + 2);
    return (a[0] & 0xe0) != 0x20 || /* outside 2000::/3, global unicast */
           (a[0] == 0x20 && a[1] == 0x01 && (a[2] & 0xfe) == 0) || /* 2001::/23, Teredo and such */
           (a[0] == 0x20 && a[1] == 0x01 && a[2] == 0x0d && a[3] == 0xb8);
}
