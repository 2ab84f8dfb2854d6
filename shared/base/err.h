/* SPDX-License-Identifier: MIT
 *
 * err: every way a request can fail, in one table: name, HTTP status, wire code, log level, and the
 * text that clients see if the place that failed gives no more specific one. Warnings are logged
 * once a minute per code, with a count. Functions return `enum err`; ERR_OK is 0. Storage failures
 * are not logged per request (LOG_INFO here): the connection logs them once a minute.
 */
#ifndef PARLEY_BASE_ERR_H
#define PARLEY_BASE_ERR_H

#include "shared/base/log.h"

/* clang-format off */
#define ERR_TABLE(X)                                                                              \
    X(OK,               200, "ok",               LOG_DEBUG, "OK")                                  \
    X(BAD_REQUEST,      400, "bad_request",      LOG_DEBUG, "The request is not valid.")           \
    X(BAD_JSON,         400, "bad_json",         LOG_DEBUG, "The body is not valid JSON.")         \
    X(MISSING_FILE,     400, "MISSING_FILE",     LOG_DEBUG, "The form field `file` is missing or has no file.") \
    X(FILE_TYPE,        400, "INVALID_FILE_TYPE", LOG_DEBUG, "Unsupported file type: send PDF, DOCX, HTML, Markdown or plain text.") \
    X(BAD_ENDPOINT,     400, "bad_endpoint",     LOG_DEBUG, "The endpoint is not one that bots may have.") \
    X(UNAUTHORIZED,     401, "unauthorized",     LOG_INFO,  "Credentials are missing or wrong: send User, Nonce and Hash, or a bearer token.") \
    X(NONCE_USED,       401, "nonce_used",       LOG_INFO,  "This nonce has already been used: sign each request with a new one.") \
    X(TOKEN_EXPIRED,    401, "unauthorized",     LOG_INFO,  "The token has expired.") \
    X(REVOKED,          401, "unauthorized",     LOG_INFO,  "This account's secret or role has changed, or the account was removed: log in again.") \
    X(FORBIDDEN,        403, "forbidden",        LOG_INFO,  "This account's role does not allow this request.") \
    X(BOT_NOT_YOURS,    403, "bot_not_yours",    LOG_INFO,  "Only the account and user that registered this bot, or an operator, may change it.") \
    X(NOT_FOUND,        404, "not_found",        LOG_DEBUG, "Not found.")                         \
    X(NO_MODEL,         404, "model_not_found",  LOG_DEBUG, "No engine has named this model within the last hour: /v1/models lists those that one has.") \
    X(NO_ROUTE,         404, "no_route",         LOG_DEBUG, "No such route: check the path.")     \
    X(METHOD,           405, "method_not_allowed", LOG_DEBUG, "This route does not support that method: see the Allow header.") \
    X(ALREADY_DONE,     409, "already_done",     LOG_INFO,  "The query has already been answered.") \
    X(CANCELLED,        409, "cancelled",        LOG_INFO,  "The query was cancelled.")            \
    X(FAILED,           409, "failed",           LOG_INFO,  "The query has failed.")               \
    X(LEASE_LOST,       409, "lease_lost",       LOG_INFO,  "The lease has expired or is of another claim, and another engine may hold the query: drop this answer.") \
    X(QUERY_MISMATCH,   409, "query_mismatch",   LOG_INFO,  "None of the queries you hold in this topic has this Query text: send it as the claim has it.") \
    X(PARTIAL_GAP,      409, "partial_gap",      LOG_INFO,  "Text is missing before this Offset: send again from `expected`.") \
    X(CONFLICT,         409, "conflict",         LOG_DEBUG, "The request conflicts with what is stored.") \
    X(NAME_TAKEN,       409, "name_taken",       LOG_DEBUG, "This name is taken: users and bots share one set of names.") \
    X(DELIVERY_ANSWERED, 409, "delivery_answered", LOG_INFO, "This delivery has been answered, or its time is over.") \
    X(BOT_PULLS,        409, "bot_pulls",        LOG_DEBUG, "This bot has no endpoint: it pulls its deliveries.") \
    X(NOTHING_KEPT,     409, "upload_again",     LOG_INFO,  "The text and the file of this document are no longer stored: upload it again.") \
    X(TOO_LARGE,        413, "too_large",        LOG_DEBUG, "The body is too large.")              \
    X(FILE_TOO_LARGE,   413, "FILE_TOO_LARGE",   LOG_DEBUG, "The file is too large.")              \
    X(URI_TOO_LONG,     414, "uri_too_long",     LOG_DEBUG, "The request line is too long.")       \
    X(ENCODED,          415, "unsupported_encoding", LOG_DEBUG, "The body is compressed: send it as it is, without Content-Encoding.") \
    X(UPGRADE,          426, "upgrade_required", LOG_DEBUG, "This route is a WebSocket: connect to it over HTTP/1.1 with an upgrade.") \
    X(IDEMPOTENCY,      422, "idempotency_mismatch", LOG_INFO, "This Idempotency-Key was used with a different request: send a new key.") \
    X(HEADERS_TOO_LARGE, 431, "headers_too_large", LOG_DEBUG, "The request's headers are too large.") \
    X(TOO_MANY_FAILURES, 429, "too_many_failures", LOG_WARN, "Too many failed logins for this account from this address: check the secret, then wait a minute.") \
    X(USER_QUEUE_FULL,  429, "too_many_waiting", LOG_INFO,  "Too many requests are waiting for this user or account: retry later.") \
    X(TOO_MUCH_STORED,  429, "too_much_stored",  LOG_INFO,  "The storage limit of this user or account is reached: delete topics.") \
    X(QUOTA_USED,       429, "quota_used",       LOG_INFO,  "The tokens of this account for today are used up.") \
    X(RATE_LIMITED,     429, "rate_limited",     LOG_INFO,  "Too many requests: wait, then retry.") \
    X(INTERNAL,         500, "internal",         LOG_ERROR, "Internal error: report the request id to the operator.") \
    X(QUEUE_FULL,       503, "queue_full",       LOG_WARN,  "The queue is full: retry later.")     \
    X(NAMESPACE_FULL,   503, "namespace_full",   LOG_WARN,  "This namespace has as many of these as it may: delete some, or retry later.") \
    X(NO_ENGINE,        503, "no_engine",        LOG_INFO,  "No engine is connected: start one with `parley engine`, or retry later.") \
    X(NO_ANSWER,        503, "no_answer",        LOG_INFO,  "No answer came in time: send the same request again to keep waiting for it.") \
    X(ENGINE_FAILED,    503, "engine_failed",    LOG_WARN,  "The engines could not answer this query: retry later.") \
    X(ENGINE_LOST,      503, "engine_lost",      LOG_INFO,  "The engine was lost in the middle of its answer: send the request again.") \
    X(LLM_UNAVAILABLE,  503, "LLM_UNAVAILABLE",  LOG_INFO,  "No engine is connected: start one with `parley engine`, or retry later.") \
    X(BUSY,             503, "busy",             LOG_WARN,  "This node is overloaded: retry shortly.") \
    X(REDIS_LOST,       503, "redis_lost",       LOG_INFO,  "Storage is unreachable: retry shortly.") \
    X(STORE_FULL,       503, "store_full",       LOG_INFO,  "Storage is full, so nothing new is accepted. Reading, answering, cancelling and deleting still work: delete data you no longer need, or retry later.") \
    X(NOT_DURABLE,      503, "not_durable",      LOG_INFO,  "Storage has not confirmed in time that a second copy exists. It may be stored: send the same request again, with the same Idempotency-Key if it had one.") \
    X(STORE_READONLY,   503, "store_readonly",   LOG_INFO,  "Storage is read-only at the moment: retry later.") \
    X(STORE_BUSY,       503, "store_busy",       LOG_INFO,  "Storage is running but not accepting requests at the moment: retry shortly.") \
    X(PROVIDER_DOWN,    503, "provider_down",    LOG_INFO,  "The OpenID provider's keys are unavailable, so this token cannot be verified: retry shortly.") \
    X(DRAINING,         503, "draining",         LOG_INFO,  "This node is shutting down: retry on another.") \
    X(TIMEOUT,          503, "timeout",          LOG_WARN,  "Storage did not respond in time: retry shortly.") \
    X(STORAGE_FULL,     507, "storage_full",     LOG_INFO,  "This owner's documents have reached their storage limit: delete some of them.")
/* clang-format on */

enum err {
#define X(name, status, code, level, text) ERR_##name,
    ERR_TABLE(X)
#undef X
        ERR_NR
};

struct err_info {
    int status;
    const char *code;
    enum log_level level;
    const char *text;
};

/* True for temporary failures of the store, after which waiting requests retry once it works again:
 * redis_lost (the verb may have run), store_readonly and store_busy (it has not run). store_full is
 * not one of them, because some verbs still run while others are refused. */
static inline bool err_is_outage(enum err error)
{
    return error == ERR_REDIS_LOST || error == ERR_STORE_READONLY || error == ERR_STORE_BUSY;
}

/* Never NULL; an unknown value is treated as ERR_INTERNAL. */
const struct err_info *err_info(enum err error);
/* The reason phrase for a status that Parley sends. */
const char *err_reason(int status);

#endif
