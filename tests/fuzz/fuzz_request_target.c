/* SPDX-License-Identifier: MIT
 * fuzz_request_target.c - request targets on their way to a route: path and query lie inside of the
 * target, a pattern matches as many segments as it has, and each of its names is found again. */
#include "shared/http/request/request.h"
#include "shared/http/request/router.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void handle(struct request *r)
{
    (void)r;
}

static const struct route routes[] = {
    {"GET", "/docs", ROLES_NONE, handle},
    {"GET", "/docs/{id}", ROLES_NONE, handle},
    {"DELETE", "/docs/{id}/chunks/{index}", ROLES_NONE, handle},
    {0},
};

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool is_inside(struct str part, struct str whole)
{
    return part.at == NULL || (part.at >= whole.at && part.at + part.n <= whole.at + whole.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct route *const tables[] = {routes, NULL};
    static struct router *router;
    if (router == NULL)
        router = router_create(tables);
    struct str target = {size == 0 ? "" : (const char *)data, size}, path, query;
    request_split_target(target, &path, &query);
    require(is_inside(query, target));
    require(is_inside(path, target) || str_eq(path, STR("/")));
    require(path.n == 0 || memchr(path.at, '?', path.n) == NULL);

    const char *allow;
    const struct route *get = router_find(router, STR("GET"), path, &allow);
    const struct route *other = router_find(router, STR("DELETE"), path, &allow);
    require(get == NULL || other == NULL);
    require((get == NULL && other == NULL) || allow != NULL);
    require((get == &routes[0]) == str_eq(path, STR("/docs")));
    if (get == &routes[1])
        require(path.n > 6 && router_segment(str_of(get->path), path, STR("id")).n == path.n - 6);
    if (other != NULL) {
        struct str id = router_segment(str_of(other->path), path, STR("id"));
        struct str index = router_segment(str_of(other->path), path, STR("index"));
        require(id.n > 0 && index.n > 0 && id.n + index.n == path.n - 14);
        require(is_inside(id, path) && is_inside(index, path));
        require(memchr(id.at, '/', id.n) == NULL && memchr(index.at, '/', index.n) == NULL);
    }
    return 0;
}
