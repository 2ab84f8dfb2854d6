/* SPDX-License-Identifier: MIT
 * html_tree.c - see html_tree.h. */
#include "shared/extract/html_tree.h"

#include "shared/base/mem.h"

#include <stdlib.h>

/* ---- building ---- */

static struct html_node *add(struct html_tree *tree, uint32_t parent)
{
    tree->nodes = mem_grow(tree->nodes, tree->n, sizeof *tree->nodes);
    struct html_node *node = &tree->nodes[tree->n];
    *node =
        (struct html_node){.tag = GUMBO_TAG_LAST, .parent = parent, .end = (uint32_t)tree->n + 1};
    tree->n++;
    return node;
}

static const GumboVector *children_of(const GumboNode *from)
{
    return from->type == GUMBO_NODE_ELEMENT || from->type == GUMBO_NODE_TEMPLATE
               ? &from->v.element.children
               : NULL;
}

/* The next node in the order of the page, after `from` and what it contains; NULL at the end. Goes
 * up as many levels as it says. */
static const GumboNode *next_after(const GumboNode *from, const GumboNode *root, unsigned *ret_up)
{
    for (*ret_up = 0; from != root; ++*ret_up) {
        const GumboVector *siblings = children_of(from->parent);
        if (from->index_within_parent + 1 < siblings->length)
            return siblings->data[from->index_within_parent + 1];
        from = from->parent;
    }
    return NULL;
}

static struct str name_of_unknown(const GumboElement *element)
{
    GumboStringPiece name = element->original_tag;
    if (element->tag != GUMBO_TAG_UNKNOWN)
        return (struct str){NULL, 0};
    gumbo_tag_from_original_text(&name);
    return (struct str){name.data, name.length};
}

static void fill(struct html_tree *tree)
{
    uint32_t parent = 0;
    unsigned up = 0;
    for (const GumboNode *from = tree->output->root; from != NULL;) {
        struct html_node *node = add(tree, parent);
        const GumboVector *children = children_of(from);
        if (children != NULL) {
            node->tag = from->v.element.tag;
            node->attributes = &from->v.element.attributes;
            node->text = name_of_unknown(&from->v.element);
        } else if (from->type != GUMBO_NODE_COMMENT) {
            node->text = str_of(from->v.text.text);
        }
        if (children != NULL && children->length > 0) {
            parent = (uint32_t)tree->n - 1;
            from = children->data[0];
            continue;
        }
        from = next_after(from, tree->output->root, &up);
        for (; up > 0; up--) {
            tree->nodes[parent].end = (uint32_t)tree->n;
            parent = tree->nodes[parent].parent;
        }
    }
}

/* ---- what people see ---- */

static bool is_never_seen(const struct html_node *node, const struct html_node *parent)
{
    switch (node->tag) {
    case GUMBO_TAG_HEAD:
    case GUMBO_TAG_TITLE:
    case GUMBO_TAG_TEMPLATE:
    case GUMBO_TAG_SVG:
    case GUMBO_TAG_OBJECT:
    case GUMBO_TAG_CANVAS:
    case GUMBO_TAG_AUDIO:
    case GUMBO_TAG_VIDEO:
    case GUMBO_TAG_MAP:
    case GUMBO_TAG_DATALIST:
    case GUMBO_TAG_RP:
    case GUMBO_TAG_DEL: return true;
    case GUMBO_TAG_OPTION: /* outside of a list it is text, which may be the rest of the page */
        return (parent->tag == GUMBO_TAG_SELECT || parent->tag == GUMBO_TAG_OPTGROUP) &&
               html_node_find(node, "selected") == NULL;
    default: return html_node_find(node, "hidden") != NULL;
    }
}

/* A formula is often there twice: drawn, and hidden as MathML for those who cannot see it. */
static bool is_around_formula(const struct html_tree *tree, size_t i)
{
    const struct html_node *nodes = tree->nodes;
    size_t first = i + 1;
    while (first < nodes[i].end && html_node_is_text(&nodes[first]) &&
           str_trim(nodes[first].text).n == 0)
        first++;
    return nodes[i].tag != GUMBO_TAG_HEAD && first < nodes[i].end &&
           nodes[first].tag == GUMBO_TAG_MATH;
}

void html_tree_init(struct html_tree *tree, struct str html)
{
    GumboOptions options = kGumboDefaultOptions;
    options.max_errors = 0;
    *tree = (struct html_tree){.output = gumbo_parse_with_options(&options, html.at, html.n)};
    fill(tree);
    for (size_t i = 1; i < tree->n; i++) {
        struct html_node *node = &tree->nodes[i];
        const struct html_node *parent = &tree->nodes[node->parent];
        node->is_unseen =
            parent->is_unseen || (node->attributes != NULL && is_never_seen(node, parent) &&
                                  !is_around_formula(tree, i));
        node->is_left_out = node->is_unseen;
        node->is_link =
            parent->is_link || (node->tag == GUMBO_TAG_A && html_node_find(node, "href") != NULL);
    }
    for (size_t i = tree->n; i-- > 1;) {
        const struct html_node *node = &tree->nodes[i];
        struct html_node *parent = &tree->nodes[node->parent];
        parent->is_table_in |= node->is_table_in || node->tag == GUMBO_TAG_TABLE;
        parent->is_quote_in |= node->is_quote_in || node->tag == GUMBO_TAG_BLOCKQUOTE;
    }
}

void html_tree_fini(struct html_tree *tree)
{
    if (tree->output != NULL)
        gumbo_destroy_output(&kGumboDefaultOptions, tree->output);
    free(tree->nodes);
}

/* ---- reading ---- */

static size_t count_letters(struct str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += (unsigned char)s.at[i] > ' ';
    return n;
}

void html_tree_count(struct html_tree *tree)
{
    for (size_t i = 0; i < tree->n; i++)
        tree->nodes[i].text_n = tree->nodes[i].link_n = 0;
    for (size_t i = tree->n; i-- > 1;) {
        struct html_node *node = &tree->nodes[i], *parent = &tree->nodes[node->parent];
        if (node->is_left_out)
            continue;
        if (html_node_is_text(node))
            node->text_n = (uint32_t)count_letters(node->text);
        if (html_node_is_text(node) && node->is_link)
            node->link_n = node->text_n;
        parent->text_n += node->text_n;
        parent->link_n += node->link_n;
    }
}

void html_tree_leave_out(struct html_tree *tree, uint32_t i)
{
    for (uint32_t k = i; k < tree->nodes[i].end; k++)
        tree->nodes[k].is_left_out = true;
}

bool html_tag_is_block(GumboTag tag)
{
    switch (tag) {
    case GUMBO_TAG_LAST:
    case GUMBO_TAG_A:
    case GUMBO_TAG_SPAN:
    case GUMBO_TAG_SUP:
    case GUMBO_TAG_SUB:
    case GUMBO_TAG_UNKNOWN:
    case GUMBO_TAG_LABEL:
    case GUMBO_TAG_ABBR:
    case GUMBO_TAG_CITE:
    case GUMBO_TAG_TIME:
    case GUMBO_TAG_INS:
    case GUMBO_TAG_MARK:
    case GUMBO_TAG_Q:
    case GUMBO_TAG_RUBY:
    case GUMBO_TAG_KBD:
    case GUMBO_TAG_VAR:
    case GUMBO_TAG_SAMP:
    case GUMBO_TAG_DFN:
    case GUMBO_TAG_BDI:
    case GUMBO_TAG_BDO: return false;
    default: return true;
    }
}

const char *html_node_find(const struct html_node *node, const char *name)
{
    if (node->attributes == NULL)
        return NULL;
    const GumboAttribute *found = gumbo_get_attribute(node->attributes, name);
    return found == NULL ? NULL : found->value;
}

long html_node_number(const struct html_node *node, const char *name, long otherwise)
{
    const char *value = html_node_find(node, name);
    char *end = NULL;
    long number = value == NULL ? 0 : strtol(value, &end, 10);
    return end == NULL || end == value ? otherwise : number;
}

size_t html_tree_copy_text(const struct html_tree *tree, uint32_t i, char *at, size_t max)
{
    size_t all = 0, n = 0;
    for (uint32_t k = i; k < tree->nodes[i].end; k++) {
        const struct html_node *node = &tree->nodes[k];
        if (node->is_left_out || !html_node_is_text(node))
            continue;
        size_t take = node->text.n < max - 1 - n ? node->text.n : max - 1 - n;
        memcpy(at + n, node->text.at, take);
        n += take;
        all += node->text.n;
    }
    at[n] = 0;
    return all;
}
