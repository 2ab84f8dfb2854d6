/* SPDX-License-Identifier: MIT
 *
 * own_errors: libh2o answers some requests itself, before any handler: a body over the limit, a
 * broken chunk. A filter gives these answers the form of ours.
 */
#ifndef PARLEY_HTTP_OWN_ERRORS_H
#define PARLEY_HTTP_OWN_ERRORS_H

#include "shared/http/request/server.h"

/* For requests under `path`. Borrows `server`. */
void own_errors_add(struct server *server, h2o_pathconf_t *path);

#endif
