/* SPDX-License-Identifier: MIT
 *
 * token_cache: tokens that were verified before. A client sends the same token with each request,
 * and verifying it takes two HMACs and a JSON parser, more than any other step of a short request.
 * A token is found only by its full text, compared in constant time, and only while nothing has
 * changed on which its verification depended: the key, the generation of accounts and the time. One
 * per server, on its loop's thread. It may be lost at any time.
 */
#ifndef PARLEY_AUTH_TOKEN_CACHE_H
#define PARLEY_AUTH_TOKEN_CACHE_H

#include "shared/auth/token.h"

/* Tokens that a cache holds at most; a newer one takes the place of an older one. */
enum { TOKEN_CACHE_N = 1024 };

struct token_cache;

struct token_cache *token_cache_create(void) must_check;
/* Accepts NULL. */
void token_cache_destroy(struct token_cache *cache);

/* token_verify, with the same results. `accounts` must live as long as the cache. */
enum err token_cache_verify(struct token_cache *cache, const struct token_key *key,
                            const struct accounts *accounts, struct str token, uint64_t now_s,
                            const struct account **ret_account, uint64_t *ret_expires_s) must_check;

#endif
