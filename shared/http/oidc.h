/* SPDX-License-Identifier: MIT
 *
 * oidc: the keys of an OpenID provider, fetched and kept, and its tokens verified by them (jwt.h).
 * One per thread, used on its loop's thread only. It decides what a token proves and when keys are
 * fetched; who may do what with it is for authenticate.c.
 *
 * Keys are fetched at start, now and then (`refresh_ms`), and when a token names a key that is not
 * known, at most every `retry_ms`. Requests that wait for keys share one fetch. While the provider
 * is down the last keys stay.
 */
#ifndef PARLEY_HTTP_OIDC_H
#define PARLEY_HTTP_OIDC_H

#include "shared/auth/jwt.h"
#include "shared/op/loop.h"

struct metrics;

enum { OIDC_URL_MAX_BYTES = 1024, OIDC_DISCOVERY_MAX_BYTES = 64 << 10, OIDC_WAITERS_MAX = 4096 };

/* Texts are NULL or "" where they are not given; borrowed as long as anybody uses them. */
struct oidc_settings {
    const char *issuer;      /* compared with `iss`; keys are found by discovery below it */
    const char *jwks_url;    /* where the keys are, without discovery */
    const char *audience;    /* what `aud` or `azp` must say */
    bool is_private_allowed; /* private addresses, and http:// */
    uint64_t retry_ms;       /* fetches for unknown keys are at least so far apart */
    uint64_t refresh_ms;
};

/* Whether any provider is named at all. */
bool oidc_is_wanted(const struct oidc_settings *settings);
/* NULL when the settings make sense; otherwise the name of the wrong one ("oidc-issuer") with a
 * reason for people in *ret_reason, both static. */
const char *oidc_check_settings(const struct oidc_settings *settings, const char **ret_reason);

/* Reads a discovery document (OpenID Connect Discovery 1.0, section 4.3), which must be of
 * `issuer`: puts its `jwks_uri` into `jwks_url`, NUL-terminated. Otherwise false, and a reason.
 * Pure. */
bool oidc_parse_discovery(struct str json, const char *issuer, char jwks_url[OIDC_URL_MAX_BYTES],
                          char *reason, size_t reason_size) must_check;

struct oidc;

/* Starts the first fetch. Counts fetches and keys in `metrics`, which is borrowed. */
struct oidc *oidc_create(struct loop *loop, const struct oidc_settings *settings,
                         struct metrics *metrics) must_check;
/* Drops a fetch under way; waiters are not notified. Accepts NULL. Before the loop's end. */
void oidc_destroy(struct oidc *oidc);

/* Verifies by the keys at hand, as jwt_verify. */
enum jwt_fault oidc_verify(struct oidc *oidc, struct str token,
                           struct jwt_claims *ret_claims) must_check;

/* In its owner's memory. */
struct oidc_waiter {
    struct oidc_waiter *next, **link; /* link == NULL: not waiting */
    /* Runs once, when a fetch has ended, well or not; the waiter is off the list by then. */
    void (*on_fetched)(struct oidc_waiter *waiter);
};

/* After JWT_NO_KEY: waits for the fetch under way, or starts one. False when none may start yet or
 * too many wait. Never calls back before it returns. */
bool oidc_wait(struct oidc *oidc, struct oidc_waiter *waiter) must_check;
/* Ends the wait without its callback. */
void oidc_leave(struct oidc *oidc, struct oidc_waiter *waiter);

/* Whether JWT_NO_KEY can be believed: there are keys, and the last fetch got them. */
bool oidc_is_sure(const struct oidc *oidc);
/* When to come again otherwise: at least 1. */
unsigned oidc_retry_after_s(const struct oidc *oidc);

/* For people who look after it. */
struct oidc_view {
    bool has_ended;  /* some fetch has, well or not */
    bool has_failed; /* the last one */
    size_t key_n;
    uint64_t age_s; /* of the keys; 0 without any */
};
struct oidc_view oidc_look(const struct oidc *oidc);

#endif
