/* SPDX-License-Identifier: MIT
 *
 * handlers: the broker's handlers, one per route (routes.c). Each answers exactly once.
 */
#ifndef PARLEY_SERVICES_BROKER_HANDLERS_H
#define PARLEY_SERVICES_BROKER_HANDLERS_H

#include "services/broker/broker.h"

handler broker_login;
handler broker_add_query, broker_check_query, broker_get_topic_thread, broker_user_topics;
handler broker_delete_topic, broker_rename_topic, broker_cancel_query, broker_find_topics;
handler broker_add_lookup, broker_get_lookups, broker_recommend;
handler broker_get_new_queries, broker_give_new_answer, broker_give_partial, broker_extend_claim;
handler broker_release_claim, broker_get_new_lookup, broker_give_new_matches;
handler broker_get_recommendations, broker_list_recommendations, broker_remove_recommendation;
handler broker_status, broker_depth, broker_queue, broker_retry_query, broker_drain_engine;
handler broker_audit;

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
