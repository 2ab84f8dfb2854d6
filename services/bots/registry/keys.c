/* SPDX-License-Identifier: MIT
 * keys.c - see keys.h.
 *
 * A caller key is "pck_", then name, id and generation in base64url, a full stop and the MAC of
 * those characters. The MAC covers the base64url form and is compared in that form, in constant
 * time, before anything is decoded: one spelling passes, and no code below it sees bytes that this
 * cluster did not write.
 *
 * Texts that are hashed under the derived key begin with what they are for and a NUL, so none of
 * them is ever taken for another. */
#include "services/bots/registry/keys.h"

#include "shared/base/base64url.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>

enum { MAC_BYTES = 32, MAC_CHARS = 43 };
enum {
    ENCODED_MAX_BYTES = CALLER_KEY_MAX_BYTES - 4 - 1 - MAC_CHARS,
    PLAIN_MAX_BYTES = BOT_NAME_MAX_BYTES + BOT_ID_CHARS + STR_U64_MAX + 2
};
_Static_assert(ENCODED_MAX_BYTES >= (PLAIN_MAX_BYTES * 4 + 2) / 3, "a caller key has room");

static const char bots_purpose[] = "key of bots";
static const char caller_purpose[] = "caller key";
static const char signing_purpose[] = "signing secret";
static const struct str prefix = {"pck_", 4};

static void hash(const unsigned char *key, struct str text, unsigned char mac[EVP_MAX_MD_SIZE])
{
    unsigned n = 0;
    /* Fails when OpenSSL cannot allocate, or was set up without SHA-256. */
    if (HMAC(EVP_sha256(), key, TOKEN_KEY_BYTES, (const unsigned char *)text.at, text.n, mac, &n) ==
        NULL)
        abort();
    assert(n == MAC_BYTES);
}

void bot_keys_derive(const struct token_key *key, struct bot_keys *ret_keys)
{
    unsigned char mac[EVP_MAX_MD_SIZE];
    hash(key->bytes, (struct str){bots_purpose, sizeof bots_purpose}, mac);
    memcpy(ret_keys->bytes, mac, sizeof ret_keys->bytes);
    OPENSSL_cleanse(mac, sizeof mac);
}

/* A name has no white space, so the parts stay apart. */
static void put_version(struct buf *b, const struct bot_version *bot)
{
    assert(bot->name.n >= 1 && bot->name.n <= BOT_NAME_MAX_BYTES && bot->id.n == BOT_ID_CHARS);
    buf_put(b, bot->name);
    buf_put_char(b, ' ');
    buf_put(b, bot->id);
    buf_put_char(b, ' ');
    buf_put_u64(b, bot->generation);
}

/* --- caller keys ------------------------------------------------------------------------------ */

static void sign(const struct bot_keys *keys, struct str encoded, char chars[MAC_CHARS])
{
    char text[sizeof caller_purpose + ENCODED_MAX_BYTES];
    unsigned char mac[EVP_MAX_MD_SIZE];
    assert(encoded.n <= ENCODED_MAX_BYTES);
    memcpy(text, caller_purpose, sizeof caller_purpose);
    memcpy(text + sizeof caller_purpose, encoded.at, encoded.n);
    hash(keys->bytes, (struct str){text, sizeof caller_purpose + encoded.n}, mac);
    base64url_encode(mac, MAC_BYTES, chars);
}

void caller_key_put(struct buf *b, const struct bot_keys *keys, const struct bot_version *bot)
{
    char bytes[PLAIN_MAX_BYTES], encoded[ENCODED_MAX_BYTES], mac[MAC_CHARS];
    struct buf text = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    put_version(&text, bot);
    assert(!text.is_over);
    size_t n = base64url_encode((const unsigned char *)text.at, text.n, encoded);
    sign(keys, (struct str){encoded, n}, mac);
    buf_put(b, prefix);
    buf_put(b, (struct str){encoded, n});
    buf_put_char(b, '.');
    buf_put(b, (struct str){mac, sizeof mac});
    OPENSSL_cleanse(mac, sizeof mac);
}

/* Finds the signed part of a key whose MAC is right. */
static bool check_mac(const struct bot_keys *keys, struct str text, struct str *ret_encoded)
{
    char mac[MAC_CHARS];
    if (text.n > CALLER_KEY_MAX_BYTES || text.n < prefix.n + 1 + 1 + MAC_CHARS ||
        !str_has_prefix(text, prefix))
        return false;
    struct str encoded = {text.at + prefix.n, text.n - prefix.n - 1 - MAC_CHARS};
    if (encoded.at[encoded.n] != '.' || encoded.n > ENCODED_MAX_BYTES)
        return false;
    sign(keys, encoded, mac);
    bool is_right = str_eq_secret((struct str){mac, MAC_CHARS},
                                  (struct str){encoded.at + encoded.n + 1, MAC_CHARS});
    OPENSSL_cleanse(mac, sizeof mac);
    if (is_right)
        *ret_encoded = encoded;
    return is_right;
}

bool caller_key_read(const struct bot_keys *keys, struct str text, struct caller_key *ret_key)
{
    unsigned char plain[ENCODED_MAX_BYTES];
    struct caller_key key = {.name_n = 0};
    struct str encoded;
    size_t n;
    if (!check_mac(keys, text, &encoded) || !base64url_decode(encoded, plain, &n))
        return false;
    struct str rest = {(const char *)plain, n};
    struct str name = str_cut(&rest, ' ');
    struct str id = str_cut(&rest, ' ');
    if (name.n < 1 || name.n > BOT_NAME_MAX_BYTES || id.n != BOT_ID_CHARS || rest.at == NULL ||
        !str_parse_u64(rest, &key.generation))
        return false;
    memcpy(key.name, name.at, name.n);
    key.name_n = name.n;
    memcpy(key.id, id.at, id.n);
    *ret_key = key;
    return true;
}

/* --- signing secrets -------------------------------------------------------------------------- */

void signing_key_derive(const struct bot_keys *keys, const struct bot_version *bot,
                        struct webhook_key *ret_key)
{
    char bytes[sizeof signing_purpose + PLAIN_MAX_BYTES];
    unsigned char mac[EVP_MAX_MD_SIZE];
    struct buf text = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    buf_put(&text, (struct str){signing_purpose, sizeof signing_purpose});
    put_version(&text, bot);
    assert(!text.is_over);
    hash(keys->bytes, buf_str(&text), mac);
    memcpy(ret_key->bytes, mac, MAC_BYTES);
    ret_key->n = MAC_BYTES;
    OPENSSL_cleanse(mac, sizeof mac);
}

void signing_secret_put(struct buf *b, const struct bot_keys *keys, const struct bot_version *bot)
{
    struct webhook_key key;
    char encoded[SIGNING_SECRET_BYTES - 6 + 1];
    signing_key_derive(keys, bot, &key);
    int n = EVP_EncodeBlock((unsigned char *)encoded, key.bytes, (int)key.n);
    assert(n == SIGNING_SECRET_BYTES - 6);
    buf_lit(b, "whsec_");
    buf_put(b, (struct str){encoded, (size_t)n});
    OPENSSL_cleanse(&key, sizeof key);
    OPENSSL_cleanse(encoded, sizeof encoded);
}
