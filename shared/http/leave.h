/* SPDX-License-Identifier: MIT
 *
 * leave: notice of a client that leaves while its request is under way. libh2o 2.2 stops reading a
 * connection of HTTP/1 as long as a request of it has no answer, so it sees no end of it either.
 * Between leave_watch and leave_unwatch the socket is polled for us instead: nothing is read from
 * it, and two calls of epoll_ctl a request are saved, since what libh2o stops and starts again
 * around each request is never stopped.
 *
 * HTTP/2 needs none of it: libh2o reads on there, and disposes of a stream that was reset.
 * On the loop's thread; once per request, by request.c only.
 */
#ifndef PARLEY_HTTP_LEAVE_H
#define PARLEY_HTTP_LEAVE_H

#include "shared/http/request.h"

/* From now on listeners (request_on_left) are called when the client closes its side. */
void leave_watch(struct request *r);
/* Calls the listeners, each of which listens no more, and may answer: what is answered inside is
 * disposed of later, from the loop. */
void leave_notify(struct request *r);
/* Gives the socket back to libh2o, before it reads on. Also inside the disposal of the request. */
void leave_unwatch(struct request *r);

#endif
