/* SPDX-License-Identifier: MIT
 *
 * json_scan: reads a JSON object's members in one pass, without building a tree: every value is
 * checked whole and handed out as the bytes that were sent. This is what request bodies go through:
 * most of a body is one long string that is stored as it came, and a tree would copy it twice
 * (docs/adr/0006 has the figures). Trees are jansson's (json.h). Pure functions, any thread; spans
 * borrow from the scanned text.
 *
 * Accepts what RFC 8259 allows, less: invalid UTF-8, lone surrogates and \u0000 in strings, nesting
 * past JSON_DEPTH_MAX, and numbers that a tree cannot hold: integers past 64 bits with their sign,
 * reals past a double. So whatever is scanned here json_parse reads too. Of two members of one name
 * the last counts.
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

/* One value. `raw` holds its bytes, of a text without the quotes. */
struct json_span {
    enum json_kind kind;
    bool has_escape; /* of a text: `raw` is not yet what it says */
    struct str raw;
};

struct json_member {
    struct json_span name, value;
};

/* Scans `text`, which must be one object and nothing else. The first `most` members are written to
 * `members`; *ret_n is how many there are, which may be more. False: *ret_reason is a text for
 * people, *ret_at the offset in bytes; *ret_is_object tells a JSON value that is no object from
 * what is no JSON. */
bool json_scan_object(struct str text, struct json_member *members, size_t most, size_t *ret_n,
                      const char **ret_reason, size_t *ret_at, bool *ret_is_object) must_check;

/* The inside of a list that was scanned, without its brackets; empty for other kinds. */
struct str json_list_inside(const struct json_span *list);
/* Cuts the first item off the inside of a list; false at the end. */
bool json_next_item(struct str *rest, struct json_span *ret_item) must_check;

/* Puts the text that a span says. */
void buf_put_span_text(struct buf *b, const struct json_span *text);
/* Puts a scanned value in its one compact form: no white space, texts as buf_put_json writes them.
 * Equal texts have equal forms, however they were escaped. */
void buf_put_span(struct buf *b, const struct json_span *value);

#endif
