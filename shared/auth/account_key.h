/* SPDX-License-Identifier: MIT
 *
 * account_key: keys of accounts, for programs that send one fixed credential and cannot sign:
 *
 *   sk-<base64url of the account's name>-<base64url of an HMAC>
 *
 * The HMAC is made with the account's secret from its name and its key generation, so that nothing
 * is stored: raising the generation or changing the secret revokes the key, and the key does not
 * reveal the secret, which signs queries as well. An account with a hashed secret (secret.h) has no
 * key. Pure functions, any thread.
 */
#ifndef PARLEY_AUTH_ACCOUNT_KEY_H
#define PARLEY_AUTH_ACCOUNT_KEY_H

#include "shared/auth/accounts.h"

enum {
    ACCOUNT_KEY_MAC_CHARS = 43, /* base64url of the 32 bytes of an HMAC */
    ACCOUNT_KEY_MAX_BYTES = 3 + (ACCOUNT_NAME_MAX_BYTES * 4 + 2) / 3 + 1 + ACCOUNT_KEY_MAC_CHARS
};

/* Puts the key of `account`, which has a secret in the clear. */
void account_key_put(struct buf *b, const struct account *account);

/* Returns whether `text` is written like a key: no token, and no `<account>:<secret>`. */
bool account_key_is(struct str text);

/* Decodes the name that `key` claims into `name`, where *ret_name points; "" if it has none. */
void account_key_name(struct str key, char name[ACCOUNT_NAME_MAX_BYTES], struct str *ret_name);

/* Returns `account` if `key` is its key, its former one (accounts.h) if it is that one's, otherwise
 * NULL. `account` may be NULL (an unknown one), which takes the same steps. Constant time except
 * for the lengths of name and secret. */
const struct account *account_key_check(const struct account *account, struct str key) must_check;

#endif
