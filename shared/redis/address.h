/* SPDX-License-Identifier: MIT
 *
 * address: where Redis is and who we are there. Plain data and pure functions, any thread.
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
 * unix:/path[?db=N]. False, with a reason for people, when `url` is of another form; `*ret_address`
 * is untouched then. The reason never holds a part of `url`, which may hold a password. */
bool redis_parse_url(struct str url, struct redis_address *ret_address, char *reason,
                     size_t reason_size) must_check;

/* Sets the password that a file held: the URL has the user, if there is one, and no password.
 * False, with a reason for people, when it has one or this one is too long. */
bool redis_set_password(struct redis_address *address, struct str password, char *reason,
                        size_t reason_size) must_check;

/* Writes where it is, for operators: "10.0.0.5:6379/0" or "unix:/path?db=0", without the user and
 * the password. */
enum { REDIS_PLACE_BYTES = 280 };
void redis_put_place(const struct redis_address *address, char text[REDIS_PLACE_BYTES]);

/* The AUTH command for that address: writes its words, which borrow from `address`, and returns how
 * many there are; 0 where there is no password. */
size_t redis_auth_words(const struct redis_address *address, struct str words[3]);

#endif
