/* SPDX-License-Identifier: MIT
 * routes.c - the workflow service's routes: which method and path, for whom, handled where. */
#include "services/workflow/approvals/approvals.h"
#include "services/workflow/workflow.h"

#define FRONT (1u << ROLE_FRONTEND | 1u << ROLE_USER)

#define ROUTE(METHOD, PATH, HANDLER, ...)                                                          \
    {                                                                                              \
        .method = METHOD, .path = PATH, .roles = FRONT, .handle = HANDLER,                         \
        .is_open = workflow_is_open, __VA_ARGS__                                                   \
    }

enum { APPROVAL_MAX_BYTES = 128 << 10 };

/* clang-format off */
const struct route workflow_routes[] = {
    /* Any account may be an approver. */
    {"GET", "/api/workflows/questions", ROLES_ALL, approvals_list},
    {"POST", "/api/workflows/questions/{id}", ROLES_ALL, approvals_answer, .body_max_bytes = APPROVAL_MAX_BYTES},
    {"GET", "/api/workflows/links/{link}", ROLES_ALL, approvals_show_link, .is_open = approvals_link_is_open},
    {"POST", "/api/workflows/links/{link}", ROLES_ALL, approvals_answer_link, .is_open = approvals_link_is_open, .body_max_bytes = APPROVAL_MAX_BYTES},
    ROUTE("GET", "/api/workflows", workflow_trees),
    ROUTE("GET", "/api/workflows/history", workflow_history),
    ROUTE("GET", "/ws", workflow_socket, .takes_token_param = true, .hands_out = true),
    {0},
};
/* clang-format on */
