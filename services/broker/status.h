/* SPDX-License-Identifier: MIT
 *
 * status: the lists of GET /api/status, from what the shards returned (shared/queue/status.h):
 * status_lists.c puts the engines and nodes that are there, and the nodes that are gone.
 */
#ifndef PARLEY_SERVICES_BROKER_STATUS_H
#define PARLEY_SERVICES_BROKER_STATUS_H

#include "shared/http/request/request.h"
#include "shared/queue/status.h"

/* Puts the members of the list `Engines`, one for each process that names itself, however many
 * slots it has. Memory of the request. */
void status_put_engines(struct buf *b, struct request *r, const struct status *status);
/* Puts the members of the list `Nodes`, those that live, or of `GoneNodes`. */
void status_put_nodes(struct buf *b, const struct status *status, bool is_gone);

#endif
