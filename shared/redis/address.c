/* SPDX-License-Identifier: MIT
 * address.c - see address.h. */
#include "shared/redis/address.h"

#include <stdio.h>

enum { PORT_USUAL = 6379, PORT_MAX = 65535, DB_MAX = 9999 };

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

/* host[:port] */
static bool read_host(struct str host, struct redis_address *address)
{
    const char *colon = host.n == 0 ? NULL : memrchr(host.at, ':', host.n);
    uint64_t number;
    if (colon != NULL) {
        struct str port = behind(host, (size_t)(colon + 1 - host.at));
        if (!str_parse_u64(port, &number) || number == 0 || number > PORT_MAX)
            return false;
        address->port = (int)number;
        host.n = (size_t)(colon - host.at);
    }
    if (host.n == 0 || host.n >= sizeof address->host)
        return false;
    memcpy(address->host, host.at, host.n);
    return true;
}

/* [[user:]password@]host[:port][/db] */
static bool read_authority(struct str rest, struct redis_address *address)
{
    /* A password may hold '@' and '/'. */
    const char *at_sign = rest.n == 0 ? NULL : memrchr(rest.at, '@', rest.n);
    if (at_sign != NULL) {
        size_t login_n = (size_t)(at_sign - rest.at);
        if (!read_login((struct str){rest.at, login_n}, address))
            return false;
        rest = behind(rest, login_n + 1);
    }
    struct str host = str_cut(&rest, '/');
    return (rest.n == 0 || read_db(rest, address)) && read_host(host, address);
}

bool redis_parse_url(struct str url, struct redis_address *ret_address, char *reason,
                     size_t reason_size)
{
    struct redis_address address = {.port = PORT_USUAL};
    bool is_good = false;
    snprintf(reason, reason_size,
             "expected redis://[user:password@]host:port[/db] or unix:/path[?db=N]");
    if (str_has_prefix(url, STR("unix:")))
        is_good = read_path(behind(url, 5), &address);
    else if (str_has_prefix(url, STR("redis://")))
        is_good = read_authority(behind(url, 8), &address);
    else if (str_has_prefix(url, STR("rediss://")))
        snprintf(reason, reason_size,
                 "rediss:// is not supported, because hiredis has no TLS here: use redis:// and a "
                 "TLS tunnel "
                 "(docs/operations.md, \"Redis over TLS\")");
    if (is_good)
        *ret_address = address;
    return is_good;
}

bool redis_set_password(struct redis_address *address, struct str password, char *reason,
                        size_t reason_size)
{
    if (address->password[0] != 0)
        snprintf(reason, reason_size,
                 "--redis also has a password: remove it from the URL (redis://user:@host keeps "
                 "the user)");
    else if (password.n >= sizeof address->password)
        snprintf(reason, reason_size, "the password has %zu bytes: the maximum is %zu", password.n,
                 sizeof address->password - 1);
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
    else
        snprintf(text, REDIS_PLACE_BYTES, "%s:%d/%d", a->host, a->port, a->db);
}
