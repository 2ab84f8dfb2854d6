/* SPDX-License-Identifier: MIT
 * addresses.c - see addresses.h. */
#include "shared/http/wire/addresses.h"

#include "shared/base/hash.h"
#include "shared/base/mem.h"

#include <netinet/in.h>
#include <string.h>

enum { BUCKET_N = 1024, PREFIX_BYTES = 8 };

struct addresses {
    struct list buckets[BUCKET_N]; /* struct address */
};

struct addresses *addresses_create(void)
{
    struct addresses *addresses = mem_zeroed(sizeof *addresses);
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
    for (unsigned i = 0; i < BUCKET_N; i++)
        list_for_each (const struct address, address, &addresses->buckets[i], link)
            for (unsigned kind = 0; kind < IDLE_NR; kind++)
                ret_n[kind] += address->idle_n[kind];
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

static struct address *find(const struct list *bucket, const unsigned char key[16])
{
    list_for_each (struct address, address, bucket, link)
        if (memcmp(address->key, key, 16) == 0)
            return address;
    return NULL;
}

struct address *addresses_enter(struct addresses *addresses, const struct sockaddr *socket_address)
{
    unsigned char key[16];
    make_key(socket_address, key);
    struct list *bucket = &addresses->buckets[bucket_of(key)];
    struct address *found = find(bucket, key);
    if (found == NULL) {
        found = mem_zeroed(sizeof *found);
        memcpy(found->key, key, sizeof key);
        list_prepend(bucket, &found->link);
    }
    found->connection_n++;
    return found;
}

void addresses_leave(struct addresses *addresses, struct address *address)
{
    (void)addresses;
    if (--address->connection_n > 0)
        return;
    list_remove(&address->link);
    free(address);
}

void address_put_idle(struct address *address, struct list_link *link, bool is_authenticated)
{
    unsigned kind = is_authenticated ? IDLE_AUTHENTICATED : IDLE_ANONYMOUS;
    if (list_is_linked(link))
        return;
    list_append(&address->idle[kind], link);
    address->idle_n[kind]++;
}

void address_take_idle(struct address *address, struct list_link *link, bool is_authenticated)
{
    if (!list_is_linked(link))
        return;
    list_remove(link);
    address->idle_n[is_authenticated ? IDLE_AUTHENTICATED : IDLE_ANONYMOUS]--;
}

struct list_link *addresses_oldest_idle(const struct addresses *addresses, size_t newcomers_n)
{
    const struct address *most[IDLE_NR] = {NULL};
    size_t anonymous_n = 0;
    for (unsigned i = 0; i < BUCKET_N; i++)
        list_for_each (const struct address, a, &addresses->buckets[i], link) {
            anonymous_n += a->idle_n[IDLE_ANONYMOUS];
            for (unsigned kind = 0; kind < IDLE_NR; kind++)
                if (a->idle_n[kind] > 0 &&
                    (most[kind] == NULL || a->idle_n[kind] > most[kind]->idle_n[kind]))
                    most[kind] = a;
        }
    bool is_anonymous = most[IDLE_ANONYMOUS] != NULL &&
                        (anonymous_n > newcomers_n || most[IDLE_AUTHENTICATED] == NULL);
    unsigned kind = is_anonymous ? IDLE_ANONYMOUS : IDLE_AUTHENTICATED;
    return most[kind] == NULL ? NULL : most[kind]->idle[kind].ends.next;
}
