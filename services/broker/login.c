/* SPDX-License-Identifier: MIT
 * login.c - GET /api/login: a bearer token for an account that signs, or that sends its secret,
 * which an account with a hashed secret must (shared/auth/secret.h). A token gets another one for
 * twelve hours after that proof, so that a page need not keep the secret, and a stolen token ends.
 *
 * POST /api/login/link: a link that signs its account in once, without its secret, in the fragment
 * of an address, which no server logs. POST /api/login: uses it. No row is stored for links: they
 * are signed, and used up as a nonce is.
 *
 * A person who signed in with the OpenID provider (services/web/sign_in.c) gets a token of ours for
 * the code that the provider's answer became, and renews it in the same way. Others with a token of
 * the provider get none here: they have one. */
#include "services/broker/handlers.h"

#include "shared/auth/signed.h"
#include "shared/base/clock.h"
#include "shared/http/access/authenticate.h"
#include "shared/http/access/gate.h"
#include "shared/http/access/oidc.h"

enum { LINK_LIFETIME_S = 600 };

static bool is_usual_account(struct request *r)
{
    if (r->identity == NULL)
        return true;
    respond_error(r, ERR_FORBIDDEN,
                  "This route is for configured accounts: users of the OpenID provider log in at "
                  "the provider.");
    return false;
}

static bool has_key(struct request *r)
{
    if (r->server->gate->has_token_key)
        return true;
    respond_error(r, ERR_REDIS_LOST, NULL);
    return false;
}

static unsigned lifetime_s_at(uint64_t now_s, uint64_t proved_s)
{
    uint64_t end_s = proved_s + TOKEN_RENEWED_S;
    return end_s < now_s + TOKEN_LIFETIME_S ? (unsigned)(end_s - now_s) : TOKEN_LIFETIME_S;
}

static void send_token(struct request *r, const struct account *account, uint64_t proved_s)
{
    struct buf *b = &r->server->scratch;
    struct str role = role_name(account->role);
    uint64_t now_s = clock_wall_s();
    unsigned lifetime_s = lifetime_s_at(now_s, proved_s);
    buf_clear(b);
    buf_lit(b, "{\"User\":");
    buf_put(b, account->name_json);
    buf_printf(b, ",\"Role\":\"%.*s\",\"Token\":\"", STR_ARG(role));
    token_issue(b, &r->server->gate->token_key, account, proved_s, now_s, lifetime_s);
    buf_printf(b, "\",\"ExpiresIn\":%u}", lifetime_s);
    respond_json(r, 200, b); /* once the nonce is used up */
}

/* When the account of the request's token proved itself; 0: too long ago. */
static uint64_t proved_by_token(struct request *r)
{
    struct token_claims claims;
    uint64_t now_s = clock_wall_s();
    if (token_read(&r->server->gate->token_key, authenticate_token(r), now_s, &claims) != ERR_OK)
        return 0;
    return now_s < claims.proved_s + TOKEN_RENEWED_S ? claims.proved_s : 0;
}

/* --- people of the OpenID provider ------------------------------------------------------------ */

static void send_person_token(struct request *r, const struct person *person)
{
    struct buf *b = &r->server->scratch;
    struct buf source;
    uint64_t now_s = clock_wall_s();
    unsigned lifetime_s = lifetime_s_at(now_s, person->proved_s);
    buf_init(&source, 2 * OIDC_URL_MAX_BYTES);
    gate_put_source(r->server->gate, &source);
    buf_clear(b);
    buf_lit(b, "{\"User\":");
    buf_put_json(b, person->claims.sub);
    buf_lit(b, ",\"Name\":");
    buf_put_json(b, person->claims.username);
    buf_lit(b, ",\"Role\":\"user\",\"Token\":\"");
    person_put_token(b, &r->server->gate->token_key, buf_str(&source), person, now_s, lifetime_s);
    buf_printf(b, "\",\"ExpiresIn\":%u}", lifetime_s);
    buf_fini(&source);
    respond_json(r, 200, b); /* once the code is used up */
}

static void renew_person(struct request *r)
{
    struct person person;
    enum err error = gate_check_person(r->server->gate, authenticate_token(r), &person);
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
        return;
    }
    if (clock_wall_s() < person.proved_s + TOKEN_RENEWED_S)
        send_person_token(r, &person);
    else
        respond_error(r, ERR_UNAUTHORIZED,
                      "This token cannot be renewed any more: it is 12 hours since its person "
                      "signed in. Sign in again.");
    person_fini(&person);
}

static void login_by_code(struct request *r, struct str code)
{
    struct person person;
    struct str proof;
    enum err error = gate_check_code(r->server->gate, code, &person);
    if (error == ERR_UNAUTHORIZED) {
        authenticate_fail(r, "This code is not valid: sign in again.");
        return;
    }
    if (error != ERR_OK) {
        respond_error(r, error, "This code can no longer be used: sign in again.");
        return;
    }
    if (!request_text(r, "proof", PERSON_PROOF_CHARS, PERSON_PROOF_CHARS, &proof))
        goto out;
    if (!person_proves(proof, person.of.challenge)) {
        authenticate_fail(r, "This proof is not the one of the page that began to sign in.");
        goto out;
    }
    signed_nonce_id(STR("code of a sign-in"), (struct str){person.of.id, sizeof person.of.id},
                    r->nonce.bytes);
    r->nonce.is_set = true;
    send_person_token(r, &person);
out:
    person_fini(&person);
}

/* --- logging in ------------------------------------------------------------------------------- */

void broker_login(struct request *r)
{
    if (r->identity != NULL && person_is_token(authenticate_token(r))) {
        renew_person(r);
        return;
    }
    if (!is_usual_account(r) || !has_key(r))
        return;
    bool is_proved = r->is_signed || r->has_secret;
    uint64_t proved_s = is_proved ? clock_wall_s() : proved_by_token(r);
    if (proved_s == 0)
        respond_error(r, ERR_UNAUTHORIZED,
                      "This token cannot be renewed any more: it is 12 hours since its account "
                      "logged in. Send User, Nonce and Hash.");
    else
        send_token(r, r->account, proved_s);
}

/* --- links ------------------------------------------------------------------------------------ */

void broker_login_link(struct request *r)
{
    struct buf *b = &r->server->scratch;
    if ((request_entity(r).n > 0 && !request_body(r)) || !is_usual_account(r) || !has_key(r))
        return;
    if (!r->is_signed && !r->has_secret) {
        respond_error(r, ERR_UNAUTHORIZED,
                      "A token cannot be used to make a link: send User, Nonce and Hash.");
        return;
    }
    buf_clear(b);
    buf_lit(b, "{\"link\":\"/app/#code=");
    token_issue_link(b, &r->server->gate->token_key, r->account, clock_wall_s(), LINK_LIFETIME_S);
    buf_printf(b, "\",\"expires_in\":%d}", LINK_LIFETIME_S);
    respond_json(r, 200, b);
}

void broker_login_by_link(struct request *r)
{
    const struct account *account;
    struct str code;
    char id[TOKEN_ID_CHARS];
    if (!request_body(r) || !request_text(r, "code", 1, TOKEN_MAX_BYTES, &code) || !has_key(r))
        return;
    if (person_is_code(code)) {
        login_by_code(r, code);
        return;
    }
    uint64_t now_s = clock_wall_s();
    enum err error = token_verify_link(&r->server->gate->token_key, gate_accounts(r->server->gate),
                                       code, now_s, &account, id);
    if (error == ERR_UNAUTHORIZED) {
        authenticate_fail(r, "This link is not valid: copy it again, whole.");
        return;
    }
    if (error != ERR_OK) {
        respond_error(r, error, "This link can no longer be used: make a new one.");
        return;
    }
    signed_nonce_id(account->name, (struct str){id, sizeof id}, r->nonce.bytes);
    r->nonce.is_set = true;
    send_token(r, account, now_s);
}
