/* SPDX-License-Identifier: MIT
 * conn.c - see conn.h.
 *
 *   closed --send--> connecting --EPOLLOUT--> open --EOF--> closed
 *      ^                 |                                    |
 *      +---- refused ----+        (a request was under way: on_again, at once or after a delay)
 *
 * Level-triggered: EPOLLIN always, EPOLLOUT only while connecting or while a write is half done.
 * A node may close an idle connection in the very moment in which a request goes out; the bytes are
 * then lost unread, so the request is issued again on a new connection. Should the node have read
 * it after all, an add is there twice: one more query for the engines to answer, no error.
 */
#include "services/bench/conn.h"

#include "shared/base/clock.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    EVENTS = 256,
    READ_BYTES = 16384,
    IN_MAX_BYTES = BENCH_HEAD_MAX_BYTES + BENCH_BODY_MAX_BYTES * 2,
    OUT_MAX_BYTES = 8 << 20,
    RECONNECT_US = 100000,
    UNREACHABLE_US = 2000000,
    TURN_MAX_US = 1000000,
    SPARE_DESCRIPTORS = 64
};

static volatile sig_atomic_t is_interrupted;

static void on_signal(int number)
{
    (void)number;
    is_interrupted = 1;
}

void bench_conn_stop_on_signals(void)
{
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool bench_conn_raise_limit(size_t n, const char *what, const char *flags)
{
    struct rlimit limit;
    rlim_t needed = n + SPARE_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    if (limit.rlim_cur >= needed)
        return true;
    limit.rlim_cur = limit.rlim_max < needed ? limit.rlim_max : needed;
    if (limit.rlim_cur >= needed && setrlimit(RLIMIT_NOFILE, &limit) == 0)
        return true;
    fprintf(stderr,
            "parley: %zu %s need %llu open files, the limit is %llu: lower %s or raise ulimit -n\n",
            n, what, (unsigned long long)needed, (unsigned long long)limit.rlim_max, flags);
    return false;
}

bool bench_conn_loop_init(struct bench_conn_loop *loop)
{
    *loop = (struct bench_conn_loop){.epoll = epoll_create1(EPOLL_CLOEXEC),
                                     .begun_us = clock_mono_us()};
    return loop->epoll >= 0;
}

void bench_conn_loop_fini(struct bench_conn_loop *loop)
{
    close(loop->epoll);
    loop->epoll = -1;
}

void bench_conn_init(struct bench_conn *conn, struct bench_conn_loop *loop,
                     const struct bench_target *target, const struct bench_conn_handler *handler)
{
    *conn = (struct bench_conn){.loop = loop, .target = target, .handler = handler, .fd = -1};
    buf_init(&conn->in, IN_MAX_BYTES);
    buf_init(&conn->out, OUT_MAX_BYTES);
}

static void close_socket(struct bench_conn *conn)
{
    if (conn->fd >= 0)
        close(conn->fd); /* epoll forgets it */
    conn->fd = -1;
    conn->is_connecting = conn->is_writing = conn->has_answered = false;
    conn->is_streaming = conn->is_switched = false;
    buf_clear(&conn->in);
}

void bench_conn_fini(struct bench_conn *conn)
{
    list_remove(&conn->delayed);
    close_socket(conn);
    buf_fini(&conn->in);
    buf_fini(&conn->out);
}

void bench_conn_again_after(struct bench_conn *conn, uint64_t delay_us)
{
    conn->due_us = clock_mono_us() + delay_us;
    if (!list_is_linked(&conn->delayed))
        list_prepend(&conn->loop->delayed, &conn->delayed);
}

static void watch(struct bench_conn *conn, int operation, bool is_writing)
{
    struct epoll_event event = {.events = EPOLLIN | (is_writing ? EPOLLOUT : 0), .data.ptr = conn};
    conn->is_writing = is_writing;
    if (epoll_ctl(conn->loop->epoll, operation, conn->fd, &event) != 0)
        abort(); /* the socket is ours and new, or known: only a bug of ours gets here */
}

static void fail_connect(struct bench_conn *conn, int error)
{
    struct bench_conn_loop *loop = conn->loop;
    loop->last_errno = error;
    loop->lost_n++;
    if (loop->opened_n == 0 && clock_mono_us() - loop->begun_us > UNREACHABLE_US)
        loop->is_stopped = loop->is_unreachable = true;
    conn->is_waiting = false;
    close_socket(conn);
    bench_conn_again_after(conn, RECONNECT_US);
}

static void connect_socket(struct bench_conn *conn)
{
    const struct sockaddr *address = (const struct sockaddr *)&conn->target->address;
    int one = 1;
    conn->fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (conn->fd < 0) {
        fail_connect(conn, errno);
        return;
    }
    setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (conn->source != 0) {
        struct sockaddr_in source = {.sin_family = AF_INET, .sin_addr.s_addr = conn->source};
        /* The port is chosen by connect, which may share it between targets. */
        setsockopt(conn->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
        if (bind(conn->fd, (struct sockaddr *)&source, sizeof source) != 0) {
            fail_connect(conn, errno);
            return;
        }
    }
    if (connect(conn->fd, address, conn->target->address_n) != 0 && errno != EINPROGRESS) {
        fail_connect(conn, errno);
        return;
    }
    conn->is_connecting = true;
    watch(conn, EPOLL_CTL_ADD, true);
}

/* The connection is gone; a caller that waits on it has to ask again. */
static void lose(struct bench_conn *conn)
{
    bool was_waiting = conn->is_waiting, has_answered = conn->has_answered;
    close_socket(conn);
    conn->is_waiting = false;
    if (!was_waiting)
        return;
    conn->loop->lost_n++;
    if (has_answered)
        conn->handler->on_again(conn);
    else
        bench_conn_again_after(conn, RECONNECT_US); /* no storm against a node that only closes */
}

/* Returns how many bytes were sent. If it is fewer than `n`, the loop watches for when more can be,
 * or the connection is broken: then the reading side sees its end, after what the node had to say.
 */
static size_t send_some(struct bench_conn *conn, const char *bytes, size_t n)
{
    size_t sent = 0;
    while (sent < n) {
        ssize_t done = send(conn->fd, bytes + sent, n - sent, MSG_NOSIGNAL);
        if (done >= 0)
            sent += (size_t)done;
        else if (errno != EINTR)
            break;
    }
    if (sent < n && (errno == EAGAIN || errno == EWOULDBLOCK) && !conn->is_writing)
        watch(conn, EPOLL_CTL_MOD, true);
    if (sent == n && conn->is_writing)
        watch(conn, EPOLL_CTL_MOD, false);
    return sent;
}

static void write_out(struct bench_conn *conn)
{
    if (conn->is_switched) {
        watch(conn, EPOLL_CTL_MOD, false);
        conn->handler->on_writable(conn);
        return;
    }
    size_t left = conn->out.n - conn->written_n;
    size_t sent = send_some(conn, conn->out.at + conn->written_n, left);
    conn->written_n += sent;
    conn->loop->sent_n += sent == left;
}

size_t bench_conn_push(struct bench_conn *conn, const void *bytes, size_t n)
{
    return conn->is_switched ? send_some(conn, bytes, n) : 0;
}

struct buf *bench_conn_begin(struct bench_conn *conn)
{
    buf_clear(&conn->out);
    return &conn->out;
}

void bench_conn_send(struct bench_conn *conn)
{
    if (conn->is_waiting || conn->out.is_over)
        abort();
    conn->written_n = 0;
    conn->is_waiting = true;
    if (conn->fd < 0)
        connect_socket(conn);
    else
        write_out(conn);
}

static void finish_connect(struct bench_conn *conn)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
        fail_connect(conn, error);
        return;
    }
    conn->is_connecting = false;
    conn->loop->opened_n++;
    write_out(conn);
}

/* Not HTTP, too large, or more than was asked for: nothing after it can be trusted. */
static void reject(struct bench_conn *conn)
{
    bool was_waiting = conn->is_waiting;
    conn->loop->bad_n++;
    close_socket(conn);
    conn->is_waiting = false;
    if (was_waiting)
        bench_conn_again_after(conn, RECONNECT_US);
}

static void drop_front(struct buf *b, size_t n)
{
    b->n -= n;
    if (b->at != NULL)
        memmove(b->at, b->at + n, b->n);
}

/* Takes the head off a response that is passed on in parts; false if it is another one. */
static bool begin_stream(struct bench_conn *conn)
{
    if (conn->handler->on_part == NULL || !conn->is_waiting)
        return false;
    size_t head_n = bench_response_stream_head(conn->in.at, conn->in.n);
    if (head_n == 0)
        return false;
    drop_front(&conn->in, head_n);
    conn->is_streaming = conn->has_answered = true;
    return true;
}

/* Hands over the parts that are whole; false when the connection was closed meanwhile. */
static bool take_parts(struct bench_conn *conn)
{
    enum bench_response_outcome outcome = BENCH_RESPONSE_WHOLE;
    struct str part;
    size_t taken = 0, size;
    while (conn->is_streaming) {
        outcome = bench_response_chunk(conn->in.at + taken, conn->in.n - taken, &part, &size);
        if (outcome != BENCH_RESPONSE_WHOLE)
            break;
        taken += size;
        if (part.n == 0)
            conn->is_streaming = conn->is_waiting = false;
        conn->handler->on_part(conn, part);
    }
    drop_front(&conn->in, taken);
    if (outcome != BENCH_RESPONSE_BROKEN && !conn->in.is_over)
        return true;
    reject(conn);
    return false;
}

/* Takes the head off the response that switches protocols; false if it is another one. */
static bool begin_switched(struct bench_conn *conn)
{
    if (conn->handler->on_switched == NULL || !conn->is_waiting)
        return false;
    size_t head_n = bench_response_switch_head(conn->in.at, conn->in.n);
    if (head_n == 0)
        return false;
    drop_front(&conn->in, head_n);
    conn->is_switched = true;
    conn->has_answered = false;
    conn->handler->on_switched(conn);
    return true;
}

/* Hands over the bytes; false when the connection was closed meanwhile. */
static bool take_bytes(struct bench_conn *conn)
{
    bool is_ok = conn->in.n == 0 || conn->handler->on_bytes(conn, buf_str(&conn->in));
    buf_clear(&conn->in);
    if (!is_ok)
        reject(conn);
    return is_ok;
}

/* Hands over what has come; false when the connection was closed meanwhile. */
static bool take_responses(struct bench_conn *conn)
{
    if (conn->is_switched || begin_switched(conn))
        return take_bytes(conn);
    if (conn->is_streaming || begin_stream(conn))
        return take_parts(conn);
    struct bench_response response;
    enum bench_response_outcome outcome = bench_response_parse(conn->in.at, conn->in.n, &response);
    if (outcome == BENCH_RESPONSE_PARTIAL && !conn->in.is_over)
        return true;
    if (outcome != BENCH_RESPONSE_WHOLE || response.size != conn->in.n || !conn->is_waiting) {
        reject(conn);
        return false;
    }
    /* The handler reads the response from a buffer that its own next request does not touch. */
    struct buf in = conn->in;
    conn->in = (struct buf){.max = in.max};
    conn->is_waiting = false;
    conn->has_answered = true;
    if (response.is_last)
        close_socket(conn);
    conn->handler->on_response(conn, &response);
    buf_fini(&conn->in);
    conn->in = in;
    buf_clear(&conn->in);
    return false;
}

static void read_in(struct bench_conn *conn)
{
    for (;;) {
        char *at = buf_reserve(&conn->in, READ_BYTES);
        if (at == NULL) {
            take_responses(conn);
            return;
        }
        ssize_t n = recv(conn->fd, at, READ_BYTES, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (n <= 0) {
            lose(conn);
            return;
        }
        conn->in.n += (size_t)n;
        /* Less than was asked for: there is no more for now. */
        if (!take_responses(conn) || n < READ_BYTES)
            return;
    }
}

static void run_delayed(struct bench_conn_loop *loop, uint64_t now_us)
{
    struct list delayed = {0};
    struct bench_conn *conn;
    list_move(&delayed, &loop->delayed);
    while ((conn = list_first(&delayed, struct bench_conn, delayed)) != NULL) {
        list_remove(&conn->delayed);
        if (conn->due_us > now_us)
            bench_conn_again_after(conn, conn->due_us - now_us);
        else
            conn->handler->on_again(conn);
    }
}

static uint64_t find_due(const struct bench_conn_loop *loop, uint64_t until_us)
{
    list_for_each (const struct bench_conn, conn, &loop->delayed, delayed)
        if (conn->due_us < until_us)
            until_us = conn->due_us;
    return until_us;
}

void bench_conn_loop_run(struct bench_conn_loop *loop, uint64_t until_us)
{
    struct epoll_event events[EVENTS];
    while (!loop->is_stopped) {
        if (is_interrupted) {
            loop->is_stopped = true;
            return;
        }
        uint64_t now_us = clock_mono_us();
        if (now_us >= until_us)
            return;
        uint64_t due_us = find_due(loop, until_us), wait_us = due_us > now_us ? due_us - now_us : 0;
        if (wait_us > TURN_MAX_US)
            wait_us = TURN_MAX_US;
        struct timespec wait = {.tv_sec = (time_t)(wait_us / 1000000),
                                .tv_nsec = (long)(wait_us % 1000000) * 1000};
        int n = epoll_pwait2(loop->epoll, events, EVENTS, &wait, NULL);
        if (n < 0 && errno != EINTR) /* a kernel before 5.11, or a container that hides it */
            n = epoll_wait(loop->epoll, events, EVENTS, (int)((wait_us + 999) / 1000));
        for (int i = 0; i < n && !loop->is_stopped; i++) {
            struct bench_conn *conn = events[i].data.ptr;
            if (conn->fd < 0)
                continue; /* closed by a handler earlier in this pass */
            if (conn->is_connecting)
                finish_connect(conn);
            else if (conn->is_writing && (events[i].events & EPOLLOUT) != 0)
                write_out(conn);
            if (conn->fd >= 0 && !conn->is_connecting &&
                (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
                read_in(conn);
        }
        if (!list_is_empty(&loop->delayed))
            run_delayed(loop, clock_mono_us());
    }
}
