/* SPDX-License-Identifier: MIT
 *
 * conn: HTTP/1.1 keep-alive connections on one epoll loop, one request at a time each. It sends
 * bytes that the owner wrote and passes on complete responses, or their parts as they come, or,
 * once a node has switched protocols, whatever comes. A connection that the node closes, or that
 * cannot be opened, is not an error: it is counted, and the owner is asked to issue its request
 * again with a new signature, because a node accepts a nonce only once. One thread. Times are
 * microseconds of clock_mono_us.
 */
#ifndef PARLEY_BENCH_CONN_H
#define PARLEY_BENCH_CONN_H

#include "services/bench/response.h"
#include "services/bench/target.h"
#include "shared/base/buf.h"
#include "shared/base/list.h"

#include <netinet/in.h>

struct bench_conn;

struct bench_conn_loop {
    int epoll;
    struct list delayed; /* struct bench_conn: those with `due_us`, in no order */
    uint64_t lost_n;     /* connections closed under a request, or not opened */
    uint64_t sent_n;     /* requests that went out whole */
    uint64_t bad_n;      /* responses that are not HTTP */
    uint64_t opened_n, begun_us;
    int last_errno; /* of the last connect that failed; 0: none has */
    bool is_stopped;
    bool is_unreachable; /* stopped because no connection could be opened for 2 s */
};

struct bench_conn_handler {
    /* A whole response came. Borrowed until it returns; it may send the next request. */
    void (*on_response)(struct bench_conn *conn, const struct bench_response *response);
    /* Issue the request that this connection is at: it was lost, or its delay is over. */
    void (*on_again)(struct bench_conn *conn);
    /* A part of the body of a 200 that comes in chunks, without data at its end: such a response is
     * no on_response. Borrowed; it sends no request in here. NULL: all responses are passed on
     * whole. */
    void (*on_part)(struct bench_conn *conn, struct str part);
    /* The node has switched protocols (101): from now on the connection carries no requests, and is
     * lost when it ends, which calls on_again after a while. NULL: that is no response. */
    void (*on_switched)(struct bench_conn *conn);
    /* Bytes that came after that; borrowed. False: they are broken, and the connection is lost. */
    bool (*on_bytes)(struct bench_conn *conn, struct str bytes);
    /* bench_conn_push takes bytes again. */
    void (*on_writable)(struct bench_conn *conn);
};

struct bench_conn {
    struct bench_conn_loop *loop;
    const struct bench_target *target;
    const struct bench_conn_handler *handler;
    in_addr_t source; /* own address to connect from, network order; 0: the system's choice */
    int fd;           /* -1: closed */
    bool is_connecting, is_writing, is_waiting;
    bool has_answered; /* this socket has brought a response */
    bool is_streaming; /* a response is passed on in parts, and has not ended */
    bool is_switched;  /* it carries no requests */
    struct buf in, out;
    size_t written_n;
    uint64_t due_us;
    struct list_link delayed;
};

/* False when the system refuses; errno says why. */
bool bench_conn_loop_init(struct bench_conn_loop *loop) must_check;
void bench_conn_loop_fini(struct bench_conn_loop *loop);

/* From now on SIGINT and SIGTERM stop all loops, within a second, so that what was measured is
 * reported. A second signal ends the process. */
void bench_conn_stop_on_signals(void);
/* Makes sure that `n` connections may be open at a time. False with a line on standard error, which
 * calls them `what` and says to lower `flags`. */
bool bench_conn_raise_limit(size_t n, const char *what, const char *flags) must_check;
/* Turns until `until_us`, or until somebody sets `is_stopped`. All callbacks run in here. */
void bench_conn_loop_run(struct bench_conn_loop *loop, uint64_t until_us);

/* Opens nothing yet. `target` and `handler` are borrowed for the connection's life. */
void bench_conn_init(struct bench_conn *conn, struct bench_conn_loop *loop,
                     const struct bench_target *target, const struct bench_conn_handler *handler);
/* Closes it at once, whatever is under way. */
void bench_conn_fini(struct bench_conn *conn);

/* Write a request into conn->out (emptied here), then call bench_conn_send. Only when none is under
 * way. */
struct buf *bench_conn_begin(struct bench_conn *conn);
void bench_conn_send(struct bench_conn *conn);

/* Returns how many bytes were sent on a connection that has switched protocols. If it is fewer than
 * `n`, on_writable follows. */
size_t bench_conn_push(struct bench_conn *conn, const void *bytes, size_t n) must_check;

/* Calls on_again after `delay_us`, from the loop. */
void bench_conn_again_after(struct bench_conn *conn, uint64_t delay_us);

#endif
