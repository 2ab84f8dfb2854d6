/* SPDX-License-Identifier: MIT
 *
 * linger: lets a client that is still sending read its answer. libh2o closes a connection after the
 * answer's last byte, and closing with unread input resets the connection, which discards the
 * answer. A second descriptor keeps it open for two seconds while we read and drop the input. On
 * the loop's thread.
 */
#ifndef PARLEY_HTTP_LINGER_H
#define PARLEY_HTTP_LINGER_H

#include "shared/http/wire/wire.h"

/* For an HTTP/1 request whose connection closes after the answer; does nothing for others or if too
 * many connections linger already. */
void linger_begin(struct wire *wire, h2o_req_t *h2o);

#endif
