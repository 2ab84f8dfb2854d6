/* SPDX-License-Identifier: MIT
 * routes.c - the document service's routes: which method and path, for whom, handled where. */
#include "services/documents/handlers.h"

#define FRONT (1u << ROLE_FRONTEND | 1u << ROLE_USER)

/* clang-format off */
const struct route documents_routes[] = {
    {"GET",    "/api/me",                  FRONT,     documents_me},
    {0},
};
/* clang-format on */
