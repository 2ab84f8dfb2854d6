/* SPDX-License-Identifier: MIT
 * docx_equations.c - see docx_equations.h. An element's text is written when its parts begin and
 * end; a part that is more than one number or word is put in parentheses when it has ended. */
#include "shared/extract/docx_equations.h"

#include "shared/text/fold.h"
#include "shared/text/text.h"

#include <stdio.h>

enum { TEXT_MAX_BYTES = 16384 };

void equation_init(struct equation *equation)
{
    *equation = (struct equation){0};
    buf_init(&equation->text, TEXT_MAX_BYTES);
}

void equation_fini(struct equation *equation)
{
    buf_fini(&equation->text);
}

void equation_clear(struct equation *equation)
{
    equation->depth = 0;
    equation->is_text = false;
    buf_clear(&equation->text);
    equation->text.is_over = false;
}

/* ---- parts ---- */

/* Signs before a part, by the element that it is in. `child` counts from 1; 0: any. */
static const struct {
    const char *in, *part;
    unsigned child;
    const char *before;
} signs[] = {
    {"f", "den", 0, "/"},
    {"sSup", "sup", 0, "^"},
    {"sSub", "sub", 0, "_"},
    {"sSubSup", "sub", 0, "_"},
    {"sSubSup", "sup", 0, "^"},
    {"nary", "sub", 0, "_"},
    {"nary", "sup", 0, "^"},
    {"nary", "e", 0, " "},
    {"limLow", "lim", 0, "_"},
    {"limUpp", "lim", 0, "^"},
    {"rad", "deg", 0, "\xe2\x88\x9a["},
    {"func", "e", 0, " "},
    {"sPre", "sub", 0, "_"},
    {"sPre", "sup", 0, "^"},
    {"sPre", "e", 0, " "},
    {"m", "mr", 1, "["},
    {"m", "mr", 0, "; "},
    {"mr", "e", 1, ""},
    {"mr", "e", 0, ", "},
    {"eqArr", "e", 1, ""},
    {"eqArr", "e", 0, "; "},
};

/* Parts that are put in parentheses if they are more than one number, word or sign. */
static bool is_wrapped(const struct equation_node *in, const char *part)
{
    static const char *const parts[] = {"num", "den", "sup", "sub", "lim", NULL};
    for (const char *const *name = parts; *name != NULL; name++)
        if (strcmp(part, *name) == 0)
            return true;
    return strcmp(part, "e") == 0 && (strcmp(in->name, "rad") == 0 || in->name[0] == 's') &&
           strcmp(in->name, "sPre") != 0;
}

static bool is_simple(struct str s)
{
    str_expect(s);
    if (s.n > 1 && *s.at == '-')
        s = (struct str){s.at + 1, s.n - 1};
    uint32_t only;
    if (text_char(s, &only) == s.n)
        return true;
    while (s.n > 0) {
        uint32_t code;
        size_t n = text_char(s, &code);
        if (!fold_is_word(code) && code != '.' && code != ',')
            return false;
        s = (struct str){s.at + n, s.n - n};
    }
    return true;
}

static bool is_in_parentheses(struct str s)
{
    int depth = 0;
    str_expect(s);
    for (size_t i = 0; i < s.n; i++) {
        depth += s.at[i] == '(';
        depth -= s.at[i] == ')';
        if (depth <= 0 && i + 1 < s.n)
            return false;
    }
    return s.n > 1 && depth == 0;
}

void equation_wrap(struct buf *text, size_t from)
{
    struct str inside = {text->at + from, text->n - from};
    if (inside.n == 0 || is_simple(inside) || is_in_parentheses(inside) ||
        buf_reserve(text, 2) == NULL)
        return;
    memmove(text->at + from + 1, text->at + from, inside.n);
    text->at[from] = '(';
    text->at[text->n + 1] = ')';
    text->n += 2;
}

static void put_before(struct equation *equation, struct equation_node *in, const char *part)
{
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (strcmp(signs[i].in, in->name) != 0 || strcmp(signs[i].part, part) != 0 ||
            (signs[i].child != 0 && signs[i].child != in->child_n))
            continue;
        buf_put(&equation->text, str_of(signs[i].before));
        return;
    }
    if (strcmp(in->name, "d") == 0 && strcmp(part, "e") == 0)
        buf_put(&equation->text, str_of(in->child_n == 1 ? in->open : in->separator));
    if (strcmp(in->name, "rad") == 0 && in->child_n == 1)
        buf_lit(&equation->text, "\xe2\x88\x9a");
}

static void put_after(struct equation *equation, const struct equation_node *node)
{
    struct buf *text = &equation->text;
    if (strcmp(node->name, "d") == 0 && node->child_n > 0)
        buf_put(text, str_of(node->close));
    else if (strcmp(node->name, "m") == 0 && node->child_n > 0)
        buf_lit(text, "]");
    else if (strcmp(node->name, "acc") == 0)
        buf_put(text, str_of(node->open));
}

/* The degree of a root is in brackets; a square root has an empty one. */
static void end_degree(struct buf *text, size_t from)
{
    if (text->n > from)
        buf_lit(text, "]");
    else if (text->n > 0 && text->at[text->n - 1] == '[')
        text->n--;
}

/* Takes back the sign before a part that turned out to be empty. */
static void drop_sign(struct buf *text, const struct equation_node *in, const char *part)
{
    bool is_script = strcmp(part, "sub") == 0 || strcmp(part, "sup") == 0;
    char last = text->n > in->from ? text->at[text->n - 1] : 0;
    if (is_script && (last == '_' || last == '^'))
        text->n--;
}

/* ---- events ---- */

static void set_sign(char *sign, struct str value)
{
    snprintf(sign, EQUATION_SIGN_BYTES, "%.*s", (int)(value.n < EQUATION_SIGN_BYTES ? value.n : 0),
             value.n == 0 ? "" : value.at);
}

static void read_property(struct equation_node *node, const struct xml_tag *tag)
{
    struct str value = xml_attribute(tag, "val");
    if (xml_is(tag, "begChr") || xml_is(tag, "chr"))
        set_sign(node->open, value);
    else if (xml_is(tag, "endChr"))
        set_sign(node->close, value);
    else if (xml_is(tag, "sepChr"))
        set_sign(node->separator, value);
}

static bool is_properties(const char *name)
{
    size_t n = strlen(name);
    return n > 2 && strcmp(name + n - 2, "Pr") == 0;
}

void equation_start(struct equation *equation, const struct xml_tag *tag)
{
    struct equation_node *in = equation->depth > 0 ? &equation->nodes[equation->depth - 1] : NULL;
    equation->is_text = xml_is(tag, "t");
    if (equation->depth >= EQUATION_DEPTH_MAX) {
        equation->depth++;
        return;
    }
    if (in != NULL && is_properties(in->name)) {
        read_property(&equation->nodes[equation->depth - 2], tag);
    } else if (in != NULL && !is_properties(tag->name) && !equation->is_text) {
        in->child_n++;
        put_before(equation, in, tag->name);
    }
    struct equation_node *node = &equation->nodes[equation->depth++];
    *node = (struct equation_node){
        .from = equation->text.n, .open = "(", .close = ")", .separator = ","};
    snprintf(node->name, sizeof node->name, "%s", tag->name);
    if (xml_is(tag, "nary"))
        snprintf(node->open, sizeof node->open, "\xe2\x88\xab");
    if (xml_is(tag, "acc"))
        snprintf(node->open, sizeof node->open, "\xcc\x82");
}

void equation_text(struct equation *equation, struct str text)
{
    if (equation->is_text)
        buf_put(&equation->text, text);
}

bool equation_end(struct equation *equation, const struct xml_tag *tag)
{
    equation->is_text = false;
    if (equation->depth == 0 || --equation->depth >= EQUATION_DEPTH_MAX)
        return false;
    struct equation_node *node = &equation->nodes[equation->depth];
    if (equation->depth == 0)
        return true;
    struct equation_node *in = &equation->nodes[equation->depth - 1];
    put_after(equation, node);
    if (xml_is(tag, "naryPr"))
        buf_put(&equation->text, str_of(in->open));
    else if (xml_is(tag, "deg"))
        end_degree(&equation->text, node->from);
    else if (equation->text.n == node->from)
        drop_sign(&equation->text, in, tag->name);
    else if (is_wrapped(in, tag->name))
        equation_wrap(&equation->text, node->from);
    return false;
}
