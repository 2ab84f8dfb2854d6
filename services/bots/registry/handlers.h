/* SPDX-License-Identifier: MIT
 *
 * handlers: the routes of the registry (docs/openapi.yaml). On the loop's thread.
 */
#ifndef PARLEY_BOTS_REGISTRY_HANDLERS_H
#define PARLEY_BOTS_REGISTRY_HANDLERS_H

#include "shared/http/request/request.h"

handler registry_add;           /* POST /api/bots */
handler registry_add_by_key;    /* POST /api/bots/register, as the first clients call it */
handler registry_show;          /* GET /api/bots */
handler registry_delete;        /* DELETE /api/bots/{username} */
handler registry_renew_secrets; /* POST /api/bots/{username}/rotate */

/* A 401 as the first clients read it: `{"message"}`. */
problem_writer registry_put_problem;

#endif
