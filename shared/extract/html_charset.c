/* SPDX-License-Identifier: MIT
 * html_charset.c - see html_charset.h. A <meta> is read as the standard does (section 13.2.3.2),
 * but wherever it is: browsers, too, read a page again when they find one after the first kilobyte.
 */
#include "shared/extract/html_charset.h"

#include "shared/extract/encoding.h"
#include "shared/extract/html_scan.h"

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct str skip_blanks(struct str s)
{
    while (s.n > 0 && is_blank(*s.at))
        s = (struct str){s.at + 1, s.n - 1};
    return s;
}

/* The value of `name` in `s`, after a "=": `charset = utf-8; x` has the value utf-8. */
static struct str value_in(struct str s, struct str name)
{
    for (size_t i = 0; i + name.n < s.n; i++) {
        if (!str_eq_nocase((struct str){s.at + i, name.n}, name))
            continue;
        struct str value = skip_blanks((struct str){s.at + i + name.n, s.n - i - name.n});
        if (value.n == 0 || *value.at != '=')
            continue;
        value = skip_blanks((struct str){value.at + 1, value.n - 1});
        char quote = value.n > 0 && (*value.at == '"' || *value.at == '\'') ? *value.at : 0;
        value = (struct str){value.at + (quote != 0), value.n - (quote != 0)};
        size_t n = 0;
        while (n < value.n &&
               (quote != 0 ? value.at[n] != quote : value.at[n] != ';' && !is_blank(value.at[n])))
            n++;
        return (struct str){value.at, n};
    }
    return (struct str){NULL, 0};
}

static struct str label_of_meta(const struct html_token *meta)
{
    struct str charset = html_token_find(meta, "charset");
    if (charset.at != NULL)
        return charset;
    if (!str_eq_nocase(str_trim(html_token_find(meta, "http-equiv")), STR("content-type")))
        return (struct str){NULL, 0};
    return value_in(html_token_find(meta, "content"), STR("charset"));
}

static struct str label_of_declaration(struct str html)
{
    struct str none = {NULL, 0};
    if (!str_has_prefix(html, STR("<?xml")))
        return none;
    const char *end = memchr(html.at, '>', html.n);
    return end == NULL ? none
                       : value_in((struct str){html.at, (size_t)(end - html.at)}, STR("encoding"));
}

struct str html_charset_find(struct str html)
{
    struct html_scan scan = {.rest = html};
    struct html_token token;
    while (html_scan_next(&scan, &token)) {
        if (token.kind != HTML_START || !str_eq(html_token_name(&token), STR("meta")))
            continue;
        struct str label = str_trim(label_of_meta(&token));
        if (encoding_is_known(label))
            return label;
    }
    struct str label = str_trim(label_of_declaration(html));
    return encoding_is_known(label) ? label : (struct str){NULL, 0};
}
