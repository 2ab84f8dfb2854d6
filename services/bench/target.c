/* SPDX-License-Identifier: MIT
 * target.c - see target.h. */
#include "services/bench/target.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

enum { HTTP_PORT = 80, PORT_MAX = 65535 };

/* Splits `host[:port]` or `[v6][:port]`; the name goes to `host` without brackets. */
static bool split_authority(struct str authority, char host[BENCH_HOST_MAX], uint64_t *ret_port)
{
    struct str rest = authority, name;
    if (str_has_prefix(rest, STR("["))) {
        rest = (struct str){rest.at + 1, rest.n - 1};
        name = str_cut(&rest, ']');
        if (rest.at == NULL || (rest.n > 0 && rest.at[0] != ':'))
            return false;
        rest = rest.n > 0 ? (struct str){rest.at + 1, rest.n - 1} : (struct str){NULL, 0};
    } else {
        name = str_cut(&rest, ':');
    }
    *ret_port = HTTP_PORT;
    if (name.n == 0 || name.n >= BENCH_HOST_MAX || memchr(name.at, 0, name.n) != NULL ||
        (rest.at != NULL &&
         (!str_parse_u64(rest, ret_port) || *ret_port == 0 || *ret_port > PORT_MAX)))
        return false;
    memcpy(host, name.at, name.n);
    host[name.n] = 0;
    return true;
}

/* Only an address of this machine can be bound to. */
static bool is_bindable(const struct bench_target *target)
{
    struct sockaddr_storage address = target->address;
    if (address.ss_family == AF_INET)
        ((struct sockaddr_in *)&address)->sin_port = 0;
    else
        ((struct sockaddr_in6 *)&address)->sin6_port = 0;
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_ok = fd >= 0 && bind(fd, (struct sockaddr *)&address, target->address_n) == 0;
    if (fd >= 0)
        close(fd);
    return is_ok;
}

static bool resolve(struct bench_target *target, const char *host, uint64_t port, char *reason,
                    size_t reason_size)
{
    char service[8];
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found;
    snprintf(service, sizeof service, "%u", (unsigned)port);
    int failure = getaddrinfo(host, service, &hints, &found);
    if (failure != 0) {
        snprintf(reason, reason_size, "cannot resolve %s: %s", host, gai_strerror(failure));
        return false;
    }
    memcpy(&target->address, found->ai_addr, found->ai_addrlen);
    target->address_n = found->ai_addrlen;
    freeaddrinfo(found);
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&target->address;
    target->is_loopback =
        v4->sin_family == AF_INET && ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    target->is_local = is_bindable(target);
    return true;
}

bool bench_target_parse(struct str url, struct bench_target *ret_target, char *reason,
                        size_t reason_size)
{
    static const struct str scheme = STR("http://");
    struct bench_target target = {0};
    char host[BENCH_HOST_MAX];
    uint64_t port;
    if (!str_has_prefix(url, scheme)) {
        snprintf(reason, reason_size, "a node URL must start with http://, not %.*s", STR_ARG(url));
        return false;
    }
    struct str rest = {url.at + scheme.n, url.n - scheme.n};
    const char *slash = memchr(rest.at, '/', rest.n);
    size_t n = slash == NULL ? rest.n : (size_t)(slash - rest.at);
    struct str authority = {rest.at, n}, prefix = {rest.at + n, rest.n - n};
    while (prefix.n > 0 && prefix.at[prefix.n - 1] == '/')
        prefix.n--;
    bool is_plain = memchr(url.at, '?', url.n) == NULL && memchr(url.at, '#', url.n) == NULL;
    for (size_t i = 0; i < url.n; i++)
        is_plain = is_plain && (unsigned char)url.at[i] > ' ';
    if (!is_plain || !split_authority(authority, host, &port) || prefix.n >= BENCH_PREFIX_MAX ||
        authority.n >= BENCH_HOST_MAX) {
        snprintf(reason, reason_size, "not a node URL (http://host:port): %.*s", STR_ARG(url));
        return false;
    }
    memcpy(target.host, authority.at, authority.n);
    memcpy(target.prefix, prefix.at, prefix.n);
    if (!resolve(&target, host, port, reason, reason_size))
        return false;
    *ret_target = target;
    return true;
}
