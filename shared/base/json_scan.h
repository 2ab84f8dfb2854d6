/* SPDX-License-Identifier: MIT
 *
 * json_scan: reads a JSON object's members in one pass, without building a tree: each value is
 * fully validated and returned as the bytes that were sent. Request bodies are read this way,
 * because most of a body is one long string that is stored unchanged, and a tree would copy it
 * twice (ADR 12 has the figures). Trees are jansson's (json.h). Pure functions, any thread;
 * spans borrow from the scanned text.
 *
 * Accepts RFC 8259 except invalid UTF-8, lone surrogates and \u0000 in strings, nesting past
 * JSON_DEPTH_MAX, and numbers that a tree cannot hold (integers beyond signed 64 bits, reals beyond
 * a double). So json_parse reads everything that passes here. If a member occurs twice, the last
 * one counts.
 */
#ifndef PARLEY_BASE_JSON_SCAN_H
#define PARLEY_BASE_JSON_SCAN_H

#include "shared/base/buf.h"

enum { JSON_DEPTH_MAX = 64 };

enum json_kind {
    JSON_SPAN_ABSENT,
    JSON_SPAN_NULL,
    JSON_SPAN_BOOL,
    JSON_SPAN_NUMBER,
    JSON_SPAN_TEXT,
    JSON_SPAN_LIST,
    JSON_SPAN_OBJECT,
    JSON_SPAN_NR
};

/* One value. `raw` is its bytes; a text is without its quotes. */
struct json_span {
    enum json_kind kind;
    bool has_escape; /* of a text: `raw` contains escapes */
    struct str raw;
};

struct json_member {
    struct json_span name, value;
};

/* Scans `text`, which must be one object and nothing else. The first `most` members are written to
 * `members`; *ret_n is the total, which may be larger. On failure returns false: *ret_reason is a
 * human-readable text and *ret_at the offset in bytes; *ret_is_object distinguishes valid JSON that
 * is not an object from invalid JSON. */
bool json_scan_object(struct str text, struct json_member *members, size_t most, size_t *ret_n,
                      const char **ret_reason, size_t *ret_at, bool *ret_is_object) must_check;

/* The inside of a list that was scanned, without its brackets; empty for other kinds. */
struct str json_list_inside(const struct json_span *list);
/* Removes the first item from the inside of a list; returns false at the end. */
bool json_next_item(struct str *rest, struct json_span *ret_item) must_check;

/* Puts the text of a span, unescaped. */
void buf_put_span_text(struct buf *b, const struct json_span *text);
/* Puts a scanned value in canonical compact form: no white space, texts as buf_put_json writes
 * them. Equal texts give equal bytes, however they were escaped. */
void buf_put_span(struct buf *b, const struct json_span *value);

#endif
