/* SPDX-License-Identifier: MIT
 *
 * secret: secrets of accounts as clients present them, in the clear, and as the accounts file may
 * store them: as a hash. A signed query (signed.h) needs the secret itself on the node, so an
 * account with a hashed secret cannot sign: it logs in with its secret (HTTP Basic) and then uses
 * tokens.
 *
 * The hash is one salted SHA-256, which is only safe because `parley account` generates what it
 * hashes: 192 random bits cannot be guessed, however fast a guess is (ADR 15). A slow hash
 * would let anybody keep a node's loop busy. Pure functions except the random ones, any thread.
 */
#ifndef PARLEY_AUTH_SECRET_H
#define PARLEY_AUTH_SECRET_H

#include "shared/auth/accounts.h"

enum {
    SECRET_SALT_BYTES = 16,
    SECRET_HASH_CHARS = 7 + 2 * SECRET_SALT_BYTES + 1 + 64, /* "sha256:", salt, ':', hash */
    SECRET_CHARS = 32                                       /* of a generated secret */
};

/* A new secret of 192 random bits: letters, digits, '-' and '_', with a NUL. Aborts when the system
 * has no random bytes. */
void secret_generate(char secret[SECRET_CHARS + 1]);
/* Puts the hash of a generated secret under a fresh salt. */
void secret_put_hash(struct buf *b, struct str secret);
/* Returns whether `text` has the form of such a hash. */
bool secret_is_hash(struct str text);

/* Finds which secret of `account` the client presented: returns the account, or its former one
 * (accounts.h), or NULL for a wrong one. `account` may be NULL (an unknown user), which takes the
 * same steps. Constant time except for the length of the secret. */
const struct account *secret_check(const struct account *account, struct str presented);

#endif
