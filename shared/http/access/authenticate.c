/* SPDX-License-Identifier: MIT
 * authenticate.c - see authenticate.h. A failure costs the sender a round trip to Redis, where
 * failures are counted for the whole cluster by account and network (failures.h), or by this thread
 * alone while Redis cannot. A success makes no call and is never refused because of others'
 * failures: only further failures are refused.
 *
 * A provider's token gets an account of its own making, for this request: role user, and `sub` for
 * a name. Names of configured accounts are taken, even if the provider gives them to somebody. A
 * token of ours of a person who signed in with the provider (person.h) gets the same. A provider's
 * token under a key that is not known yet waits for the keys, at most once; the request then
 * continues by itself.
 */
#include "shared/http/access/authenticate.h"

#include "generated/verbs.h"
#include "shared/base/clock.h"
#include "shared/http/access/audit.h"
#include "shared/http/access/auth_fault.h"
#include "shared/http/access/failures.h"
#include "shared/http/access/gate.h"
#include "shared/http/access/oidc.h"
#include "shared/http/access/proof.h"
#include "shared/http/access/rates.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/peer.h"
#include "shared/http/request/respond.h"

#include <openssl/crypto.h>
#include <stdio.h>

enum { PROVIDER_MAX_WAITING = 100 };

static void refuse_failures(struct request *r, uint64_t left_ms)
{
    respond_error_more(r, ERR_TOO_MANY_FAILURES, NULL, NULL, (unsigned)((left_ms + 999) / 1000));
}

/* A failed login, while it is counted. */
struct failing {
    struct failures_slots slots;
    const char *detail; /* for its sender, a constant */
};

static void on_counted(struct request *r, enum err error, struct str reply)
{
    uint64_t count = 0, left_ms = 0;
    const struct failing *failing = r->state;
    struct str counted = str_cut(&reply, '\n');
    bool is_known =
        error == ERR_OK && str_parse_u64(counted, &count) && str_parse_u64(reply, &left_ms);
    if (!is_known || count <= FAILURES_MAX || left_ms == 0) {
        respond_error(r, ERR_UNAUTHORIZED, failing->detail);
        return;
    }
    failures_refuse(r->server->gate->failures, failing->slots, clock_mono_ms(), left_ms);
    refuse_failures(r, left_ms);
}

static struct failures_slots slots_of(struct request *r, struct str account)
{
    struct buf network;
    buf_init(&network, PEER_TEXT_MAX);
    peer_put_network(&network, peer_address(r));
    struct failures_slots slots =
        failures_slots(&r->server->gate->token_key, buf_str(&network), account);
    buf_fini(&network);
    return slots;
}

bool authenticate_may_try(struct request *r)
{
    uint64_t left_ms =
        failures_left(r->server->gate->failures, slots_of(r, STR("")), clock_mono_ms());
    if (left_ms > 0)
        refuse_failures(r, left_ms);
    return left_ms == 0;
}

/* `account`: as claimed, whether there is one or not: nothing here may show that. */
static bool fail(struct request *r, struct str account, const char *detail)
{
    struct server *server = r->server;
    struct failing *failing = request_alloc(r, sizeof *failing);
    metrics_add(server->metrics, METRIC_LOGIN_FAILURES, 1);
    *failing = (struct failing){slots_of(r, account), detail};
    uint64_t left_ms = failures_count(server->gate->failures, failing->slots, clock_mono_ms());
    if (left_ms > 0) {
        refuse_failures(r, left_ms);
        return false;
    }
    r->state = failing;
    struct buf row;
    buf_init(&row, AUDIT_ROW_MAX_BYTES);
    audit_put_refused(&row, r, account);
    call_failure(request_call(r, on_counted), .slot = failing->slots.of[0],
                 .other_slot = failing->slots.of[1], .limit = FAILURES_MAX,
                 .row = row.is_over ? STR("") : buf_str(&row));
    buf_fini(&row);
    return false;
}

/* A token names an account only once it is authenticated: those that fail are counted together. */
static bool fail_token(struct request *r, struct str token)
{
    return fail(r, STR(""), auth_fault_of_token(token));
}

void authenticate_fail(struct request *r, const char *detail)
{
    (void)fail(r, STR(""), detail);
}

/* `Authorization: Bearer <token>`, else the parameter `token` where the route takes it, for
 * browsers' WebSockets, which cannot send headers; at == NULL when there is none. */
struct str authenticate_token(struct request *r)
{
    struct str value = request_header(r, "authorization");
    if (is_bearer(value))
        return bearer_value(value);
    if (r->route->takes_token_param)
        return request_param(r, "token");
    return (struct str){NULL, 0};
}

/* --- tokens of a provider --------------------------------------------------------------------- */

static void log_fault(struct request *r, enum jwt_fault fault)
{
    const char *reason = jwt_fault_text(fault);
    uint64_t times;
    if (log_limit_passes(&r->server->refusals.tokens, reason, &times))
        log_write(LOG_INFO, "token refused", LOG_STR("id", r->id), LOG_S("reason", reason),
                  LOG_U("times", times));
}

static struct str take(struct request *r, struct buf *b)
{
    struct str copy = request_copy(r, buf_str(b));
    buf_clear(b);
    return copy;
}

static void become(struct request *r, const struct jwt_claims *claims)
{
    struct account *account = request_alloc(r, sizeof *account);
    struct identity *identity = request_alloc(r, sizeof *identity);
    struct buf *b = &r->server->scratch;
    *account = (struct account){.name = request_copy(r, claims->sub),
                                .role = ROLE_USER,
                                .weight = 1,
                                .weight_text = STR("1"),
                                .max_waiting = PROVIDER_MAX_WAITING,
                                .upload_rate = ACCOUNT_UPLOAD_RATE,
                                .max_rate = ACCOUNT_MAX_RATE,
                                .max_nonces = ACCOUNT_MAX_NONCES};
    *identity = (struct identity){.username = request_copy(r, claims->username)};
    if (claims->email.at != NULL)
        identity->email = request_copy(r, claims->email);
    buf_clear(b);
    buf_put_name(b, account->name);
    account->name_token = account->user_token = take(r, b);
    buf_put_json(b, account->name);
    account->name_json = take(r, b);
    jwt_put_roles(b, claims);
    identity->roles_json = take(r, b);
    r->account = account;
    r->identity = identity;
    r->expires_s = claims->expires_s;
}

static bool accept_claims(struct request *r, struct str token, const struct jwt_claims *claims)
{
    const struct accounts *accounts = gate_accounts(r->server->gate);
    if (accounts_find(accounts, claims->sub) != NULL) { /* the provider did sign it */
        log_write(LOG_INFO, "token refused", LOG_STR("id", r->id),
                  LOG_S("reason", "its sub equals the name of a configured account"));
        return fail_token(r, token);
    }
    become(r, claims);
    return true;
}

struct key_wait {
    struct oidc_waiter waiter;
    struct request *request;
    struct str token;
    void (*on_known)(struct request *r);
};

static void on_gone_waiting(struct request *r)
{
    struct key_wait *wait = r->state;
    oidc_leave(r->server->gate->oidc, &wait->waiter);
}

static void on_keys_fetched(struct oidc_waiter *waiter);

static bool wait_for_keys(struct request *r, struct str token, void (*on_known)(struct request *r))
{
    struct key_wait *wait = request_alloc(r, sizeof *wait);
    *wait = (struct key_wait){
        .waiter.on_fetched = on_keys_fetched, .request = r, .token = token, .on_known = on_known};
    if (!oidc_wait(r->server->gate->oidc, &wait->waiter))
        return false;
    r->state = wait;
    r->on_gone = on_gone_waiting;
    return true;
}

/* `on_known`: NULL if it may not wait. */
static bool check_provider_token(struct request *r, struct str token,
                                 void (*on_known)(struct request *r))
{
    struct oidc *oidc = r->server->gate->oidc;
    struct jwt_claims claims;
    enum jwt_fault fault = oidc_verify(oidc, token, &claims);
    if (fault == JWT_GOOD) {
        bool ok = accept_claims(r, token, &claims);
        jwt_claims_fini(&claims);
        return ok;
    }
    if (fault == JWT_NO_KEY && on_known != NULL && wait_for_keys(r, token, on_known))
        return false;
    if (fault == JWT_NO_KEY && !oidc_is_sure(oidc)) {
        respond_error_more(r, ERR_PROVIDER_DOWN, NULL, NULL, oidc_retry_after_s(oidc));
        return false;
    }
    log_fault(r, fault);
    if (fault == JWT_EXPIRED) { /* its signature was right: nobody guesses */
        respond_error(r, ERR_TOKEN_EXPIRED, NULL);
        return false;
    }
    return fail_token(r, token);
}

/* --- tokens of ours --------------------------------------------------------------------------- */

static enum err check_person(struct request *r, struct str token)
{
    struct person person;
    enum err error = gate_check_person(r->server->gate, token, &person);
    if (error == ERR_OK) {
        become(r, &person.claims);
        person_fini(&person);
    }
    return error;
}

static bool check_own_token(struct request *r, struct str token)
{
    if (!r->server->gate->has_token_key) {
        respond_error(r, ERR_REDIS_LOST, NULL);
        return false;
    }
    enum err error = person_is_token(token)
                         ? check_person(r, token)
                         : gate_check_token(r->server->gate, token, &r->account, &r->expires_s);
    if (error == ERR_UNAUTHORIZED)
        return fail_token(r, token);
    if (error != ERR_OK)
        respond_error(r, error, NULL);
    return error == ERR_OK;
}

/* --- all together ----------------------------------------------------------------------------- */

static bool is_login(const struct request *r)
{
    return str_eq(str_of(r->route->path), STR("/api/login"));
}

/* A refusal here uses no nonce up: the very same request may be sent again. */
static bool check_rate(struct request *r)
{
    char detail[256];
    unsigned retry_s = 0;
    enum rates_answer answer =
        rates_admit(r->server->gate->rates, r->account, r->nonce.is_set, is_login(r), &retry_s);
    if (answer == RATES_ADMITTED)
        return true;
    metrics_add(r->server->metrics, METRIC_RATE_LIMITED, 1);
    r->nonce.is_set = false;
    if (answer == RATES_TOO_FAST)
        snprintf(detail, sizeof detail,
                 "This account exceeds its rate of %llu %s per second: wait, then retry.",
                 COUNTED(r->account->max_rate, "request"));
    else
        snprintf(detail, sizeof detail,
                 "This account has used its daily limit of %llu %s (UTC): use a token from "
                 "/api/login, which needs no nonces.",
                 COUNTED(r->account->max_nonces, "nonce"));
    respond_error_more(r, ERR_RATE_LIMITED, detail, NULL, retry_s);
    return false;
}

static bool check_role(struct request *r)
{
    return (r->route->roles & 1u << r->account->role) != 0 || explain_role(r);
}

static void on_keys_fetched(struct oidc_waiter *waiter)
{
    struct key_wait *wait = container_of(waiter, struct key_wait, waiter);
    struct request *r = wait->request;
    r->on_gone = NULL;
    r->state = NULL;
    if (check_provider_token(r, wait->token, NULL) && check_rate(r) && check_role(r))
        wait->on_known(r);
}

static bool check_token(struct request *r, struct str token, void (*on_known)(struct request *r))
{
    if (token.n > TOKEN_MAX_BYTES) { /* no other one of that kind will do, so it is not 401 */
        respond_error(r, ERR_HEADERS_TOO_LARGE,
                      "The bearer token is longer than 8 KiB: use one with fewer claims.");
        return false;
    }
    if (token_is_ours(token) || person_is_token(token) || r->server->gate->oidc == NULL)
        return check_own_token(r, token);
    return check_provider_token(r, token, on_known);
}

static bool check_signed(struct request *r)
{
    struct auth_signed given = {.user = request_param(r, "User")};
    const struct account *account;
    bool is_in_body =
        given.user.at == NULL && r->route->takes_signed_body && r->exchange.h2o->entity.len > 0;
    if (is_in_body) {
        if (!request_body(r))
            return false;
        given =
            (struct auth_signed){request_member_text(r, "User"), request_member_text(r, "Nonce"),
                                 request_member_text(r, "Hash")};
        account = proof_of_signature(r->server, given.user, given.nonce, given.hash, &r->nonce);
    } else {
        account = proof_of_query(r->server, r->query, &r->nonce);
    }
    if (account == NULL) {
        if (!is_in_body)
            given = (struct auth_signed){given.user, request_param(r, "Nonce"),
                                         request_param(r, "Hash")};
        return fail(r, given.user, auth_fault_of_signed(r, &given));
    }
    r->account = account;
    r->is_signed = true;
    return true;
}

static bool check_api_key(struct request *r, struct str key)
{
    char room[ACCOUNT_NAME_MAX_BYTES];
    struct str name;
    const struct account *account = proof_of_api_key(r->server, key, room, &name);
    if (account == NULL)
        return fail(r, name, auth_fault_of_key(key));
    r->account = account;
    return true;
}

static bool check_basic(struct request *r, struct str authorization)
{
    struct buf text;
    struct str name;
    buf_init(&text, BASIC_MAX_BYTES);
    const struct account *account =
        proof_of_basic(r->server, basic_value(authorization), &text, &name);
    bool is_good = account != NULL || fail(r, name, auth_fault_of_basic(buf_str(&text)));
    if (text.at != NULL)
        OPENSSL_cleanse(text.at, text.n);
    buf_fini(&text);
    r->account = account;
    r->has_secret = is_good;
    return is_good;
}

static bool has_basic(struct request *r)
{
    return r->route->takes_basic && is_basic(request_header(r, "authorization"));
}

static bool has_api_key(struct request *r)
{
    return r->route->takes_api_key && request_header(r, "x-api-key").at != NULL;
}

/* Programs that send their credential in x-api-key send tokens there, too. */
static bool check_api_key_field(struct request *r, void (*on_known)(struct request *r))
{
    struct str key = request_header(r, "x-api-key");
    bool is_token = key.n > 0 && !is_api_key(key) && memchr(key.at, '.', key.n) != NULL;
    return is_token ? check_token(r, key, on_known) : check_api_key(r, key);
}

static bool check_bearer(struct request *r, struct str value, void (*on_known)(struct request *r))
{
    bool is_key = r->route->takes_api_key && is_api_key(value);
    return is_key ? check_api_key(r, value) : check_token(r, value, on_known);
}

bool authenticate_is_tried(struct request *r)
{
    bool has_body = r->exchange.h2o->entity.len > 0 && r->rejection != ERR_ENCODED &&
                    r->exchange.h2o->entity.len <= route_body_max(r->server, r->route);
    return (r->route->takes_signed_body && has_body) ||
           request_header(r, "authorization").at != NULL || request_param(r, "Hash").at != NULL ||
           (r->route->takes_token_param && request_param(r, "token").at != NULL);
}

static void forget_nonce(struct shards *shards, struct nonce_id *nonce)
{
    struct call_start start = shards_forget(shards);
    start.nonce = nonce;
    call_nonce(start);
}

void authenticate_use_up(struct server *server, struct str query)
{
    struct nonce_id nonce = {.is_set = false};
    unsigned retry_s;
    const struct account *account = proof_of_query(server, query, &nonce);
    if (account != NULL &&
        rates_admit(server->gate->rates, account, true, false, &retry_s) == RATES_ADMITTED)
        forget_nonce(server->shards, &nonce);
}

bool authenticate(struct request *r, void (*on_known)(struct request *r))
{
    if (r->route->roles == ROLES_NONE)
        return true;
    if (r->route->is_open != NULL && !authenticate_is_tried(r) && r->route->is_open(r))
        return true;
    struct str bearer = authenticate_token(r);
    bool is_known = bearer.at != NULL ? check_bearer(r, bearer, on_known)
                    : has_basic(r)    ? check_basic(r, request_header(r, "authorization"))
                    : has_api_key(r)  ? check_api_key_field(r, on_known)
                                      : check_signed(r);
    return is_known && check_rate(r) && check_role(r);
}
