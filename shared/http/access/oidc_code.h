/* SPDX-License-Identifier: MIT
 *
 * oidc_code: signs a person in at the OpenID provider: where to send the browser, and the exchange
 * of the code that it brings back for the person's claims (RFC 6749, 4.1; RFC 7636; OpenID Connect
 * Core 1.0, 3.1). services/broker/sign_in.c serves the routes. On the loop's thread.
 */
#ifndef PARLEY_HTTP_OIDC_CODE_H
#define PARLEY_HTTP_OIDC_CODE_H

#include "shared/auth/person.h"
#include "shared/http/access/oidc.h"

enum { OIDC_CODE_MAX_BYTES = 4096 };

/* Puts the address at the provider for this state, whose text is `text`. False: the provider's
 * addresses are not known (yet). Requires a client (oidc_has_client). */
bool oidc_code_put_url(struct buf *out, const struct oidc *oidc, const struct token_key *key,
                       const struct person_state *state, struct str text) must_check;

enum oidc_code_outcome {
    OIDC_CODE_GOOD,
    OIDC_CODE_REFUSED, /* the provider does not know the code, or not any more */
    OIDC_CODE_FAILED   /* the provider is away, slow or wrong; the log says why */
};

/* One exchange. In its owner's memory, zeroed. */
struct oidc_code {
    struct oidc *oidc;
    struct oidc_waiter waiter;
    struct http_call *call; /* NULL: none is under way */
    struct buf token;       /* the provider's identity token */
    unsigned step;
    uint64_t number; /* for the log of its steps */
    char nonce[PERSON_SECRET_CHARS];
    /* Runs once, never before oidc_code_exchange returns. `claims` are valid inside the call only,
     * and NULL unless OIDC_CODE_GOOD. */
    void (*on_done)(struct oidc_code *code, enum oidc_code_outcome outcome,
                    const struct jwt_claims *claims);
};

/* Starts it. `text` is copied. */
void oidc_code_exchange(struct oidc_code *code, struct oidc *oidc, const struct token_key *key,
                        const struct person_state *state, struct str text);
/* Ends it without on_done, or after that. */
void oidc_code_fini(struct oidc_code *code);

#endif
