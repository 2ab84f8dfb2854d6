/* SPDX-License-Identifier: MIT
 * account_key.c - see account_key.h. */
#include "shared/auth/account_key.h"

#include "shared/base/base64url.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

static const struct str prefix = STR("sk-");
/* Stands for an unknown account: nobody knows a key of a name with a NUL. */
static const struct account stand_in = {.name = {"\0", 1}, .secret = STR("none")};

/* The first line keeps this HMAC apart from whatever else is ever made with a secret. */
static void put_mac(struct buf *b, const struct account *account)
{
    struct buf text;
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned mac_n = 0;
    buf_init(&text, ACCOUNT_NAME_MAX_BYTES + 64);
    buf_lit(&text, "parley account key\n");
    buf_put(&text, account->name);
    buf_printf(&text, "\n%u", account->key_generation);
    if (HMAC(EVP_sha256(), account->secret.at, (int)account->secret.n, (unsigned char *)text.at,
             text.n, mac, &mac_n) == NULL)
        abort();
    buf_fini(&text);
    char *at = buf_reserve(b, ACCOUNT_KEY_MAC_CHARS);
    if (at != NULL)
        b->n += base64url_encode(mac, mac_n, at);
}

void account_key_put(struct buf *b, const struct account *account)
{
    buf_put(b, prefix);
    char *at = buf_reserve(b, (account->name.n * 4 + 2) / 3);
    if (at != NULL)
        b->n += base64url_encode((const unsigned char *)account->name.at, account->name.n, at);
    buf_put_char(b, '-');
    put_mac(b, account);
}

bool account_key_is(struct str text)
{
    return str_has_prefix(text, prefix) && memchr(text.at, ':', text.n) == NULL;
}

void account_key_name(struct str key, char name[ACCOUNT_NAME_MAX_BYTES], struct str *ret_name)
{
    const size_t around = prefix.n + 1 + ACCOUNT_KEY_MAC_CHARS;
    size_t n = 0;
    *ret_name = STR("");
    if (key.n <= around || key.n > ACCOUNT_KEY_MAX_BYTES || !account_key_is(key))
        return;
    if (base64url_decode((struct str){key.at + prefix.n, key.n - around}, (unsigned char *)name,
                         &n))
        *ret_name = (struct str){name, n};
}

static bool is_right(const struct account *account, struct str key)
{
    char room[ACCOUNT_KEY_MAX_BYTES];
    struct buf right = {.at = room, .cap = sizeof room, .max = sizeof room};
    account_key_put(&right, account);
    return !account->is_hashed && str_eq_secret(key, buf_str(&right));
}

const struct account *account_key_check(const struct account *account, struct str key)
{
    const struct account *now = account == NULL ? &stand_in : account;
    const struct account *former = now->former == NULL ? &stand_in : now->former;
    bool is_now = is_right(now, key), is_former = is_right(former, key);
    if (account == NULL)
        return NULL;
    return is_now ? account : is_former ? account->former : NULL;
}
