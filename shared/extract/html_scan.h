/* SPDX-License-Identifier: MIT
 *
 * html_scan: takes a web page apart into tags and text, as the HTML standard does (section 13.2.5),
 * without building a tree. Comments and declarations are skipped; what a script, a style or a title
 * contains is text, however much it looks like tags. One pass, linear in the length of the page;
 * what it returns lies in the page. One thread.
 */
#ifndef PARLEY_EXTRACT_HTML_SCAN_H
#define PARLEY_EXTRACT_HTML_SCAN_H

#include "shared/base/str.h"

enum { HTML_NAME_MAX_BYTES = 32, HTML_ATTRIBUTES_MAX = 64 };

enum html_token_kind { HTML_TEXT, HTML_START, HTML_END, HTML_TOKEN_NR };

struct html_attribute {
    struct str name, value; /* as written: in any case, with entities */
};

struct html_token {
    enum html_token_kind kind;
    struct str text; /* of HTML_TEXT; of HTML_START what is in the element, if that is raw */
    char name[HTML_NAME_MAX_BYTES + 1]; /* in lower case; longer ones are cut */
    size_t name_n;
    bool is_raw;         /* the element was read to its end, which gives no token */
    bool is_self_closed; /* ends with "/>" */
    struct html_attribute attributes[HTML_ATTRIBUTES_MAX]; /* the first ones */
    size_t attribute_n;
};

struct html_scan {
    struct str rest;    /* starts as the page */
    unsigned foreign_n; /* zero at the start: elements svg and math that are open */
};

/* Reads the next token; false at the end. A "<" that begins no tag is a text of its own. */
bool html_scan_next(struct html_scan *scan, struct html_token *token) must_check;
static inline struct str html_token_name(const struct html_token *token)
{
    return (struct str){token->name, token->name_n};
}
/* The value of an attribute; its `at` is NULL if the tag does not have it. `name` is in lower case.
 */
struct str html_token_find(const struct html_token *token, const char *name);
/* Returns whether `name` is in `names`, which ends with NULL. */
bool html_is_one_of(struct str name, const char *const *names);

#endif
