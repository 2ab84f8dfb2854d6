/* SPDX-License-Identifier: MIT
 * html_tidy.c - see html_tidy.h. Where a tag begins and ends is decided as the HTML standard does
 * (section 13.2.5); which open elements an end tag closes, by the priorities that libxml2 has. */
#include "shared/extract/html_tidy.h"

#include "shared/text/text.h"

enum { NAME_MAX_BYTES = 32, KEPT_N = 4 };

struct name {
    char at[NAME_MAX_BYTES];
    size_t n;
    /* Hash of an open element, so that looking through all of them takes little. */
    uint64_t hash;
    unsigned priority;
};

struct tidy {
    struct buf *out;
    struct str rest; /* of the page */
    struct name open[HTML_TIDY_DEPTH_MAX];
    size_t open_n;
};

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

/* Past the next `end`, or to the end of the page. It looks no further than that. */
static void skip_past(struct str *s, struct str end)
{
    char last = end.at[end.n - 1];
    for (size_t at = end.n - 1; at < s->n;) {
        const char *found = memchr(s->at + at, last, s->n - at);
        if (found == NULL)
            break;
        at = (size_t)(found - s->at) + 1;
        if (memcmp(s->at + at - end.n, end.at, end.n) == 0) {
            skip(s, at);
            return;
        }
    }
    skip(s, s->n);
}

static bool is_one_of(struct str name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (str_eq(name, str_of(*names)))
            return true;
    return false;
}

static struct str str_of_name(const struct name *name)
{
    return (struct str){name->at, name->n};
}

/* In lower case; what is longer than any name that means something is cut. */
static struct name take_name(struct str *s)
{
    struct name name = {.n = 0};
    for (; s->n > 0 && is_of_name(*s->at); skip(s, 1))
        if (name.n < NAME_MAX_BYTES)
            name.at[name.n++] = (char)(*s->at >= 'A' && *s->at <= 'Z' ? *s->at + 32 : *s->at);
    return name;
}

/* ---- what is open ---- */

static unsigned priority_of(struct str name)
{
    static const struct {
        const char *name;
        unsigned priority;
    } known[] = {{"div", 150},   {"td", 160},    {"th", 160},    {"tr", 170},
                 {"thead", 180}, {"tbody", 180}, {"tfoot", 180}, {"table", 190},
                 {"head", 200},  {"body", 200},  {"html", 220}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_eq(name, str_of(known[i].name)))
            return known[i].priority;
    return 100;
}

static void close_last(struct tidy *t)
{
    buf_lit(t->out, "</");
    buf_put(t->out, str_of_name(&t->open[--t->open_n]));
    buf_put_char(t->out, '>');
}

/* Closes the elements from the named one on, if it is open and nothing stronger is within. */
static void close_named(struct tidy *t, struct str name)
{
    size_t i = t->open_n;
    uint64_t hash = text_hash(name, 0);
    unsigned priority = priority_of(name);
    while (i > 0 && t->open[i - 1].hash != hash) {
        if (t->open[i - 1].priority > priority)
            return;
        i--;
    }
    if (i > 0) {
        while (t->open_n >= i)
            close_last(t);
    } else if (str_eq(name, STR("p"))) { /* stands for an empty one */
        buf_lit(t->out, "<p></p>");
    } else if (str_eq(name, STR("br"))) {
        buf_lit(t->out, "<br>");
    }
}

/* Elements whose end tag may be left out end with the next of their kind. */
static void close_before(struct tidy *t, struct str name)
{
    static const char *const kinds[][4] = {
        {"p", NULL},      {"li", NULL}, {"dt", "dd", NULL}, {"td", "th", NULL},
        {"option", NULL}, {"tr", NULL}, {"rt", "rp", NULL}, {"thead", "tbody", "tfoot", NULL},
    };
    static const char *const cells[] = {"td", "th", NULL};
    if (t->open_n > 0 && str_eq(name, STR("tr")) &&
        is_one_of(str_of_name(&t->open[t->open_n - 1]), cells))
        close_last(t);
    for (size_t i = 0; t->open_n > 0 && i < sizeof kinds / sizeof *kinds; i++)
        if (is_one_of(name, kinds[i]) &&
            is_one_of(str_of_name(&t->open[t->open_n - 1]), kinds[i])) {
            close_last(t);
            return;
        }
}

/* ---- tags ---- */

static struct str take_value(struct str *s)
{
    struct str value = {s->at, 0};
    if (s->n > 0 && (*s->at == '"' || *s->at == '\'')) {
        const char *end = memchr(s->at + 1, *s->at, s->n - 1);
        value = (struct str){s->at + 1, end == NULL ? s->n - 1 : (size_t)(end - s->at) - 1};
        skip(s, value.n + 2);
        return value;
    }
    while (value.n < s->n && !is_blank(s->at[value.n]) && s->at[value.n] != '>')
        value.n++;
    skip(s, value.n);
    return value;
}

static void skip_blanks(struct str *s)
{
    while (s->n > 0 && is_blank(*s->at))
        skip(s, 1);
}

struct attributes {
    char values[KEPT_N][HTML_TIDY_VALUE_MAX_BYTES];
    size_t sizes[KEPT_N];
    bool are_there[KEPT_N];
};
static const char *const kept_names[KEPT_N] = {"role", "aria-hidden", "hidden", "id"};

static void keep(struct attributes *kept, struct str name, struct str value)
{
    for (size_t i = 0; i < KEPT_N; i++) {
        if (kept->are_there[i] || !str_eq_nocase(name, str_of(kept_names[i])))
            continue;
        kept->are_there[i] = true;
        bool is_plain = value.n <= HTML_TIDY_VALUE_MAX_BYTES;
        for (size_t k = 0; is_plain && k < value.n; k++)
            is_plain = is_of_name(value.at[k]);
        kept->sizes[i] = is_plain ? value.n : 0;
        memcpy(kept->values[i], value.at, kept->sizes[i]);
    }
}

/* Takes the attributes and the end of a tag; false when the page ends before. */
static bool take_attributes(struct str *s, struct attributes *kept, bool *ret_is_empty)
{
    *ret_is_empty = false;
    for (;;) {
        bool is_slash = false;
        for (; s->n > 0 && (is_blank(*s->at) || *s->at == '/'); skip(s, 1))
            is_slash = *s->at == '/';
        if (s->n == 0)
            return false;
        if (*s->at == '>') {
            skip(s, 1);
            *ret_is_empty = is_slash;
            return true;
        }
        /* A "=" may be the first letter of a name. */
        struct str name = {s->at, 1};
        while (name.n < s->n && !is_blank(s->at[name.n]) && s->at[name.n] != '/' &&
               s->at[name.n] != '>' && s->at[name.n] != '=')
            name.n++;
        skip(s, name.n);
        struct str value = STR(""), after = *s;
        skip_blanks(&after);
        if (after.n > 0 && *after.at == '=') {
            *s = after;
            skip(s, 1);
            skip_blanks(s);
            value = take_value(s);
        }
        keep(kept, name, value);
    }
}

static bool is_heading(struct str name)
{
    return name.n == 2 && name.at[0] == 'h' && name.at[1] >= '1' && name.at[1] <= '6';
}

static void put_tag(struct tidy *t, struct str name, const struct attributes *kept, bool is_empty)
{
    buf_put_char(t->out, '<');
    buf_put(t->out, name);
    for (size_t i = 0; i < KEPT_N; i++)
        if ((i < KEPT_N - 1 || is_heading(name)) && kept->are_there[i]) {
            buf_put_char(t->out, ' ');
            buf_put(t->out, str_of(kept_names[i]));
            buf_lit(t->out, "=\"");
            buf_put(t->out, (struct str){kept->values[i], kept->sizes[i]});
            buf_put_char(t->out, '"');
        }
    buf_put(t->out, is_empty ? STR("/>") : STR(">"));
}

/* The text of a script is no markup: past it, to its end tag. */
static void skip_raw(struct tidy *t, struct str name)
{
    while (t->rest.n > 0) {
        skip_past(&t->rest, STR("</"));
        struct str after = t->rest;
        if (after.n >= name.n && str_eq_nocase((struct str){after.at, name.n}, name) &&
            (after.n == name.n || !is_of_name(after.at[name.n]))) {
            skip_past(&t->rest, STR(">"));
            return;
        }
    }
}

static void start_tag(struct tidy *t)
{
    static const char *const voids[] = {"area",  "base",  "basefont", "br",    "col",     "embed",
                                        "frame", "hr",    "img",      "input", "isindex", "link",
                                        "meta",  "param", "source",   "track", "wbr",     NULL};
    static const char *const raws[] = {"script", "style", NULL};
    struct attributes kept = {.are_there = {false}};
    bool is_empty;
    struct name name = take_name(&t->rest);
    struct str s = str_of_name(&name);
    if (!take_attributes(&t->rest, &kept, &is_empty))
        return;
    if (is_one_of(s, raws)) {
        if (!is_empty)
            skip_raw(t, s);
        return;
    }
    is_empty = is_empty || is_one_of(s, voids);
    close_before(t, s);
    if (!is_empty) {
        if (t->open_n == HTML_TIDY_DEPTH_MAX)
            close_last(t);
        name.hash = text_hash(s, 0);
        name.priority = priority_of(s);
        t->open[t->open_n++] = name;
    }
    put_tag(t, s, &kept, is_empty);
}

/* At a "<". */
static void take_markup(struct tidy *t)
{
    struct str s = t->rest;
    char next = s.n > 1 ? s.at[1] : 0;
    if (str_has_prefix(s, STR("<!--"))) {
        skip(&t->rest, 2); /* "<!-->" is a whole comment, "<!--->" too */
        skip_past(&t->rest, STR("-->"));
    } else if (is_letter(next)) {
        skip(&t->rest, 1);
        start_tag(t);
    } else if (next == '/' && s.n > 2 && is_letter(s.at[2])) {
        skip(&t->rest, 2);
        struct name name = take_name(&t->rest);
        skip_past(&t->rest, STR(">"));
        close_named(t, str_of_name(&name));
    } else if (next == '!' || next == '?' || next == '/') {
        skip_past(&t->rest, STR(">"));
    } else {
        skip(&t->rest, 1);
        buf_lit(t->out, "&lt;");
    }
}

void html_tidy(struct buf *out, struct str html)
{
    struct tidy t = {.out = out, .rest = html};
    while (t.rest.n > 0) {
        const char *tag = memchr(t.rest.at, '<', t.rest.n);
        size_t n = tag == NULL ? t.rest.n : (size_t)(tag - t.rest.at);
        buf_put(out, (struct str){t.rest.at, n});
        skip(&t.rest, n);
        if (t.rest.n > 0)
            take_markup(&t);
    }
    while (t.open_n > 0)
        close_last(&t);
}
