/* SPDX-License-Identifier: MIT
 *
 * leave: detects a client that leaves while its request is being processed. libh2o 2.2 does not
 * read an HTTP/1 connection while one of its requests is unanswered, so it does not notice a close.
 * Between leave_watch and leave_unwatch this module polls the socket instead and reads nothing from
 * it. That also saves two epoll_ctl calls per request, because polling is not stopped and
 * restarted.
 *
 * HTTP/2 does not need this: libh2o keeps reading and disposes of a stream that is reset before its
 * answer is written; after that see frames.c. On the loop's thread; once per request, by request.c
 * only.
 */
#ifndef PARLEY_HTTP_LEAVE_H
#define PARLEY_HTTP_LEAVE_H

#include "shared/http/request/request.h"

/* From now on listeners (request_on_left) are called when the client closes its side. */
void leave_watch(struct request *r);
/* Calls each listener once and removes it. Listeners may answer; the request is then disposed of
 * later, from the loop. */
void leave_notify(struct request *r);
/* Returns the socket to libh2o before it reads on. May be called while the request is disposed
 * of. */
void leave_unwatch(struct request *r);

#endif
