/* SPDX-License-Identifier: MIT
 * peer.c - see peer.h. */
#include "shared/http/request/peer.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

/* An address as IPv6; IPv4 is mapped (RFC 4291, 2.5.5.2). */
struct address {
    unsigned char bytes[16];
    unsigned prefix_bits; /* of a block */
};

static bool parse_address(struct str text, struct address *ret_address)
{
    char zero_ended[INET6_ADDRSTRLEN];
    struct address a = {.prefix_bits = 128};
    struct str rest = text;
    struct str host = str_cut(&rest, '/');
    uint64_t bits = 0;
    if (host.n == 0 || host.n >= sizeof zero_ended)
        return false;
    memcpy(zero_ended, host.at, host.n);
    zero_ended[host.n] = 0;
    bool is_v4 = inet_pton(AF_INET, zero_ended, a.bytes + 12) == 1;
    if (is_v4)
        a.bytes[10] = a.bytes[11] = 0xff;
    else if (inet_pton(AF_INET6, zero_ended, a.bytes) != 1)
        return false;
    if (rest.at != NULL) {
        if (!str_parse_u64(rest, &bits) || bits > (is_v4 ? 32 : 128))
            return false;
        a.prefix_bits = (unsigned)bits + (is_v4 ? 96 : 0);
    }
    *ret_address = a;
    return true;
}

/* Some proxies write 192.0.2.1:8080 and [2001:db8::1]:8080. */
static struct str without_port(struct str text)
{
    const char *close = text.n > 0 && text.at[0] == '[' ? memchr(text.at, ']', text.n) : NULL;
    if (close != NULL)
        return (struct str){text.at + 1, (size_t)(close - text.at - 1)};
    const char *colon = text.n == 0 ? NULL : memchr(text.at, ':', text.n);
    if (colon != NULL && memrchr(text.at, ':', text.n) == colon)
        text.n = (size_t)(colon - text.at);
    return text;
}

static bool is_in_block(const struct address *a, const struct address *block)
{
    unsigned whole = block->prefix_bits / 8, rest = block->prefix_bits % 8;
    if (memcmp(a->bytes, block->bytes, whole) != 0)
        return false;
    return rest == 0 || ((a->bytes[whole] ^ block->bytes[whole]) >> (8 - rest)) == 0;
}

static bool is_trusted(const char *list, struct str text)
{
    struct address a, block;
    struct str rest = str_of(list);
    if (rest.n == 0 || !parse_address(text, &a))
        return false;
    while (rest.at != NULL)
        if (parse_address(str_trim(str_cut(&rest, ',')), &block) && is_in_block(&a, &block))
            return true;
    return false;
}

bool peer_check_list(const char *list, char *reason, size_t reason_size)
{
    struct address block;
    struct str rest = str_of(list == NULL ? "" : list);
    while (rest.n > 0) {
        struct str item = str_trim(str_cut(&rest, ','));
        if (!parse_address(item, &block)) {
            snprintf(reason, reason_size, "'%.*s' is not an address or CIDR block", STR_ARG(item));
            return false;
        }
    }
    return true;
}

/* All X-Forwarded-For headers as one list: a proxy may add its entry as a header of its own, after
 * one that the client made up (RFC 9110, 5.3). */
static struct str all_forwarded(struct request *r)
{
    static const char name[] = "x-forwarded-for";
    struct str all = {NULL, 0};
    ssize_t at = -1;
    while ((at = h2o_find_header_by_str(&r->exchange.h2o->headers, name, sizeof name - 1, at)) !=
           -1) {
        h2o_iovec_t value = r->exchange.h2o->headers.entries[at].value;
        if (all.n == 0) {
            all = (struct str){value.base, value.len};
            continue;
        }
        char *joined = request_alloc(r, all.n + 1 + value.len);
        memcpy(joined, all.at, all.n);
        joined[all.n] = ',';
        memcpy(joined + all.n + 1, value.base, value.len);
        all = (struct str){joined, all.n + 1 + value.len};
    }
    return all;
}

struct str peer_address(struct request *r)
{
    struct sockaddr_storage storage;
    char text[PEER_TEXT_MAX] = "unix";
    if (r->peer.at != NULL)
        return r->peer;
    h2o_conn_t *conn = r->exchange.h2o->conn;
    socklen_t n = conn->callbacks->get_peername(conn, (struct sockaddr *)&storage);
    if (n > 0 && storage.ss_family == AF_INET)
        inet_ntop(AF_INET, &((struct sockaddr_in *)&storage)->sin_addr, text, sizeof text);
    else if (n > 0 && storage.ss_family == AF_INET6)
        inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&storage)->sin6_addr, text, sizeof text);
    r->peer = request_copy(r, str_of(text));
    const char *proxies = r->server->config->trusted_proxies;
    struct str forwarded = all_forwarded(r);
    while (forwarded.n > 0 && is_trusted(proxies, r->peer)) {
        const char *comma = memrchr(forwarded.at, ',', forwarded.n);
        size_t start = comma == NULL ? 0 : (size_t)(comma + 1 - forwarded.at);
        struct str last = str_trim((struct str){forwarded.at + start, forwarded.n - start});
        struct address a;
        last = without_port(last);
        if (!parse_address(last, &a))
            break;
        r->peer = request_copy(r, last);
        forwarded.n = comma == NULL ? 0 : start - 1;
    }
    return r->peer;
}

void peer_put_network(struct buf *b, struct str address)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct address a;
    char text[INET6_ADDRSTRLEN];
    if (!parse_address(address, &a)) {
        buf_put(b, address);
    } else if (memcmp(a.bytes, mapped, sizeof mapped) == 0) {
        buf_printf(b, "%u.%u.%u.%u", a.bytes[12], a.bytes[13], a.bytes[14], a.bytes[15]);
    } else {
        memset(a.bytes + 8, 0, 8);
        if (inet_ntop(AF_INET6, a.bytes, text, sizeof text) == NULL)
            abort();
        buf_printf(b, "%s/64", text);
    }
}
