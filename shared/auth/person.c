/* SPDX-License-Identifier: MIT
 * person.c - see person.h. The claims in a code and a token have the names that the provider's
 * token has, so jwt_put_roles reads both. What the MACs of secrets and generations cover begins
 * with a word and never with a header, so none of them is ever the MAC of a text. */
#include "shared/auth/person.h"

#include "shared/base/base64url.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

/* A text of 128 bytes as JSON is at most 770: three of them, the roles and 400 for the rest. */
enum { ROLES_MAX_BYTES = 2 << 10, PAYLOAD_MAX_BYTES = 3 * 770 + ROLES_MAX_BYTES + 400 };

/* base64url of {"alg":"HS256","typ":"parley-state"}, "parley-code" and "parley-person" */
static const struct str state_kind = STR("eyJhbGciOiJIUzI1NiIsInR5cCI6InBhcmxleS1zdGF0ZSJ9");
static const struct str code_kind = STR("eyJhbGciOiJIUzI1NiIsInR5cCI6InBhcmxleS1jb2RlIn0");
static const struct str token_kind = STR("eyJhbGciOiJIUzI1NiIsInR5cCI6InBhcmxleS1wZXJzb24ifQ");

/* --- proofs and secrets ----------------------------------------------------------------------- */

bool person_is_proof(struct str text)
{
    unsigned char bytes[PERSON_PROOF_CHARS];
    size_t n;
    return text.n == PERSON_PROOF_CHARS && base64url_decode(text, bytes, &n);
}

static void hash(struct str text, char chars[PERSON_PROOF_CHARS])
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256((const unsigned char *)text.at, text.n, digest);
    base64url_encode(digest, sizeof digest, chars);
}

bool person_proves(struct str proof, const char challenge[PERSON_PROOF_CHARS])
{
    char chars[PERSON_PROOF_CHARS];
    if (!person_is_proof(proof))
        return false;
    hash(proof, chars);
    return str_eq_secret((struct str){chars, sizeof chars},
                         (struct str){challenge, PERSON_PROOF_CHARS});
}

void person_challenge(const char verifier[PERSON_SECRET_CHARS], char challenge[PERSON_PROOF_CHARS])
{
    hash((struct str){verifier, PERSON_SECRET_CHARS}, challenge);
}

void person_secret(const struct token_key *key, const struct person_state *state,
                   enum person_secret which, char secret[PERSON_SECRET_CHARS])
{
    static const char *const words[] = {[PERSON_NONCE] = "nonce", [PERSON_VERIFIER] = "verifier"};
    unsigned char mac[TOKEN_MAC_BYTES];
    struct buf text;
    buf_init(&text, TOKEN_ID_CHARS + 32);
    buf_printf(&text, "%s of a sign-in ", words[which]);
    buf_put(&text, (struct str){state->id, sizeof state->id});
    assert(!text.is_over);
    token_text_mac(key, buf_str(&text), mac);
    buf_fini(&text);
    base64url_encode(mac, sizeof mac, secret);
    OPENSSL_cleanse(mac, sizeof mac);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put_generation(struct buf *b, const struct token_key *key, struct str source)
{
    unsigned char mac[TOKEN_MAC_BYTES];
    char hex[TOKEN_GENERATION_CHARS + 1];
    struct buf text;
    buf_init(&text, source.n + 32);
    buf_lit(&text, "generation of a provider ");
    buf_put(&text, source);
    token_text_mac(key, buf_str(&text), mac);
    buf_fini(&text);
    str_hex(mac, TOKEN_GENERATION_CHARS / 2, hex);
    buf_put(b, (struct str){hex, TOKEN_GENERATION_CHARS});
}

static void put_state_members(struct buf *b, const struct person_state *state)
{
    buf_printf(b, ",\"jti\":\"%.*s\",\"challenge\":\"%.*s\"", TOKEN_ID_CHARS, state->id,
               PERSON_PROOF_CHARS, state->challenge);
}

void person_put_state(struct buf *out, const struct token_key *key, struct str challenge,
                      uint64_t now_s, struct person_state *ret_state)
{
    char id[TOKEN_ID_CHARS + 1];
    struct buf payload;
    assert(person_is_proof(challenge));
    str_random_hex(TOKEN_ID_CHARS / 2, id);
    memcpy(ret_state->id, id, sizeof ret_state->id);
    memcpy(ret_state->challenge, challenge.at, sizeof ret_state->challenge);
    buf_init(&payload, PAYLOAD_MAX_BYTES);
    buf_printf(&payload, "{\"exp\":%llu", (unsigned long long)(now_s + PERSON_STATE_S));
    put_state_members(&payload, ret_state);
    buf_put_char(&payload, '}');
    token_text_put(out, key, state_kind, buf_str(&payload));
    buf_fini(&payload);
}

static void put_text(struct buf *b, const char *name, struct str text)
{
    if (text.n == 0 || text.n > PERSON_TEXT_MAX_BYTES)
        return;
    buf_put_key(b, name);
    buf_put_json(b, text);
}

static void put_roles(struct buf *b, const struct jwt_claims *claims)
{
    struct buf roles;
    buf_init(&roles, ROLES_MAX_BYTES);
    jwt_put_roles(&roles, claims);
    buf_put_key(b, "roles");
    buf_put(b, roles.is_over ? STR("[]") : buf_str(&roles));
    buf_fini(&roles);
}

/* Puts the members of a person without the brace at the end. */
static void put_person(struct buf *b, const struct token_key *key, struct str source,
                       const struct jwt_claims *claims, uint64_t proved_s, uint64_t expires_s)
{
    buf_lit(b, "{\"gen\":\"");
    put_generation(b, key, source);
    buf_printf(b, "\",\"auth_time\":%llu,\"exp\":%llu", (unsigned long long)proved_s,
               (unsigned long long)expires_s);
    put_text(b, "sub", claims->sub);
    put_text(b, "preferred_username", claims->username);
    put_text(b, "email", claims->email);
    put_roles(b, claims);
}

void person_put_code(struct buf *out, const struct token_key *key, struct str source,
                     const struct person_state *state, const struct jwt_claims *claims,
                     uint64_t now_s)
{
    struct buf payload;
    buf_init(&payload, PAYLOAD_MAX_BYTES);
    put_person(&payload, key, source, claims, now_s, now_s + PERSON_CODE_S);
    put_state_members(&payload, state);
    buf_put_char(&payload, '}');
    assert(!payload.is_over);
    token_text_put(out, key, code_kind, buf_str(&payload));
    buf_fini(&payload);
}

void person_put_token(struct buf *out, const struct token_key *key, struct str source,
                      const struct person *person, uint64_t now_s, unsigned lifetime_s)
{
    struct buf payload;
    buf_init(&payload, PAYLOAD_MAX_BYTES);
    put_person(&payload, key, source, &person->claims, person->proved_s, now_s + lifetime_s);
    buf_put_char(&payload, '}');
    assert(!payload.is_over);
    token_text_put(out, key, token_kind, buf_str(&payload));
    buf_fini(&payload);
}

/* --- reading ---------------------------------------------------------------------------------- */

bool person_is_code(struct str text)
{
    return str_has_prefix(text, code_kind);
}

bool person_is_token(struct str text)
{
    return str_has_prefix(text, token_kind);
}

static bool read_state(const json_t *payload, struct person_state *state)
{
    struct str id = json_member_str(payload, "jti");
    struct str challenge = json_member_str(payload, "challenge");
    if (id.n != sizeof state->id || !person_is_proof(challenge))
        return false;
    memcpy(state->id, id.at, id.n);
    memcpy(state->challenge, challenge.at, challenge.n);
    return true;
}

enum err person_read_state(const struct token_key *key, struct str text, uint64_t now_s,
                           struct person_state *ret_state)
{
    struct person_state state;
    uint64_t expires_s = 0;
    json_t *payload = token_text_read(key, state_kind, text);
    bool ok = payload != NULL && token_text_time(payload, "exp", &expires_s) &&
              read_state(payload, &state);
    json_decref(payload);
    if (!ok)
        return ERR_UNAUTHORIZED;
    if (now_s >= expires_s + TOKEN_SKEW_S)
        return ERR_TOKEN_EXPIRED;
    *ret_state = state;
    return ERR_OK;
}

/* Takes over `payload`, which may be NULL. */
static enum err read_person(const struct token_key *key, struct str source, json_t *payload,
                            uint64_t now_s, struct person *ret_person)
{
    struct person person = {.claims = {.payload = payload,
                                       .sub = json_member_str(payload, "sub"),
                                       .username = json_member_str(payload, "preferred_username"),
                                       .email = json_member_str(payload, "email")}};
    struct buf generation;
    enum err error = ERR_OK;
    buf_init(&generation, TOKEN_GENERATION_CHARS);
    put_generation(&generation, key, source);
    if (person.claims.sub.n == 0 || !token_text_time(payload, "auth_time", &person.proved_s) ||
        !token_text_time(payload, "exp", &person.claims.expires_s))
        error = ERR_UNAUTHORIZED;
    else if (now_s >= person.claims.expires_s + TOKEN_SKEW_S)
        error = ERR_TOKEN_EXPIRED;
    else if (!str_eq_secret(json_member_str(payload, "gen"), buf_str(&generation)))
        error = ERR_REVOKED;
    buf_fini(&generation);
    if (person.claims.username.n == 0)
        person.claims.username = person.claims.sub;
    if (error == ERR_OK)
        *ret_person = person;
    else
        json_decref(payload);
    return error;
}

enum err person_read_code(const struct token_key *key, struct str source, struct str text,
                          uint64_t now_s, struct person *ret_person)
{
    struct person_state of;
    json_t *payload = token_text_read(key, code_kind, text);
    if (payload != NULL && !read_state(payload, &of)) {
        json_decref(payload);
        payload = NULL;
    }
    enum err error = read_person(key, source, payload, now_s, ret_person);
    if (error == ERR_OK)
        ret_person->of = of;
    return error;
}

enum err person_read_token(const struct token_key *key, struct str source, struct str text,
                           uint64_t now_s, struct person *ret_person)
{
    return read_person(key, source, token_text_read(key, token_kind, text), now_s, ret_person);
}

void person_fini(struct person *person)
{
    jwt_claims_fini(&person->claims);
}
