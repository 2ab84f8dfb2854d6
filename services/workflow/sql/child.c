/* SPDX-License-Identifier: MIT
 * child.c - the node's side of a child, see child.h.
 *
 * posix_spawn does not copy the node's memory, and what the child must be kept from it does to
 * itself: it is this very program, and sees no statement before (child_main.c). */
#include "services/workflow/sql/child.h"

#include "shared/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REAP_MS = 5, READ_STEP_BYTES = 65536, FIRST_FD = 3, ENVIRONMENT_MAX = 64 };

struct child {
    struct loop *loop;
    h2o_socket_t *socket; /* NULL: killed */
    pid_t pid;
    struct child_events events;
    struct buf output; /* of the write under way */
    struct buf next;   /* what is written after it */
    bool is_writing;
    struct deadline reap;
    struct child *next_killed;
};

static const char *program = "/proc/self/exe";
static _Thread_local struct child *killed;

extern char **environ;

void child_set_program(const char *path)
{
    program = path;
}

/* ---- its start ---- */

/* Chooses what PostgreSQL's library reads: PGPASSFILE, PGSSLROOTCERT and others, and HOME for their
 * defaults. SQLite's reads SQLITE_TMPDIR, for files that a child does not have. Sanitizers take
 * their settings from there. */
static void choose_environment(const struct database_kind *kind, char *room[ENVIRONMENT_MAX])
{
    unsigned n = 0;
    for (char **at = environ; *at != NULL && n < ENVIRONMENT_MAX - 1; at++) {
        bool is_sanitizers = strncmp(*at, "ASAN_", 5) == 0 || strncmp(*at, "UBSAN_", 6) == 0 ||
                             strncmp(*at, "TSAN_", 5) == 0;
        bool is_library = strncmp(*at, "PG", 2) == 0 || strncmp(*at, "HOME=", 5) == 0;
        if (is_sanitizers || (kind->has_environment && is_library))
            room[n++] = *at;
    }
    room[n] = NULL;
}

static pid_t start(const struct sql_settings *settings, int fd)
{
    static char argument[] = CHILD_ARGUMENT;
    char *const argv[] = {"parley", argument, NULL};
    char *environment[ENVIRONMENT_MAX];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    pid_t pid;
    sigemptyset(&none);
    sigfillset(&all);
    choose_environment(settings->kind, environment);
    if (posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attributes) != 0)
        abort();
    posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, FIRST_FD);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawn(&pid, program, &actions, &attributes, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error == 0 ? pid : -1;
}

/* The node's end of a pair whose other end is the child's standard input; -1: none. */
static int start_with_pair(const struct sql_settings *settings, pid_t *ret_pid)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    *ret_pid = start(settings, ends[1]);
    close(ends[1]);
    if (*ret_pid >= 0)
        return ends[0];
    close(ends[0]);
    return -1;
}

static json_t *settings_frame(const struct sql_settings *settings)
{
    return json_pack("{s:s,s:s?,s:s}", "url", settings->url, "password", settings->password, "role",
                     settings->role);
}

/* ---- frames ---- */

static void put_frame(struct buf *b, const json_t *frame)
{
    uint32_t n = 0;
    buf_put(b, (struct str){(const char *)&n, sizeof n});
    buf_put_json_value(b, frame);
    n = (uint32_t)(b->n - sizeof n);
    memcpy(b->at, &n, sizeof n);
}

bool child_put_frame(int fd, const json_t *frame)
{
    struct buf b;
    buf_init(&b, CHILD_FRAME_MAX_BYTES);
    put_frame(&b, frame);
    bool is_good = !b.is_over;
    for (size_t at = 0; is_good && at < b.n;) {
        ssize_t n = write(fd, b.at + at, b.n - at);
        if (n > 0)
            at += (size_t)n;
        else
            is_good = n < 0 && errno == EINTR;
    }
    buf_fini(&b);
    return is_good;
}

static void on_written(h2o_socket_t *socket, const char *error);

static void write_next(struct child *child)
{
    struct buf written = child->output;
    child->output = child->next;
    child->next = written;
    child->is_writing = child->output.n > 0;
    if (!child->is_writing)
        return;
    h2o_iovec_t bytes = h2o_iovec_init(child->output.at, child->output.n);
    h2o_socket_write(child->socket, &bytes, 1, on_written);
}

static void on_written(h2o_socket_t *socket, const char *error)
{
    struct child *child = socket->data;
    buf_clear(&child->output);
    if (error == NULL)
        write_next(child); /* else the read sees it too */
}

/* libh2o takes one write at a time, and may report the reply to the previous frame (on_readable)
 * before the end of that frame's write (on_written). So the write may still be under way here. */
void child_send(struct child *child, const json_t *frame)
{
    put_frame(&child->next, frame);
    if (child->next.is_over)
        abort(); /* texts are bounded before */
    if (!child->is_writing)
        write_next(child);
}

/* Takes one frame off the input. False: there is none (yet), or the child was killed. */
static bool take_frame(struct child *child)
{
    uint32_t n;
    char reason[128];
    json_t *frame;
    h2o_buffer_t *input = child->socket->input;
    if (input->size < sizeof n)
        return false;
    memcpy(&n, input->bytes, sizeof n);
    if (n > CHILD_FRAME_MAX_BYTES) {
        child->events.on_gone(child->events.context);
        return false;
    }
    if (input->size - sizeof n < n)
        return false;
    struct str text = {input->bytes + sizeof n, n};
    if (!json_parse(text, reason, sizeof reason, &frame)) {
        child->events.on_gone(child->events.context);
        return false;
    }
    h2o_buffer_consume(&child->socket->input, sizeof n + n);
    child->events.on_frame(child->events.context, frame);
    json_decref(frame);
    return child->socket != NULL;
}

static void on_readable(h2o_socket_t *socket, const char *error)
{
    struct child *child = socket->data;
    if (error != NULL) {
        child->events.on_gone(child->events.context);
        return;
    }
    while (take_frame(child))
        ;
}

/* ---- its end ---- */

static void free_child(struct child *child)
{
    buf_fini(&child->output);
    buf_fini(&child->next);
    free(child);
}

static void on_reap(struct deadline *deadline)
{
    struct child *child = container_of(deadline, struct child, reap), **at;
    if (waitpid(child->pid, NULL, WNOHANG) == 0) {
        loop_set_deadline(child->loop, deadline, REAP_MS);
        return;
    }
    for (at = &killed; *at != child; at = &(*at)->next_killed)
        ;
    *at = child->next_killed;
    free_child(child);
}

void child_kill(struct child *child)
{
    if (child == NULL)
        return;
    kill(child->pid, SIGKILL);
    h2o_socket_read_stop(child->socket);
    h2o_socket_close(child->socket);
    child->socket = NULL;
    child->next_killed = killed;
    killed = child;
    loop_set_deadline(child->loop, &child->reap, 0);
}

void child_reap_all(void)
{
    while (killed != NULL) {
        struct child *child = killed;
        killed = child->next_killed;
        loop_cancel_deadline(child->loop, &child->reap);
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        free_child(child);
    }
}

struct child *child_spawn(struct loop *loop, const struct sql_settings *settings,
                          const struct child_events *events)
{
    pid_t pid;
    int fd = start_with_pair(settings, &pid);
    if (fd < 0)
        return NULL;
    struct child *child = mem_zeroed(sizeof *child);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        abort();
    *child = (struct child){.loop = loop, .pid = pid, .events = *events, .reap.on_expire = on_reap};
    buf_init(&child->output, CHILD_FRAME_MAX_BYTES);
    buf_init(&child->next, CHILD_FRAME_MAX_BYTES);
    child->socket = h2o_evloop_socket_create(loop->h2o, fd, 0);
    child->socket->data = child;
    h2o_socket_read_start(child->socket, on_readable);
    json_t *frame = settings_frame(settings);
    child_send(child, frame);
    json_decref(frame);
    return child;
}

/* ---- on a thread that waits ---- */

static json_t *wait_for_frame(int fd, unsigned wait_ms)
{
    char bytes[4096], reason[128];
    size_t n = 0;
    json_t *frame = NULL;
    uint32_t wanted = 0;
    uint64_t end_ms = clock_mono_ms() + wait_ms;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    for (;;) {
        uint64_t now_ms = clock_mono_ms();
        if (now_ms >= end_ms || poll(&ready, 1, (int)(end_ms - now_ms)) <= 0)
            return NULL;
        ssize_t got = read(fd, bytes + n, sizeof bytes - n);
        if (got <= 0)
            return NULL;
        n += (size_t)got;
        if (n >= sizeof wanted)
            memcpy(&wanted, bytes, sizeof wanted);
        if (n >= sizeof wanted && n - sizeof wanted >= wanted)
            break;
    }
    struct str text = {bytes + sizeof wanted, wanted};
    return json_parse(text, reason, sizeof reason, &frame) ? frame : NULL;
}

json_t *child_try(const struct sql_settings *settings, unsigned wait_ms)
{
    pid_t pid;
    int fd = start_with_pair(settings, &pid);
    if (fd < 0)
        return NULL;
    json_t *hello = settings_frame(settings);
    json_t *reply = child_put_frame(fd, hello) ? wait_for_frame(fd, wait_ms) : NULL;
    json_decref(hello);
    close(fd);
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return reply;
}
