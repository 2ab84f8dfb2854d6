/* SPDX-License-Identifier: MIT
 *
 * router: exact paths to routes, in one hash table made at start. Used on any thread once made.
 */
#ifndef PARLEY_HTTP_ROUTER_H
#define PARLEY_HTTP_ROUTER_H

#include "shared/http/request.h"

struct router;

/* `tables` is a NULL-ended list of tables, each ended by a NULL path; all borrowed. */
struct router *router_create(const struct route *const *tables);
void router_destroy(struct router *router);

/* The route of a path and method. NULL: *ret_allow is the list for an Allow header when the path is
 * known under other methods, NULL when it is not known at all. */
const struct route *router_find(const struct router *router, struct str method, struct str path,
                                const char **ret_allow);

#endif
