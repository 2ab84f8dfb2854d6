/* SPDX-License-Identifier: MIT
 *
 * json_fault: describes what is wrong with a member of a JSON object, in one sentence for people.
 * It distinguishes a missing member from one of another spelling and from a wrong value. Texts are
 * repeated if they are short, so members that hold secrets must not be described. Pure functions,
 * any thread.
 */
#ifndef PARLEY_BASE_JSON_FAULT_H
#define PARLEY_BASE_JSON_FAULT_H

#include "shared/base/json_scan.h"

/* Returns whether two names differ only in capitals, '_' and '-': `topK` and `top_k`. */
bool json_is_alike(struct str a, struct str b);
/* The member that is spelt as `name` except for these; NULL: none, or `name` itself is there. */
const struct json_member *json_find_alike(const struct json_member *members, size_t n,
                                          struct str name);

/* Puts a value as it is named in a sentence: "0", "the string 'x'", "a list". */
void json_put_seen(struct buf *b, const struct json_span *value);

/* Puts why the member `name` of the object with these members is refused. `expected` completes "it
 * must be": "a string of 1 to 128 bytes". */
void json_put_fault(struct buf *b, const struct json_member *members, size_t n, const char *name,
                    const char *expected);
/* Puts the names of the members that are none of `known`, which ends with NULL: "'Text', 'text'".
 * At most five. Returns how many such members there are. */
size_t json_put_unknown(struct buf *b, const struct json_member *members, size_t n,
                        const char *const *known);

#endif
