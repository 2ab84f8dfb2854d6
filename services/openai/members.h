/* SPDX-License-Identifier: MIT
 *
 * members: the members of a JSON object within a request, or within what an engine sent. Borrows
 * from its text. Pure, any thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_MEMBERS_H
#define PARLEY_SERVICES_OPENAI_MEMBERS_H

#include "shared/base/json_scan.h"

enum { MEMBERS_MAX = 32 }; /* later ones are not seen */

struct members {
    struct json_member at[MEMBERS_MAX];
    size_t n;
};

/* Returns false, and there are none, if `json` is not an object. */
bool members_read(struct members *members, struct str json);
/* The last member of that name; NULL if it is absent or null. */
const struct json_span *members_get(const struct members *members, const char *name);
/* The same; NULL too if it is of another kind. */
const struct json_span *members_get_kind(const struct members *members, const char *name,
                                         enum json_kind kind);
/* A whole number from 0; `fallback` if it is absent or none. */
uint64_t members_u64(const struct members *members, const char *name, uint64_t fallback);
/* Puts a value as it was sent. */
void members_put_span(struct buf *b, const struct json_span *value);

#endif
