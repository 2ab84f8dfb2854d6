/* SPDX-License-Identifier: MIT
 *
 * engine_claims: the claims that an engine holds over its socket, as far as the node knows: it
 * counts them to fill the engine's slots. Redis decides: a claim that ended unnoticed (its lease
 * expired) is removed with the next frame about it. A claim keeps the name of the poll that brought
 * it, a number from 0, so that operators see a working engine by the name under which it polled. In
 * the socket's memory; on the loop's thread.
 */
#ifndef PARLEY_BROKER_ENGINE_CLAIMS_H
#define PARLEY_BROKER_ENGINE_CLAIMS_H

#include "shared/base/list.h"
#include "shared/base/str.h"

enum { ENGINE_NAMES_MAX = 64 };

struct engine_claims {
    struct list list; /* struct engine_claim */
    unsigned n;
    uint64_t names; /* a bit each */
};

void engine_claims_fini(struct engine_claims *claims);
/* Adds the claim in `json`, an object with Lease and Queries. `name`: a free one, or
 * ENGINE_NAMES_MAX for none. */
void engine_claims_add(struct engine_claims *claims, struct str json, unsigned name);
/* That query of the claim has ended. Does nothing if it is not there. */
void engine_claims_end_one(struct engine_claims *claims, struct str lease, uint64_t seq);
void engine_claims_end(struct engine_claims *claims, struct str lease);
/* The claim's name; ENGINE_NAMES_MAX if it has none, or is not there. */
unsigned engine_claims_name(const struct engine_claims *claims, struct str lease);
/* Returns whether the claim is there with that query and no other. */
bool engine_claims_is_last(const struct engine_claims *claims, struct str lease, uint64_t seq);

#endif
