/* SPDX-License-Identifier: MIT
 * oidc_code.c - see oidc_code.h.
 *
 *     NEW --> EXCHANGING --(identity token)--> VERIFYING --(unknown key)--> AWAITING_KEYS
 *                 \____________________________   |   ______ VERIFYING again ____/
 *                                              \  v  /
 *                                               DONE
 *
 * What the provider says is not trusted: its answer is bounded in size and time, and its identity
 * token must be signed with its keys, for our client, and with the nonce of this state. */
#include "shared/http/access/oidc_code.h"

#include "shared/base/mem.h"
#include "shared/base/sm.h"
#include "shared/http/client/client.h"
#include "shared/http/client/endpoint.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    EXCHANGE_TIMEOUT_MS = 5000,
    ANSWER_MAX_BYTES = 64 << 10,
    FORM_MAX_BYTES = 24 << 10,
    REASON_BYTES = 256
};

#define CALLBACK "/auth/callback"

enum step { STEP_NEW, STEP_EXCHANGING, STEP_VERIFYING, STEP_AWAITING_KEYS, STEP_DONE };

static const struct sm_state steps[] = {
    [STEP_NEW] = {"NEW", SM(STEP_EXCHANGING)},
    [STEP_EXCHANGING] = {"EXCHANGING", SM(STEP_VERIFYING) | SM(STEP_DONE)},
    [STEP_VERIFYING] = {"VERIFYING", SM(STEP_AWAITING_KEYS) | SM(STEP_DONE)},
    [STEP_AWAITING_KEYS] = {"AWAITING_KEYS", SM(STEP_VERIFYING)},
    [STEP_DONE] = {"DONE", 0},
};
static const struct sm sm = SM_OF("sign-in at the OpenID provider", steps);

static void move(struct oidc_code *code, enum step to)
{
    code->step = sm_move(&sm, code->number, code->step, to);
}

static void put_param(struct buf *b, const char *name, struct str value)
{
    buf_put(b, str_of(name));
    buf_put_char(b, '=');
    buf_put_url_encoded(b, value);
}

static void put_redirect(struct buf *b, const struct oidc_settings *settings)
{
    buf_lit(b, "&redirect_uri=");
    buf_put_url_encoded(b, http_base_url(str_of(settings->public_url)));
    buf_put_url_encoded(b, STR(CALLBACK));
}

bool oidc_code_put_url(struct buf *out, const struct oidc *oidc, const struct token_key *key,
                       const struct person_state *state, struct str text)
{
    const struct oidc_settings *settings = oidc_settings_of(oidc);
    const char *address = oidc_addresses_of(oidc)->authorization;
    char nonce[PERSON_SECRET_CHARS], verifier[PERSON_SECRET_CHARS], challenge[PERSON_PROOF_CHARS];
    if (*address == 0)
        return false;
    person_secret(key, state, PERSON_NONCE, nonce);
    person_secret(key, state, PERSON_VERIFIER, verifier);
    person_challenge(verifier, challenge);
    buf_put(out, str_of(address));
    buf_put_char(out, strchr(address, '?') == NULL ? '?' : '&');
    buf_lit(out, "response_type=code&scope=openid%20profile%20email&code_challenge_method=S256&");
    put_param(out, "client_id", str_of(settings->client_id));
    put_redirect(out, settings);
    put_param(out, "&state", text);
    put_param(out, "&nonce", (struct str){nonce, sizeof nonce});
    put_param(out, "&code_challenge", (struct str){challenge, sizeof challenge});
    return true;
}

/* --- the end ---------------------------------------------------------------------------------- */

static void finish(struct oidc_code *code, enum oidc_code_outcome outcome,
                   const struct jwt_claims *claims)
{
    move(code, STEP_DONE);
    code->on_done(code, outcome, claims);
}

/* `reason`: why the provider is of no use. */
static void fail(struct oidc_code *code, const char *reason)
{
    log_write(LOG_WARN, "a sign-in at the OpenID provider failed", LOG_S("reason", reason),
              LOG_S("url", oidc_addresses_of(code->oidc)->token));
    finish(code, OIDC_CODE_FAILED, NULL);
}

/* --- the identity token ----------------------------------------------------------------------- */

static void verify(struct oidc_code *code, bool may_wait)
{
    struct jwt_claims claims;
    move(code, STEP_VERIFYING);
    enum jwt_fault fault = oidc_verify_identity(code->oidc, buf_str(&code->token), &claims);
    if (fault == JWT_NO_KEY && may_wait && oidc_wait(code->oidc, &code->waiter)) {
        move(code, STEP_AWAITING_KEYS);
        return;
    }
    if (fault != JWT_GOOD) {
        fail(code, jwt_fault_text(fault));
        return;
    }
    if (str_eq_secret(json_member_str(claims.payload, "nonce"),
                      (struct str){code->nonce, sizeof code->nonce}))
        finish(code, OIDC_CODE_GOOD, &claims);
    else
        fail(code, "its identity token has another nonce");
    jwt_claims_fini(&claims);
}

static void on_keys(struct oidc_waiter *waiter)
{
    verify(container_of(waiter, struct oidc_code, waiter), false);
}

/* --- the exchange ----------------------------------------------------------------------------- */

/* Error responses have status 400, and 401 when our own secret is wrong (RFC 6749, 5.2). */
static bool is_code_refused(const struct http_response *response)
{
    char reason[REASON_BYTES];
    json_t *answer;
    if (response->outcome != HTTP_ANSWERED || response->status != 400 ||
        !json_parse(response->body, reason, sizeof reason, &answer))
        return false;
    bool is_refused = str_eq(json_member_str(answer, "error"), STR("invalid_grant"));
    json_decref(answer);
    return is_refused;
}

/* False with a reason: it is no answer with an identity token. */
static bool read_token(struct oidc_code *code, const struct http_response *response, char *reason,
                       size_t size)
{
    json_t *answer;
    if (response->outcome != HTTP_ANSWERED)
        snprintf(reason, size, "%s: %s", http_outcome_name(response->outcome), response->reason);
    else if (response->status != 200)
        snprintf(reason, size, "HTTP status %d", response->status);
    else if (json_parse(response->body, reason, size, &answer)) {
        struct str token = json_member_str(answer, "id_token");
        bool ok = token.n > 0 && token.n <= JWT_MAX_BYTES;
        if (ok)
            buf_put(&code->token, token);
        else
            snprintf(reason, size, "its answer has no id_token, or one of more than 8 KiB");
        json_decref(answer);
        return ok;
    }
    return false;
}

static void on_answer(void *context, const struct http_response *response)
{
    struct oidc_code *code = context;
    char reason[REASON_BYTES];
    code->call = NULL;
    if (is_code_refused(response))
        finish(code, OIDC_CODE_REFUSED, NULL);
    else if (read_token(code, response, reason, sizeof reason))
        verify(code, true);
    else
        fail(code, reason);
}

/* Puts `Authorization: Basic` with both parts encoded, as RFC 6749, 2.3.1 has it. */
static void put_basic(struct buf *b, const struct oidc_settings *settings)
{
    struct buf pair;
    buf_init(&pair, FORM_MAX_BYTES);
    buf_put_url_encoded(&pair, str_of(settings->client_id));
    buf_put_char(&pair, ':');
    buf_put_url_encoded(&pair, str_of(settings->client_secret));
    buf_lit(b, "Authorization: Basic ");
    char *at = buf_reserve(b, (pair.n + 2) / 3 * 4 + 1);
    if (at != NULL)
        b->n += (size_t)EVP_EncodeBlock((unsigned char *)at, (const unsigned char *)pair.at,
                                        (int)pair.n);
    OPENSSL_cleanse(pair.at, pair.n);
    buf_fini(&pair);
    buf_terminate(b);
}

static void put_form(struct buf *b, struct oidc_code *code, const struct token_key *key,
                     const struct person_state *state, struct str text)
{
    const struct oidc_settings *settings = oidc_settings_of(code->oidc);
    char verifier[PERSON_SECRET_CHARS];
    person_secret(key, state, PERSON_VERIFIER, verifier);
    put_param(b, "grant_type=authorization_code&code", text);
    put_redirect(b, settings);
    put_param(b, "&code_verifier", (struct str){verifier, sizeof verifier});
    bool is_secret_in_body = oidc_addresses_of(code->oidc)->is_secret_in_body;
    if (settings->client_secret == NULL || is_secret_in_body)
        put_param(b, "&client_id", str_of(settings->client_id));
    if (settings->client_secret != NULL && is_secret_in_body)
        put_param(b, "&client_secret", str_of(settings->client_secret));
}

static void wipe(struct buf *b)
{
    if (b->at != NULL)
        OPENSSL_cleanse(b->at, b->n);
    buf_fini(b);
}

void oidc_code_exchange(struct oidc_code *code, struct oidc *oidc, const struct token_key *key,
                        const struct person_state *state, struct str text)
{
    static const struct http_events events = {.on_done = on_answer};
    const struct oidc_settings *settings = oidc_settings_of(oidc);
    const struct oidc_addresses *addresses = oidc_addresses_of(oidc);
    struct buf form, basic;
    code->oidc = oidc;
    code->number = sm_number();
    code->waiter.on_fetched = on_keys;
    buf_init(&code->token, JWT_MAX_BYTES);
    buf_init(&form, FORM_MAX_BYTES);
    buf_init(&basic, FORM_MAX_BYTES);
    person_secret(key, state, PERSON_NONCE, code->nonce);
    put_form(&form, code, key, state, text);
    bool is_basic = settings->client_secret != NULL && !addresses->is_secret_in_body;
    if (is_basic)
        put_basic(&basic, settings);
    const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded",
                                   "Accept: application/json", is_basic ? basic.at : NULL, NULL};
    const struct http_request request = {.url = addresses->token,
                                         .headers = headers,
                                         .body = buf_str(&form),
                                         .timeout_ms = EXCHANGE_TIMEOUT_MS,
                                         .body_max_bytes = ANSWER_MAX_BYTES};
    move(code, STEP_EXCHANGING);
    code->call = http_call_start(oidc_http(oidc), &request, &events, code);
    wipe(&form);
    wipe(&basic);
}

void oidc_code_fini(struct oidc_code *code)
{
    http_call_cancel(code->call);
    code->call = NULL;
    if (code->oidc != NULL)
        oidc_leave(code->oidc, &code->waiter);
    wipe(&code->token);
}
