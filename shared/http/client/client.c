/* SPDX-License-Identifier: MIT
 * client.c - see client.h.
 *
 * libcurl reports which sockets it waits for and when it wants to be called again. The sockets go
 * into an epoll instance of our own, the time into a timerfd inside it; an epoll descriptor can be
 * polled itself, and so the whole client is one descriptor to its loop.
 *
 * libcurl forbids adding or removing a transfer inside its callbacks. Therefore start and cancel
 * only note what is wanted (`fresh`, `ended`) and kick the timer; the next pass carries it out.
 * That is also what keeps callbacks from running before http_call_start returns.
 *
 *   FRESH --(pass: add)--> RUNNING --finished--> ENDED (on_done) --> freed
 *     |                       \--cancel--> ENDED --(turn: remove)--> freed
 *     \--cancel--> freed
 */
#include "shared/http/client/client_internal.h"

#include "shared/base/clock.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"

#include <assert.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { EVENTS_PER_TURN = 64 };

static const struct sm_state states[] = {
    [CALL_FRESH] = {"FRESH", SM(CALL_RUNNING)},
    [CALL_RUNNING] = {"RUNNING", SM(CALL_ENDED)},
    [CALL_ENDED] = {"ENDED", 0},
};
static const struct sm sm = SM_OF("HTTP call", states);

void client_move_call(struct http_call *call, enum call_state to)
{
    call->state = sm_move(&sm, call->number, call->state, to);
}

/* ---- the timer ---- */

static void arm(struct http_client *client, uint64_t after_ms)
{
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)(after_ms / 1000),
                                           .tv_nsec = (long)(after_ms % 1000) * 1000000 + 1}};
    timerfd_settime(client->timer_fd, 0, &when, NULL);
}

/* ---- lists of calls ---- */

static void list_put(struct http_call *call)
{
    list_prepend(&call->client->calls[call->state], &call->link);
}

void client_put_call(struct http_call *call)
{
    list_put(call);
    arm(call->client, 0);
}

/* Takes the first call off a list; NULL when it is empty. */
static struct http_call *list_pop(struct http_client *client, enum call_state state)
{
    struct http_call *call = list_first(&client->calls[state], struct http_call, link);
    if (call != NULL)
        list_remove(&call->link);
    return call;
}

/* ---- libcurl's callbacks ---- */

static int on_curl_timer(CURLM *multi, long after_ms, void *context)
{
    struct http_client *client = context;
    if (after_ms < 0) {
        client->due_ms = 0;
        return 0;
    }
    client->due_ms = clock_mono_ms() + (uint64_t)after_ms;
    arm(client, (uint64_t)after_ms);
    return 0;
}

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *known)
{
    struct http_client *client = context;
    if (what == CURL_POLL_REMOVE) {
        /* Fails when the descriptor is closed already, and then epoll has forgotten it too. */
        epoll_ctl(client->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    struct epoll_event event = {.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) |
                                          (what & CURL_POLL_OUT ? EPOLLOUT : 0u),
                                .data.fd = fd};
    /* A number that was closed and opened again may be known to libcurl only, or to epoll only. */
    if (epoll_ctl(client->epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0)
        epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, fd, &event);
    return 0;
}

/* ---- the client ---- */

static void init_curl(void)
{
    curl_global_init(CURL_GLOBAL_ALL);
}

struct http_client *http_client_create(const struct http_client_settings *settings)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_curl);
    struct http_client *client = mem_zeroed(sizeof *client);
    if (settings != NULL)
        client->settings = *settings;
    client->multi = curl_multi_init();
    client->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    client->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = client->timer_fd};
    if (client->multi == NULL || client->epoll_fd < 0 || client->timer_fd < 0 ||
        epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, client->timer_fd, &event) != 0)
        abort();
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
    curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
    curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    return client;
}

void http_client_destroy(struct http_client *client)
{
    if (client == NULL)
        return;
    struct http_call *call;
    for (int state = 0; state < CALL_STATE_NR; state++)
        while ((call = list_pop(client, state)) != NULL) {
            if (state != CALL_FRESH)
                curl_multi_remove_handle(client->multi, call->easy);
            call_free(call);
        }
    if (client->notifier != NULL)
        h2o_socket_close(client->notifier);
    curl_multi_cleanup(client->multi);
    close(client->timer_fd);
    close(client->epoll_fd);
    free(client);
}

int http_client_fd(const struct http_client *client)
{
    return client->epoll_fd;
}

static void start_and_end_calls(struct http_client *client)
{
    struct http_call *call;
    while ((call = list_pop(client, CALL_ENDED)) != NULL) {
        curl_multi_remove_handle(client->multi, call->easy);
        call_free(call);
    }
    while ((call = list_pop(client, CALL_FRESH)) != NULL) {
        client_move_call(call, CALL_RUNNING);
        list_put(call);
        if (curl_multi_add_handle(client->multi, call->easy) != CURLM_OK)
            abort();
    }
}

static void finish_calls(struct http_client *client)
{
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(client->multi, &left)) != NULL) {
        struct http_call *call = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        call_finish(call, message->data.result);
    }
}

static void turn(struct http_client *client, int timeout_ms)
{
    struct epoll_event events[EVENTS_PER_TURN];
    int running, n = epoll_wait(client->epoll_fd, events, EVENTS_PER_TURN, timeout_ms);
    uint64_t ticks;
    for (int i = 0; i < n; i++) {
        int fd = events[i].data.fd;
        if (fd == client->timer_fd) {
            ssize_t got = read(fd, &ticks, sizeof ticks);
            (void)got; /* whether it was due is decided below */
            continue;
        }
        int ready = (events[i].events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
                    (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                    (events[i].events & EPOLLERR ? CURL_CSELECT_ERR : 0);
        curl_multi_socket_action(client->multi, fd, ready, &running);
    }
    start_and_end_calls(client);
    uint64_t now_ms = clock_mono_ms();
    if (client->due_ms != 0 && client->due_ms <= now_ms) {
        client->due_ms = 0;
        curl_multi_socket_action(client->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    finish_calls(client);
    /* A kick may have moved the timer to before libcurl's time: set it right again. */
    if (!list_is_empty(&client->calls[CALL_FRESH]) || !list_is_empty(&client->calls[CALL_ENDED]))
        arm(client, 0);
    else if (client->due_ms != 0)
        arm(client, client->due_ms > now_ms ? client->due_ms - now_ms : 0);
}

void http_client_turn(struct http_client *client)
{
    turn(client, 0);
}

void http_client_wait(struct http_client *client, int timeout_ms)
{
    turn(client, timeout_ms);
}

static void on_notified(h2o_socket_t *socket, const char *error)
{
    if (error == NULL)
        http_client_turn(socket->data);
}

void http_client_attach(struct http_client *client, struct loop *loop)
{
    assert(client->notifier == NULL);
    /* The h2o socket closes its descriptor, so it gets one of its own for the same epoll. */
    int fd = dup(client->epoll_fd);
    if (fd < 0)
        abort();
    client->notifier = h2o_evloop_socket_create(loop->h2o, fd, H2O_SOCKET_FLAG_DONT_READ);
    client->notifier->data = client;
    h2o_socket_read_start(client->notifier, on_notified);
}
