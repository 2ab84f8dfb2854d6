/* SPDX-License-Identifier: MIT
 *
 * json: helpers on top of jansson: strict parsing with a readable reason, typed member access, and
 * writing into a buf. Values are jansson's (json_t, json_decref). Pure functions, any thread.
 */
#ifndef PARLEY_BASE_JSON_H
#define PARLEY_BASE_JSON_H

#include "shared/base/buf.h"

#include <jansson.h>

/* Parses the whole of `text`. On success *ret_value is owned by the caller. On failure returns
 * false and writes a human-readable reason into `reason` (NUL-terminated, without the input).
 * Rejects invalid UTF-8, NUL characters in strings, trailing bytes and nesting past jansson's
 * limit. */
bool json_parse(struct str text, char *reason, size_t reason_size, json_t **ret_value) must_check;

/* Returns whether lists and objects of `value` are nested more than `most` deep. Stops there. */
bool json_is_deeper(const json_t *value, unsigned most);
/* About how many bytes of memory `value` takes. Nested at most as json_parse allows. */
size_t json_memory(const json_t *value) must_check;
/* The bytes of a JSON string; `at == NULL` if `value` is not a string. Borrowed from `value`. */
struct str json_str(const json_t *value);
/* The member `name` as a string; `at == NULL` if absent or of another type. Borrowed. */
struct str json_member_str(const json_t *object, const char *name);

/* Writes `value` compactly, without raw newlines. */
void buf_put_json_value(struct buf *b, const json_t *value);

#endif
