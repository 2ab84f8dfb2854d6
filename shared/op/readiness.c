/* SPDX-License-Identifier: MIT
 * readiness.c - see readiness.h. */
#include "shared/op/readiness.h"

h2o_socket_t *readiness_create(h2o_loop_t *loop, int fd)
{
    /* Nothing is ever read into it. libh2o's own is a variable of the thread that makes the socket,
     * which may have ended when another one closes it. */
    static h2o_buffer_t empty;
    h2o_socket_t *socket = h2o_evloop_socket_create(loop, fd, H2O_SOCKET_FLAG_DONT_READ);
    socket->input = &empty;
    return socket;
}
