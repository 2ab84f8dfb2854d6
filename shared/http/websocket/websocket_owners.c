/* SPDX-License-Identifier: MIT
 * websocket_owners.c - counts each account's share of a node's WebSockets (websocket_internal.h):
 * sockets, and bytes that their clients have not read. A socket keeps its connection for as long as
 * its client likes, and idle connections make room only for others that ask: without a share for
 * each, one account could take all places of a node.
 *
 * Of the bytes an owner may have as many as are free, so that some are left for the next one, and
 * always its part of half of them. Past that, each of its sockets that has nothing waiting may have
 * one message, until the owner has QUEUES_BYTES, or all have twice as many. */
#include "shared/base/hash.h"
#include "shared/base/mem.h"
#include "shared/http/websocket/websocket_internal.h"

#include <stdio.h>

/* OWNER_SHARE: of a thread's connections, for one account, provider's user or address. */
enum { OWNER_SHARE = 4, QUEUES_BYTES = 64 << 20 };

struct websocket_owner {
    struct websocket_owner *next; /* of the same bucket */
    size_t open_n, queued_bytes;
    struct str name; /* after the struct */
};

static struct websocket_owner **place_of(struct server *server, struct str name)
{
    struct websocket_owner **at =
        &server->websockets->owners[hash_fnv32(name, 0) % WEBSOCKET_OWNER_BUCKETS];
    while (*at != NULL && !str_eq((*at)->name, name))
        at = &(*at)->next;
    return at;
}

static struct websocket_owner *create(struct str name)
{
    struct websocket_owner *owner = mem_zeroed(sizeof *owner + name.n);
    memcpy(owner + 1, name.at, name.n);
    owner->name = (struct str){(const char *)(owner + 1), name.n};
    return owner;
}

size_t websocket_owner_share(const struct server *server)
{
    return server->config->wire.connections_max / OWNER_SHARE;
}

struct websocket_owner *websocket_owner_enter(struct request *r)
{
    /* Names of accounts are never addresses: ':' and '/' are not in a name_token. */
    char address[80];
    int n = snprintf(address, sizeof address, "/%.*s", (int)(r->peer.n < 64 ? r->peer.n : 64),
                     r->peer.at);
    struct str name =
        r->account != NULL ? r->account->name_token : (struct str){address, (size_t)n};
    struct websocket_owner **at = place_of(r->server, name);
    size_t most = websocket_owner_share(r->server);
    if (*at != NULL && most > 0 && (*at)->open_n >= most)
        return NULL;
    if (*at == NULL) {
        *at = create(name);
        r->server->websockets->owner_n++;
    }
    (*at)->open_n++;
    return *at;
}

void websocket_owner_leave(struct server *server, struct websocket_owner *owner)
{
    if (--owner->open_n > 0)
        return;
    *place_of(server, owner->name) = owner->next;
    server->websockets->owner_n--;
    free(owner);
}

void websocket_owner_count(struct websocket *ws, ptrdiff_t bytes)
{
    ws->owner->queued_bytes += (size_t)bytes;
    ws->server->websockets->queued_bytes += (size_t)bytes;
}

enum websocket_capacity websocket_owner_capacity(const struct websocket *ws)
{
    size_t all = ws->server->websockets->queued_bytes, mine = ws->owner->queued_bytes;
    size_t always = QUEUES_BYTES / 2 / ws->server->websockets->owner_n;
    if (mine <= always || mine + all <= QUEUES_BYTES)
        return WEBSOCKET_CAPACITY;
    return mine < QUEUES_BYTES && all < 2 * QUEUES_BYTES ? WEBSOCKET_CAPACITY_FOR_ONE
                                                         : WEBSOCKET_NO_CAPACITY;
}
