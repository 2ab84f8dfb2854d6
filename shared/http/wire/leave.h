/* SPDX-License-Identifier: MIT
 *
 * leave: detects a client that leaves while its request is being processed. libh2o 2.2 does not
 * read an HTTP/1 connection while one of its requests is unanswered, so it does not notice a close.
 * Between leave_watch and leave_unwatch this module polls the socket instead and reads nothing from
 * it. That also saves two epoll_ctl calls per request, because polling is not stopped and
 * restarted.
 *
 * HTTP/2 does not need this: libh2o keeps reading and disposes of a stream that is reset before its
 * answer is written; after that see frames.c. On the loop's thread.
 */
#ifndef PARLEY_HTTP_LEAVE_H
#define PARLEY_HTTP_LEAVE_H

#include "shared/http/wire/exchange.h"
#include "shared/http/wire/wire.h"

/* From now on listeners are called when the client closes its side. */
void leave_watch(struct exchange *x);
/* Calls each listener once and removes it. Listeners may answer; the request is then disposed of
 * later, from the loop. */
void leave_notify(struct exchange *x);
/* Returns the socket to libh2o before it reads on. May be called while the request is disposed
 * of. */
void leave_unwatch(struct exchange *x);

/* `listener` runs at most once, from the loop: when the client closes its side of the connection
 * before the answer or the end of the stream. Not for HTTP/2. */
void leave_listen(struct exchange *x, struct left_listener *listener);
/* Does nothing if it no longer listens. */
void leave_unlisten(struct exchange *x, struct left_listener *listener);
/* Returns whether the client has left: checks the socket, which knows it before listeners run. */
bool leave_has_begun(struct exchange *x) must_check;
/* Returns, at the end of an answered exchange, whether the client refused bytes of the answer. */
bool leave_cut_answer(struct exchange *x) must_check;

#endif
