/* SPDX-License-Identifier: MIT
 *
 * router: maps paths to routes, in tables built at start. Any thread once built.
 *
 * A path is exact, or a pattern in which whole segments are `{name}`: each matches one non-empty
 * segment. Exact paths take precedence over patterns. A trailing slash makes a different path; list
 * both if both are wanted.
 */
#ifndef PARLEY_HTTP_ROUTER_H
#define PARLEY_HTTP_ROUTER_H

#include "shared/http/request/route.h"

struct router;

/* `tables` is a NULL-ended list of tables, each ended by a NULL path; all borrowed. Too many
 * routes, or a pattern hidden by an earlier one, are our own bugs and abort. */
struct router *router_create(const struct route *const *tables) must_check;
/* Accepts NULL. */
void router_destroy(struct router *router);

/* The route of a path and method. NULL: *ret_allow is the value for an Allow header if the path
 * exists with other methods, otherwise NULL. */
const struct route *router_find(const struct router *router, struct str method, struct str path,
                                const char **ret_allow);

/* Returns what writes the errors of a request: of its route, or, without one, of the route that
 * speaks for the folder of its path (struct route). NULL: problem_put. */
problem_writer *router_problem_writer(const struct router *router, const struct route *route,
                                      struct str path);

/* Returns the path, as its table has it, that a client probably meant by `path`, which no route
 * has; NULL if none is close. Ignores "/api/" in front and a slash at the end. Its time grows with
 * the number of routes of similar length. */
const char *router_nearest(const struct router *router, struct str path);

/* The part of `path` that matches `{name}` in the pattern, as sent; `at == NULL` if the pattern has
 * no such segment. */
struct str router_segment(struct str pattern, struct str path, struct str name);
/* Returns whether the route's path has such a segment. */
bool router_is_pattern(struct str path);

#endif
