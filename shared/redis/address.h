/* SPDX-License-Identifier: MIT
 *
 * address: the address of a Redis server and our login. Plain data and pure functions, any thread.
 *
 * An address names a server (REDIS_SERVER), or something that knows the server: the Sentinels of a
 * master, or the members of a Redis Cluster, one of which has the slot. topology.h then says where
 * it is at the moment.
 */
#ifndef PARLEY_REDIS_ADDRESS_H
#define PARLEY_REDIS_ADDRESS_H

#include "shared/base/str.h"

enum redis_kind { REDIS_SERVER, REDIS_SENTINEL, REDIS_OF_CLUSTER };

enum { REDIS_SEEDS_BYTES = 1024, REDIS_MASTER_BYTES = 128, REDIS_SLOT_N = 16384 };

struct topology;

/* Texts end with a NUL. `path` is a Unix socket's, or empty: then host and port say where. */
struct redis_address {
    char host[256], path[108], user[128], password[512];
    int port, db;
    bool is_tls;    /* also to the Sentinels or members */
    char name[256]; /* what a certificate must have instead of `host`, if that was looked up */
    /* --- of the other two kinds, whose host, port and path are empty until topology_locate --- */
    enum redis_kind kind;
    char seeds[REDIS_SEEDS_BYTES];   /* host:port,host:port: of Sentinels, or of members */
    char master[REDIS_MASTER_BYTES]; /* its name in Sentinel */
    unsigned slot;                   /* of a Redis Cluster: where our keys are */
    struct topology *topology;       /* set by topology_open; NULL for REDIS_SERVER */
};

/* Reads redis://[[user:]password@]host:port[/db] (or user:@, whose password comes from a file),
 * unix:/path[?db=N], redis+sentinel://[[user:]password@]host:port,host:port/name[/db] or
 * redis+cluster://[[user:]password@]host:port,host:port; with rediss for redis over TLS, if
 * redis_tls_is_built_in. The login is always that of Redis. Returns false with a human-readable
 * reason if `url` is invalid, or a list of servers, and leaves `*ret_address` untouched. The reason
 * never quotes `url`, which may contain a password. */
bool redis_parse_url(struct str url, struct redis_address *ret_address, char *reason,
                     size_t reason_size) must_check;

/* host[:port]; [host]:port for an IPv6 address, or the same without brackets. Returns false if it
 * is malformed. `host` takes 256 bytes. */
bool redis_parse_endpoint(struct str text, int usual_port, char *host, int *ret_port) must_check;

/* Returns the name that the certificate of the server at `address` must have. */
const char *redis_name_of(const struct redis_address *address);

/* The slot of a key in a Redis Cluster, by its hash tag. */
unsigned redis_slot_of(struct str key);

/* Sets the password read from a file. Returns false with a human-readable reason if the URL already
 * has a password or this one is too long. */
bool redis_set_password(struct redis_address *address, struct str password, char *reason,
                        size_t reason_size) must_check;

/* Writes the location, for operators: "10.0.0.5:6379/0", "unix:/path?db=0", "sentinel NAME" or
 * "cluster h:p,h:p", without the user and the password. */
enum { REDIS_PLACE_BYTES = 280 };
void redis_put_place(const struct redis_address *address, char text[REDIS_PLACE_BYTES]);

/* The AUTH command for that address: writes its words, which borrow from `address`, and returns
 * their number; 0 without a password. */
size_t redis_auth_words(const struct redis_address *address, struct str words[3]);

#endif
