/* SPDX-License-Identifier: MIT
 * table.c - all services: a row each, and nothing else names them. */
#include "services/node/service.h"

#define SERVICES(ROW)                                                                              \
    ROW(broker)                                                                                    \
    ROW(users)                                                                                     \
    ROW(documents)                                                                                 \
    ROW(workflow)                                                                                  \
    ROW(bots)                                                                                      \
    ROW(openai)                                                                                    \
    ROW(mcp)                                                                                       \
    ROW(web)                                                                                       \
    ROW(indexer)

#define DECLARE(name) extern const struct service name##_service;
SERVICES(DECLARE)

#define LIST(name) &name##_service,
const struct service *const services[] = {SERVICES(LIST) NULL};

_Static_assert(sizeof services / sizeof *services <= SERVICES_MAX + 1, "SERVICES_MAX is too small");
