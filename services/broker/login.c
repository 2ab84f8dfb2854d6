/* SPDX-License-Identifier: MIT
 * login.c - GET /api/login: a bearer token for an account that signs, or that sends its secret,
 * which an account with a hashed secret must (shared/auth/secret.h). A token gets another one for
 * twelve hours after that proof, so that a page need not keep the secret, and a stolen token ends.
 *
 * POST /api/login/link: a link that signs its account in once, without its secret, in the fragment
 * of an address, which no server logs. POST /api/login: uses it. No row is stored for links: they
 * are signed, and used up as a nonce is.
 *
 * Users of an OpenID provider have no account and already have a token. */
#include "services/broker/handlers.h"

#include "shared/auth/signed.h"
#include "shared/base/clock.h"
#include "shared/http/access/authenticate.h"
#include "shared/http/access/gate.h"

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

static void send_token(struct request *r, const struct account *account, uint64_t proved_s)
{
    struct buf *b = &r->server->scratch;
    struct str role = role_name(account->role);
    uint64_t now_s = clock_wall_s(), end_s = proved_s + TOKEN_RENEWED_S;
    unsigned lifetime_s =
        end_s < now_s + TOKEN_LIFETIME_S ? (unsigned)(end_s - now_s) : TOKEN_LIFETIME_S;
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

void broker_login(struct request *r)
{
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
