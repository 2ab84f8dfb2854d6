/* SPDX-License-Identifier: MIT
 *
 * readiness: a socket of libh2o that only notifies its owner when a descriptor can be read or
 * written; the owner reads and writes by itself. Unlike libh2o's own ones it may outlive the thread
 * that made it. On the loop's thread.
 */
#ifndef PARLEY_OP_READINESS_H
#define PARLEY_OP_READINESS_H

#include <h2o.h>

/* Use h2o_socket_read_start and h2o_socket_notify_write with it; h2o_socket_close closes `fd`, too.
 */
h2o_socket_t *readiness_create(h2o_loop_t *loop, int fd);

#endif
