/* SPDX-License-Identifier: MIT
 * proc.c - see proc.h.
 *
 * Processor time is utime + stime of /proc/PID/stat, which is the sum over all threads, dead ones
 * included, in clock ticks (10 ms). Dead children count only once their parent has waited for them,
 * which is as it should be: a node has none. A listening socket is found by its inode, which both
 * /proc/net/tcp and the links in /proc/PID/fd name.
 */
#include "services/bench/proc.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_BYTES = 320, INODES_MAX = 1024, TREE_MAX = 512, TCP_ESTABLISHED_STATE = 1 };
enum { TCP_LISTEN_STATE = 10, LINE_BYTES = 4096 };

/* The processes of a group and all of their descendants, each once. */
struct tree {
    pid_t pids[TREE_MAX];
    size_t n;
};

struct inodes {
    unsigned long at[INODES_MAX];
    size_t n;
};

/* One row of /proc/net/tcp or tcp6. */
struct socket_row {
    char local[33], remote[33]; /* addresses as the kernel prints them */
    unsigned local_port, remote_port, state;
    unsigned long inode;
};

/* A process that is in it already, or does not fit, is passed over. */
static void add(struct bench_proc_group *group, pid_t pid)
{
    for (size_t i = 0; i < group->n; i++)
        if (group->pids[i] == pid)
            return;
    if (group->n < BENCH_PROC_MAX)
        group->pids[group->n++] = pid;
}

bool bench_proc_group_parse(struct bench_proc_group *group, struct str text)
{
    char path[PATH_BYTES];
    while (text.at != NULL) {
        uint64_t pid;
        if (!str_parse_u64(str_trim(str_cut(&text, ',')), &pid) || pid == 0 || pid > INT32_MAX)
            return false;
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        if (access(path, R_OK) != 0)
            return false;
        add(group, (pid_t)pid);
    }
    return true;
}

static void grow_tree(struct tree *tree, pid_t pid)
{
    for (size_t i = 0; i < tree->n; i++)
        if (tree->pids[i] == pid)
            return;
    if (tree->n == TREE_MAX)
        return;
    tree->pids[tree->n++] = pid;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    struct dirent *entry;
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/children", (int)pid, entry->d_name);
        FILE *file = fopen(path, "r");
        int child;
        while (file != NULL && fscanf(file, "%d", &child) == 1)
            grow_tree(tree, (pid_t)child);
        if (file != NULL)
            fclose(file);
    }
    if (tasks != NULL)
        closedir(tasks);
}

static struct tree tree_of(const struct bench_proc_group *group)
{
    struct tree tree = {0};
    for (size_t i = 0; i < group->n; i++)
        grow_tree(&tree, group->pids[i]);
    return tree;
}

/* Reads a small file of /proc whole; false when it cannot. */
static bool read_small(pid_t pid, const char *name, char *text, size_t size)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    size_t n = fread(text, 1, size - 1, file);
    fclose(file);
    text[n] = 0;
    return n > 0;
}

/* Returns whether all of them run: of a process that has ended nothing can be said any more. */
static bool is_running(const struct bench_proc_group *group)
{
    char text[64];
    for (size_t i = 0; i < group->n; i++)
        if (!read_small(group->pids[i], "stat", text, sizeof text))
            return false;
    return group->n > 0;
}

double bench_proc_cpu_s(const struct bench_proc_group *group)
{
    if (!is_running(group))
        return -1;
    struct tree tree = tree_of(group);
    unsigned long long ticks = 0, user, system;
    char text[1024];
    for (size_t i = 0; i < tree.n; i++) {
        /* The name in brackets may hold anything; the fields are counted from its end. */
        char *fields =
            read_small(tree.pids[i], "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
        if (fields != NULL &&
            sscanf(fields + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
                   &system) == 2)
            ticks += user + system;
    }
    return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

int64_t bench_proc_resident_bytes(const struct bench_proc_group *group)
{
    if (!is_running(group))
        return -1;
    struct tree tree = tree_of(group);
    int64_t pages = 0;
    long long resident;
    char text[256];
    for (size_t i = 0; i < tree.n; i++)
        if (read_small(tree.pids[i], "statm", text, sizeof text) &&
            sscanf(text, "%*u %lld", &resident) == 1)
            pages += resident;
    return pages * sysconf(_SC_PAGESIZE);
}

double bench_proc_spent_s(const struct bench_proc_group *group, double before_s)
{
    double now_s = bench_proc_cpu_s(group);
    return before_s < 0 || now_s < before_s ? -1 : now_s - before_s;
}

double bench_proc_own_cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static bool has_inode(const struct inodes *inodes, unsigned long inode)
{
    for (size_t i = 0; i < inodes->n; i++)
        if (inodes->at[i] == inode)
            return true;
    return false;
}

static void add_inode(struct inodes *inodes, unsigned long inode)
{
    if (inode != 0 && inodes->n < INODES_MAX && !has_inode(inodes, inode))
        inodes->at[inodes->n++] = inode;
}

/* Calls `visit` for each row of the tables of TCP sockets. */
static void visit_sockets(void (*visit)(const struct socket_row *row, void *arg), void *arg)
{
    static const char *const tables[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    for (size_t i = 0; i < 2; i++) {
        FILE *file = fopen(tables[i], "r");
        char line[LINE_BYTES];
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            struct socket_row row;
            if (sscanf(line, " %*d: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*s %*s %*s %*u %*d %lu",
                       row.local, &row.local_port, row.remote, &row.remote_port, &row.state,
                       &row.inode) == 6)
                visit(&row, arg);
        }
        if (file != NULL)
            fclose(file);
    }
}

/* The inode of a socket that `pid` holds as descriptor `name`; 0: it is no socket. */
static unsigned long socket_inode(pid_t pid, const char *name)
{
    char path[PATH_BYTES], link[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)pid, name);
    ssize_t n = readlink(path, link, sizeof link - 1);
    unsigned long inode = 0;
    if (n > 0) {
        link[n] = 0;
        if (sscanf(link, "socket:[%lu]", &inode) != 1)
            inode = 0;
    }
    return inode;
}

/* Calls `visit` for each socket that `pid` holds, until it says false. */
static void visit_descriptors(pid_t pid, bool (*visit)(pid_t, unsigned long inode, void *arg),
                              void *arg)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    struct dirent *entry;
    bool goes_on = true;
    while (folder != NULL && goes_on && (entry = readdir(folder)) != NULL) {
        unsigned long inode = socket_inode(pid, entry->d_name);
        if (inode != 0)
            goes_on = visit(pid, inode, arg);
    }
    if (folder != NULL)
        closedir(folder);
}

struct listener_search {
    char address[9]; /* of an IPv4 listener, as the kernel prints it; "" matches any */
    unsigned port;
    struct inodes found;
};

static void on_listener(const struct socket_row *row, void *arg)
{
    struct listener_search *search = arg;
    bool is_v4 = strlen(row->local) == 8, is_any = strspn(row->local, "0") == strlen(row->local);
    if (row->state == TCP_LISTEN_STATE && row->local_port == search->port &&
        (is_any || !is_v4 || search->address[0] == 0 || strcmp(row->local, search->address) == 0))
        add_inode(&search->found, row->inode);
}

struct holder_search {
    const struct inodes *inodes;
    struct bench_proc_group *group;
    bool is_redis_only;
};

static bool is_redis(pid_t pid)
{
    char name[64];
    return read_small(pid, "comm", name, sizeof name) &&
           (strncmp(name, "redis", 5) == 0 || strncmp(name, "valkey", 6) == 0);
}

static bool on_held(pid_t pid, unsigned long inode, void *arg)
{
    struct holder_search *search = arg;
    if (!has_inode(search->inodes, inode))
        return true;
    if (!search->is_redis_only || is_redis(pid))
        add(search->group, pid);
    return false;
}

static void add_holders(struct bench_proc_group *group, const struct inodes *inodes,
                        bool is_redis_only)
{
    struct holder_search search = {inodes, group, is_redis_only};
    DIR *folder = inodes->n == 0 ? NULL : opendir("/proc");
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && pid != getpid())
            visit_descriptors(pid, on_held, &search);
    }
    if (folder != NULL)
        closedir(folder);
}

void bench_proc_find_listeners(struct bench_proc_group *group,
                               const struct sockaddr_storage *address)
{
    struct listener_search search = {0};
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
        snprintf(search.address, sizeof search.address, "%08X", v4->sin_addr.s_addr);
        search.port = ntohs(v4->sin_port);
    } else {
        search.port = ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    }
    visit_sockets(on_listener, &search);
    add_holders(group, &search.found, false);
}

struct peer_search {
    struct inodes held;
    unsigned ports[BENCH_PROC_MAX];
    size_t port_n;
};

static bool on_client_socket(pid_t pid, unsigned long inode, void *arg)
{
    (void)pid;
    add_inode(&((struct peer_search *)arg)->held, inode);
    return true;
}

static void on_client_row(const struct socket_row *row, void *arg)
{
    struct peer_search *search = arg;
    if (row->state != TCP_ESTABLISHED_STATE || !has_inode(&search->held, row->inode))
        return;
    for (size_t i = 0; i < search->port_n; i++)
        if (search->ports[i] == row->remote_port)
            return;
    if (search->port_n < BENCH_PROC_MAX)
        search->ports[search->port_n++] = row->remote_port;
}

void bench_proc_find_redis(struct bench_proc_group *group, const struct bench_proc_group *clients)
{
    struct peer_search peers = {0};
    for (size_t i = 0; i < clients->n; i++)
        visit_descriptors(clients->pids[i], on_client_socket, &peers);
    visit_sockets(on_client_row, &peers);
    for (size_t i = 0; i < peers.port_n; i++) {
        struct listener_search search = {.port = peers.ports[i]};
        visit_sockets(on_listener, &search);
        add_holders(group, &search.found, true);
    }
}
