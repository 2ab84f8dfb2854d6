/* SPDX-License-Identifier: MIT
 * token_cache.c - see token_cache.h. A token's place follows from the end of its MAC, so clients
 * cannot choose it. */
#include "shared/auth/token_cache.h"

#include "shared/base/hash.h"
#include "shared/base/mem.h"

#include <openssl/crypto.h>
#include <string.h>

enum { END_CHARS = 8 };

/* `text.at` == NULL: none. */
struct verified {
    struct str text;
    const struct account *account;
    uint64_t expires_s;
};

struct token_cache {
    /* Under these everything in here was verified. */
    struct token_key key;
    const struct accounts *accounts;
    struct verified tokens[TOKEN_CACHE_N];
};

static void forget(struct verified *token)
{
    if (token->text.at != NULL)
        OPENSSL_cleanse((char *)token->text.at, token->text.n);
    free((char *)token->text.at);
    *token = (struct verified){.text = {NULL, 0}};
}

static void forget_all(struct token_cache *cache)
{
    for (size_t i = 0; i < TOKEN_CACHE_N; i++)
        forget(&cache->tokens[i]);
}

struct token_cache *token_cache_create(void)
{
    struct token_cache *cache = mem_zeroed(sizeof *cache);
    return cache;
}

void token_cache_destroy(struct token_cache *cache)
{
    if (cache == NULL)
        return;
    forget_all(cache);
    free(cache);
}

static struct verified *place_of(struct token_cache *cache, struct str token)
{
    size_t n = token.n < END_CHARS ? token.n : END_CHARS;
    uint32_t hash = hash_fnv32((struct str){token.at + token.n - n, n}, 0);
    return &cache->tokens[hash % TOKEN_CACHE_N];
}

static void remember(struct verified *place, struct str token, const struct account *account,
                     uint64_t expires_s)
{
    forget(place);
    char *text = mem_alloc(token.n);
    memcpy(text, token.at, token.n);
    place->text.at = text;
    place->text.n = token.n;
    place->account = account;
    place->expires_s = expires_s;
}

enum err token_cache_verify(struct token_cache *cache, const struct token_key *key,
                            const struct accounts *accounts, struct str token, uint64_t now_s,
                            const struct account **ret_account, uint64_t *ret_expires_s)
{
    if (cache->accounts != accounts || memcmp(&cache->key, key, sizeof *key) != 0) {
        forget_all(cache);
        cache->key = *key;
        cache->accounts = accounts;
    }
    struct verified *place = place_of(cache, token);
    if (place->text.at != NULL && str_eq_secret(place->text, token) &&
        now_s < place->expires_s + TOKEN_SKEW_S) {
        *ret_account = place->account;
        *ret_expires_s = place->expires_s;
        return ERR_OK;
    }
    enum err error = token_verify(key, accounts, token, now_s, ret_account, ret_expires_s);
    if (error == ERR_OK)
        remember(place, token, *ret_account, *ret_expires_s);
    return error;
}
