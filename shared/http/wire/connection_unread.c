/* SPDX-License-Identifier: MIT
 * connection_unread.c - counts the bytes that are held of long answers: while they are put
 * together, and by libh2o until their clients have read them (connection.h). What the kernel holds
 * of them is bounded by the socket's options (listen.c). */
#include "shared/base/clock.h"
#include "shared/http/wire/connection_internal.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

enum {
    ADDRESS_SHARE = 2,  /* of the bound, to those of one address */
    PATIENCE_MS = 5000, /* a client that reads nothing for this long may be closed */
    GIVE_UP_TRIES = 64, /* of the oldest, that are looked at */
};

static struct exchange *request_of(struct unread *unread)
{
    return container_of(unread, struct exchange, unread);
}

static struct list *list_of(struct unread *unread, unsigned which)
{
    struct connection *c = request_of(unread)->connection;
    return which == UNREAD_OF_THREAD ? &c->all->unread : &c->address->unread;
}

static void unlink_unread(struct unread *unread)
{
    for (unsigned i = 0; i < UNREAD_LIST_NR; i++)
        list_remove(&unread->in[i]);
}

static void link_unread(struct unread *unread)
{
    unread->since_ms = clock_mono_ms();
    for (unsigned i = 0; i < UNREAD_LIST_NR; i++)
        list_append(list_of(unread, i), &unread->in[i]);
}

static void count(struct exchange *x, size_t bytes)
{
    struct connection *c = x->connection;
    size_t held = bytes > ADMIT_UNASKED_BYTES && !c->is_given_up ? bytes : 0;
    if (held == x->unread.bytes)
        return;
    c->all->unread_bytes += held - x->unread.bytes;
    c->address->unread_bytes += held - x->unread.bytes;
    x->unread.bytes = held;
    metrics_set(c->all->wire->metrics, METRIC_UNREAD_BYTES, (int64_t)c->all->unread_bytes);
}

void connection_hold_answer(struct exchange *x, size_t bytes)
{
    struct unread *unread = &x->unread;
    if (x->connection == NULL)
        return;
    unread->gathered = 0;
    count(x, bytes);
    if (unread->bytes == 0)
        unlink_unread(unread);
    else if (!list_is_linked(&unread->in[UNREAD_OF_THREAD]))
        link_unread(unread);
}

/* One answer always fits, as one body does: then all that is held is its own. */
static bool is_address_over(const struct exchange *x, size_t more)
{
    size_t cap = x->connection->all->wire->config->body_memory_bytes,
           held = x->connection->address->unread_bytes;
    return held > x->unread.bytes && held + more > cap / ADDRESS_SHARE;
}

static bool fits(const struct exchange *x, size_t more)
{
    size_t cap = x->connection->all->wire->config->body_memory_bytes,
           held = x->connection->all->unread_bytes;
    return cap == 0 || held == x->unread.bytes || (held + more <= cap && !is_address_over(x, more));
}

void connection_reset_at_close(struct connection *c)
{
    const struct linger at_once = {.l_onoff = 1};
    (void)setsockopt(h2o_socket_get_fd(c->socket), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

/* libh2o sees the end later and then disposes of the connection's requests. Without the reset the
 * kernel would keep the unsent data after the socket is closed, until the client reads it. */
static void give_up(struct connection *c)
{
    c->is_given_up = true;
    metrics_add(c->all->wire->metrics, METRIC_UNREAD_CLOSED, 1);
    connection_reset_at_close(c);
    (void)shutdown(h2o_socket_get_fd(c->socket), SHUT_RDWR);
}

/* Returns whether the client has read some of its answers in the last PATIENCE_MS: the answer is
 * then moved to the newest. The kernel does not report that for a Unix socket, where only the age
 * counts. */
static bool is_being_read(struct unread *unread)
{
    struct tcp_info info;
    socklen_t n = sizeof info;
    int fd = h2o_socket_get_fd(request_of(unread)->connection->socket);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) != 0 ||
        info.tcpi_last_data_sent >= PATIENCE_MS)
        return false;
    unlink_unread(unread);
    link_unread(unread);
    return true;
}

/* Closes the connection whose answer has waited longest, of the client's own address if that has
 * its share. False: none has waited for long enough. */
static bool give_one_up(struct exchange *for_it, size_t more)
{
    struct connection *c = for_it->connection;
    unsigned which = is_address_over(for_it, more) ? UNREAD_OF_ADDRESS : UNREAD_OF_THREAD;
    uint64_t before_ms = clock_mono_ms() - PATIENCE_MS;
    unsigned tries = 0;
    list_for_each (struct unread, unread, list_of(&for_it->unread, which), in[which]) {
        struct exchange *x = request_of(unread);
        if (tries++ >= GIVE_UP_TRIES || unread->since_ms > before_ms)
            break;
        if (x->connection == c || (!x->connection->is_given_up && is_being_read(unread)))
            continue;
        if (!x->connection->is_given_up)
            give_up(x->connection);
        connection_hold_answer(x, 0);
        return true;
    }
    return false;
}

bool connection_has_room(struct exchange *x, size_t bytes)
{
    if (x->connection == NULL || bytes <= ADMIT_UNASKED_BYTES)
        return true;
    size_t more = bytes > x->unread.bytes ? bytes - x->unread.bytes : 0;
    while (!fits(x, more))
        if (!give_one_up(x, more))
            return false;
    return true;
}

bool connection_gather(struct exchange *x, size_t more)
{
    size_t bytes = x->unread.gathered + more;
    if (x->connection == NULL || x->is_answered)
        return true;
    if (!connection_has_room(x, bytes))
        return false;
    x->unread.gathered = bytes;
    count(x, bytes);
    return true;
}

void connection_ungather(struct exchange *x, size_t less)
{
    struct unread *unread = &x->unread;
    if (x->connection == NULL || x->is_answered)
        return;
    unread->gathered -= less < unread->gathered ? less : unread->gathered;
    count(x, unread->gathered);
}

bool connection_is_given_up(const struct exchange *x)
{
    return x->connection != NULL && x->connection->is_given_up;
}
