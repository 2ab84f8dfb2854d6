/* SPDX-License-Identifier: MIT
 *
 * engine_members: members of frames and of the routes' responses. Pure; borrows from the text.
 */
#ifndef PARLEY_BROKER_ENGINE_MEMBERS_H
#define PARLEY_BROKER_ENGINE_MEMBERS_H

#include "shared/base/json_scan.h"

enum { ENGINE_MEMBERS_MAX = 64 };

struct engine_members {
    struct json_member at[ENGINE_MEMBERS_MAX];
    size_t n;
};

/* Returns false if `json` is not one object with at most ENGINE_MEMBERS_MAX members. */
bool engine_members_read(struct engine_members *m, struct str json) must_check;
/* NULL: absent. */
const struct json_span *engine_member(const struct engine_members *m, const char *name);
/* The bytes of a text, with its escapes, or of a number; "" for all else. */
struct str engine_member_raw(const struct engine_members *m, const char *name);
/* A whole number from 0. Returns false and leaves *ret_value untouched for all else. */
bool engine_member_u64(const struct engine_members *m, const char *name,
                       uint64_t *ret_value) must_check;
bool engine_member_is(const struct engine_members *m, const char *name, bool fallback);

#endif
