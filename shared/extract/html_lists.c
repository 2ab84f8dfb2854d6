/* SPDX-License-Identifier: MIT
 * html_lists.c - see html_lists.h. Items are numbered as the standard does (section 4.4.8): by
 * `start`, `reversed` and `value`; `type` says how the number is written. */
#include "shared/extract/html_lists.h"

#include "shared/extract/numbers.h"

enum { INDENT_MAX = 64, NUMBER_MAX = 1000000 };

static bool is_item_of(const struct html_tree *tree, uint32_t i, uint32_t list)
{
    return tree->nodes[i].tag == GUMBO_TAG_LI && !tree->nodes[i].is_left_out && i != list;
}

static long clamp(long number)
{
    return number < -NUMBER_MAX ? -NUMBER_MAX : number > NUMBER_MAX ? NUMBER_MAX : number;
}

static void number_items(struct html_tree *tree, uint32_t list)
{
    struct html_node *nodes = tree->nodes;
    bool is_reversed = html_node_find(&nodes[list], "reversed") != NULL;
    long item_n = 0;
    for (uint32_t i = list + 1; is_reversed && i < nodes[list].end; i = nodes[i].end)
        item_n += is_item_of(tree, i, list);
    long number = html_node_number(&nodes[list], "start", is_reversed ? item_n : 1);
    for (uint32_t i = list + 1; i < nodes[list].end; i = nodes[i].end) {
        if (!is_item_of(tree, i, list))
            continue;
        number = clamp(html_node_number(&nodes[i], "value", number));
        nodes[i].number = (int32_t)number;
        nodes[i].is_numbered = true;
        number += is_reversed ? -1 : 1;
    }
}

static void find_terms(struct html_tree *tree, uint32_t list)
{
    struct html_node *nodes = tree->nodes;
    bool is_after_term = false;
    for (uint32_t i = list + 1; i < nodes[list].end; i = nodes[i].end) {
        if (html_node_is_text(&nodes[i]) || nodes[i].is_left_out)
            continue;
        nodes[i].is_after_term = is_after_term && nodes[i].tag == GUMBO_TAG_DD;
        is_after_term = nodes[i].tag == GUMBO_TAG_DT && nodes[i].text_n > 0;
    }
}

/* ---- marks ---- */

static enum number_form form_of(const char *type)
{
    switch (type == NULL || type[0] == 0 || type[1] != 0 ? '1' : type[0]) {
    case 'a': return NUMBER_LOWER_ALPHA;
    case 'A': return NUMBER_UPPER_ALPHA;
    case 'i': return NUMBER_LOWER_ROMAN;
    case 'I': return NUMBER_UPPER_ROMAN;
    default: return NUMBER_DECIMAL;
    }
}

static void put_number(struct buf *mark, const struct html_tree *tree, uint32_t i)
{
    const struct html_node *node = &tree->nodes[i];
    const char *type = html_node_find(node, "type");
    if (type == NULL)
        type = html_node_find(&tree->nodes[node->parent], "type");
    if (node->number > 0)
        numbers_put(mark, form_of(type), (unsigned)node->number);
    else
        buf_printf(mark, "%d", (int)node->number);
    buf_lit(mark, ". ");
}

struct str html_lists_mark(const struct html_tree *tree, uint32_t i, char at[HTML_MARK_MAX_BYTES])
{
    struct buf mark;
    buf_init(&mark, HTML_MARK_MAX_BYTES);
    for (unsigned column = 0; column < tree->nodes[i].indent; column++)
        buf_put_char(&mark, ' ');
    if (tree->nodes[i].is_numbered)
        put_number(&mark, tree, i);
    else
        buf_lit(&mark, "- ");
    size_t n = mark.n;
    memcpy(at, mark.at, n);
    buf_fini(&mark);
    return (struct str){at, n};
}

/* Items are indented to the text of the item around them. */
static void indent(struct html_tree *tree, uint32_t i)
{
    char at[HTML_MARK_MAX_BYTES];
    uint32_t around = tree->nodes[i].item;
    size_t columns = around == 0 ? 0 : html_lists_mark(tree, around, at).n;
    tree->nodes[i].indent = (uint16_t)(columns < INDENT_MAX ? columns : INDENT_MAX);
}

void html_lists_number(struct html_tree *tree)
{
    for (uint32_t i = 1; i < tree->n; i++) {
        GumboTag tag = tree->nodes[i].tag;
        uint32_t parent = tree->nodes[i].parent;
        tree->nodes[i].item =
            tree->nodes[parent].tag == GUMBO_TAG_LI ? parent : tree->nodes[parent].item;
        if (tag == GUMBO_TAG_OL)
            number_items(tree, i);
        else if (tag == GUMBO_TAG_DL || tag == GUMBO_TAG_DIV)
            find_terms(tree, i);
        else if (tag == GUMBO_TAG_LI)
            indent(tree, i);
    }
}
