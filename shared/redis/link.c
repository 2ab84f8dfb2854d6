/* SPDX-License-Identifier: MIT
 * link.c - see link.h. An h2o socket only notifies (readiness.h), because hiredis reads.
 * h2o_socket_notify_write is one-shot and must not be repeated while it is pending.
 *
 * hiredis asks to be notified when it may write with every command, and most are written before the
 * turn of the loop ends, by a flush. So it is asked for at the end of the turn, if bytes are still
 * left then: that saves two calls of epoll_ctl and a turn of the loop for each flush.
 *
 * hiredis reads 16 KiB at a time. One read in each turn of the loop would make a reply of 4 MiB
 * wait for 256 of them, which are long while the node works. So the rest of a reply is read at
 * once, up to a bound. */
#include "shared/redis/link.h"

#include "shared/base/mem.h"
#include "shared/op/readiness.h"
#include "shared/redis/address.h"
#include "shared/redis/tls.h"

#include <hiredis/async.h>
#include <stdio.h>

enum { REASON_BYTES = 240, READS_MAX = 64 /* in a turn of the loop: 1 MiB */ };

/* It lives as long as the context, which may be longer than its owner uses it: freed inside a
 * callback, hiredis waits for its end. */
struct link {
    redisAsyncContext *ac;
    struct loop *loop;
    h2o_socket_t *socket;
    void (*on_failed)(void *data, const char *reason);
    struct loop_task write_task; /* while hiredis has bytes to write, until the turn ends */
    bool is_writing;             /* libh2o will call on_writable */
    bool is_shaking;             /* hands, for TLS */
    bool *is_gone;               /* while it reads: set when it is freed */
};

static void add_write(void *arg);

/* True once hiredis may read and write. Otherwise the link may be gone. */
static bool shake(struct link *link)
{
    char reason[REASON_BYTES];
    switch (redis_tls_shake(&link->ac->c)) {
    case REDIS_TLS_DONE: link->is_shaking = false; return true;
    case REDIS_TLS_WANTS_READ: return false; /* reading is always on */
    case REDIS_TLS_WANTS_WRITE: add_write(link); return false;
    case REDIS_TLS_FAILED: break;
    }
    snprintf(reason, sizeof reason, "%s", link->ac->c.errstr);
    link->on_failed(link->ac->data, reason);
    return false;
}

/* Returns whether a reply has begun that has not been read to its end. Asked for the one after the
 * last, hiredis has an item 0 of which nothing has come. */
static bool is_within_reply(const redisReader *reader)
{
    return reader->ridx > 0 || reader->pos < reader->len;
}

/* Reads until nothing more has come, or the reply is complete. The link may be gone then: a read
 * may disconnect, and so may the callbacks that it runs. */
static void read_some(struct link *link)
{
    redisAsyncContext *ac = link->ac;
    bool is_gone = false;
    size_t before_n;
    unsigned reads = 0;
    /* It is taken back before this returns. */
    /* cppcheck-suppress autoVariables */
    link->is_gone = &is_gone;
    do {
        before_n = ac->c.reader->len;
        redisAsyncHandleRead(ac);
    } while (!is_gone && ++reads < READS_MAX && is_within_reply(ac->c.reader) &&
             ac->c.reader->len != before_n);
    if (!is_gone)
        link->is_gone = NULL;
}

static void on_readable(h2o_socket_t *socket, const char *error)
{
    struct link *link = socket->data;
    (void)error;
    if (link->is_shaking) {
        if (shake(link))
            redisAsyncHandleWrite(link->ac); /* it is connected, and sends the greeting */
        return;
    }
    read_some(link);
}

static void on_writable(h2o_socket_t *socket, const char *error)
{
    struct link *link = socket->data;
    (void)error;
    link->is_writing = false;
    if (!link->is_shaking || shake(link))
        redisAsyncHandleWrite(link->ac);
}

static void add_read(void *arg)
{
    struct link *link = arg;
    if (!h2o_socket_is_reading(link->socket))
        h2o_socket_read_start(link->socket, on_readable);
}

static void del_read(void *arg)
{
    h2o_socket_read_stop(((struct link *)arg)->socket);
}

static void wait_to_write(struct loop_task *task)
{
    struct link *link = container_of(task, struct link, write_task);
    if (link->is_writing)
        return;
    link->is_writing = true;
    h2o_socket_notify_write(link->socket, on_writable);
}

static void add_write(void *arg)
{
    struct link *link = arg;
    loop_schedule(link->loop, &link->write_task);
}

/* All is written. */
static void del_write(void *arg)
{
    struct link *link = arg;
    loop_unschedule(&link->write_task);
}

/* hiredis is about to free its context. The h2o socket owns the descriptor. */
static void on_cleanup(void *arg)
{
    struct link *link = arg;
    if (link->is_gone != NULL)
        *link->is_gone = true;
    link->ac->c.fd = -1;
    link->ac->ev.data = NULL;
    loop_unschedule(&link->write_task);
    h2o_socket_close(link->socket);
    free(link);
}

void redis_link_attach(struct loop *loop, struct redisAsyncContext *ac,
                       const struct redis_address *address,
                       void (*on_failed)(void *data, const char *reason))
{
    struct link *link = mem_zeroed(sizeof *link);
    *link = (struct link){
        .ac = ac, .loop = loop, .on_failed = on_failed, .write_task.run = wait_to_write};
    link->socket = readiness_create(loop->h2o, ac->c.fd);
    link->socket->data = link;
    ac->ev.data = link;
    ac->ev.addRead = add_read;
    ac->ev.delRead = del_read;
    ac->ev.addWrite = add_write;
    ac->ev.delWrite = del_write;
    ac->ev.cleanup = on_cleanup;
    if (address->is_tls) {
        link->is_shaking = true;
        redis_tls_begin(&ac->c, redis_name_of(address));
    }
    add_read(link);
    wait_to_write(&link->write_task); /* the first writable event completes the connect */
}

bool redis_link_is_shaking(const struct redisAsyncContext *ac)
{
    const struct link *link = ac == NULL ? NULL : ac->ev.data;
    return link != NULL && link->is_shaking;
}
