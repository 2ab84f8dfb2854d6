/* SPDX-License-Identifier: MIT
 *
 * handlers: the routes of the registry (/openapi.yaml). On the loop's thread.
 */
#ifndef PARLEY_BOTS_REGISTRY_HANDLERS_H
#define PARLEY_BOTS_REGISTRY_HANDLERS_H

#include "generated/routes_bots.h"
#include "shared/http/request/request.h"

/* A 401 as the first clients read it: `{"message"}`. */
problem_writer registry_put_problem;

#endif
