/* SPDX-License-Identifier: MIT
 * secret.c - see secret.h. */
#define OPENSSL_SUPPRESS_DEPRECATED /* as in signed.c */
#include "shared/auth/secret.h"

#include "shared/base/base64url.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

static const struct str form = STR("sha256:");
/* The secret with which an unknown account is compared: nobody can present it, because of its NUL.
 */
static const struct account stand_in = {.secret = {"an account that does not exist\0", 31}};

void secret_generate(char secret[SECRET_CHARS + 1])
{
    enum { BYTES = SECRET_CHARS / 4 * 3 };
    unsigned char bytes[BYTES];
    char hex[2 * BYTES + 1];
    str_random_hex(BYTES, hex);
    if (!str_unhex(str_of(hex), bytes))
        abort();
    secret[base64url_encode(bytes, BYTES, secret)] = 0;
    OPENSSL_cleanse(bytes, sizeof bytes);
    OPENSSL_cleanse(hex, sizeof hex);
}

/* `salt` as hex digits. */
static void put_hash(struct buf *b, struct str salt, struct str secret)
{
    unsigned char hash[SHA256_DIGEST_LENGTH];
    char hex[2 * SHA256_DIGEST_LENGTH + 1];
    SHA256_CTX c;
    SHA256_Init(&c);
    SHA256_Update(&c, salt.at, salt.n);
    SHA256_Update(&c, secret.at, secret.n);
    SHA256_Final(hash, &c);
    str_hex(hash, sizeof hash, hex);
    buf_put(b, form);
    buf_put(b, salt);
    buf_put_char(b, ':');
    buf_put(b, str_of(hex));
}

void secret_put_hash(struct buf *b, struct str secret)
{
    char salt[2 * SECRET_SALT_BYTES + 1];
    str_random_hex(SECRET_SALT_BYTES, salt);
    put_hash(b, str_of(salt), secret);
}

static bool is_lower_hex(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!(s.at[i] >= '0' && s.at[i] <= '9') && !(s.at[i] >= 'a' && s.at[i] <= 'f'))
            return false;
    return true;
}

bool secret_is_hash(struct str text)
{
    if (text.n != SECRET_HASH_CHARS || !str_has_prefix(text, form))
        return false;
    struct str hash = {text.at + form.n, text.n - form.n};
    struct str salt = str_cut(&hash, ':');
    return salt.n == 2 * SECRET_SALT_BYTES && is_lower_hex(salt) && is_lower_hex(hash);
}

static bool is_right(const struct account *account, struct str presented)
{
    if (!account->is_hashed)
        return str_eq_secret(presented, account->secret);
    char room[SECRET_HASH_CHARS];
    struct buf again = {.at = room, .cap = sizeof room, .max = sizeof room};
    put_hash(&again, (struct str){account->secret.at + form.n, 2 * SECRET_SALT_BYTES}, presented);
    assert(!again.is_over);
    return str_eq_secret(buf_str(&again), account->secret);
}

const struct account *secret_check(const struct account *account, struct str presented)
{
    const struct account *now = account == NULL ? &stand_in : account;
    const struct account *former = now->former == NULL ? &stand_in : now->former;
    bool is_now = is_right(now, presented), is_former = is_right(former, presented);
    if (account == NULL || presented.n == 0)
        return NULL;
    return is_now ? account : is_former ? account->former : NULL;
}
