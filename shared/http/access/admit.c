/* SPDX-License-Identifier: MIT
 * admit.c - see admit.h. */
#include "shared/http/access/admit.h"

#include "shared/http/request/router.h"

static const struct route *route_of(const struct server *server, struct str method,
                                    struct str target, struct str *ret_query)
{
    struct str path;
    const char *allow;
    request_split_target(target, &path, ret_query);
    return router_find(server->router, method, path, &allow);
}

size_t admit_body_most(void *server, struct str method, struct str target,
                       bool is_for_authenticated)
{
    struct str query;
    const struct route *route = route_of(server, method, target, &query);
    if (route == NULL)
        return 0;
    return is_for_authenticated ? route_body_max(server, route)
                                : route_anonymous_max(server, route);
}

struct admission admit(void *server, const struct admit_ask *ask)
{
    struct admission verdict = {.is_refused = true};
    struct str query;
    const struct route *route = route_of(server, ask->method, ask->target, &query);
    if (route == NULL)
        return verdict;
    size_t max = route_body_max(server, route);
    enum proof proof = PROOF_NONE;
    struct proof_places places = {query, ask->authorization, ask->caller_key, ask->api_key};
    if (route->roles != ROLES_NONE || route->is_caller_key != NULL)
        proof = proof_of_head(server, route, &places);
    if (proof == PROOF_WRONG)
        return verdict;
    verdict.is_authenticated = proof == PROOF_GOOD;
    verdict.most = verdict.is_authenticated ? max : route_anonymous_max(server, route);
    bool is_known = ask->length != UINT64_MAX;
    bool is_open = route->roles == ROLES_NONE || (route->is_open != NULL && proof == PROOF_NONE);
    if (is_known && (ask->length > max || (ask->length > verdict.most && is_open)))
        verdict.error = route_too_large(route);
    verdict.is_refused = is_known && ask->length > verdict.most;
    return verdict;
}
