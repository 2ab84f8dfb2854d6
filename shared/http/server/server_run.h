/* SPDX-License-Identifier: MIT
 *
 * server_run: HTTP on one loop: accepting, routing, draining. Puts the other rooms together. On the
 * loop's thread.
 */
#ifndef PARLEY_HTTP_SERVER_RUN_H
#define PARLEY_HTTP_SERVER_RUN_H

#include "shared/http/request/server.h"

struct route;
struct tls;

enum { LISTENERS_MAX = 2 };

/* Borrows everything except `node_id`. `tables` ends with NULL, each table with a NULL path. The
 * caller sets `services` after it. */
void server_init(struct server *server, struct loop *loop, const struct server_config *config,
                 struct shards *shards, struct metrics *metrics, const struct route *const *tables,
                 const char *node_id);
/* Starts accepting; takes over `fd`, and borrows `tls` (NULL: without TLS). For LISTENERS_MAX
 * addresses at most. */
void server_start(struct server *server, int fd, struct tls *tls);
/* Refuses new connections. Those that clients have begun are accepted, requests are answered, and
 * connections close after their answers. */
void server_drain(struct server *server);
/* To be polled after server_drain: closes listeners once nobody waits to be accepted. Returns
 * whether that has happened, the server is idle, and connections that are still open have not been
 * used for a while. */
bool server_is_drained(struct server *server);
/* Returns whether no request is running, no WebSocket is open and no connection lingers. */
bool server_is_idle(const struct server *server);
/* If the accounts have been reloaded, ends what is open for those that have lost their right. */
void server_check_rights(struct server *server);
/* Call it at the end of each pass of the loop. */
void server_turn_end(struct server *server);
/* Call it after the loop has ended: nothing is answered any more. */
void server_fini(struct server *server);

#endif
