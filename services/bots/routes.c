/* SPDX-License-Identifier: MIT
 * routes.c - the routes of rooms, bots and evaluations: which method and path, for whom, handled
 * where. */
#include "services/bots/bots.h"
#include "services/bots/evaluate/evaluate.h"
#include "services/bots/pull/pull.h"
#include "services/bots/registry/caller_key.h"
#include "services/bots/registry/handlers.h"
#include "services/bots/rooms/handlers.h"

#define FRONT (1u << ROLE_FRONTEND | 1u << ROLE_USER)
#define STEERS (1u << ROLE_FRONTEND | 1u << ROLE_USER | 1u << ROLE_OPERATOR)

/* clang-format off */
const struct route bots_routes[] = {
    {"POST", "/api/rooms", FRONT, rooms_create_room, .takes_key = true},
    {"GET", "/api/rooms", FRONT, rooms_list},
    {"DELETE", "/api/rooms/{id}", STEERS, rooms_delete_room, .audit = AUDIT_ROOM_DELETED},
    {"POST", "/api/rooms/{id}/messages", FRONT, rooms_post, .takes_key = true, .is_open = caller_key_is_open, .is_caller_key = caller_key_is_ours, .body_max_bytes = ROOM_BODY_MAX_BYTES},
    {"GET", "/api/rooms/{id}/messages", FRONT, rooms_messages},
    {"GET", "/ws/rooms/{id}", FRONT, rooms_socket, .takes_token_param = true, .hands_out = true},
    {"POST", "/api/bots", FRONT, registry_add, .takes_key = true},
    {"GET", "/api/bots", STEERS, registry_show},
    {"DELETE", "/api/bots/{username}", STEERS, registry_delete, .audit = AUDIT_BOT_DELETED},
    {"POST", "/api/bots/{username}/rotate", STEERS, registry_renew_secrets},
    {"POST", "/api/bots/register", FRONT, registry_add_by_key, .takes_key = true, .takes_api_key = true, .put_problem = registry_put_problem},
    {"GET", "/api/evaluations", FRONT, evaluate_list},
    {"POST", "/api/evaluations", FRONT, evaluate_begin, .takes_key = true, .body_max_bytes = EVALUATE_BODY_MAX_BYTES},
    {"GET", "/api/evaluations/{id}", FRONT, evaluate_read},
    {"DELETE", "/api/evaluations/{id}", FRONT, evaluate_cancel},
    {"POST", "/api/bots/evaluate", FRONT, evaluate_points, .takes_api_key = true, .put_problem = registry_put_problem},
    {"GET", "/api/bots/{username}/deliveries", ROLES_NONE, pull_take, .is_always_sent = true, .hands_out = true},
    {"POST", "/api/bots/{username}/deliveries/{id}", ROLES_NONE, pull_answer, .is_caller_key = caller_key_is_ours, .body_max_bytes = PULL_BODY_MAX_BYTES},
    {0},
};
/* clang-format on */
