/* SPDX-License-Identifier: MIT
 * routes.c - the broker's routes: which method and path, for whom, handled where. */
#include "services/broker/handlers.h"

#define FRONT (1u << ROLE_FRONTEND | 1u << ROLE_USER)
#define ENGINE (1u << ROLE_ENGINE)
#define OPERATOR (1u << ROLE_OPERATOR)

/* clang-format off */
const struct route broker_routes[] = {
    {"GET",    "/api/login",               ROLES_ALL, broker_login,               false, .takes_basic = true},

    {"POST",   "/api/add-query",           FRONT,     broker_add_query,           false, .uses_nonce_itself = true},
    {"GET",    "/api/check-query",         FRONT,     broker_check_query,         false, .is_held = true},
    {"GET",    "/api/get-topic-thread",    FRONT,     broker_get_topic_thread,    false},
    {"GET",    "/api/user-topics",         FRONT,     broker_user_topics,         false},
    {"GET",    "/api/find-topics",         FRONT,     broker_find_topics,         false},
    {"DELETE", "/api/topic",               FRONT,     broker_delete_topic,        false, .audit = AUDIT_TOPIC_DELETED},
    {"DEL",    "/api/topic",               FRONT,     broker_delete_topic,        false, .audit = AUDIT_TOPIC_DELETED},
    {"PUT",    "/api/rename-topic",        FRONT,     broker_rename_topic,        false},
    {"POST",   "/api/cancel-query",        FRONT,     broker_cancel_query,        false},
    {"POST",   "/api/add-lookup",          FRONT,     broker_add_lookup,          false, .takes_key = true},
    {"GET",    "/api/get-lookups",         FRONT,     broker_get_lookups,         false},
    {"POST",   "/api/recommend",           FRONT,     broker_recommend,           false, .takes_key = true},

    {"GET",    "/api/get-new-queries",     ENGINE,    broker_get_new_queries,     true, .uses_nonce_itself = true, .is_always_sent = true, .hands_out = true, .is_held = true},
    {"POST",   "/api/give-new-answer",     ENGINE,    broker_give_new_answer,     false},
    {"POST",   "/api/give-partial",        ENGINE,    broker_give_partial,        false},
    {"POST",   "/api/extend-claim",        ENGINE,    broker_extend_claim,        false},
    {"POST",   "/api/release-claim",       ENGINE,    broker_release_claim,       false},
    {"GET",    "/api/get-new-lookup",      ENGINE,    broker_get_new_lookup,      false, .is_always_sent = true, .hands_out = true, .is_held = true},
    {"POST",   "/api/give-new-matches",    ENGINE,    broker_give_new_matches,    false},
    {"GET",    "/api/get-recommendations", ENGINE,    broker_get_recommendations, false},

    {"GET",    "/api/status",              OPERATOR,  broker_status,              false, .uses_nonce_itself = true},
    {"GET",    "/api/depth",               OPERATOR,  broker_depth,               false, .takes_api_key = true},
    {"GET",    "/api/queue",               OPERATOR,  broker_queue,               false},
    {"POST",   "/api/retry-query",         OPERATOR,  broker_retry_query,         false, .audit = AUDIT_QUERY_REOPENED},
    {"POST",   "/api/drain-engine",        OPERATOR,  broker_drain_engine,        false, .audit = AUDIT_ENGINE_DRAINED},
    {"GET",    "/api/audit",               OPERATOR,  broker_audit,               false},
    {"GET",    "/api/recommendations",     OPERATOR,  broker_list_recommendations, false},
    {"DELETE", "/api/recommendations",     OPERATOR,  broker_remove_recommendation, false, .audit = AUDIT_RECOMMENDATION_DELETED},
    {0},
};
/* clang-format on */
