/* SPDX-License-Identifier: MIT
 * routes.c - the routes of rooms, bots and evaluations: which method and path, for whom, handled
 * where. */
#include "services/bots/bots.h"

#define FRONT (1u << ROLE_FRONTEND | 1u << ROLE_USER)

/* clang-format off */
const struct route bots_routes[] = {
    {0},
};
/* clang-format on */
