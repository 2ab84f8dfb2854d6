/* SPDX-License-Identifier: MIT
 *
 * oidc: fetches and caches the keys of an OpenID provider and verifies its tokens (jwt.h). One per
 * thread, used on its loop's thread only. It decides when to fetch keys; authenticate.c decides
 * what a token may do.
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

struct metrics;

enum { OIDC_URL_MAX_BYTES = 1024, OIDC_DISCOVERY_MAX_BYTES = 64 << 10, OIDC_WAITERS_MAX = 4096 };

/* Texts are NULL or "" if not given; borrowed for the lifetime of the oidc. */
struct oidc_settings {
    const char *issuer;      /* compared with `iss`; keys are found by discovery below it */
    const char *jwks_url;    /* URL of the keys, without discovery */
    const char *audience;    /* required value of `aud` or `azp` */
    bool is_private_allowed; /* private addresses, and http:// */
    uint64_t retry_ms;       /* minimum time between fetches for unknown keys */
    uint64_t refresh_ms;
};

/* Returns whether a provider is configured. */
bool oidc_is_wanted(const struct oidc_settings *settings);
/* Returns NULL if the settings are valid; otherwise the name of the wrong one ("oidc-issuer") with
 * a human-readable reason in *ret_reason, both static. */
const char *oidc_check_settings(const struct oidc_settings *settings, const char **ret_reason);

/* Reads a discovery document (OpenID Connect Discovery 1.0, section 4.3), which must name `issuer`,
 * and copies its `jwks_uri` to `jwks_url`, NUL-terminated. Otherwise returns false with a reason.
 * Pure. */
bool oidc_parse_discovery(struct str json, const char *issuer, char jwks_url[OIDC_URL_MAX_BYTES],
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
