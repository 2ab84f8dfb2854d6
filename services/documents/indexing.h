/* SPDX-License-Identifier: MIT
 *
 * indexing: the open /ws/indexing sockets of one thread, see indexing_ws.c.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_INDEXING_H
#define PARLEY_SERVICES_DOCUMENTS_INDEXING_H

#include "shared/http/server.h"

struct indexing_watch *indexing_watch_create(struct server *server) must_check;
/* All sockets are closed by then. Accepts NULL. */
void indexing_watch_destroy(struct indexing_watch *watch);

#endif
