/* SPDX-License-Identifier: MIT
 * linger.c - see linger.h. */
#include "shared/http/wire/linger.h"

#include "shared/base/mem.h"
#include "shared/http/wire/connection.h"

#include <errno.h>
#include <unistd.h>

enum { LINGER_MS = 2000, LINGERS_MAX = 256, LINGERS_SHARE = 8 /* of the connections */ };

struct lingering {
    struct wire *wire;
    h2o_socket_t *socket;
    struct deadline deadline;
};

static void end_linger(struct lingering *linger)
{
    loop_cancel_deadline(linger->wire->loop, &linger->deadline);
    h2o_socket_read_stop(linger->socket);
    h2o_socket_close(linger->socket);
    linger->wire->lingers_n--;
    connections_have_room(linger->wire->connections);
    free(linger);
}

static void on_linger_readable(h2o_socket_t *socket, const char *error)
{
    struct lingering *linger = socket->data;
    char dropped[16384];
    ssize_t n = recv(h2o_socket_get_fd(socket), dropped, sizeof dropped, MSG_DONTWAIT);
    if (error != NULL || n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        end_linger(linger);
}

static void on_linger_over(struct deadline *deadline)
{
    end_linger(container_of(deadline, struct lingering, deadline));
}

static bool are_too_many(const struct wire *wire)
{
    size_t most = wire->config->connections_max;
    return wire->lingers_n >= LINGERS_MAX || (most > 0 && wire->lingers_n >= most / LINGERS_SHARE);
}

void linger_begin(struct wire *wire, h2o_req_t *h2o)
{
    h2o_socket_t *socket = h2o->conn->callbacks->get_socket(h2o->conn);
    if (h2o->version >= 0x200 || socket == NULL || are_too_many(wire))
        return;
    int fd = dup(h2o_socket_get_fd(socket));
    if (fd < 0)
        return;
    struct lingering *linger = mem_zeroed(sizeof *linger);
    linger->wire = wire;
    linger->socket = h2o_evloop_socket_create(wire->loop->h2o, fd, H2O_SOCKET_FLAG_DONT_READ);
    linger->socket->data = linger;
    linger->deadline.on_expire = on_linger_over;
    wire->lingers_n++;
    h2o_socket_read_start(linger->socket, on_linger_readable);
    loop_set_deadline(wire->loop, &linger->deadline, LINGER_MS);
}
