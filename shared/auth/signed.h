/* SPDX-License-Identifier: MIT
 *
 * signed: requests authenticated by `User`, `Nonce` and `Hash` (securitySchemes in
 * /openapi.yaml). Hash is hex of SHA-256 or SHA-1 of "<User> <Nonce> <secret>". This module
 * verifies and creates signatures; Redis records used nonces under signed_nonce_id. Pure functions
 * except for the random nonce, any thread; only a growing `buf` allocates.
 */
#ifndef PARLEY_AUTH_SIGNED_H
#define PARLEY_AUTH_SIGNED_H

#include "shared/auth/accounts.h"
#include "shared/base/buf.h"
#include "shared/base/config.h"
#include "shared/base/err.h"

enum {
    SIGNED_NONCE_MAX_BYTES = 128,
    SIGNED_NONCE_ID_BYTES = 16,
    SIGNED_MARK_SIZE = 13, /* 12 hex digits and a NUL */
    SIGNED_HASH_SIZE = 65  /* 64 hex digits and a NUL */
};

/* --user and --secret-file, for commands that sign requests; list login_file_options as well. */
extern const struct config_group signed_options;

/* Returns ERR_OK if `hash` is the signature of `account` for `user` and `nonce`: 64 hex digits of
 * SHA-256, or 40 of SHA-1 if `is_sha1_allowed`, upper or lower case, of the text with or without
 * one trailing newline. Otherwise ERR_UNAUTHORIZED: a wrong length, an empty or overlong nonce, a
 * wrong hash, or `account == NULL` (an unknown user) or one with a hashed secret, which take the
 * same steps as a wrong secret. A former secret is not tried: call it again for account->former.
 * If `account` is given, `user` is its name. */
enum err signed_verify(const struct account *account, struct str user, struct str nonce,
                       struct str hash, bool is_sha1_allowed) must_check;

/* The id under which a used nonce is stored: the first 16 bytes of SHA-256 over user, NUL,
 * nonce. */
void signed_nonce_id(struct str user, struct str nonce, unsigned char out[SIGNED_NONCE_ID_BYTES]);
/* The mark that identifies a resent request: the first 6 bytes of SHA-256 over the id of its nonce
 * and its body, as hex. */
void signed_mark(const unsigned char nonce_id[SIGNED_NONCE_ID_BYTES], struct str body,
                 char hex[SIGNED_MARK_SIZE]);

/* The Hash to send: SHA-256 without the newline, lower-case hex and a NUL. */
void signed_hash(struct str user, struct str nonce, struct str secret, char hex[SIGNED_HASH_SIZE]);

/* Puts `User=..&Nonce=..&Hash=..`, URL-encoded, under a fresh nonce of 16 characters (96 random
 * bits). Aborts when the system has no random bytes. */
void signed_put_query(struct buf *b, struct str user, struct str secret);

#endif
