/* SPDX-License-Identifier: MIT
 * router.c - see router.h. Open addressing over FNV-1a; a slot holds all methods of one path. */
#include "shared/http/router.h"

#include <stdio.h>
#include <stdlib.h>

enum { SLOT_N = 256, METHODS_MAX = 6, ALLOW_MAX = 64 };

struct slot {
    const char *path;
    const struct route *routes[METHODS_MAX];
    unsigned n;
    char allow[ALLOW_MAX];
};

struct router {
    struct slot slots[SLOT_N];
};

static uint32_t hash_of(struct str path)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < path.n; i++)
        hash = (hash ^ (unsigned char)path.at[i]) * 16777619u;
    return hash;
}

static const struct slot *find_slot(const struct router *router, struct str path)
{
    uint32_t at = hash_of(path) % SLOT_N;
    while (router->slots[at].path != NULL && !str_eq(str_of(router->slots[at].path), path))
        at = (at + 1) % SLOT_N;
    return &router->slots[at];
}

static void add(struct router *router, const struct route *route)
{
    struct slot *slot = (struct slot *)find_slot(router, str_of(route->path));
    if (slot->n == METHODS_MAX)
        abort();
    slot->path = route->path;
    slot->routes[slot->n++] = route;
    size_t used = strlen(slot->allow);
    snprintf(slot->allow + used, sizeof slot->allow - used, "%s%s", used == 0 ? "" : ", ",
             route->method);
}

struct router *router_create(const struct route *const *tables)
{
    struct router *router = calloc(1, sizeof *router);
    unsigned n = 0;
    if (router == NULL)
        abort();
    for (; *tables != NULL; tables++)
        for (const struct route *route = *tables; route->path != NULL; route++) {
            if (++n > SLOT_N / 2)
                abort();
            add(router, route);
        }
    return router;
}

void router_destroy(struct router *router)
{
    free(router);
}

const struct route *router_find(const struct router *router, struct str method, struct str path,
                                const char **ret_allow)
{
    const struct slot *slot = find_slot(router, path);
    *ret_allow = slot->path == NULL ? NULL : slot->allow;
    for (unsigned i = 0; i < slot->n; i++)
        if (str_eq(method, str_of(slot->routes[i]->method)))
            return slot->routes[i];
    return NULL;
}
