/* SPDX-License-Identifier: MIT
 * listen.c - see listen.h. */
#include "shared/http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 4096 };

static int listen_unix(const char *path, char *reason, size_t reason_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        snprintf(reason, reason_size, "the path is too long");
        return -1;
    }
    strcpy(address.sun_path, path);
    unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, BACKLOG) != 0) {
        snprintf(reason, reason_size, "%s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

bool server_check_address(const char *address)
{
    uint64_t port;
    if (strncmp(address, "unix:", 5) == 0)
        return address[5] != 0;
    const char *colon = strrchr(address, ':');
    return colon != NULL && str_parse_u64(str_of(colon + 1), &port) && port <= 65535;
}

int server_listen(const char *address, bool is_shared, int *ret_port, char *reason,
                  size_t reason_size)
{
    char host[256];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    *ret_port = 0;
    if (strncmp(address, "unix:", 5) == 0)
        return listen_unix(address + 5, reason, reason_size);
    const char *colon = strrchr(address, ':');
    size_t host_n = colon == NULL ? 0 : (size_t)(colon - address);
    if (colon == NULL || host_n >= sizeof host) {
        snprintf(reason, reason_size, "expected HOST:PORT or unix:/path");
        return -1;
    }
    bool is_bracketed = host_n >= 2 && address[0] == '[' && address[host_n - 1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(is_bracketed ? host_n - 2 : host_n),
             is_bracketed ? address + 1 : address);
    int error = getaddrinfo(host[0] == 0 ? NULL : host, colon + 1, &hints, &found);
    if (error != 0) {
        snprintf(reason, reason_size, "%s", gai_strerror(error));
        return -1;
    }
    int one = 1, fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
              (!is_shared || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) == 0) &&
              bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0;
    freeaddrinfo(found);
    struct sockaddr_storage bound;
    socklen_t bound_n = sizeof bound;
    if (!ok || getsockname(fd, (struct sockaddr *)&bound, &bound_n) != 0) {
        snprintf(reason, reason_size, "%s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *ret_port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                                  : ((struct sockaddr_in *)&bound)->sin_port);
    return fd;
}
