/* SPDX-License-Identifier: MIT
 *
 * linger: lets a client that is still sending read its answer. libh2o closes a connection with the
 * answer's last byte, and closing with bytes unread resets it, which takes the answer away. A
 * second descriptor keeps it open while we read on, for two seconds, and drop what comes.
 * On the loop's thread.
 */
#ifndef PARLEY_HTTP_LINGER_H
#define PARLEY_HTTP_LINGER_H

#include "shared/http/server.h"

/* For a request of HTTP/1 whose connection ends with its answer; nothing for others, or when too
 * many linger already. */
void linger_begin(struct server *server, h2o_req_t *h2o);

#endif
