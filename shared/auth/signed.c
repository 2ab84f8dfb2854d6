/* SPDX-License-Identifier: MIT
 * signed.c - see signed.h.
 *
 * This runs for every request. OpenSSL 3's one-shot SHA256() looks the algorithm up and allocates
 * three times per call, which doubles the cost of such a short hash; an EVP context kept per thread
 * still allocates once, and would need an owner. SHA256_Init and its kin work on the stack, and let
 * both forms of the text share the work on their common beginning. They are marked deprecated,
 * without a date.
 *
 * Timing: the comparison is constant-time, and an unknown user is hashed with a stand-in secret of
 * a common length. What is left is that a longer secret may add a block to each hash (about half a
 * microsecond), so the duration can reveal something about a secret's length, never about its
 * bytes.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "shared/auth/signed.h"

#include <assert.h>
#include <errno.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

const struct config_group signed_options = {
    "Account",
    (const struct config_option[]){
        OPTION_TEXT("user", "NAME", NULL,
                    "The account that signs the requests, as named in the nodes' accounts file. "
                    "Unset: that of parley login."),
        OPTION_TEXT(
            "secret-file", "FILE", NULL,
            "A file that contains only the account's secret; surrounding white space is "
            "ignored. Use /dev/stdin to read it from a pipe. No flag takes the secret itself, "
            "because other users of the machine can read command lines. Unset: the secret "
            "of parley login."),
        {0}}};

enum { NONCE_CHARS = 16, NONCE_BYTES = 12, POOL_BYTES = 64 * NONCE_BYTES };

static const struct str stand_in = STR("0123456789abcdef");

static void hash_signed(SHA256_CTX *c, struct str user, struct str nonce, struct str secret)
{
    SHA256_Init(c);
    SHA256_Update(c, user.at, user.n);
    SHA256_Update(c, " ", 1);
    SHA256_Update(c, nonce.at, nonce.n);
    SHA256_Update(c, " ", 1);
    SHA256_Update(c, secret.at, secret.n);
}

static void hash_signed_sha1(SHA_CTX *c, struct str user, struct str nonce, struct str secret)
{
    SHA1_Init(c);
    SHA1_Update(c, user.at, user.n);
    SHA1_Update(c, " ", 1);
    SHA1_Update(c, nonce.at, nonce.n);
    SHA1_Update(c, " ", 1);
    SHA1_Update(c, secret.at, secret.n);
}

static bool is_same(const unsigned char *a, const unsigned char *b, size_t n)
{
    return str_eq_secret((struct str){(const char *)a, n}, (struct str){(const char *)b, n});
}

static bool verify_sha256(struct str user, struct str nonce, struct str secret,
                          const unsigned char *given)
{
    unsigned char hash[SHA256_DIGEST_LENGTH];
    SHA256_CTX plain, newline;
    hash_signed(&plain, user, nonce, secret);
    newline = plain;
    SHA256_Final(hash, &plain);
    if (is_same(hash, given, sizeof hash))
        return true;
    SHA256_Update(&newline, "\n", 1);
    SHA256_Final(hash, &newline);
    return is_same(hash, given, sizeof hash);
}

static bool verify_sha1(struct str user, struct str nonce, struct str secret,
                        const unsigned char *given)
{
    unsigned char hash[SHA_DIGEST_LENGTH];
    SHA_CTX plain, newline;
    hash_signed_sha1(&plain, user, nonce, secret);
    newline = plain;
    SHA1_Final(hash, &plain);
    if (is_same(hash, given, sizeof hash))
        return true;
    SHA1_Update(&newline, "\n", 1);
    SHA1_Final(hash, &newline);
    return is_same(hash, given, sizeof hash);
}

enum err signed_verify(const struct account *account, struct str user, struct str nonce,
                       struct str hash, bool is_sha1_allowed)
{
    unsigned char given[SHA256_DIGEST_LENGTH];
    bool is_sha1 = hash.n == 2 * SHA_DIGEST_LENGTH;
    assert(account == NULL || str_eq(account->name, user));
    if (user.n == 0 || user.n > ACCOUNT_NAME_MAX_BYTES || nonce.n == 0 ||
        nonce.n > SIGNED_NONCE_MAX_BYTES)
        return ERR_UNAUTHORIZED;
    if (is_sha1 ? !is_sha1_allowed : hash.n != 2 * SHA256_DIGEST_LENGTH)
        return ERR_UNAUTHORIZED;
    if (!str_unhex(hash, given))
        return ERR_UNAUTHORIZED;
    if (account != NULL && account->is_hashed) /* nobody here knows its secret */
        account = NULL;
    struct str secret = account == NULL ? stand_in : account->secret;
    bool is_right = is_sha1 ? verify_sha1(user, nonce, secret, given)
                            : verify_sha256(user, nonce, secret, given);
    return is_right && account != NULL ? ERR_OK : ERR_UNAUTHORIZED;
}

void signed_nonce_id(struct str user, struct str nonce, unsigned char out[SIGNED_NONCE_ID_BYTES])
{
    unsigned char hash[SHA256_DIGEST_LENGTH];
    SHA256_CTX c;
    SHA256_Init(&c);
    SHA256_Update(&c, user.at, user.n);
    SHA256_Update(&c, "", 1);
    SHA256_Update(&c, nonce.at, nonce.n);
    SHA256_Final(hash, &c);
    memcpy(out, hash, SIGNED_NONCE_ID_BYTES);
}

void signed_mark(const unsigned char nonce_id[SIGNED_NONCE_ID_BYTES], struct str body,
                 char hex[SIGNED_MARK_SIZE])
{
    unsigned char hash[SHA256_DIGEST_LENGTH];
    SHA256_CTX c;
    SHA256_Init(&c);
    SHA256_Update(&c, nonce_id, SIGNED_NONCE_ID_BYTES);
    SHA256_Update(&c, body.at, body.n);
    SHA256_Final(hash, &c);
    str_hex(hash, SIGNED_MARK_SIZE / 2, hex);
}

void signed_hash(struct str user, struct str nonce, struct str secret, char hex[SIGNED_HASH_SIZE])
{
    unsigned char hash[SHA256_DIGEST_LENGTH];
    SHA256_CTX c;
    hash_signed(&c, user, nonce, secret);
    SHA256_Final(hash, &c);
    str_hex(hash, sizeof hash, hex);
}

/* Random bytes by the system call cost more than the signature: taken 64 nonces at a time. */
static _Thread_local struct {
    unsigned char bytes[POOL_BYTES];
    size_t left;
} pool;

/* Two processes must not draw the same nonces: a child starts with an empty pool. Only the forking
 * thread lives on in it, and that is the one that runs this. */
static void on_fork_child(void)
{
    pool.left = 0;
}

static void watch_forks(void)
{
    if (pthread_atfork(NULL, NULL, on_fork_child) != 0)
        abort();
}

static void put_nonce(char out[NONCE_CHARS])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (pool.left == 0) {
        pthread_once(&once, watch_forks);
        size_t n = 0;
        while (n < POOL_BYTES) {
            ssize_t got = getrandom(pool.bytes + n, POOL_BYTES - n, 0);
            if (got > 0)
                n += (size_t)got;
            else if (errno != EINTR)
                abort();
        }
        pool.left = POOL_BYTES;
    }
    pool.left -= NONCE_BYTES;
    const unsigned char *p = pool.bytes + pool.left;
    for (size_t i = 0; i < NONCE_BYTES; i += 3) {
        uint32_t group = (uint32_t)p[i] << 16 | (uint32_t)p[i + 1] << 8 | p[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            *out++ = digits[group >> shift & 63];
    }
}

void signed_put_query(struct buf *b, struct str user, struct str secret)
{
    char nonce[NONCE_CHARS], hex[SIGNED_HASH_SIZE];
    put_nonce(nonce);
    signed_hash(user, (struct str){nonce, NONCE_CHARS}, secret, hex);
    buf_lit(b, "User=");
    buf_put_url_encoded(b, user);
    buf_lit(b, "&Nonce=");
    buf_put(b, (struct str){nonce, NONCE_CHARS}); /* its 64 characters need no encoding */
    buf_lit(b, "&Hash=");
    buf_put(b, (struct str){hex, SIGNED_HASH_SIZE - 1});
}
