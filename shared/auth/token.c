/* SPDX-License-Identifier: MIT
 * token.c - see token.h.
 *
 * Tokens and links have a constant header each (token_text.h), so no link passes for a token.
 *
 * `gen` stands for the secret that the account had: an HMAC of it, under the same key. A text that
 * a token's MAC covers begins with a header, so no token is ever the MAC of a generation.
 */
#include "shared/auth/token.h"
#include "shared/base/clock.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdlib.h>

/* A name of 128 bytes as JSON is at most 770, the rest below 230. */
enum { PAYLOAD_MAX_BYTES = 1024 };

/* base64url of {"alg":"HS256","typ":"JWT"} */
static const struct str header = STR("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9");
/* base64url of {"alg":"HS256","typ":"parley-link"} */
static const struct str link_header = STR("eyJhbGciOiJIUzI1NiIsInR5cCI6InBhcmxleS1saW5rIn0");
static const struct str issuer = STR("parley");
static const char generation[] = "generation of a secret";

/* The secret may be short and guessable: without the key nobody can try guesses against this. */
static void put_generation(const struct token_key *key, const struct account *account,
                           char hex[TOKEN_GENERATION_CHARS + 1])
{
    unsigned char text[sizeof generation + ACCOUNT_NAME_MAX_BYTES + 1 + ACCOUNT_SECRET_MAX_BYTES];
    unsigned char mac[TOKEN_MAC_BYTES];
    size_t n = sizeof generation; /* its NUL and the name's space keep the parts apart */
    memcpy(text, generation, n);
    memcpy(text + n, account->name.at, account->name.n);
    n += account->name.n;
    text[n++] = ' ';
    memcpy(text + n, account->secret.at, account->secret.n);
    n += account->secret.n;
    token_text_mac(key, (struct str){(const char *)text, n}, mac);
    OPENSSL_cleanse(text, n);
    str_hex(mac, TOKEN_GENERATION_CHARS / 2, hex);
}

struct times {
    uint64_t proved_s, now_s, expires_s;
};

/* Puts a token with this header. `id`: a claim of links; "" for none. */
static void put_token(struct buf *out, const struct token_key *key, struct str kind,
                      const struct account *account, const struct times *times, const char *id)
{
    char gen[TOKEN_GENERATION_CHARS + 1];
    struct buf payload;
    put_generation(key, account, gen);
    buf_init(&payload, PAYLOAD_MAX_BYTES);
    buf_lit(&payload, "{\"iss\":\"parley\",\"sub\":");
    buf_put(&payload, account->name_json);
    buf_lit(&payload, ",\"role\":\"");
    buf_put(&payload, role_name(account->role));
    buf_printf(&payload, "\",\"gen\":\"%s\",", gen);
    if (*id != 0)
        buf_printf(&payload, "\"jti\":\"%s\",", id);
    buf_printf(&payload, "\"auth_time\":%llu,\"iat\":%llu,\"nbf\":%llu,\"exp\":%llu}",
               (unsigned long long)times->proved_s, (unsigned long long)times->now_s,
               (unsigned long long)times->now_s, (unsigned long long)times->expires_s);
    assert(!payload.is_over);

    token_text_put(out, key, kind, buf_str(&payload));
    buf_fini(&payload);
}

void token_issue(struct buf *out, const struct token_key *key, const struct account *account,
                 uint64_t proved_s, uint64_t now_s, unsigned lifetime_s)
{
    const struct times times = {proved_s, now_s, now_s + lifetime_s};
    put_token(out, key, header, account, &times, "");
}

void token_issue_link(struct buf *out, const struct token_key *key, const struct account *account,
                      uint64_t now_s, unsigned lifetime_s)
{
    unsigned char random[TOKEN_ID_CHARS / 2];
    char id[TOKEN_ID_CHARS + 1];
    const struct times times = {now_s, now_s, now_s + lifetime_s};
    if (RAND_bytes(random, sizeof random) != 1)
        abort();
    str_hex(random, sizeof random, id);
    put_token(out, key, link_header, account, &times, id);
}

static bool read_claims(const json_t *payload, uint64_t now_s, struct token_claims *ret_claims)
{
    struct token_claims claims = {0};
    uint64_t not_before_s;
    struct str sub = json_member_str(payload, "sub"), gen = json_member_str(payload, "gen");
    if (!str_eq(json_member_str(payload, "iss"), issuer) || sub.n == 0 ||
        sub.n > TOKEN_SUB_MAX_BYTES || gen.n != TOKEN_GENERATION_CHARS ||
        !role_parse(json_member_str(payload, "role"), &claims.role))
        return false;
    if (!token_text_time(payload, "exp", &claims.expires_s) ||
        !token_text_time(payload, "nbf", &not_before_s))
        return false;
    if (not_before_s > now_s + TOKEN_SKEW_S)
        return false;
    if (!token_text_time(payload, "auth_time", &claims.proved_s))
        claims.proved_s = 0;
    struct str id = json_member_str(payload, "jti");
    if (id.n == TOKEN_ID_CHARS)
        memcpy(claims.id, id.at, id.n);
    memcpy(claims.sub, sub.at, sub.n);
    claims.sub_n = sub.n;
    memcpy(claims.generation, gen.at, gen.n);
    *ret_claims = claims;
    return true;
}

bool token_is_ours(struct str token)
{
    return str_has_prefix(token, header);
}

/* token_read for the tokens with the header `kind`. */
static enum err read_token(const struct token_key *key, struct str kind, struct str token,
                           uint64_t now_s, struct token_claims *ret_claims)
{
    struct token_claims claims;
    json_t *payload = token_text_read(key, kind, token);
    if (payload == NULL)
        return ERR_UNAUTHORIZED;
    bool ok = read_claims(payload, now_s, &claims);
    json_decref(payload);
    if (!ok)
        return ERR_UNAUTHORIZED;
    if (now_s >= claims.expires_s + TOKEN_SKEW_S)
        return ERR_TOKEN_EXPIRED;
    *ret_claims = claims;
    return ERR_OK;
}

enum err token_read(const struct token_key *key, struct str token, uint64_t now_s,
                    struct token_claims *ret_claims)
{
    return read_token(key, header, token, now_s, ret_claims);
}

static bool is_of_generation(const struct token_key *key, const struct account *account,
                             const struct token_claims *claims)
{
    char gen[TOKEN_GENERATION_CHARS + 1];
    put_generation(key, account, gen);
    return str_eq_secret((struct str){gen, TOKEN_GENERATION_CHARS},
                         (struct str){claims->generation, TOKEN_GENERATION_CHARS});
}

/* The account of a token, perhaps a former one; NULL: it has changed or is gone. */
static const struct account *find_account(const struct token_key *key,
                                          const struct accounts *accounts,
                                          const struct token_claims *claims)
{
    const struct account *account = accounts_find(accounts, token_sub(claims));
    if (account == NULL || account->role != claims->role)
        return NULL;
    if (!is_of_generation(key, account, claims))
        account = account->former;
    return account != NULL && is_of_generation(key, account, claims) ? account : NULL;
}

enum err token_verify(const struct token_key *key, const struct accounts *accounts,
                      struct str token, uint64_t now_s, const struct account **ret_account,
                      uint64_t *ret_expires_s)
{
    struct token_claims claims;
    enum err error = token_read(key, token, now_s, &claims);
    if (error != ERR_OK)
        return error;
    const struct account *account = find_account(key, accounts, &claims);
    if (account == NULL)
        return ERR_REVOKED;
    *ret_account = account;
    *ret_expires_s = claims.expires_s;
    return ERR_OK;
}

enum err token_verify_link(const struct token_key *key, const struct accounts *accounts,
                           struct str link, uint64_t now_s, const struct account **ret_account,
                           char ret_id[TOKEN_ID_CHARS])
{
    struct token_claims claims;
    enum err error = read_token(key, link_header, link, now_s, &claims);
    if (error != ERR_OK)
        return error;
    const struct account *account = find_account(key, accounts, &claims);
    if (account == NULL)
        return ERR_REVOKED;
    *ret_account = account;
    memcpy(ret_id, claims.id, TOKEN_ID_CHARS);
    return ERR_OK;
}

uint64_t token_left_ms(uint64_t expires_s)
{
    uint64_t now_s = clock_wall_s();
    if (now_s < expires_s)
        return (expires_s - now_s) * 1000;
    return now_s < expires_s + TOKEN_SKEW_S ? (expires_s + TOKEN_SKEW_S - now_s) * 1000 : 0;
}
