/* SPDX-License-Identifier: MIT
 * html_scan.c - see html_scan.h. */
#include "shared/extract/html_scan.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_of_name(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == ':';
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip(struct str *s, size_t n)
{
    n = n < s->n ? n : s->n;
    *s = (struct str){s->at + n, s->n - n};
}

static struct str take(struct str *s, size_t n)
{
    struct str taken = {s->at, n};
    skip(s, n);
    return taken;
}

static void skip_past(struct str *s, char c)
{
    const char *found = memchr(s->at, c, s->n);
    skip(s, found == NULL ? s->n : (size_t)(found - s->at) + 1);
}

bool html_is_one_of(struct str name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (str_eq(name, str_of(*names)))
            return true;
    return false;
}

/* At "<!--". "<!-->" and "<!--->" are whole comments; "--!>" ends one, too. */
static void skip_comment(struct str *s)
{
    const char *dashes = s->at + 2;
    skip(s, 4);
    while (s->n > 0) {
        skip_past(s, '>');
        const char *end = s->at - 1;
        if ((end - dashes >= 2 && memcmp(end - 2, "--", 2) == 0) ||
            (end - dashes >= 5 && memcmp(end - 3, "--!", 3) == 0))
            return;
    }
}

/* ---- tags ---- */

static void take_name(struct str *s, struct html_token *token)
{
    token->name_n = 0;
    for (; s->n > 0 && is_of_name(*s->at); skip(s, 1))
        if (token->name_n < HTML_NAME_MAX_BYTES)
            token->name[token->name_n++] =
                (char)(*s->at >= 'A' && *s->at <= 'Z' ? *s->at + 32 : *s->at);
    token->name[token->name_n] = 0;
}

static void skip_blanks(struct str *s)
{
    while (s->n > 0 && is_blank(*s->at))
        skip(s, 1);
}

static struct str take_value(struct str *s)
{
    size_t n = 0;
    if (s->n > 0 && (*s->at == '"' || *s->at == '\'')) {
        const char *end = memchr(s->at + 1, *s->at, s->n - 1);
        n = end == NULL ? s->n - 1 : (size_t)(end - s->at) - 1;
        struct str value = {s->at + 1, n};
        skip(s, n + 2);
        return value;
    }
    while (n < s->n && !is_blank(s->at[n]) && s->at[n] != '>')
        n++;
    return take(s, n);
}

static struct html_attribute take_attribute(struct str *s)
{
    struct html_attribute attribute = {{NULL, 0}, {"", 0}};
    size_t n = 1; /* a "=" may be the first letter of a name */
    while (n < s->n && !is_blank(s->at[n]) && s->at[n] != '/' && s->at[n] != '>' && s->at[n] != '=')
        n++;
    attribute.name = take(s, n);
    struct str after = *s;
    skip_blanks(&after);
    if (after.n == 0 || *after.at != '=')
        return attribute;
    *s = after;
    skip(s, 1);
    skip_blanks(s);
    attribute.value = take_value(s);
    return attribute;
}

/* Takes the attributes and the end of a tag; false if the page ends before. */
static bool take_attributes(struct str *s, struct html_token *token)
{
    token->attribute_n = 0;
    for (;;) {
        bool is_slash = false;
        for (; s->n > 0 && (is_blank(*s->at) || *s->at == '/'); skip(s, 1))
            is_slash = *s->at == '/';
        if (s->n == 0)
            return false;
        if (*s->at == '>') {
            skip(s, 1);
            token->is_self_closed = is_slash;
            return true;
        }
        struct html_attribute attribute = take_attribute(s);
        if (token->attribute_n < HTML_ATTRIBUTES_MAX)
            token->attributes[token->attribute_n++] = attribute;
    }
}

/* Takes the text of an element that contains no tags, and its end tag. */
static struct str take_raw(struct str *s, struct str name)
{
    struct str all = *s;
    while (s->n > 0) {
        skip_past(s, '<');
        struct str after = *s;
        if (after.n <= name.n || *after.at != '/' ||
            !str_eq_nocase((struct str){after.at + 1, name.n}, name) ||
            (after.n > name.n + 1 && is_of_name(after.at[name.n + 1])))
            continue;
        skip_past(s, '>');
        return (struct str){all.at, (size_t)(after.at - all.at) - 1};
    }
    return all;
}

static bool is_raw(const struct html_scan *scan, const struct html_token *token)
{
    static const char *const raws[] = {"script",   "style",    "iframe", "noembed",
                                       "noscript", "textarea", "xmp",    NULL};
    static const char *const raws_of_html[] = {"title", "plaintext", NULL};
    if (scan->foreign_n > 0 && token->is_self_closed)
        return false;
    return html_is_one_of(html_token_name(token), raws) ||
           (scan->foreign_n == 0 && html_is_one_of(html_token_name(token), raws_of_html));
}

static bool is_foreign(const struct html_token *token)
{
    static const char *const foreign[] = {"svg", "math", NULL};
    return html_is_one_of(html_token_name(token), foreign);
}

/* After a "<". False if the page ends within the tag. */
static bool take_start(struct html_scan *scan, struct html_token *token)
{
    token->kind = HTML_START;
    take_name(&scan->rest, token);
    if (!take_attributes(&scan->rest, token))
        return false;
    token->is_raw = is_raw(scan, token);
    if (token->is_raw && str_eq(html_token_name(token), STR("plaintext")))
        token->text = take(&scan->rest, scan->rest.n);
    else if (token->is_raw)
        token->text = take_raw(&scan->rest, html_token_name(token));
    scan->foreign_n += is_foreign(token) && !token->is_self_closed;
    return true;
}

/* After a "</". */
static bool take_end(struct html_scan *scan, struct html_token *token)
{
    token->kind = HTML_END;
    take_name(&scan->rest, token);
    if (!take_attributes(&scan->rest, token))
        return false;
    scan->foreign_n -= is_foreign(token) && scan->foreign_n > 0;
    return true;
}

/* At a "<". Returns false if there is no token: a comment, or half a tag at the end. */
static bool take_markup(struct html_scan *scan, struct html_token *token)
{
    struct str s = scan->rest;
    char next = s.n > 1 ? s.at[1] : 0;
    if (str_has_prefix(s, STR("<!--"))) {
        skip_comment(&scan->rest);
        return false;
    }
    if (is_letter(next)) {
        skip(&scan->rest, 1);
        return take_start(scan, token);
    }
    if (next == '/' && s.n > 2 && is_letter(s.at[2])) {
        skip(&scan->rest, 2);
        return take_end(scan, token);
    }
    if (next == '!' || next == '?' || next == '/') {
        skip_past(&scan->rest, '>');
        return false;
    }
    token->kind = HTML_TEXT;
    token->text = take(&scan->rest, 1);
    return true;
}

bool html_scan_next(struct html_scan *scan, struct html_token *token)
{
    token->is_raw = token->is_self_closed = false;
    token->name_n = token->attribute_n = 0;
    while (scan->rest.n > 0) {
        const char *tag = memchr(scan->rest.at, '<', scan->rest.n);
        size_t n = tag == NULL ? scan->rest.n : (size_t)(tag - scan->rest.at);
        if (n > 0) {
            token->kind = HTML_TEXT;
            token->text = take(&scan->rest, n);
            return true;
        }
        if (take_markup(scan, token))
            return true;
    }
    return false;
}

struct str html_token_find(const struct html_token *token, const char *name)
{
    for (size_t i = 0; i < token->attribute_n; i++)
        if (str_eq_nocase(token->attributes[i].name, str_of(name)))
            return token->attributes[i].value;
    return (struct str){NULL, 0};
}
