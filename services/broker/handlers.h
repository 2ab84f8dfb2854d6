/* SPDX-License-Identifier: MIT
 *
 * handlers: the broker's handlers, one per route (routes.yaml). Each answers exactly once.
 */
#ifndef PARLEY_SERVICES_BROKER_HANDLERS_H
#define PARLEY_SERVICES_BROKER_HANDLERS_H

#include "generated/routes_broker.h"
#include "services/broker/broker.h"

/* check_stream.c: check-query as server-sent events, once the query is known to be there. */
void check_stream_start(struct request *r, struct str topic, uint64_t seq);

/* lookups.c: of several shards, how shard 0 knows that topic (lua/lookup/needs.lua); in the
 * request's pool. */
struct str lookup_need(struct request *r, struct str topic, struct str number);

/* check_query.c and check_stream.c: add-query?Wait=, which continues like check-query. Before the
 * verb, and with its reply. */
void check_begin_add(struct request *r, struct str topic, uint64_t wait_s);
void check_stream_begin_add(struct request *r, struct str topic);
request_reply_cb check_on_added, check_stream_on_added;

#endif
