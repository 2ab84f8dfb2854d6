/* SPDX-License-Identifier: MIT
 *
 * explain: answers with errors that say what was seen and what to do. Each function answers the
 * request once; those that return bool return false, so that callers may return it.
 *
 * Input is repeated through buf_put_quoted (shown.h) only, and never credentials, query strings or
 * bodies. What belongs to another account is missing: explain_missing, with the same words. On the
 * loop's thread.
 */
#ifndef PARLEY_HTTP_EXPLAIN_H
#define PARLEY_HTTP_EXPLAIN_H

#include "shared/http/request/request.h"

/* Answers with `error` and a detail of at most 1 KiB. */
void explain(struct request *r, enum err error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* `s` as buf_put_quoted writes it, NUL-terminated, in the request's pool. */
const char *explain_quoted(struct request *r, struct str s);

/* 400 for a member of the JSON body, which request_body has read, or for a query parameter: that it
 * is missing, that another spelling of it is there, or what it is instead. `expected` completes "it
 * must be": "a string of 1 to 128 bytes". */
typedef bool explain_cb(struct request *r, const char *name, const char *expected);
explain_cb explain_member, explain_param;
/* 400 for one of the two: of a route that takes it in the query string or in the body. */
explain_cb explain_either;

/* 404: "There is no <what> '<name>' for this account", whatever the reason. `hint`: a sentence that
 * says what to do, or NULL. */
bool explain_missing(struct request *r, const char *what, struct str name, const char *hint);

/* For start.c: 404 for a path that has no route, 405 for a method that its path does not take
 * (`allow`: those that it does), 403 for a role. */
void explain_no_route(struct request *r);
void explain_method(struct request *r, const char *allow);
bool explain_role(struct request *r);
/* Puts the detail for a body of more than the route's limit. `sent`: its bytes, 0 if they are not
 * known. Without proof of its sender less may be read (admit.h). */
void explain_put_too_large(struct buf *b, const struct server *server, const struct route *route,
                           bool is_authenticated, uint64_t sent);
/* Returns the detail for a head of more than the node reads, in the request's pool. */
const char *explain_long_head(struct request *r, const char *what);
/* The same as explain_put_too_large in the request's pool, for its route. */
const char *explain_too_large(struct request *r, uint64_t sent);

#endif
