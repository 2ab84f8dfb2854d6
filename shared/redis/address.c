/* SPDX-License-Identifier: MIT
 * address.c - see address.h. */
#include "shared/redis/address.h"

#include "shared/redis/tls.h"

#include <stdio.h>

enum {
    PORT_USUAL = 6379,
    SENTINEL_PORT_USUAL = 26379,
    PORT_MAX = 65535,
    DB_MAX = 9999,
    HOST_BYTES = sizeof((struct redis_address *)NULL)->host
};

static struct str behind(struct str text, size_t n)
{
    return (struct str){text.at + n, text.n - n};
}

static bool read_db(struct str digits, struct redis_address *address)
{
    uint64_t number;
    if (!str_parse_u64(digits, &number) || number > DB_MAX)
        return false;
    address->db = (int)number;
    return true;
}

/* /path[?db=N] */
static bool read_path(struct str rest, struct redis_address *address)
{
    struct str path = str_cut(&rest, '?');
    if (path.n == 0 || path.n >= sizeof address->path)
        return false;
    memcpy(address->path, path.at, path.n);
    return rest.at == NULL ||
           (str_has_prefix(rest, STR("db=")) && read_db(behind(rest, 3), address));
}

/* [user:]password */
static bool read_login(struct str login, struct redis_address *address)
{
    struct str user = str_cut(&login, ':');
    if (login.at == NULL) {
        login = user;
        user.n = 0;
    }
    if (user.n >= sizeof address->user || login.n >= sizeof address->password)
        return false;
    memcpy(address->user, user.at, user.n);
    memcpy(address->password, login.at, login.n);
    return true;
}

bool redis_parse_endpoint(struct str text, int usual_port, char *host, int *ret_port)
{
    struct str port = {NULL, 0};
    uint64_t number = (uint64_t)usual_port;
    const char *end = text.n > 0 && text.at[0] == '[' ? memchr(text.at, ']', text.n) : NULL;
    if (end != NULL) {
        struct str rest = behind(text, (size_t)(end + 1 - text.at));
        text = (struct str){text.at + 1, (size_t)(end - text.at - 1)};
        if (rest.n > 0 && rest.at[0] != ':')
            return false;
        if (rest.n > 0)
            port = behind(rest, 1);
    } else {
        const char *colon = text.n == 0 ? NULL : memrchr(text.at, ':', text.n);
        if (colon != NULL) {
            port = behind(text, (size_t)(colon + 1 - text.at));
            text.n = (size_t)(colon - text.at);
        }
    }
    if (port.at != NULL && (!str_parse_u64(port, &number) || number == 0 || number > PORT_MAX))
        return false;
    if (text.n == 0 || text.n >= HOST_BYTES)
        return false;
    memcpy(host, text.at, text.n);
    host[text.n] = 0;
    *ret_port = (int)number;
    return true;
}

/* Takes the login off [[user:]password@]rest. */
static bool cut_login(struct str *rest, struct redis_address *address)
{
    /* A password may hold '@' and '/'. */
    const char *at_sign = rest->n == 0 ? NULL : memrchr(rest->at, '@', rest->n);
    if (at_sign == NULL)
        return true;
    size_t login_n = (size_t)(at_sign - rest->at);
    if (!read_login((struct str){rest->at, login_n}, address))
        return false;
    *rest = behind(*rest, login_n + 1);
    return true;
}

/* [[user:]password@]host[:port][/db] */
static bool read_authority(struct str rest, struct redis_address *address)
{
    if (!cut_login(&rest, address))
        return false;
    struct str host = str_cut(&rest, '/');
    return (rest.n == 0 || read_db(rest, address)) &&
           redis_parse_endpoint(host, PORT_USUAL, address->host, &address->port);
}

/* host[:port],host[:port] */
static bool read_seeds(struct str seeds, int usual_port, struct redis_address *address)
{
    char host[HOST_BYTES];
    int port;
    if (seeds.n == 0 || seeds.n >= sizeof address->seeds)
        return false;
    memcpy(address->seeds, seeds.at, seeds.n);
    while (seeds.at != NULL)
        if (!redis_parse_endpoint(str_cut(&seeds, ','), usual_port, host, &port))
            return false;
    return true;
}

/* [[user:]password@]host:port,host:port/name[/db] */
static bool read_sentinel(struct str rest, struct redis_address *address)
{
    address->kind = REDIS_SENTINEL;
    address->port = 0;
    if (!cut_login(&rest, address))
        return false;
    struct str seeds = str_cut(&rest, '/'), name = str_cut(&rest, '/');
    if (name.n == 0 || name.n >= sizeof address->master)
        return false;
    memcpy(address->master, name.at, name.n);
    return read_seeds(seeds, SENTINEL_PORT_USUAL, address) &&
           (rest.n == 0 || read_db(rest, address));
}

/* [[user:]password@]host:port,host:port: a Redis Cluster has one database. */
static bool read_cluster(struct str rest, struct redis_address *address)
{
    address->kind = REDIS_OF_CLUSTER;
    address->port = 0;
    if (!cut_login(&rest, address))
        return false;
    struct str seeds = str_cut(&rest, '/');
    return (rest.n == 0 || str_eq(rest, STR("0"))) && read_seeds(seeds, PORT_USUAL, address);
}

#define USUAL_FORMS                                                                                \
    "takes redis://[user:password@]host:port[/db], unix:/path[?db=N], "                            \
    "redis+sentinel://[user:password@]host:port,host:port/name[/db] or "                           \
    "redis+cluster://[user:password@]host:port,host:port"
#define SENTINEL_FORM                                                                              \
    "://[user:password@]host:port,host:port/name[/db], with the name of the master in Sentinel"
#define CLUSTER_FORM "://[user:password@]host:port,host:port; a Redis Cluster has only database 0"
#define NO_LIST                                                                                    \
    "is one Redis, not a list of servers: make them one Redis Cluster, and set "                   \
    "redis+cluster://host:port,host:port"

static const struct {
    const char *scheme;
    bool (*read)(struct str rest, struct redis_address *address);
    const char *form;
    bool is_tls;
} schemes[] = {
    {"redis://", read_authority, USUAL_FORMS, false},
    {"unix:", read_path, USUAL_FORMS, false},
    {"redis+sentinel://", read_sentinel, "takes redis+sentinel" SENTINEL_FORM, false},
    {"redis+cluster://", read_cluster, "takes redis+cluster" CLUSTER_FORM, false},
    {"rediss://", read_authority, "takes rediss://[user:password@]host:port[/db]", true},
    {"rediss+sentinel://", read_sentinel, "takes rediss+sentinel" SENTINEL_FORM, true},
    {"rediss+cluster://", read_cluster, "takes rediss+cluster" CLUSTER_FORM, true},
};
enum { SCHEME_N = sizeof schemes / sizeof schemes[0] };

/* Returns whether another URL follows a comma. */
static bool is_list(struct str text)
{
    while (str_cut(&text, ',').at != NULL)
        for (unsigned i = 0; i < SCHEME_N; i++)
            if (str_has_prefix(text, str_of(schemes[i].scheme)))
                return true;
    return false;
}

bool redis_parse_url(struct str url, struct redis_address *ret_address, char *reason,
                     size_t reason_size)
{
    struct redis_address address = {.port = PORT_USUAL};
    bool is_text = url.n > 0 && memchr(url.at, 0, url.n) == NULL;
    snprintf(reason, reason_size, "%s", is_list(url) ? NO_LIST : schemes[0].form);
    if (is_list(url))
        return false;
    for (unsigned i = 0; i < SCHEME_N; i++) {
        struct str scheme = str_of(schemes[i].scheme);
        if (!is_text || !str_has_prefix(url, scheme))
            continue;
        address.is_tls = schemes[i].is_tls;
        if (address.is_tls && !redis_tls_is_built_in()) {
            snprintf(reason, reason_size,
                     "%s is not supported, because Parley was built with a hiredis older than 1.0, "
                     "which has no TLS: use redis%s and a TLS tunnel (docs/operations/secure.md, "
                     "\"Redis "
                     "over TLS\")",
                     schemes[i].scheme, schemes[i].scheme + strlen("rediss"));
            return false;
        }
        snprintf(reason, reason_size, "%s", schemes[i].form);
        if (!schemes[i].read(behind(url, scheme.n), &address))
            return false;
        if (strchr(address.host, ',') != NULL) {
            snprintf(reason, reason_size, "%s", NO_LIST);
            return false;
        }
        *ret_address = address;
        return true;
    }
    return false;
}

const char *redis_name_of(const struct redis_address *address)
{
    return address->name[0] != 0 ? address->name : address->host;
}

/* CRC16 of XMODEM, as https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
 * has it. */
static unsigned crc16(struct str text)
{
    unsigned crc = 0;
    for (size_t i = 0; i < text.n; i++) {
        crc ^= (unsigned)(unsigned char)text.at[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 0x8000u) != 0 ? (crc << 1 ^ 0x1021u) & 0xffffu : crc << 1 & 0xffffu;
    }
    return crc;
}

unsigned redis_slot_of(struct str key)
{
    const char *open = key.n == 0 ? NULL : memchr(key.at, '{', key.n);
    if (open != NULL) {
        struct str tag = behind(key, (size_t)(open + 1 - key.at));
        const char *close = tag.n == 0 ? NULL : memchr(tag.at, '}', tag.n);
        if (close != NULL && close > tag.at)
            key = (struct str){tag.at, (size_t)(close - tag.at)};
    }
    return crc16(key) % REDIS_SLOT_N;
}

bool redis_set_password(struct redis_address *address, struct str password, char *reason,
                        size_t reason_size)
{
    if (address->password[0] != 0)
        snprintf(reason, reason_size,
                 "--redis also has a password: remove it from the URL (redis://user:@host keeps "
                 "the user)");
    else if (password.n >= sizeof address->password)
        snprintf(reason, reason_size, "the password has %llu %s: the maximum is %zu",
                 COUNTED(password.n, "byte"), sizeof address->password - 1);
    else {
        memcpy(address->password, password.at, password.n);
        address->password[password.n] = 0;
        return true;
    }
    return false;
}

size_t redis_auth_words(const struct redis_address *address, struct str words[3])
{
    size_t n = 0;
    if (address->password[0] == 0)
        return 0;
    words[n++] = STR("AUTH");
    if (address->user[0] != 0)
        words[n++] = str_of(address->user);
    words[n++] = str_of(address->password);
    return n;
}

void redis_put_place(const struct redis_address *a, char text[REDIS_PLACE_BYTES])
{
    if (a->path[0] != 0)
        snprintf(text, REDIS_PLACE_BYTES, "unix:%s?db=%d", a->path, a->db);
    else if (a->port == 0 && a->kind == REDIS_SENTINEL)
        snprintf(text, REDIS_PLACE_BYTES, "sentinel %s", a->master);
    else if (a->port == 0 && a->kind == REDIS_OF_CLUSTER)
        snprintf(text, REDIS_PLACE_BYTES, "cluster %.250s", a->seeds);
    else
        snprintf(text, REDIS_PLACE_BYTES, "%s:%d/%d", a->host, a->port, a->db);
}
