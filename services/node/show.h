/* SPDX-License-Identifier: MIT
 *
 * show: a node's state for operators. `parley show` (services/commands/show.c) asks the nodes known
 * to Redis through an event on their channels, so it needs no route and works behind a load
 * balancer. Each node (a thread) answers with one verb (lua/operator/show.lua).
 *
 *     show / what / ask  -->  node  -->  list shown:<ask>: node / left out / a JSON object a line
 *
 * Rows are self-describing, so nodes of two versions can be asked together. They contain numbers
 * and names (encoded as in keys, or decoded) and no other client text.
 */
#ifndef PARLEY_SERVICES_NODE_SHOW_H
#define PARLEY_SERVICES_NODE_SHOW_H

#include "shared/http/request/server.h"
#include "shared/queue/lines.h"

/* The tables that can be shown, and what a row of each is. */
#define SHOW_TABLE(X)                                                                              \
    X(nodes, "a node and its work in progress")                                                    \
    X(polls, "an engine's poll for queries: parked or looking for a claim")                        \
    X(classes, "an account's engines with one list of models: number of polls, drained or not")    \
    X(claims, "a claim on its way from Redis to its engine")                                       \
    X(watches, "a query that clients on this node wait for, and how many")                         \
    X(connections, "a node's client connections and the bytes held by request bodies")             \
    X(verbs, "a verb that the node has called: how often, and its duration from start to reply")   \
    X(memory, "a node's memory; rss and heap are those of its process")

/* A part of the list. Rows past one of these bounds are left out and counted. */
enum { SHOW_PART_MAX_BYTES = 128 << 10, SHOW_ROWS_MAX = 1000 };

/* Returned in place of the number of omitted rows by a node that does not know `what`. */
#define SHOW_UNKNOWN "unknown"

/* Answers the event `show`; `rest` is the text after its kind. On the node's thread. */
void show_on_event(struct server *server, struct lines *rest);

#endif
