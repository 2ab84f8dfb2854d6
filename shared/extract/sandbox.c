/* SPDX-License-Identifier: MIT
 * sandbox.c - see sandbox.h.
 *
 *   memfd with the input, sealed ──▶ fork ──▶ descriptors, namespaces, limits, files, filter
 *                                                                                     │
 *   read until its end, a limit, the wall clock or a stop ◀── pipe ◀── execve ◀───────┘
 *
 * Between fork and execve the child makes nothing but system calls: another thread may have held
 * the lock of malloc at the fork. Signals are blocked across the fork, so that no handler of ours
 * runs in the child. SIGTERM and its like are ignored in the child: what a service manager or a
 * terminal sends to the whole group must stop the parent, which then stops the child, and not make
 * a good document look like a bad one.
 *
 * The kernel may refuse the namespaces (containers often do): then the filter of system calls alone
 * keeps the child off the network. A kernel that cannot confine files or filter calls leaves the
 * other bounds; the log says so. What the kernel has and cannot be put in force is no reason to
 * continue: then nothing is executed. */
#include "shared/extract/sandbox.h"

#include "shared/base/clock.h"
#include "shared/extract/sandbox_files.h"
#include "shared/extract/sandbox_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    READ_STEP_BYTES = 65536,
    POLL_MS = 200,
    REAP_MS = 5,
    DESCRIPTORS_MAX = 64,
    FIRST_FD = 3,
    EXIT_NO_PROGRAM = 127,
};

/* ---- in the child ---- */

static void limit(int what, rlim_t soft, rlim_t hard)
{
    struct rlimit is, wanted = {soft, hard};
    /* A hard limit that is lower already cannot be raised. */
    if (getrlimit((__rlimit_resource_t)what, &is) == 0 && is.rlim_max < hard)
        wanted = (struct rlimit){is.rlim_max < soft ? is.rlim_max : soft, is.rlim_max};
    setrlimit((__rlimit_resource_t)what, &wanted);
}

static void close_others(void)
{
    if (close_range(FIRST_FD, ~0u, 0) == 0)
        return;
    struct rlimit files = {4096, 4096};
    getrlimit(RLIMIT_NOFILE, &files);
    for (rlim_t fd = FIRST_FD; fd < files.rlim_cur && fd < 1 << 20; fd++)
        close((int)fd);
}

/* Bounds that the kernel enforces; found out before the fork. */
struct bounds {
    const struct sock_fprog *filter; /* NULL: none can be had */
    bool are_files_confinable;
};

static bool confine(const struct bounds *bounds, const char *program)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           (!bounds->are_files_confinable || sandbox_confine_files(program)) &&
           (bounds->filter == NULL || sandbox_filter_install(bounds->filter));
}

static _Noreturn void become(const struct sandbox_job *job, const struct bounds *bounds, int in,
                             int out, int null)
{
    static char *const no_environment[] = {NULL};
    sigset_t none;
    setsid(); /* a group of its own, and no terminal */
    signal(SIGPIPE, SIG_DFL);
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* what writes a file is notified of it, and may continue without */
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
        _exit(EXIT_NO_PROGRAM);
    close_others();
    /* With a user namespace even root loses its powers over files and the system. */
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        (void)!unshare(CLONE_NEWNET);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* At the soft limit it dies of SIGXCPU, which says why; at the hard one of SIGKILL. */
    limit(RLIMIT_CPU, job->cpu_s, job->cpu_s + 2);
    limit(RLIMIT_FSIZE, 0, 0);
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_NOFILE, DESCRIPTORS_MAX, DESCRIPTORS_MAX);
    if (job->memory_bytes > 0)
        limit(RLIMIT_AS, job->memory_bytes, job->memory_bytes);
    if (!confine(bounds, job->argv[0]))
        _exit(EXIT_NO_PROGRAM);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(job->argv[0], (char *const *)job->argv,
           job->environment != NULL ? (char *const *)job->environment : no_environment);
    _exit(EXIT_NO_PROGRAM);
}

/* ---- in the parent ---- */

/* A descriptor above those of standard input, output and error, which become() overwrites. */
static int lift(int fd)
{
    if (fd < 0 || fd >= FIRST_FD)
        return fd;
    int lifted = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
    close(fd);
    return lifted;
}

/* The child's own descriptor of the input, at its start. -1: it cannot be had. */
static int open_input(const struct sandbox_job *job)
{
    return lseek(job->input, 0, SEEK_SET) < 0 ? -1 : fcntl(job->input, F_DUPFD_CLOEXEC, FIRST_FD);
}

static pid_t start(const struct sandbox_job *job, int *ret_output)
{
    int pipes[2] = {-1, -1};
    sigset_t all, before;
    struct bounds bounds = {sandbox_filter(), sandbox_files_are_confinable()};
    int in = open_input(job);
    int null = lift(open("/dev/null", O_RDWR | O_CLOEXEC));
    pid_t child = -1;
    if (pipe2(pipes, O_CLOEXEC) == 0) {
        pipes[0] = lift(pipes[0]);
        pipes[1] = lift(pipes[1]);
    }
    if (in >= 0 && null >= 0 && pipes[0] >= 0 && pipes[1] >= 0) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        child = fork();
        if (child == 0)
            become(job, &bounds, in, pipes[1], null);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (in >= 0)
        close(in);
    if (null >= 0)
        close(null);
    if (pipes[1] >= 0)
        close(pipes[1]);
    if (child < 0 && pipes[0] >= 0)
        close(pipes[0]);
    *ret_output = pipes[0];
    return child;
}

struct watch {
    const atomic_bool *is_stopping;
    uint64_t deadline_ms;
};

/* SANDBOX_EXITED while it may continue. */
static enum sandbox_end check_limits(const struct watch *watch)
{
    if (watch->is_stopping != NULL && atomic_load(watch->is_stopping))
        return SANDBOX_STOPPED;
    return clock_mono_ms() >= watch->deadline_ms ? SANDBOX_SLOW : SANDBOX_EXITED;
}

/* Reads until the child closes its output. SANDBOX_EXITED: it did. */
static enum sandbox_end collect(int fd, const struct watch *watch, struct buf *out)
{
    for (;;) {
        char bytes[READ_STEP_BYTES];
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        enum sandbox_end end = check_limits(watch);
        if (end != SANDBOX_EXITED)
            return end;
        if (poll(&ready, 1, POLL_MS) <= 0)
            continue;
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return SANDBOX_EXITED;
        buf_put(out, (struct str){bytes, (size_t)n});
        if (out->is_over)
            return SANDBOX_FULL;
    }
}

/* Waits for the end of a child that closed its output, which may still take its time. */
static enum sandbox_end reap(pid_t child, const struct watch *watch, int *ret_status)
{
    for (;;) {
        pid_t gone = waitpid(child, ret_status, WNOHANG);
        if (gone == child)
            return SANDBOX_EXITED;
        if (gone < 0 && errno != EINTR)
            return SANDBOX_UNBORN;
        enum sandbox_end end = check_limits(watch);
        if (end != SANDBOX_EXITED)
            return end;
        poll(NULL, 0, REAP_MS);
    }
}

enum sandbox_end sandbox_run(const struct sandbox_job *job, struct buf *out, int *ret_status)
{
    int output, status = 0;
    struct watch watch = {.is_stopping = job->is_stopping,
                          .deadline_ms = clock_mono_ms() + job->wall_ms};
    pid_t child = start(job, &output);
    if (child < 0)
        return SANDBOX_UNBORN;
    enum sandbox_end end = collect(output, &watch, out);
    close(output);
    if (end == SANDBOX_EXITED)
        end = reap(child, &watch, &status);
    if (end != SANDBOX_EXITED) {
        if (end != SANDBOX_UNBORN)
            kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
        return end;
    }
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGXCPU ? SANDBOX_SLOW : SANDBOX_CRASHED;
    if (WEXITSTATUS(status) == EXIT_NO_PROGRAM)
        return SANDBOX_UNBORN;
    *ret_status = WEXITSTATUS(status);
    return SANDBOX_EXITED;
}

char *sandbox_find_program(const char *name)
{
    const char *path = getenv("PATH");
    struct str rest = str_of(path == NULL || *path == 0 ? "/usr/local/bin:/usr/bin:/bin" : path);
    while (rest.at != NULL) {
        struct str folder = str_cut(&rest, ':');
        struct buf candidate;
        if (folder.n == 0 || *folder.at != '/')
            continue;
        buf_init(&candidate, 4096);
        buf_put(&candidate, folder);
        buf_put_char(&candidate, '/');
        buf_put(&candidate, str_of(name));
        buf_put_char(&candidate, 0);
        if (!candidate.is_over && access(candidate.at, X_OK) == 0)
            return candidate.at; /* taken over */
        buf_fini(&candidate);
    }
    return NULL;
}
