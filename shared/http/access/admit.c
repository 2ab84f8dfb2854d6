/* SPDX-License-Identifier: MIT
 * admit.c - see admit.h. */
#include "shared/http/access/admit.h"

#include "shared/http/request/router.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t admit_unproven_most(const struct route *route, size_t max)
{
    bool is_for_all = route->roles == ROLES_NONE || route->takes_signed_body ||
                      route->takes_api_key || route->is_open != NULL;
    return smaller(max, is_for_all ? ADMIT_PUBLIC_BYTES : ADMIT_UNASKED_BYTES);
}

struct admission admit(struct server *server, const struct admit_ask *ask)
{
    struct admission verdict = {.is_refused = true};
    struct str path, query;
    const char *allow;
    request_split_target(ask->target, &path, &query);
    const struct route *route = router_find(server->router, ask->method, path, &allow);
    if (route == NULL)
        return verdict;
    size_t max = server_body_max(server, route);
    enum proof proof = PROOF_NONE;
    struct proof_places places = {query, ask->authorization, ask->caller_key, ask->api_key};
    if (route->roles != ROLES_NONE || route->is_caller_key != NULL)
        proof = proof_of_head(server, route, &places);
    if (proof == PROOF_WRONG)
        return verdict;
    verdict.is_proven = proof == PROOF_GOOD;
    verdict.most = verdict.is_proven ? max : admit_unproven_most(route, max);
    bool is_known = ask->length != UINT64_MAX;
    bool is_open = route->roles == ROLES_NONE || (route->is_open != NULL && proof == PROOF_NONE);
    if (is_known && (ask->length > max || (ask->length > verdict.most && is_open)))
        verdict.error = server_too_large(route);
    verdict.is_refused = is_known && ask->length > verdict.most;
    return verdict;
}
