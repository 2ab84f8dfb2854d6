/* SPDX-License-Identifier: MIT
 *
 * handlers: the broker's handlers, one per route (routes.c). Each answers exactly once.
 */
#ifndef PARLEY_SERVICES_BROKER_HANDLERS_H
#define PARLEY_SERVICES_BROKER_HANDLERS_H

#include "services/broker/broker.h"

handler broker_login;
handler broker_add_query, broker_check_query, broker_get_topic_thread, broker_user_topics;
handler broker_delete_topic, broker_rename_topic, broker_cancel_query;
handler broker_add_lookup, broker_get_lookups, broker_recommend;
handler broker_get_new_queries, broker_give_new_answer, broker_give_partial, broker_extend_claim;
handler broker_release_claim, broker_get_new_lookup, broker_give_new_matches;
handler broker_get_recommendations;
handler broker_status, broker_queue, broker_retry_query, broker_drain_engine;

/* check_stream.c: check-query as server-sent events, once the query is known to be there. */
void check_stream_start(struct request *r, struct str topic, uint64_t seq);

#endif
