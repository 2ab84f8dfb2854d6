/* SPDX-License-Identifier: MIT
 *
 * oidc: fetches and caches the keys and addresses of an OpenID provider and verifies its tokens
 * (jwt.h). One per thread, used on its loop's thread only. It decides when to fetch keys;
 * authenticate.c decides what a token may do, and oidc_code.h signs people in.
 *
 * Keys are fetched at start, every `refresh_ms`, and for a token with an unknown key at most every
 * `retry_ms`. Requests that wait for keys share one fetch. While the provider is down, the last
 * keys stay valid.
 */
#ifndef PARLEY_HTTP_OIDC_H
#define PARLEY_HTTP_OIDC_H

#include "shared/auth/jwt.h"
#include "shared/base/list.h"
#include "shared/op/loop.h"

struct http_client;
struct metrics;

enum { OIDC_URL_MAX_BYTES = 1024, OIDC_DISCOVERY_MAX_BYTES = 64 << 10, OIDC_WAITERS_MAX = 4096 };

/* Texts are NULL or "" if not given; borrowed for the lifetime of the oidc. */
struct oidc_settings {
    const char *issuer;   /* compared with `iss`; keys are found by discovery below it */
    const char *jwks_url; /* URL of the keys, without discovery */
    const char *audience; /* required value of `aud` or `azp` */
    /* The client that Parley is at the provider, where people sign in with it (oidc_code.h). */
    const char *client_id;
    const char *client_secret; /* NULL: a public client */
    const char *public_url;    /* where browsers reach the cluster, as --public-url has it */
    const char *name;          /* of the provider, for people; its host without it */
    bool is_private_allowed;   /* private addresses, and http:// */
    uint64_t retry_ms;         /* minimum time between fetches for unknown keys */
    uint64_t refresh_ms;
};

/* Returns whether a provider is configured. */
bool oidc_is_wanted(const struct oidc_settings *settings);
/* Returns NULL if the settings are valid; otherwise the name of the wrong one ("oidc-issuer") with
 * a human-readable reason in *ret_reason, both static. */
const char *oidc_check_settings(const struct oidc_settings *settings, const char **ret_reason);

/* Addresses of a provider, NUL-terminated; "": not known, or not fit for use. */
struct oidc_addresses {
    char keys[OIDC_URL_MAX_BYTES];
    char authorization[OIDC_URL_MAX_BYTES]; /* where browsers are sent */
    char token[OIDC_URL_MAX_BYTES];         /* where codes are exchanged */
    bool is_secret_in_body;                 /* it takes the client's secret in the body only */
};

/* Reads a discovery document (OpenID Connect Discovery 1.0, section 4.3), which must name `issuer`
 * and have an address of keys. Otherwise returns false with a reason, and leaves *ret_addresses
 * untouched. Pure. */
bool oidc_parse_discovery(struct str json, const char *issuer, struct oidc_addresses *ret_addresses,
                          char *reason, size_t reason_size) must_check;

struct oidc;

/* Starts the first fetch. Counts fetches and keys in `metrics`, which is borrowed. */
struct oidc *oidc_create(struct loop *loop, const struct oidc_settings *settings,
                         struct metrics *metrics) must_check;
/* Drops a running fetch; waiters are not notified. Accepts NULL. Call it before the loop ends. */
void oidc_destroy(struct oidc *oidc);

/* Verifies with the cached keys, like jwt_verify. */
enum jwt_fault oidc_verify(struct oidc *oidc, struct str token,
                           struct jwt_claims *ret_claims) must_check;
/* The same for an identity token that was issued to our client (OpenID Connect Core 1.0, section
 * 3.1.3.7, without the nonce). */
enum jwt_fault oidc_verify_identity(struct oidc *oidc, struct str token,
                                    struct jwt_claims *ret_claims) must_check;

/* Returns whether people can sign in with this provider: Parley is a client of it. */
bool oidc_has_client(const struct oidc *oidc);
/* Its name for people: a setting, or the host of its issuer. Static for the oidc's lifetime. */
struct str oidc_name(const struct oidc *oidc);
const struct oidc_settings *oidc_settings_of(const struct oidc *oidc);
const struct oidc_addresses *oidc_addresses_of(const struct oidc *oidc);
/* Its client, which reaches private addresses only if the settings allow it. */
struct http_client *oidc_http(struct oidc *oidc);

/* In its owner's memory. */
struct oidc_waiter {
    struct list_link link; /* linked: it waits */
    /* Runs once, when a fetch has succeeded or failed; the waiter is already off the list. */
    void (*on_fetched)(struct oidc_waiter *waiter);
};

/* After JWT_NO_KEY: waits for the running fetch, or starts one. Returns false if none may start yet
 * or too many wait. Never calls back before it returns. */
bool oidc_wait(struct oidc *oidc, struct oidc_waiter *waiter) must_check;
/* Ends the wait without its callback. */
void oidc_leave(struct oidc *oidc, struct oidc_waiter *waiter);

/* Returns whether JWT_NO_KEY is conclusive: there are keys, and the last fetch succeeded. */
bool oidc_is_sure(const struct oidc *oidc);
/* Otherwise, when to retry: at least 1. */
unsigned oidc_retry_after_s(const struct oidc *oidc);

/* For operators. */
struct oidc_view {
    bool has_ended;  /* at least one fetch has ended */
    bool has_failed; /* the last one */
    size_t key_n;
    uint64_t age_s; /* of the keys; 0 without any */
};
struct oidc_view oidc_read_view(const struct oidc *oidc);

#endif
