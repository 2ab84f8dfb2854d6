/* SPDX-License-Identifier: MIT
 * oidc.c - see oidc.h.
 *
 *     IDLE --(start, refresh, unknown key)--> DISCOVERING --(jwks_uri)--> FETCHING --> IDLE
 *       \________ the address of the keys is known: ______________________/
 *
 * A refresh discovers again, so that a provider may move its keys; a fetch for an unknown key,
 * which somebody waits for, uses the address at hand. Whatever fails ends the fetch, and what was
 * there stays. At the end all waiters are notified, and check again.
 *
 * Bounds what anonymous clients can cause: one fetch per `retry_ms` and thread once there are keys,
 * one per second while there are none; answers of a limited size; no redirects (the HTTP client
 * follows none), and no private addresses unless allowed. Clocks of threads differ by a random
 * part, so that they do not come to the provider all at once. */
#include "shared/http/access/oidc.h"

#include "shared/base/clock.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"
#include "shared/http/client/client.h"
#include "shared/http/client/endpoint.h"
#include "shared/metrics/metrics.h"

#include <stdio.h>

enum {
    FETCH_TIMEOUT_MS = 5000,
    EMPTY_RETRY_MS = 1000, /* between fetches while there are no keys at all */
    REASON_BYTES = 256
};

enum oidc_state { OIDC_IDLE, OIDC_DISCOVERING, OIDC_FETCHING };

static const struct sm_state states[] = {
    [OIDC_IDLE] = {"IDLE", SM(OIDC_DISCOVERING) | SM(OIDC_FETCHING)},
    [OIDC_DISCOVERING] = {"DISCOVERING", SM(OIDC_FETCHING) | SM(OIDC_IDLE)},
    [OIDC_FETCHING] = {"FETCHING", SM(OIDC_IDLE)},
};
static const struct sm sm = SM_OF("keys of the OpenID provider", states);

struct oidc {
    struct loop *loop;
    struct http_client *client;
    const struct oidc_settings *settings;
    struct metrics *metrics;
    struct jwt_keys *keys; /* NULL until a fetch went well */
    uint64_t fetched_ms;   /* when that was */
    enum oidc_state state;
    uint64_t number; /* for the log of its states */
    bool has_failed; /* the last fetch */
    bool was_asked;  /* for an unknown key, at asked_ms */
    uint64_t asked_ms;
    uint64_t ended_ms;     /* the last fetch; 0: none has */
    struct deadline again; /* the next refresh */
    struct list waiters;   /* struct oidc_waiter */
    size_t waiter_n;
    struct oidc_addresses addresses;
};

static void move(struct oidc *oidc, enum oidc_state to)
{
    oidc->state = sm_move(&sm, oidc->number, oidc->state, to);
}

static bool is_given(const char *text)
{
    return text != NULL && *text != 0;
}

bool oidc_is_wanted(const struct oidc_settings *settings)
{
    return is_given(settings->issuer) || is_given(settings->jwks_url);
}

/* A URL that can be fetched: http or https, printable, of a length that leaves room for a path. */
static bool is_url(struct str url)
{
    if (!str_has_prefix(url, STR("https://")) && !str_has_prefix(url, STR("http://")))
        return false;
    for (size_t i = 0; i < url.n; i++)
        if (url.at[i] <= ' ' || url.at[i] > '~')
            return false;
    return url.n < OIDC_URL_MAX_BYTES - 64;
}

static bool is_plain(const char *url)
{
    return str_has_prefix(str_of(url), STR("http://"));
}

/* oidc_check_settings for the client. */
static const char *check_client(const struct oidc_settings *settings, const char **ret_reason)
{
    *ret_reason = "needs --oidc-client-id";
    if (!is_given(settings->client_id))
        return settings->client_secret != NULL ? "oidc-client-secret-file" : NULL;
    *ret_reason = "needs --oidc-issuer, and no --oidc-jwks-url: the addresses for signing in are "
                  "found by discovery";
    if (!is_given(settings->issuer) || is_given(settings->jwks_url))
        return "oidc-client-id";
    *ret_reason = "needs --public-url: the provider sends browsers back there";
    return is_given(settings->public_url) ? NULL : "oidc-client-id";
}

const char *oidc_check_settings(const struct oidc_settings *settings, const char **ret_reason)
{
    const char *const urls[] = {settings->issuer, settings->jwks_url};
    const char *const names[] = {"oidc-issuer", "oidc-jwks-url"};
    for (size_t i = 0; i < 2; i++) {
        if (!is_given(urls[i]))
            continue;
        *ret_reason = "takes a URL that begins with https:// or http://";
        if (!is_url(str_of(urls[i])))
            return names[i];
        *ret_reason = "http:// needs --oidc-allow-private, because anybody on the network path "
                      "could forge keys";
        if (is_plain(urls[i]) && !settings->is_private_allowed)
            return names[i];
    }
    *ret_reason =
        "is required with a provider: otherwise tokens issued for other services would be accepted";
    if (oidc_is_wanted(settings) && !is_given(settings->audience))
        return "oidc-audience";
    return check_client(settings, ret_reason);
}

/* Copies an address of the document. https stays https. False: there is none, or it is of no use,
 * as *ret_why says. */
static bool read_address(const json_t *document, const char *name, const char *issuer,
                         char address[OIDC_URL_MAX_BYTES], const char **ret_why)
{
    struct str url = json_member_str(document, name);
    *ret_why = "is not a URL";
    if (!is_url(url))
        return false;
    *ret_why = "is http:// but the issuer is https://";
    if (!is_plain(issuer) && !str_has_prefix(url, STR("https://")))
        return false;
    memcpy(address, url.at, url.n);
    address[url.n] = 0;
    return true;
}

/* By default a provider takes it in a header. */
static bool is_secret_in_body(const json_t *document)
{
    const json_t *methods = json_object_get(document, "token_endpoint_auth_methods_supported");
    bool is_in_body = false;
    for (size_t i = 0; i < json_array_size(methods); i++) {
        struct str method = json_str(json_array_get(methods, i));
        if (str_eq(method, STR("client_secret_basic")))
            return false;
        is_in_body = is_in_body || str_eq(method, STR("client_secret_post"));
    }
    return is_in_body;
}

bool oidc_parse_discovery(struct str json, const char *issuer, struct oidc_addresses *ret_addresses,
                          char *reason, size_t reason_size)
{
    struct oidc_addresses found = {.is_secret_in_body = false};
    const char *why;
    json_t *document;
    bool ok = false;
    if (!json_parse(json, reason, reason_size, &document))
        return false;
    if (!str_eq(json_member_str(document, "issuer"), str_of(issuer))) {
        snprintf(reason, reason_size, "the discovery document names another issuer");
    } else if (!read_address(document, "jwks_uri", issuer, found.keys, &why)) {
        snprintf(reason, reason_size, "jwks_uri %s", why);
    } else {
        if (!read_address(document, "authorization_endpoint", issuer, found.authorization, &why) ||
            !read_address(document, "token_endpoint", issuer, found.token, &why))
            found.authorization[0] = found.token[0] = 0;
        found.is_secret_in_body = is_secret_in_body(document);
        *ret_addresses = found;
        ok = true;
    }
    json_decref(document);
    return ok;
}

/* --- fetching --------------------------------------------------------------------------------- */

static uint64_t with_jitter(uint64_t ms)
{
    return ms + (uint64_t)rand() % (ms / 10 + 1);
}

static void unlink_waiter(struct oidc *oidc, struct oidc_waiter *waiter)
{
    list_remove(&waiter->link);
    oidc->waiter_n--;
}

/* Those who come while others are notified wait for the next fetch: the list is taken over first.
 */
static void notify_waiters(struct oidc *oidc)
{
    struct list waiters = {0};
    struct oidc_waiter *waiter;
    list_move(&waiters, &oidc->waiters);
    while ((waiter = list_first(&waiters, struct oidc_waiter, link)) != NULL) {
        unlink_waiter(oidc, waiter);
        waiter->on_fetched(waiter);
    }
}

/* `reason` is NULL when all went well. */
static void end_fetch(struct oidc *oidc, const char *reason)
{
    bool was_well = oidc->keys != NULL && oidc->ended_ms != 0 && !oidc->has_failed;
    uint64_t retry_ms =
        oidc->settings->retry_ms > EMPTY_RETRY_MS ? oidc->settings->retry_ms : EMPTY_RETRY_MS;
    const char *where =
        oidc->state == OIDC_DISCOVERING ? oidc->settings->issuer : oidc->addresses.keys;
    if (reason != NULL)
        log_write(LOG_WARN, "cannot fetch keys from the OpenID provider", LOG_S("reason", reason),
                  LOG_S("url", where),
                  LOG_U("kept", oidc->keys == NULL ? 0 : jwt_keys_count(oidc->keys)));
    else
        log_write(was_well ? LOG_DEBUG : LOG_INFO, "fetched keys from the OpenID provider",
                  LOG_S("url", where), LOG_U("keys", jwt_keys_count(oidc->keys)));
    metrics_add(oidc->metrics, reason == NULL ? METRIC_OPENID_FETCHES : METRIC_OPENID_FAILURES, 1);
    oidc->has_failed = reason != NULL;
    oidc->ended_ms = clock_mono_ms();
    move(oidc, OIDC_IDLE);
    loop_set_deadline(oidc->loop, &oidc->again,
                      with_jitter(reason == NULL ? oidc->settings->refresh_ms : retry_ms));
    notify_waiters(oidc);
}

/* NULL when there is a 200 with a body to be read; otherwise why not. */
static const char *why_useless(const struct http_response *response, char *reason, size_t size)
{
    if (response->outcome == HTTP_ANSWERED && response->status == 200)
        return NULL;
    if (response->outcome == HTTP_ANSWERED)
        snprintf(reason, size, "HTTP status %d", response->status);
    else if (response->outcome == HTTP_REFUSED_PEER)
        snprintf(reason, size, "its address is private, which needs --oidc-allow-private");
    else
        snprintf(reason, size, "%s: %s", http_outcome_name(response->outcome), response->reason);
    return reason;
}

static void on_keys(void *context, const struct http_response *response)
{
    struct oidc *oidc = context;
    struct jwt_keys *keys;
    char reason[REASON_BYTES];
    const char *why = why_useless(response, reason, sizeof reason);
    if (why == NULL && !jwt_keys_parse(response->body, reason, sizeof reason, &keys))
        why = reason;
    if (why == NULL) {
        jwt_keys_destroy(oidc->keys);
        oidc->keys = keys;
        oidc->fetched_ms = clock_mono_ms();
        metrics_set(oidc->metrics, METRIC_OPENID_KEYS, (int64_t)jwt_keys_count(keys));
        metrics_set(oidc->metrics, METRIC_OPENID_FETCHED_MS, (int64_t)oidc->fetched_ms);
    }
    end_fetch(oidc, why);
}

static void on_discovery(void *context, const struct http_response *response);

static void get(struct oidc *oidc, enum oidc_state state, const char *url)
{
    static const char *const headers[] = {"Accept: application/json", NULL};
    static const struct http_events events[] = {
        [OIDC_DISCOVERING] = {.on_done = on_discovery}, [OIDC_FETCHING] = {.on_done = on_keys}};
    struct http_request request = {.url = url,
                                   .headers = headers,
                                   .timeout_ms = FETCH_TIMEOUT_MS,
                                   .body_max_bytes = state == OIDC_DISCOVERING
                                                         ? OIDC_DISCOVERY_MAX_BYTES
                                                         : JWT_KEYS_MAX_BYTES};
    move(oidc, state);
    /* Never cancelled on its own: it ends with the client. */
    struct http_call *call = http_call_start(oidc->client, &request, &events[state], oidc);
    (void)call;
}

static void on_discovery(void *context, const struct http_response *response)
{
    struct oidc *oidc = context;
    char reason[REASON_BYTES];
    const char *why = why_useless(response, reason, sizeof reason);
    if (why == NULL && !oidc_parse_discovery(response->body, oidc->settings->issuer,
                                             &oidc->addresses, reason, sizeof reason))
        why = reason;
    if (why == NULL)
        get(oidc, OIDC_FETCHING, oidc->addresses.keys);
    else
        end_fetch(oidc, why);
}

static void discover(struct oidc *oidc)
{
    char url[OIDC_URL_MAX_BYTES];
    struct str issuer = http_base_url(str_of(oidc->settings->issuer));
    snprintf(url, sizeof url, "%.*s/.well-known/openid-configuration", STR_ARG(issuer));
    get(oidc, OIDC_DISCOVERING, url);
}

static void fetch(struct oidc *oidc, bool is_refresh)
{
    bool is_fixed = is_given(oidc->settings->jwks_url);
    loop_cancel_deadline(oidc->loop, &oidc->again);
    if (is_fixed || (!is_refresh && oidc->addresses.keys[0] != 0))
        get(oidc, OIDC_FETCHING, oidc->addresses.keys);
    else
        discover(oidc);
}

static void on_again(struct deadline *deadline)
{
    fetch(container_of(deadline, struct oidc, again), true);
}

/* --- for requests ----------------------------------------------------------------------------- */

enum jwt_fault oidc_verify(struct oidc *oidc, struct str token, struct jwt_claims *ret_claims)
{
    struct jwt_policy policy = {str_of(oidc->settings->issuer), str_of(oidc->settings->audience)};
    return jwt_verify(oidc->keys, token, &policy, clock_wall_s(), ret_claims);
}

/* A token may have several audiences, and names in `azp` the one that asked for it. */
static bool is_for_client(const struct jwt_claims *claims, struct str client)
{
    const json_t *aud = json_object_get(claims->payload, "aud");
    struct str asked_by = json_member_str(claims->payload, "azp");
    bool is_in = str_eq(json_str(aud), client);
    for (size_t i = 0; i < json_array_size(aud); i++)
        is_in = is_in || str_eq(json_str(json_array_get(aud, i)), client);
    return is_in && (asked_by.at == NULL || str_eq(asked_by, client));
}

enum jwt_fault oidc_verify_identity(struct oidc *oidc, struct str token,
                                    struct jwt_claims *ret_claims)
{
    struct str client = str_of(oidc->settings->client_id);
    struct jwt_policy policy = {str_of(oidc->settings->issuer), client};
    struct jwt_claims claims;
    enum jwt_fault fault = jwt_verify(oidc->keys, token, &policy, clock_wall_s(), &claims);
    if (fault != JWT_GOOD)
        return fault;
    if (!is_for_client(&claims, client)) {
        jwt_claims_fini(&claims);
        return JWT_AUDIENCE;
    }
    *ret_claims = claims;
    return JWT_GOOD;
}

static uint64_t may_fetch_at_ms(const struct oidc *oidc)
{
    if (oidc->keys == NULL)
        return oidc->ended_ms + EMPTY_RETRY_MS;
    return oidc->was_asked ? oidc->asked_ms + oidc->settings->retry_ms : 0;
}

bool oidc_wait(struct oidc *oidc, struct oidc_waiter *waiter)
{
    if (oidc->waiter_n >= OIDC_WAITERS_MAX)
        return false;
    if (oidc->state == OIDC_IDLE) {
        uint64_t now_ms = clock_mono_ms();
        if (now_ms < may_fetch_at_ms(oidc))
            return false;
        oidc->was_asked = oidc->keys != NULL;
        oidc->asked_ms = now_ms;
        fetch(oidc, false);
    }
    list_prepend(&oidc->waiters, &waiter->link);
    oidc->waiter_n++;
    return true;
}

void oidc_leave(struct oidc *oidc, struct oidc_waiter *waiter)
{
    if (list_is_linked(&waiter->link))
        unlink_waiter(oidc, waiter);
}

bool oidc_is_sure(const struct oidc *oidc)
{
    return oidc->keys != NULL && !oidc->has_failed;
}

struct oidc_view oidc_read_view(const struct oidc *oidc)
{
    struct oidc_view view = {.has_ended = oidc->ended_ms != 0, .has_failed = oidc->has_failed};
    if (oidc->keys != NULL) {
        view.key_n = jwt_keys_count(oidc->keys);
        view.age_s = (clock_mono_ms() - oidc->fetched_ms) / 1000;
    }
    return view;
}

bool oidc_has_client(const struct oidc *oidc)
{
    return is_given(oidc->settings->client_id);
}

struct str oidc_name(const struct oidc *oidc)
{
    struct str host = str_of(oidc->settings->issuer);
    if (is_given(oidc->settings->name))
        return str_of(oidc->settings->name);
    for (size_t i = 0; i < 2; i++) /* behind the scheme */
        str_cut(&host, '/');
    return str_cut(&host, '/');
}

const struct oidc_settings *oidc_settings_of(const struct oidc *oidc)
{
    return oidc->settings;
}

const struct oidc_addresses *oidc_addresses_of(const struct oidc *oidc)
{
    return &oidc->addresses;
}

struct http_client *oidc_http(struct oidc *oidc)
{
    return oidc->client;
}

unsigned oidc_retry_after_s(const struct oidc *oidc)
{
    uint64_t at_ms = may_fetch_at_ms(oidc), now_ms = clock_mono_ms();
    return at_ms > now_ms ? (unsigned)((at_ms - now_ms + 999) / 1000) : 1;
}

/* --- life ------------------------------------------------------------------------------------- */

struct oidc *oidc_create(struct loop *loop, const struct oidc_settings *settings,
                         struct metrics *metrics)
{
    struct http_client_settings client = {.user_agent = "parley/" PARLEY_VERSION,
                                          .is_refusing_private = !settings->is_private_allowed};
    struct oidc *oidc = mem_zeroed(sizeof *oidc);
    oidc->loop = loop;
    oidc->number = sm_number();
    oidc->settings = settings;
    oidc->metrics = metrics;
    oidc->again.on_expire = on_again;
    if (is_given(settings->jwks_url))
        snprintf(oidc->addresses.keys, sizeof oidc->addresses.keys, "%s", settings->jwks_url);
    oidc->client = http_client_create(&client);
    http_client_attach(oidc->client, loop);
    fetch(oidc, true);
    return oidc;
}

void oidc_destroy(struct oidc *oidc)
{
    if (oidc == NULL)
        return;
    loop_cancel_deadline(oidc->loop, &oidc->again);
    http_client_destroy(oidc->client);
    jwt_keys_destroy(oidc->keys);
    free(oidc);
}
