/* SPDX-License-Identifier: MIT
 *
 * redis_fixture: a redis-server of the test program's own, on a Unix socket in a folder under /tmp.
 * It may be stopped (it takes what is sent and says nothing) and continues, or killed and started
 * again, without its data. Clients connect until it is there.
 */
#ifndef PARLEY_TESTS_UNIT_REDIS_FIXTURE_H
#define PARLEY_TESTS_UNIT_REDIS_FIXTURE_H

#include "shared/redis/address.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct redis_fixture {
    char folder[64];
    struct redis_address address;
    pid_t pid;
} redis_fixture;

static inline bool redis_fixture_start(void)
{
    const char *program = getenv("PARLEY_TEST_REDIS"); /* as in tests/support/redis.mjs */
    struct redis_fixture *f = &redis_fixture;
    f->pid = fork();
    if (f->pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execlp(program == NULL ? "redis-server" : program, "redis-server", "--port", "0",
               "--unixsocket", f->address.path, "--dir", f->folder, "--save", "", "--daemonize",
               "no", "--requirepass", f->address.password, (char *)NULL);
        _exit(127);
    }
    return f->pid > 0;
}

/* Makes the folder, too. */
static inline bool redis_fixture_init(void)
{
    struct redis_fixture *f = &redis_fixture;
    signal(SIGPIPE, SIG_IGN);
    snprintf(f->folder, sizeof f->folder, "/tmp/parley-redis-XXXXXX");
    if (mkdtemp(f->folder) == NULL)
        return false;
    snprintf(f->address.path, sizeof f->address.path, "%.63s/socket", f->folder);
    snprintf(f->address.password, sizeof f->address.password, "secret");
    return redis_fixture_start();
}

static inline void redis_fixture_stop(void)
{
    int status;
    kill(redis_fixture.pid, SIGSTOP);
    waitpid(redis_fixture.pid, &status, WUNTRACED);
}

static inline void redis_fixture_go_on(void)
{
    kill(redis_fixture.pid, SIGCONT);
}

static inline void redis_fixture_kill(void)
{
    kill(redis_fixture.pid, SIGKILL);
    waitpid(redis_fixture.pid, NULL, 0);
    unlink(redis_fixture.address.path);
}

static inline void redis_fixture_fini(void)
{
    redis_fixture_kill();
    rmdir(redis_fixture.folder);
}

#endif
