/* SPDX-License-Identifier: MIT
 *
 * start: the way of each request from libh2o to its handler: route, rejection of what is malformed
 * or too large, authentication. On the loop's thread.
 */
#ifndef PARLEY_HTTP_START_H
#define PARLEY_HTTP_START_H

#include "shared/http/request/request.h"

/* Creates the request for `h2o` and finds its route; runs the handler or answers with an error. */
void start_request(struct server *server, h2o_req_t *h2o);

/* Hooks of other rooms during a request's life. */
extern const struct request_hooks start_hooks;

#endif
