/* SPDX-License-Identifier: MIT
 * listen.c - see listen.h.
 *
 * SO_REUSEPORT gives each thread a queue of its own, and lets every process of the same user join.
 * So the first socket is bound and listens without it: the kernel refuses that when anybody listens
 * there, sharing or not, and lets one of several win that try at once. Then it is made a sharing
 * one, and the other threads join. Every process begins this way, so none joins another.
 *
 * A path has no such rule of the kernel's. Looking whether anybody listens and replacing the file
 * are one step under a lock of its folder, which needs no file of its own and ends with the
 * process. */
#include "shared/http/wire/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { BACKLOG = 4096, LOCK_TRIES = 200, LOCK_NAP_NS = 10000000 };
/* The kernel takes at most this much of what a client does not read; the rest
 * stays with libh2o, where it is counted (connection.h). By default it would take up to 4 MiB
 * (net.ipv4.tcp_wmem). */
enum { UNSENT_MAX_BYTES = 128 << 10 };
/* After so long a connection is closed whose client takes nothing of what it is sent. */
enum { UNTAKEN_MAX_MS = 60000 };

static const char IN_USE[] =
    "address in use: stop the process that listens there, or choose another address";

static bool fail(char *reason, size_t reason_size, int error)
{
    snprintf(reason, reason_size, "%s", error == EADDRINUSE ? IN_USE : strerror(error));
    return false;
}

static void close_all(int *fds, unsigned n)
{
    while (n > 0)
        close(fds[--n]);
}

/* --- paths ------------------------------------------------------------------------------------ */

/* A descriptor that holds the lock of the path's folder; -1: reason. Others hold it for moments. */
static int lock_folder(const char *path, char *reason, size_t reason_size)
{
    char folder[sizeof((struct sockaddr_un *)0)->sun_path] = ".";
    const struct timespec nap = {.tv_nsec = LOCK_NAP_NS};
    const char *slash = strrchr(path, '/');
    if (slash != NULL)
        snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        snprintf(reason, reason_size, "folder %s: %s", folder, strerror(errno));
        return -1;
    }
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return fd;
        nanosleep(&nap, NULL);
    }
    close(fd);
    snprintf(reason, reason_size,
             "another process holds the lock of folder %s: stop it, or choose another folder",
             folder);
    return -1;
}

/* Makes room for our socket: removes one that a process left. */
static bool clear_path(const struct sockaddr_un *address, char *reason, size_t reason_size)
{
    struct stat there;
    if (lstat(address->sun_path, &there) != 0)
        return errno == ENOENT || fail(reason, reason_size, errno);
    if (!S_ISSOCK(there.st_mode)) {
        snprintf(reason, reason_size,
                 "the path exists and is not a socket: remove it, or choose another path");
        return false;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail(reason, reason_size, errno);
    int error = connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ? 0 : errno;
    close(fd);
    if (error == 0 || error == EAGAIN) /* EAGAIN: its queue is full */
        return fail(reason, reason_size, EADDRINUSE);
    if (error != ECONNREFUSED) {
        snprintf(reason, reason_size,
                 "cannot check whether a process listens there (%s): remove the socket, or choose "
                 "another path",
                 strerror(error));
        return false;
    }
    return unlink(address->sun_path) == 0 || fail(reason, reason_size, errno);
}

static int bind_path(const struct sockaddr_un *address, struct listen_place *ret_place,
                     char *reason, size_t reason_size)
{
    struct stat bound;
    if (!clear_path(address, reason, reason_size))
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)address, sizeof *address) != 0 ||
        listen(fd, BACKLOG) != 0 || lstat(address->sun_path, &bound) != 0) {
        fail(reason, reason_size, errno);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *ret_place = (struct listen_place){.dev = bound.st_dev, .ino = bound.st_ino};
    return fd;
}

static bool open_path(const char *path, unsigned n, int *ret_fds, struct listen_place *ret_place,
                      char *reason, size_t reason_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        snprintf(reason, reason_size, "the path is longer than %zu bytes",
                 sizeof address.sun_path - 1);
        return false;
    }
    strcpy(address.sun_path, path);
    int lock = lock_folder(path, reason, reason_size);
    if (lock < 0)
        return false;
    ret_fds[0] = bind_path(&address, ret_place, reason, reason_size);
    close(lock);
    for (unsigned i = 1; ret_fds[0] >= 0 && i < n; i++) {
        ret_fds[i] = fcntl(ret_fds[0], F_DUPFD_CLOEXEC, 0);
        if (ret_fds[i] < 0) {
            fail(reason, reason_size, errno);
            unlink(path);
            close_all(ret_fds, i);
            return false;
        }
    }
    return ret_fds[0] >= 0;
}

/* --- ports ------------------------------------------------------------------------------------ */

/* Sockets accepted from `fd` inherit this. A kernel that does not know it does as it likes. */
static void limit_unread(int fd)
{
    int bytes = UNSENT_MAX_BYTES, ms = UNTAKEN_MAX_MS;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

/* The socket of one thread: the first one alone, the others with it. -1: errno. */
static int bind_port(const struct sockaddr *address, socklen_t address_n, bool is_first)
{
    int one = 1, fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        (is_first || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) == 0) &&
        bind(fd, address, address_n) == 0 && listen(fd, BACKLOG) == 0) {
        limit_unread(fd);
        return fd;
    }
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
}

static bool open_port(const struct addrinfo *found, unsigned n, int *ret_fds, int *ret_port)
{
    struct sockaddr_storage bound;
    socklen_t bound_n = sizeof bound;
    int one = 1;
    ret_fds[0] = bind_port(found->ai_addr, found->ai_addrlen, true);
    if (ret_fds[0] < 0)
        return false;
    bool ok = getsockname(ret_fds[0], (struct sockaddr *)&bound, &bound_n) == 0 &&
              (n == 1 || setsockopt(ret_fds[0], SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) == 0);
    unsigned i = 1;
    for (; ok && i < n; i++) {
        ret_fds[i] = bind_port((struct sockaddr *)&bound, bound_n, false);
        if (ret_fds[i] < 0)
            break;
    }
    if (!ok || i < n) {
        int error = errno;
        close_all(ret_fds, i);
        errno = error;
        return false;
    }
    *ret_port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                                  : ((struct sockaddr_in *)&bound)->sin_port);
    return true;
}

/* --- both ------------------------------------------------------------------------------------- */

/* The path of "unix:/path", or NULL. */
static const char *path_of(const char *address)
{
    return strncmp(address, "unix:", 5) == 0 ? address + 5 : NULL;
}

bool listen_check_address(const char *address)
{
    uint64_t port;
    if (path_of(address) != NULL)
        return *path_of(address) != 0;
    const char *colon = strrchr(address, ':');
    return colon != NULL && str_parse_u64(str_of(colon + 1), &port) && port <= 65535;
}

bool listen_open(const char *address, unsigned n, int *ret_fds, struct listen_place *ret_place,
                 char *reason, size_t reason_size)
{
    char host[256];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    if (path_of(address) != NULL)
        return open_path(path_of(address), n, ret_fds, ret_place, reason, reason_size);
    const char *colon = strrchr(address, ':');
    size_t host_n = colon == NULL ? 0 : (size_t)(colon - address);
    if (colon == NULL || host_n >= sizeof host) {
        snprintf(reason, reason_size, "expected HOST:PORT or unix:/path");
        return false;
    }
    bool is_bracketed = host_n >= 2 && address[0] == '[' && address[host_n - 1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(is_bracketed ? host_n - 2 : host_n),
             is_bracketed ? address + 1 : address);
    int error = getaddrinfo(host[0] == 0 ? NULL : host, colon + 1, &hints, &found);
    if (error != 0) {
        snprintf(reason, reason_size, "%s", gai_strerror(error));
        return false;
    }
    struct listen_place place = {0};
    bool ok = open_port(found, n, ret_fds, &place.port);
    if (!ok)
        fail(reason, reason_size, errno);
    freeaddrinfo(found);
    if (ok)
        *ret_place = place;
    return ok;
}

/* The kernel shows a filter of a listener each segment from its TCP header on, and drops the
 * segment where the filter says 0: of those that would begin a connection, the SYN without ACK. The
 * sockets of accepted connections inherit it and get no such segment. */
void listen_refuse(int fd)
{
    enum { FLAGS_AT = 13, SYN = 0x02, ACK = 0x10 };
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, FLAGS_AT),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SYN | ACK),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYN, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    };
    struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};
    int domain;
    socklen_t domain_n = sizeof domain;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_n) == 0 && domain != AF_UNIX)
        (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

void listen_remove(const char *address, const struct listen_place *place)
{
    struct stat there;
    const char *path = path_of(address);
    if (path != NULL && lstat(path, &there) == 0 && there.st_dev == place->dev &&
        there.st_ino == place->ino)
        unlink(path);
}
