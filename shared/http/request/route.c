/* SPDX-License-Identifier: MIT
 * route.c - see route.h. */
#include "shared/http/request/route.h"

#include "shared/http/request/server.h"

size_t route_body_max(const struct server *server, const struct route *route)
{
    if (route->body_setting != NULL)
        return *route->body_setting;
    return route->body_max_bytes != 0 ? route->body_max_bytes : server->config->body_max_bytes;
}

size_t route_anonymous_max(const struct server *server, const struct route *route)
{
    bool is_for_all = route->roles == ROLES_NONE || route->takes_signed_body ||
                      route->takes_api_key || route->is_open != NULL;
    size_t most = is_for_all ? ADMIT_PUBLIC_BYTES : ADMIT_UNASKED_BYTES;
    size_t max = route_body_max(server, route);
    return max < most ? max : most;
}

enum err route_too_large(const struct route *route)
{
    return route->too_large != ERR_OK ? route->too_large : ERR_TOO_LARGE;
}
