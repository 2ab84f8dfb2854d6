/* SPDX-License-Identifier: MIT
 * addresses.c - see addresses.h. */
#include "shared/http/wire/addresses.h"

#include "shared/base/hash.h"
#include "shared/base/mem.h"

#include <netinet/in.h>
#include <string.h>

enum { BUCKET_N = 1024, PREFIX_BYTES = 8 };

struct addresses {
    struct address buckets[BUCKET_N]; /* heads of rings */
};

struct addresses *addresses_create(void)
{
    struct addresses *addresses = mem_zeroed(sizeof *addresses);
    for (unsigned i = 0; i < BUCKET_N; i++)
        addresses->buckets[i].previous = addresses->buckets[i].next = &addresses->buckets[i];
    return addresses;
}

void addresses_destroy(struct addresses *addresses)
{
    free(addresses);
}

void addresses_count_idle(const struct addresses *addresses, size_t ret_n[IDLE_NR])
{
    for (unsigned kind = 0; kind < IDLE_NR; kind++)
        ret_n[kind] = 0;
    for (unsigned i = 0; i < BUCKET_N; i++) {
        const struct address *ring = &addresses->buckets[i];
        for (const struct address *at = ring->next; at != ring; at = at->next)
            for (unsigned kind = 0; kind < IDLE_NR; kind++)
                ret_n[kind] += at->idle_n[kind];
    }
}

static void make_key(const struct sockaddr *socket_address, unsigned char key[16])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    memset(key, 0, 16);
    if (socket_address->sa_family == AF_INET) {
        memcpy(key, mapped, sizeof mapped);
        memcpy(key + 12, &((const struct sockaddr_in *)socket_address)->sin_addr, 4);
    } else if (socket_address->sa_family == AF_INET6) {
        const struct in6_addr *v6 = &((const struct sockaddr_in6 *)socket_address)->sin6_addr;
        bool is_mapped = memcmp(v6, mapped, sizeof mapped) == 0;
        memcpy(key, v6, is_mapped ? 16 : PREFIX_BYTES);
    }
}

static unsigned bucket_of(const unsigned char key[16])
{
    return hash_fnv32((struct str){(const char *)key, 16}, 0) % BUCKET_N;
}

struct address *addresses_enter(struct addresses *addresses, const struct sockaddr *socket_address)
{
    unsigned char key[16];
    make_key(socket_address, key);
    struct address *ring = &addresses->buckets[bucket_of(key)], *found = ring->next;
    while (found != ring && memcmp(found->key, key, sizeof key) != 0)
        found = found->next;
    if (found == ring) {
        found = mem_zeroed(sizeof *found);
        memcpy(found->key, key, sizeof key);
        for (unsigned i = 0; i < IDLE_NR; i++)
            found->idle[i].previous = found->idle[i].next = &found->idle[i];
        found->previous = ring;
        found->next = ring->next;
        ring->next->previous = found;
        ring->next = found;
    }
    found->connection_n++;
    return found;
}

void addresses_leave(struct addresses *addresses, struct address *address)
{
    (void)addresses;
    if (--address->connection_n > 0)
        return;
    address->previous->next = address->next;
    address->next->previous = address->previous;
    free(address);
}

void address_put_idle(struct address *address, struct idle_link *link, bool is_proven)
{
    unsigned kind = is_proven ? IDLE_PROVEN : IDLE_STRANGERS;
    struct idle_link *ring = &address->idle[kind];
    if (link->next != NULL)
        return;
    link->previous = ring->previous;
    link->next = ring;
    ring->previous->next = link;
    ring->previous = link;
    address->idle_n[kind]++;
}

void address_take_idle(struct address *address, struct idle_link *link, bool is_proven)
{
    if (link->next == NULL)
        return;
    link->previous->next = link->next;
    link->next->previous = link->previous;
    *link = (struct idle_link){NULL, NULL};
    address->idle_n[is_proven ? IDLE_PROVEN : IDLE_STRANGERS]--;
}

struct idle_link *addresses_oldest_idle(const struct addresses *addresses, size_t newcomers_n)
{
    const struct address *most[IDLE_NR] = {NULL};
    size_t strangers_n = 0;
    for (unsigned i = 0; i < BUCKET_N; i++)
        for (const struct address *a = addresses->buckets[i].next; a != &addresses->buckets[i];
             a = a->next) {
            strangers_n += a->idle_n[IDLE_STRANGERS];
            for (unsigned kind = 0; kind < IDLE_NR; kind++)
                if (a->idle_n[kind] > 0 &&
                    (most[kind] == NULL || a->idle_n[kind] > most[kind]->idle_n[kind]))
                    most[kind] = a;
        }
    bool is_strangers =
        most[IDLE_STRANGERS] != NULL && (strangers_n > newcomers_n || most[IDLE_PROVEN] == NULL);
    unsigned kind = is_strangers ? IDLE_STRANGERS : IDLE_PROVEN;
    return most[kind] == NULL ? NULL : most[kind]->idle[kind].next;
}
