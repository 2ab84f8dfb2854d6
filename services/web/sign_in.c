/* SPDX-License-Identifier: MIT
 * sign_in.c - GET /auth/login and /auth/callback: a person signs in to the web app with the OpenID
 * provider, by its code flow with PKCE.
 *
 *     page            node                     provider
 *      |--/auth/login-->|                          |
 *      |<--303----------|  state                   |
 *      |--state, nonce, challenge of PKCE--------->|  (the person signs in there)
 *      |<--303 with a code-------------------------|
 *      |--/auth/callback->|  any node: use the state up
 *      |                  |--code, verifier------->|
 *      |                  |<--identity token-------|
 *      |<--303 /app/#signed-in=CODE--|
 *      |--POST /api/login CODE, proof-->|  any node: use the code up
 *
 * No node keeps anything in between: person.h has the texts that carry it. Both redirects are
 * constant except for their fragment, so nobody is sent anywhere else. What fails after the state
 * was read leads back to the app with a word that the app explains.
 *
 * An anonymous client can make a node call the provider, once for each state. SIGN_INS_MAX bounds
 * how many at a time, and codes that the provider refuses are counted as failed logins. */
#include "services/web/web.h"

#include "services/node/service.h"
#include "shared/auth/signed.h"
#include "shared/base/clock.h"
#include "shared/http/access/authenticate.h"
#include "shared/http/access/gate.h"
#include "shared/http/access/oidc_code.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/respond.h"

enum {
    SIGN_INS_MAX = 32, /* exchanges with the provider of one node at a time */
    URL_MAX_BYTES = 6 << 10,
    WORD_MAX_BYTES = 64
};

#define NO_PROVIDER                                                                                \
    "Nobody can sign in with an OpenID provider here: --oidc-client-id is not set. Sign in with "  \
    "an account, at /app/."

static struct web *web_of(struct request *r)
{
    return service_state(r, "web");
}

static struct oidc *provider_of(struct request *r)
{
    struct oidc *oidc = r->server->gate->oidc;
    if (oidc == NULL || !oidc_has_client(oidc)) {
        respond_error(r, ERR_NOT_FOUND, NO_PROVIDER);
        return NULL;
    }
    if (!r->server->gate->has_token_key) {
        respond_error(r, ERR_REDIS_LOST, NULL);
        return NULL;
    }
    return oidc;
}

static void redirect(struct request *r, struct str to)
{
    respond_header(r, "location", to);
    respond_header(r, "referrer-policy", STR("no-referrer"));
    respond_empty(r, 303);
}

/* --- to the provider -------------------------------------------------------------------------- */

void web_sign_in(struct request *r)
{
    const struct oidc *oidc = provider_of(r);
    struct str challenge = request_param(r, "challenge");
    struct person_state state;
    struct buf text, url;
    if (oidc == NULL)
        return;
    if (!person_is_proof(challenge)) {
        explain_param(r, "challenge",
                      "43 characters of base64url, the SHA-256 of the page's proof");
        return;
    }
    buf_init(&text, TOKEN_MAX_BYTES);
    buf_init(&url, URL_MAX_BYTES);
    person_put_state(&text, &r->server->gate->token_key, challenge, clock_wall_s(), &state);
    if (oidc_code_put_url(&url, oidc, &r->server->gate->token_key, &state, buf_str(&text)) &&
        !url.is_over)
        redirect(r, request_copy(r, buf_str(&url)));
    else
        respond_error_more(r, ERR_PROVIDER_DOWN,
                           "The OpenID provider cannot be reached, or it has no addresses for "
                           "signing in: retry shortly.",
                           NULL, oidc_retry_after_s(oidc));
    buf_fini(&text);
    buf_fini(&url);
}

/* --- back to the app -------------------------------------------------------------------------- */

/* In the request's pool. */
struct sign_in {
    struct oidc_code code;
    struct person_state state;
    struct str text; /* the provider's code */
    struct request *r;
    bool is_counted;
};

static void leave(struct sign_in *s)
{
    if (s->is_counted)
        web_of(s->r)->sign_in_n--;
    s->is_counted = false;
}

static void on_gone(struct request *r)
{
    struct sign_in *s = r->state;
    leave(s);
    oidc_code_fini(&s->code);
}

/* `word`: denied, expired, failed or taken. */
static void redirect_failed(struct request *r, const char *word)
{
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_printf(b, "../app/#not-signed-in=%s", word);
    redirect(r, request_copy(r, buf_str(b)));
}

static void redirect_signed_in(struct sign_in *s, const struct jwt_claims *claims)
{
    struct request *r = s->r;
    struct gate *gate = r->server->gate;
    struct buf *b = &r->server->scratch;
    struct buf source;
    buf_init(&source, 2 * OIDC_URL_MAX_BYTES);
    gate_put_source(gate, &source);
    buf_clear(b);
    buf_lit(b, "../app/#signed-in=");
    person_put_code(b, &gate->token_key, buf_str(&source), &s->state, claims, clock_wall_s());
    buf_fini(&source);
    redirect(r, request_copy(r, buf_str(b)));
}

static void on_exchanged(struct oidc_code *code, enum oidc_code_outcome outcome,
                         const struct jwt_claims *claims)
{
    struct sign_in *s = container_of(code, struct sign_in, code);
    struct request *r = s->r;
    leave(s);
    if (outcome == OIDC_CODE_REFUSED) {
        on_gone(r);
        r->on_gone = NULL; /* the state is authenticate_fail's now */
        authenticate_fail(r, "The OpenID provider does not accept this sign-in, or not any more: "
                             "begin again at /app/.");
    } else if (outcome == OIDC_CODE_FAILED)
        redirect_failed(r, "failed");
    else if (accounts_find(gate_accounts(r->server->gate), claims->sub) != NULL)
        redirect_failed(r, "taken");
    else
        redirect_signed_in(s, claims);
}

static void on_used(struct request *r, enum err error, struct str reply)
{
    struct sign_in *s = r->state;
    (void)reply; /* "ok": a replay has been answered */
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
        return;
    }
    s->code.on_done = on_exchanged;
    oidc_code_exchange(&s->code, r->server->gate->oidc, &r->server->gate->token_key, &s->state,
                       s->text);
}

/* The provider reports an error in place of a code (RFC 6749, 4.1.2.1). Its words are logged and
 * not shown: anybody can write them into an address. */
static void end_refused(struct request *r, struct str error)
{
    uint64_t times;
    struct str word = {error.at, error.n < WORD_MAX_BYTES ? error.n : WORD_MAX_BYTES};
    bool is_denied = str_eq(error, STR("access_denied"));
    if (!is_denied &&
        log_limit_passes(&r->server->refusals.tokens, "error of the OpenID provider", &times))
        log_write(LOG_WARN, "the OpenID provider refused a sign-in", LOG_STR("error", word),
                  LOG_U("times", times));
    redirect_failed(r, is_denied ? "denied" : "failed");
}

/* Nobody signs in with the answer of another provider (RFC 9207). */
static bool is_from_provider(struct request *r, const struct oidc *oidc)
{
    struct str issuer = request_param(r, "iss");
    return issuer.at == NULL || str_eq(issuer, str_of(oidc_settings_of(oidc)->issuer));
}

/* Uses the state up before the provider is called. */
static void exchange(struct request *r, const struct person_state *state, struct str code)
{
    struct web *web = web_of(r);
    if (!authenticate_may_try(r))
        return;
    if (web->sign_in_n >= SIGN_INS_MAX) {
        respond_error_more(r, ERR_BUSY, "Too many people sign in at the moment: retry shortly.",
                           NULL, 1);
        return;
    }
    struct sign_in *s = request_alloc(r, sizeof *s);
    *s = (struct sign_in){.state = *state, .text = code, .r = r, .is_counted = true};
    web->sign_in_n++;
    r->state = s;
    r->on_gone = on_gone;
    signed_nonce_id(STR("state of a sign-in"), (struct str){state->id, sizeof state->id},
                    r->nonce.bytes);
    r->nonce.is_set = true;
    request_use_nonce(r, on_used);
}

void web_sign_in_callback(struct request *r)
{
    const struct oidc *oidc = provider_of(r);
    struct person_state state;
    if (oidc == NULL)
        return;
    struct str code = request_param(r, "code"), refused = request_param(r, "error");
    enum err error = person_read_state(&r->server->gate->token_key, request_param(r, "state"),
                                       clock_wall_s(), &state);
    if (error == ERR_UNAUTHORIZED)
        respond_error(r, ERR_BAD_REQUEST,
                      "This address does not continue a sign-in of this Parley: begin at /app/.");
    else if (error != ERR_OK)
        redirect_failed(r, "expired");
    else if (!is_from_provider(r, oidc))
        redirect_failed(r, "failed");
    else if (refused.n > 0)
        end_refused(r, refused);
    else if (code.n == 0 || code.n > OIDC_CODE_MAX_BYTES)
        redirect_failed(r, "failed");
    else
        exchange(r, &state, code);
}
