/* SPDX-License-Identifier: MIT
 *
 * users: usage, export and deletion of everything stored for a user by any service (/api/users in
 * routes.yaml). One per thread (service.h). A user's data is on every shard.
 */
#ifndef PARLEY_SERVICES_USERS_USERS_H
#define PARLEY_SERVICES_USERS_USERS_H

#include "generated/routes_users.h"
#include "services/node/service.h"
#include "shared/ask/on_behalf.h"
#include "shared/ask/reply.h"
#include "shared/search/space_settings.h"

struct export;
struct fair_slots;

struct users {
    struct server *server;
    const struct space_settings *settings;
    struct list exports;      /* struct export: under way on this node */
    struct fair_slots *turns; /* whose next page is made */
};

static inline struct users *users_of(const struct request *r)
{
    return service_state(r, "users");
}

/* The person whose data a request is about. All live as long as the request. */
struct user_of_path {
    struct on_behalf on_behalf;
    struct str space;     /* of its documents */
    struct str namespace; /* as a name; "%" without one */
};

/* The user in the path: itself for an account of role user, any user of its namespace for a
 * frontend, any user (`namespace~User`) for an operator. Answers 400 or 403 and returns false
 * otherwise.
 */
bool person_of_path(struct request *r, struct user_of_path *ret_person) must_check;

#endif
