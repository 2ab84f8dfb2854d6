/* SPDX-License-Identifier: MIT
 * loop.c - see loop.h. h2o_evloop_run polls once and runs what is ready; it returns -1 on EINTR,
 * which is no reason to end. */
#include "shared/op/loop.h"

#include "shared/base/mem.h"
#include "shared/op/readiness.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    MOST_WAIT_MS = 60000,
    LATE_MS = 50 /* how late a pass may be before the sockets are polled once more */
};

static void on_wake_readable(h2o_socket_t *socket, const char *error)
{
    struct loop *loop = socket->data;
    uint64_t count;
    (void)error;
    if (read(loop->wake_fd, &count, sizeof count) == sizeof count && loop->on_wake != NULL)
        loop->on_wake(loop->wake_arg);
}

/* Libh2o 2.2 cannot free an evloop: the next loop has that of a former one. */
static struct kept_evloop {
    h2o_loop_t *h2o;
    struct kept_evloop *next;
} * kept;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

static h2o_loop_t *take_evloop(void)
{
    pthread_mutex_lock(&kept_lock);
    struct kept_evloop *taken = kept;
    if (taken != NULL)
        kept = taken->next;
    pthread_mutex_unlock(&kept_lock);
    h2o_loop_t *h2o = taken == NULL ? h2o_evloop_create() : taken->h2o;
    free(taken);
    return h2o;
}

static void keep_evloop(h2o_loop_t *h2o)
{
    struct kept_evloop *given = mem_alloc(sizeof *given);
    given->h2o = h2o;
    pthread_mutex_lock(&kept_lock);
    given->next = kept;
    kept = given;
    pthread_mutex_unlock(&kept_lock);
}

void loop_init(struct loop *loop)
{
    *loop = (struct loop){.h2o = take_evloop()};
    loop->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (loop->wake_fd < 0)
        abort();
    loop->wake_socket = readiness_create(loop->h2o, loop->wake_fd);
    loop->wake_socket->data = loop;
    h2o_socket_read_start(loop->wake_socket, on_wake_readable);
}

void loop_fini(struct loop *loop)
{
    h2o_socket_read_stop(loop->wake_socket);
    h2o_socket_close(loop->wake_socket);
    deadlines_fini(&loop->deadlines);
    if (h2o_linklist_is_empty(&loop->h2o->_timeouts)) { /* else a server's are still there */
        h2o_evloop_run(loop->h2o, 0);                   /* frees closed sockets */
        keep_evloop(loop->h2o);
    }
}

static void run_tasks(struct loop *loop)
{
    struct loop_task *task;
    while ((task = list_first(&loop->tasks, struct loop_task, link)) != NULL) {
        list_remove(&task->link);
        task->run(task);
    }
}

/* Reports the end of writes that were complete at once, outside of h2o_evloop_run: deadlines, work,
 * tasks and the end of a pass write, too. libh2o would report it after its next poll, for which it
 * would ask epoll whether such a socket can be written if what is read from it has changed in the
 * same pass. If more sockets are ready than one poll returns, libh2o would still be notified of
 * that when nobody waits for it any more, and abort. Returns whether there were any. */
static bool report_writes(struct loop *loop)
{
    if (loop->h2o->_pending_as_client == NULL && loop->h2o->_pending_as_server == NULL)
        return false;
    h2o_timeout__do_post_callback(loop->h2o);
    return true;
}

void loop_run_once(struct loop *loop, uint64_t most_wait_ms)
{
    run_tasks(loop);
    uint64_t before_ms = clock_mono_ms(), wait = 0;
    /* What the end of a write begins is sent at the end of this pass. Of work more may be left. */
    if (!report_writes(loop) && list_is_empty(&loop->passes.turns))
        wait = deadlines_wait_ms(&loop->deadlines, before_ms, most_wait_ms);
    h2o_evloop_run(loop->h2o, (int32_t)wait);
    uint64_t now_ms = clock_mono_ms();
    /* The process was starved, or a callback took long: read what has arrived meanwhile before
     * a deadline gives up on it. */
    if (now_ms > before_ms + wait + LATE_MS)
        h2o_evloop_run(loop->h2o, 0);
    deadlines_run(&loop->deadlines, now_ms);
    passes_run(&loop->passes);
    if (loop->on_pass_end != NULL)
        loop->on_pass_end(loop->pass_end_arg);
    run_tasks(loop);
}

void loop_run(struct loop *loop)
{
    while (!loop->is_done)
        loop_run_once(loop, MOST_WAIT_MS);
}

void loop_schedule(struct loop *loop, struct loop_task *task)
{
    if (!list_is_linked(&task->link))
        list_prepend(&loop->tasks, &task->link);
}

void loop_finish(struct loop *loop)
{
    loop->is_done = true;
}

void loop_wake(struct loop *loop)
{
    uint64_t one = 1;
    ssize_t written = write(loop->wake_fd, &one, sizeof one);
    (void)written; /* a full counter is a wake too */
}
