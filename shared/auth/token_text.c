/* SPDX-License-Identifier: MIT
 * token_text.c - see token_text.h.
 *
 * The header is compared, never parsed, so `alg` is HS256 or the text is not ours: there is no code
 * here that a text could talk into another algorithm. The MAC comes next, over the text as it is,
 * and is compared in its base64url form: one spelling passes. JSON is parsed only after that, when
 * it is known to be our own writing; its checks stay, since another program might hold the same
 * key. */
#include "shared/auth/token_text.h"

#include "shared/base/base64url.h"

#include <assert.h>
#include <openssl/hmac.h>
#include <stdlib.h>

enum { REASON_BYTES = 160 };

bool token_key_parse(struct str hex, struct token_key *ret_key)
{
    struct token_key key;
    if (hex.n != 2 * sizeof key.bytes || !str_unhex(hex, key.bytes))
        return false;
    *ret_key = key;
    return true;
}

void token_text_mac(const struct token_key *key, struct str text,
                    unsigned char mac[TOKEN_MAC_BYTES])
{
    unsigned n = 0;
    /* Fails when OpenSSL cannot allocate, or was set up without SHA-256. */
    if (HMAC(EVP_sha256(), key->bytes, sizeof key->bytes, (const unsigned char *)text.at, text.n,
             mac, &n) == NULL)
        abort();
    assert(n == TOKEN_MAC_BYTES);
}

static void sign(const struct token_key *key, struct str text, char mac_chars[TOKEN_MAC_CHARS])
{
    unsigned char mac[TOKEN_MAC_BYTES];
    token_text_mac(key, text, mac);
    base64url_encode(mac, sizeof mac, mac_chars);
}

void token_text_put(struct buf *out, const struct token_key *key, struct str kind,
                    struct str payload)
{
    char mac_chars[TOKEN_MAC_CHARS];
    size_t start = out->n;
    buf_put(out, kind);
    buf_put_char(out, '.');
    char *at = buf_reserve(out, payload.n * 4 / 3 + 1);
    if (at != NULL)
        out->n += base64url_encode((const unsigned char *)payload.at, payload.n, at);
    if (out->is_over)
        return;
    sign(key, (struct str){out->at + start, out->n - start}, mac_chars);
    buf_put_char(out, '.');
    buf_put(out, (struct str){mac_chars, TOKEN_MAC_CHARS});
}

/* Finds the payload of a text whose header is ours and whose MAC is right. */
static bool check_mac(const struct token_key *key, struct str kind, struct str text,
                      struct str *ret_payload)
{
    char mac_chars[TOKEN_MAC_CHARS];
    if (text.n > TOKEN_MAX_BYTES || text.n < kind.n + 2 + TOKEN_MAC_CHARS ||
        !str_has_prefix(text, kind) || text.at[kind.n] != '.')
        return false;
    struct str signed_text = {text.at, text.n - TOKEN_MAC_CHARS - 1};
    struct str payload = {text.at + kind.n + 1, signed_text.n - kind.n - 1};
    if (signed_text.at[signed_text.n] != '.')
        return false;
    sign(key, signed_text, mac_chars);
    if (!str_eq_secret((struct str){mac_chars, TOKEN_MAC_CHARS},
                       (struct str){text.at + signed_text.n + 1, TOKEN_MAC_CHARS}))
        return false;
    *ret_payload = payload;
    return true;
}

json_t *token_text_read(const struct token_key *key, struct str kind, struct str text)
{
    struct str encoded;
    unsigned char json[TOKEN_MAX_BYTES * 3 / 4];
    char reason[REASON_BYTES];
    size_t n;
    json_t *payload;
    if (!check_mac(key, kind, text, &encoded) || !base64url_decode(encoded, json, &n) ||
        !json_parse((struct str){(const char *)json, n}, reason, sizeof reason, &payload))
        return NULL;
    return payload;
}

bool token_text_time(const json_t *payload, const char *name, uint64_t *ret_s)
{
    const json_t *value = json_object_get(payload, name);
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > INT64_MAX / 2)
        return false;
    *ret_s = (uint64_t)json_integer_value(value);
    return true;
}
