/* SPDX-License-Identifier: MIT
 *
 * router: paths to routes, in tables made at start. Used on any thread once made.
 *
 * A path is exact, or a pattern in which whole segments are `{name}`: each stands for one segment
 * that is not empty. An exact path is found before any pattern. A slash at the end makes another
 * path; who wants both lists both.
 */
#ifndef PARLEY_HTTP_ROUTER_H
#define PARLEY_HTTP_ROUTER_H

#include "shared/http/request.h"

struct router;

/* `tables` is a NULL-ended list of tables, each ended by a NULL path; all borrowed. Too many
 * routes, or a pattern that an earlier one hides, are bugs of ours and abort. */
struct router *router_create(const struct route *const *tables) must_check;
/* Accepts NULL. */
void router_destroy(struct router *router);

/* The route of a path and method. NULL: *ret_allow is the list for an Allow header when the path is
 * known under other methods, NULL when it is not known at all. */
const struct route *router_find(const struct router *router, struct str method, struct str path,
                                const char **ret_allow);

/* What stands in `path` for `{name}` of the pattern that it matches, as it was sent; `at == NULL`
 * when the pattern has no such segment. */
struct str router_segment(struct str pattern, struct str path, struct str name);
/* Has the route's path such a segment? */
bool router_is_pattern(struct str path);

#endif
