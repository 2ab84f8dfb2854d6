/* SPDX-License-Identifier: MIT
 * html_tidy.c - see html_tidy.h. How deep the parser will be is reckoned by the rule that the
 * standard has for most end tags: one closes the innermost element of its name, unless an element
 * that is stronger is open within. Where a page breaks other rules the reckoning may be off, which
 * costs nothing but time. */
#include "shared/extract/html_tidy.h"

#include "shared/base/hash.h"
#include "shared/extract/html_scan.h"
#include "shared/text/text.h"

struct open {
    uint64_t hash; /* of the name */
    bool is_special, is_scope, is_table, is_part_of_table;
};

struct tidy {
    struct buf *out;
    struct open open[HTML_TIDY_DEPTH_MAX];
    char names[HTML_TIDY_DEPTH_MAX][HTML_NAME_MAX_BYTES + 1];
    size_t open_n;
};

/* ---- depth ---- */

/* Elements that the end tag of an inline element does not close. */
static bool is_special(struct str name)
{
    static const char *const names[] = {
        "address",    "article", "aside",  "blockquote", "body",    "button", "caption",  "center",
        "dd",         "details", "dir",    "div",        "dl",      "dt",     "fieldset", "figure",
        "figcaption", "footer",  "form",   "h1",         "h2",      "h3",     "h4",       "h5",
        "h6",         "header",  "hgroup", "html",       "li",      "main",   "menu",     "nav",
        "object",     "ol",      "p",      "pre",        "section", "select", "summary",  "svg",
        "table",      "tbody",   "td",     "template",   "tfoot",   "th",     "thead",    "tr",
        "ul",         NULL};
    return html_is_one_of(name, names);
}

/* Elements whose inside an end tag from outside does not reach. */
static bool is_scope(struct str name)
{
    static const char *const names[] = {"applet", "caption", "html", "marquee",  "math", "object",
                                        "svg",    "table",   "td",   "template", "th",   NULL};
    return html_is_one_of(name, names);
}

static bool is_part_of_table(struct str name)
{
    static const char *const names[] = {"tbody", "td", "tfoot", "th", "thead", "tr", NULL};
    return html_is_one_of(name, names);
}

/* Returns whether an end tag gets past an open element of another name. */
static bool reaches_past(const struct open *end, const struct open *open)
{
    if (end->is_part_of_table)
        return !open->is_table;
    return (end->is_table || !open->is_scope) && (end->is_special || !open->is_special);
}

static struct open describe(struct str name)
{
    return (struct open){.hash = text_hash(name, 0),
                         .is_special = is_special(name),
                         .is_scope = is_scope(name),
                         .is_table = str_eq(name, STR("table")) || str_eq(name, STR("template")),
                         .is_part_of_table = is_part_of_table(name)};
}

static void forget_closed(struct tidy *t, struct str name)
{
    struct open end = describe(name);
    for (size_t i = t->open_n; i > 0; i--) {
        if (t->open[i - 1].hash == end.hash) {
            t->open_n = i - 1;
            return;
        }
        if (!reaches_past(&end, &t->open[i - 1]))
            return;
    }
}

/* Elements whose end tag may be left out end with the next of their kind. */
static void forget_before(struct tidy *t, struct str name)
{
    static const char *const kinds[][4] = {
        {"p", NULL},      {"li", NULL}, {"dt", "dd", NULL}, {"td", "th", NULL},
        {"option", NULL}, {"tr", NULL}, {"rt", "rp", NULL}, {"thead", "tbody", "tfoot", NULL},
    };
    if (t->open_n == 0)
        return;
    struct str last = str_of(t->names[t->open_n - 1]);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (html_is_one_of(name, kinds[i]) && html_is_one_of(last, kinds[i])) {
            t->open_n--;
            return;
        }
}

static void note_open(struct tidy *t, struct str name)
{
    forget_before(t, name);
    if (t->open_n == HTML_TIDY_DEPTH_MAX) {
        buf_lit(t->out, "</");
        buf_put(t->out, str_of(t->names[--t->open_n]));
        buf_put_char(t->out, '>');
    }
    t->open[t->open_n] = describe(name);
    memcpy(t->names[t->open_n], name.at, name.n);
    t->names[t->open_n++][name.n] = 0;
}

/* ---- tags ---- */

static void put_escaped(struct buf *out, struct str s, char c, struct str escape)
{
    while (s.n > 0) {
        const char *found = memchr(s.at, c, s.n);
        size_t n = found == NULL ? s.n : (size_t)(found - s.at);
        buf_put(out, (struct str){s.at, n});
        if (found != NULL)
            buf_put(out, escape);
        n += found != NULL;
        s = (struct str){s.at + n, s.n - n};
    }
}

static void put_attribute(struct buf *out, const char *name, struct str value)
{
    if (value.at == NULL || value.n > HTML_TIDY_VALUE_MAX_BYTES)
        return;
    buf_put_char(out, ' ');
    buf_put(out, str_of(name));
    buf_lit(out, "=\"");
    put_escaped(out, value, '"', STR("&quot;"));
    buf_put_char(out, '"');
}

/* Returns the value of the property: of its last declaration, or of the last important one. */
static struct str style_value(struct str style, struct str property)
{
    struct str found = {NULL, 0};
    bool is_important = false;
    while (style.at != NULL) {
        struct str value = str_cut(&style, ';'), name = str_trim(str_cut(&value, ':'));
        struct str word = value.at == NULL ? value : str_trim(str_cut(&value, '!'));
        if (word.n == 0 || !str_eq_nocase(name, property) || (is_important && value.at == NULL))
            continue;
        is_important = value.at != NULL;
        found = word;
    }
    return found;
}

static bool does_style_hide(struct str style)
{
    return str_eq_nocase(style_value(style, STR("display")), STR("none")) ||
           str_eq_nocase(style_value(style, STR("visibility")), STR("hidden"));
}

/* Returns the type that a style gives to a list's numbers; NULL: none. */
static const char *list_type_of(struct str style)
{
    static const char *const types[][2] = {
        {"decimal", "1"},     {"lower-alpha", "a"}, {"lower-latin", "a"}, {"upper-alpha", "A"},
        {"upper-latin", "A"}, {"lower-roman", "i"}, {"upper-roman", "I"}};
    struct str value = style_value(style, STR("list-style-type"));
    if (value.at == NULL)
        value = style_value(style, STR("list-style"));
    while (value.at != NULL) {
        struct str word = str_cut(&value, ' ');
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (str_eq_nocase(word, str_of(types[i][0])))
                return types[i][1];
    }
    return NULL;
}

static bool is_hidden(const struct html_token *token)
{
    struct str hidden = html_token_find(token, "hidden");
    if (str_eq(html_token_name(token), STR("dialog")) && html_token_find(token, "open").at == NULL)
        return true;
    return (hidden.at != NULL && !str_eq_nocase(str_trim(hidden), STR("until-found"))) ||
           does_style_hide(html_token_find(token, "style"));
}

static void put_attributes(struct buf *out, const struct html_token *token)
{
    static const char *const kept[] = {"id",      "class",   "role",     "aria-hidden", "alt",
                                       "type",    "value",   "selected", "start",       "reversed",
                                       "colspan", "rowspan", "itemprop", NULL};
    static const char *const numbered[] = {"ol", "li", NULL};
    const char *list_type = NULL;
    if (html_is_one_of(html_token_name(token), numbered))
        list_type = list_type_of(html_token_find(token, "style"));
    if (list_type != NULL) /* the first of two attributes counts */
        put_attribute(out, "type", str_of(list_type));
    for (size_t i = 0; kept[i] != NULL; i++)
        put_attribute(out, kept[i], html_token_find(token, kept[i]));
    struct str target = html_token_find(token, "href");
    if (target.at != NULL)
        buf_printf(out, " href=\"%08x\"", hash_fnv32(target, 0));
    if (is_hidden(token))
        buf_lit(out, " hidden");
}

/* An element is left out without what it contains, or with it. */
static bool is_left_out(struct str name)
{
    static const char *const names[] = {"script", "style", "iframe", "noembed", "noscript", NULL};
    return html_is_one_of(name, names);
}
static bool is_of_font(struct str name)
{
    static const char *const names[] = {"b",     "big", "code",     "em",       "font",
                                        "frame", "i",   "nobr",     "small",    "strong",
                                        "tt",    "u",   "frameset", "noframes", NULL};
    return html_is_one_of(name, names);
}

static bool is_void(struct str name)
{
    static const char *const names[] = {
        "area",  "base",   "basefont", "bgsound", "br",    "col",    "embed", "hr",  "image", "img",
        "input", "keygen", "link",     "meta",    "param", "source", "track", "wbr", NULL};
    return html_is_one_of(name, names);
}

/* Names that mean the same, without those that the standard opens again by itself. */
static struct str common_name(struct str name)
{
    static const struct str deleted = {"del", 3}, literal = {"pre", 3};
    if (str_eq(name, STR("s")) || str_eq(name, STR("strike")))
        return deleted;
    return str_eq(name, STR("xmp")) || str_eq(name, STR("plaintext")) ||
                   str_eq(name, STR("listing"))
               ? literal
               : name;
}

static void put_start(struct tidy *t, const struct html_scan *scan, const struct html_token *token)
{
    struct str name = common_name(html_token_name(token));
    if (is_left_out(name) || is_of_font(name))
        return;
    bool is_empty = is_void(name) || (token->is_self_closed && scan->foreign_n > 0);
    if (!is_empty && !token->is_raw)
        note_open(t, name);
    buf_put_char(t->out, '<');
    buf_put(t->out, name);
    put_attributes(t->out, token);
    buf_put(t->out, token->is_self_closed ? STR("/>") : STR(">"));
    if (!token->is_raw)
        return;
    put_escaped(t->out, token->text, '<', STR("&lt;"));
    buf_lit(t->out, "</");
    buf_put(t->out, name);
    buf_put_char(t->out, '>');
}

static void put_end(struct tidy *t, const struct html_token *token)
{
    struct str name = common_name(html_token_name(token));
    if (is_left_out(name) || is_of_font(name))
        return;
    forget_closed(t, name);
    buf_lit(t->out, "</");
    buf_put(t->out, name);
    buf_put_char(t->out, '>');
}

void html_tidy(struct buf *out, struct str html)
{
    struct tidy t = {.out = out};
    struct html_scan scan = {.rest = html};
    struct html_token token;
    buf_lit(out, "<!DOCTYPE html>");
    while (html_scan_next(&scan, &token)) {
        switch (token.kind) {
        case HTML_START: put_start(&t, &scan, &token); break;
        case HTML_END: put_end(&t, &token); break;
        default: put_escaped(out, token.text, '<', STR("&lt;")); break;
        }
    }
}
