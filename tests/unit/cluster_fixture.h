/* SPDX-License-Identifier: MIT
 *
 * cluster_fixture: a Redis Cluster of the test program's own that has one member, with all slots,
 * on ports of its own. It may lose slots and get them again.
 */
#ifndef PARLEY_TESTS_UNIT_CLUSTER_FIXTURE_H
#define PARLEY_TESTS_UNIT_CLUSTER_FIXTURE_H

#include "shared/redis/topology.h"
#include "tests/unit/ask_redis.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { CLUSTER_STARTS_MAX = 5 };

static struct cluster_fixture {
    char folder[64];
    int port;
    pid_t pid;
    struct redis_address member;  /* as one server */
    struct redis_address address; /* of the cluster; its slot is that of the tests' prefix */
} cluster_fixture;

/* Free at the moment. */
static inline int cluster_fixture_port(void)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof name;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &size), 0);
    close(fd);
    return ntohs(name.sin_port);
}

static inline pid_t cluster_fixture_run(void)
{
    const char *program = getenv("PARLEY_TEST_REDIS"); /* as in tests/support/redis.mjs */
    char port[16], bus_port[16];
    snprintf(port, sizeof port, "%d", cluster_fixture.port);
    snprintf(bus_port, sizeof bus_port, "%d", cluster_fixture_port());
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execlp(program == NULL ? "redis-server" : program, "redis-server", "--bind", "127.0.0.1",
               "--port", port, "--cluster-enabled", "yes", "--cluster-port", bus_port,
               "--cluster-require-full-coverage", "no", "--dir", cluster_fixture.folder, "--save",
               "", "--daemonize", "no", (char *)NULL);
        _exit(127);
    }
    return pid;
}

/* True once it accepts; false if it has ended, because somebody else has one of its ports. */
static inline bool cluster_fixture_is_there(void)
{
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                               .sin_port = htons((uint16_t)cluster_fixture.port)};
    for (;;) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool is_connected = connect(fd, (struct sockaddr *)&name, sizeof name) == 0;
        close(fd);
        if (waitpid(cluster_fixture.pid, NULL, WNOHANG) != 0)
            return false;
        if (is_connected)
            return true;
        usleep(5000);
    }
}

/* A command of an operator's, its words separated by spaces. True if it says `expected`. */
static inline bool cluster_says(const char *text, const char *expected)
{
    char said[4096];
    return ask_server(&cluster_fixture.member, text, said, sizeof said) == ERR_OK &&
           strstr(said, expected) != NULL;
}

static inline void cluster_has_slot(bool has)
{
    char text[64];
    snprintf(text, sizeof text, "CLUSTER %s %u", has ? "ADDSLOTS" : "DELSLOTS",
             cluster_fixture.address.slot);
    assert_true(cluster_says(text, "OK"));
}

static inline void cluster_fixture_init(void)
{
    struct cluster_fixture *f = &cluster_fixture;
    bool is_there = false;
    signal(SIGPIPE, SIG_IGN);
    snprintf(f->folder, sizeof f->folder, "/tmp/parley-cluster-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    for (unsigned i = 0; i < CLUSTER_STARTS_MAX && !is_there; i++) {
        f->port = cluster_fixture_port();
        f->pid = cluster_fixture_run();
        is_there = f->pid > 0 && cluster_fixture_is_there();
    }
    assert_true(is_there);
    f->member = (struct redis_address){.host = "127.0.0.1", .port = f->port};
    f->address =
        (struct redis_address){.kind = REDIS_OF_CLUSTER, .slot = redis_slot_of(STR("parley:{0}:"))};
    snprintf(f->address.seeds, sizeof f->address.seeds, "127.0.0.1:%d", f->port);
    assert_true(cluster_says("CLUSTER ADDSLOTSRANGE 0 16383", "OK"));
    while (!cluster_says("CLUSTER INFO", "cluster_state:ok"))
        usleep(5000);
    topology_open(&f->address, NULL, NULL);
}

static inline void cluster_fixture_fini(void)
{
    char config[96];
    kill(cluster_fixture.pid, SIGKILL);
    waitpid(cluster_fixture.pid, NULL, 0);
    snprintf(config, sizeof config, "%s/nodes.conf", cluster_fixture.folder);
    unlink(config);
    rmdir(cluster_fixture.folder);
}

#endif
