/* SPDX-License-Identifier: MIT
 *
 * address: the address of a Redis server and our login. Plain data and pure functions, any thread.
 */
#ifndef PARLEY_REDIS_ADDRESS_H
#define PARLEY_REDIS_ADDRESS_H

#include "shared/base/str.h"

/* Texts end with a NUL. `path` is a Unix socket's, or empty: then host and port say where. */
struct redis_address {
    char host[256], path[108], user[128], password[512];
    int port, db;
};

/* Reads redis://[[user:]password@]host:port[/db] (or user:@, whose password comes from a file) or
 * unix:/path[?db=N]. Returns false with a human-readable reason if `url` is invalid, and leaves
 * `*ret_address` untouched. The reason never quotes `url`, which may contain a password. */
bool redis_parse_url(struct str url, struct redis_address *ret_address, char *reason,
                     size_t reason_size) must_check;

/* Sets the password read from a file. Returns false with a human-readable reason if the URL already
 * has a password or this one is too long. */
bool redis_set_password(struct redis_address *address, struct str password, char *reason,
                        size_t reason_size) must_check;

/* Writes the location, for operators: "10.0.0.5:6379/0" or "unix:/path?db=0", without the user and
 * the password. */
enum { REDIS_PLACE_BYTES = 280 };
void redis_put_place(const struct redis_address *address, char text[REDIS_PLACE_BYTES]);

/* The AUTH command for that address: writes its words, which borrow from `address`, and returns
 * their number; 0 without a password. */
size_t redis_auth_words(const struct redis_address *address, struct str words[3]);

#endif
