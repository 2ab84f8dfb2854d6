/* SPDX-License-Identifier: MIT
 * leave.c - see leave.h.
 *
 * Headers and body of the request under way point into the socket's input buffer, so nothing may be
 * read into it, which could move it: sockets are marked "do not read", and a look at its next
 * byte distinguishes an end from a pipelined request. Either way polling stops then, or a
 * level-triggered loop would call forever; libh2o starts it again when it reads the next request.
 *
 * The socket's connection (connection.h) leads back to the request. Not handled: a client that
 * pipelines a request and leaves while the one before is parked. It is noticed when it is written
 * to, as all were before. */
#include "shared/http/wire/leave.h"

#include "shared/http/wire/connection.h"

#include <errno.h>
#include <sys/socket.h>

/* NULL where there is nothing to watch. */
static h2o_socket_t *socket_of(const struct exchange *x)
{
    h2o_conn_t *conn = x->h2o->conn;
    return conn == NULL || x->h2o->version >= 0x200 ? NULL : conn->callbacks->get_socket(conn);
}

/* Looks at the socket's next byte: 1 a byte, 0 the end, -1 nothing yet, -2 it
 * is broken. */
static int peek(h2o_socket_t *socket)
{
    char byte;
    if (socket == NULL)
        return -2;
    ssize_t n = connection_peek(socket, &byte);
    if (n >= 0)
        return (int)n;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? -1 : -2;
}

static bool is_end(int seen)
{
    return seen == 0 || seen == -2;
}

static void on_readable(h2o_socket_t *socket, const char *error)
{
    struct connection *c = connection_of(socket);
    struct exchange *x = c == NULL ? NULL : connection_exchange(c);
    int seen = peek(socket);
    (void)error;
    if (seen == -1)
        return;
    h2o_socket_read_stop(socket);
    if (x == NULL || (x->is_answered && !x->is_stream) || !is_end(seen))
        return;
    x->has_left = true;
    if (x->on_left != NULL)
        x->on_left(x);
    x->h2o->http1_is_persistent = 0;
    leave_notify(x);
}

void leave_notify(struct exchange *x)
{
    struct left_listener *listener;
    while ((listener = x->left) != NULL) {
        x->left = listener->next;
        listener->on_left(listener);
    }
}

void leave_listen(struct exchange *x, struct left_listener *listener)
{
    listener->next = x->left;
    x->left = listener;
}

void leave_unlisten(struct exchange *x, struct left_listener *listener)
{
    struct left_listener **at = &x->left;
    while (*at != NULL && *at != listener)
        at = &(*at)->next;
    if (*at != NULL)
        *at = listener->next;
}

void leave_watch(struct exchange *x)
{
    h2o_socket_t *socket = socket_of(x);
    if (socket == NULL)
        return;
    h2o_socket_read_start(socket, on_readable);
}

void leave_unwatch(struct exchange *x)
{
    h2o_socket_t *socket = socket_of(x);
    if (socket == NULL)
        return;
    /* The next user of the socket, libh2o or a WebSocket, starts to read in this pass of the loop:
     * stopped and started it is polled as before, without a call. */
    h2o_socket_read_stop(socket);
}

bool leave_has_begun(struct exchange *x)
{
    h2o_conn_t *conn = x->h2o->conn;
    if (conn == NULL)
        return x->is_refused;
    return is_end(peek(conn->callbacks->get_socket(conn)));
}

/* The kernel reports a reset once: to the look that noticed it, or to the write that failed. After
 * that the socket reads like one that has ended, but has no peer any more. (A client that sent its
 * next request before it left is taken for one that is there.) A stream of HTTP/2 ends before its
 * answer is written if the client resets it, or the connection is gone. */
bool leave_cut_answer(struct exchange *x)
{
    h2o_conn_t *conn = x->h2o->conn;
    if (conn == NULL)
        return x->is_refused;
    h2o_socket_t *socket = conn->callbacks->get_socket(conn);
    struct sockaddr_storage peer;
    socklen_t n = sizeof peer;
    if (connection_is_given_up(x) ||
        (x->h2o->version >= 0x200 && x->h2o->bytes_sent < x->h2o->res.content_length))
        return true;
    int seen = peek(socket);
    return seen == -2 ||
           (seen == 0 && getpeername(h2o_socket_get_fd(socket), (struct sockaddr *)&peer, &n) != 0);
}
