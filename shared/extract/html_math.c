/* SPDX-License-Identifier: MIT
 * html_math.c - see html_math.h. Elements are known by the names that MathML gives them; of one
 * that is not known here, what it contains is put. */
#include "shared/extract/html_math.h"

#include "shared/extract/docx_equations.h"

enum { DEPTH_MAX = 64, PARTS_MAX = 3 };

/* Signs between the parts of an element; the parts are in parentheses if they are long. */
static const struct form {
    const char *name, *before, *after;
    const char *between[PARTS_MAX - 1];
    bool is_apart; /* a word after it comes after a space: ∑_(i=1)^n x */
} forms[] = {
    {"mfrac", "", "", {"/", ""}, false},      {"msup", "", "", {"^", ""}, false},
    {"msub", "", "", {"_", ""}, false},       {"msubsup", "", "", {"_", "^"}, true},
    {"munder", "", "", {"_", ""}, true},      {"mover", "", "", {"^", ""}, true},
    {"munderover", "", "", {"_", "^"}, true}, {"mroot", "root(", ")", {",", ""}, false},
};

struct math {
    struct buf *out;
    const struct html_tree *tree;
    bool is_apart;
};

static void put(struct math *math, uint32_t i, unsigned depth);

static bool is_part(const struct html_node *node)
{
    return !html_node_is_text(node);
}

static void put_parts(struct math *math, uint32_t i, unsigned depth)
{
    const struct html_node *nodes = math->tree->nodes;
    for (uint32_t k = i + 1; k < nodes[i].end; k = nodes[k].end)
        put(math, k, depth);
}

/* Puts a part in parentheses if it is more than one number, name or sign. */
static void put_grouped(struct math *math, uint32_t i, unsigned depth)
{
    size_t from = math->out->n;
    math->is_apart = false;
    put(math, i, depth);
    equation_wrap(math->out, from);
}

static void put_form(struct math *math, uint32_t i, const struct form *form, unsigned depth)
{
    const struct html_node *nodes = math->tree->nodes;
    size_t part_n = 0;
    buf_put(math->out, str_of(form->before));
    for (uint32_t k = i + 1; k < nodes[i].end; k = nodes[k].end) {
        if (!is_part(&nodes[k]))
            continue;
        if (part_n > 0 && part_n < PARTS_MAX)
            buf_put(math->out, str_of(form->between[part_n - 1]));
        put_grouped(math, k, depth);
        part_n++;
    }
    buf_put(math->out, str_of(form->after));
    math->is_apart |= form->is_apart;
}

static void put_table(struct math *math, uint32_t i, const char *between, unsigned depth)
{
    const struct html_node *nodes = math->tree->nodes;
    bool is_first = true;
    for (uint32_t k = i + 1; k < nodes[i].end; k = nodes[k].end) {
        if (!is_part(&nodes[k]))
            continue;
        if (!is_first)
            buf_put(math->out, str_of(between));
        put(math, k, depth);
        is_first = false;
    }
}

/* Parts what comes after the limits of a sign from them, other signs excepted. */
static void put_space(struct math *math, const struct html_node *node)
{
    if (!math->is_apart || str_eq(node->text, STR("mrow")) || str_eq(node->text, STR("mstyle")))
        return;
    math->is_apart = false;
    if (node->tag != GUMBO_TAG_MO)
        buf_put_char(math->out, ' ');
}

static void put_element(struct math *math, uint32_t i, unsigned depth)
{
    const struct html_node *node = &math->tree->nodes[i];
    put_space(math, node);
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++)
        if (str_eq(node->text, str_of(forms[k].name))) {
            put_form(math, i, &forms[k], depth);
            return;
        }
    if (str_eq(node->text, STR("msqrt"))) {
        buf_lit(math->out, "sqrt(");
        put_parts(math, i, depth);
        buf_put_char(math->out, ')');
    } else if (str_eq(node->text, STR("mtable"))) {
        put_table(math, i, "; ", depth);
    } else if (str_eq(node->text, STR("mtr"))) {
        put_table(math, i, ", ", depth);
    } else if (!str_eq(node->text, STR("annotation")) && !str_eq(node->text, STR("mphantom"))) {
        put_parts(math, i, depth);
    }
}

/* Texts lose the blanks of their layout, except in words; signs that nobody sees are left out. */
static void put_text(struct math *math, uint32_t i)
{
    const struct html_node *node = &math->tree->nodes[i];
    GumboTag parent = math->tree->nodes[node->parent].tag;
    struct str s = str_trim(node->text);
    if (parent == GUMBO_TAG_MTEXT && s.n > 0) {
        buf_put_char(math->out, ' ');
        buf_put(math->out, s);
        buf_put_char(math->out, ' ');
        return;
    }
    bool is_unseen = s.n == 3 && memcmp(s.at, "\xe2\x81", 2) == 0 &&
                     (unsigned char)s.at[2] >= 0xa1 && (unsigned char)s.at[2] <= 0xa4;
    if (!is_unseen)
        buf_put(math->out, s);
}

static void put(struct math *math, uint32_t i, unsigned depth)
{
    const struct html_node *node = &math->tree->nodes[i];
    if (depth > DEPTH_MAX)
        return;
    if (html_node_is_text(node))
        put_text(math, i);
    else if (node->tag != GUMBO_TAG_ANNOTATION_XML)
        put_element(math, i, depth + 1);
}

void html_math_put(struct buf *out, const struct html_tree *tree, uint32_t math)
{
    struct math state = {.out = out, .tree = tree};
    put_parts(&state, math, 0);
}
