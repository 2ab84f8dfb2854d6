/* SPDX-License-Identifier: MIT
 *
 * show: what a node shows of itself to operators. `parley show` (services/commands/show.c) asks the
 * nodes that Redis knows by an event on their channels, so it needs no route, and works behind a
 * load balancer; each node, which is a thread, answers with one verb (lua/operator/show.lua).
 *
 *     show / what / ask  -->  node  -->  list shown:<ask>: node / left out / a JSON object a line
 *
 * Rows say by themselves what is in them, so that nodes of two versions can be asked together. They
 * hold numbers and names, as these are in keys or decoded, and no other text of clients.
 */
#ifndef PARLEY_SERVICES_NODE_SHOW_H
#define PARLEY_SERVICES_NODE_SHOW_H

#include "shared/http/server.h"
#include "shared/queue/lines.h"

/* What can be shown, and what a row of it is. */
#define SHOW_TABLE(X)                                                                              \
    X(nodes, "a node, and what it has under way")                                                  \
    X(polls, "an engine's poll for queries: parked, or while it looks for a claim")                \
    X(classes, "an account's engines with one list of models: how many polls, and drained")        \
    X(claims, "a claim between Redis and its engine")                                              \
    X(watches, "a query whose outcome is waited for here, and by how many")                        \
    X(connections, "a node's connections of clients, and the bytes that bodies hold")              \
    X(memory, "a node's memory; rss and heap are its process's")

/* A part of the list. Rows past one of these bounds are left out and counted. */
enum { SHOW_PART_MAX_BYTES = 128 << 10, SHOW_ROWS_MAX = 1000 };

/* The node says this instead of how many were left out when it does not know `what`. */
#define SHOW_UNKNOWN "unknown"

bool show_is_known(struct str what) must_check;

/* Answers the event `show`; `rest` is what stands behind its kind. On the node's thread. */
void show_on_event(struct server *server, struct lines *rest);

#endif
