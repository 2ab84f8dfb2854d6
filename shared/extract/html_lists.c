/* SPDX-License-Identifier: MIT
 * html_lists.c - see html_lists.h. Items are numbered as the standard does (section 4.4.8): by
 * `start`, `reversed` and `value`; `type` says how the number is written. */
#include "shared/extract/html_lists.h"

#include <stdio.h>

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

static size_t put_letters(char *at, long number, char first)
{
    char digits[16];
    size_t n = 0;
    for (; number > 0; number = (number - 1) / 26)
        digits[n++] = (char)(first + (number - 1) % 26);
    for (size_t i = 0; i < n; i++)
        at[i] = digits[n - 1 - i];
    return n;
}

static size_t put_roman(char *at, long number, bool is_upper)
{
    static const struct {
        long value;
        const char *lower, *upper;
    } steps[] = {{1000, "m", "M"}, {900, "cm", "CM"}, {500, "d", "D"}, {400, "cd", "CD"},
                 {100, "c", "C"},  {90, "xc", "XC"},  {50, "l", "L"},  {40, "xl", "XL"},
                 {10, "x", "X"},   {9, "ix", "IX"},   {5, "v", "V"},   {4, "iv", "IV"},
                 {1, "i", "I"}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (; number >= steps[i].value; number -= steps[i].value)
            n += (size_t)sprintf(at + n, "%s", is_upper ? steps[i].upper : steps[i].lower);
    return n;
}

static size_t put_number(char *at, long number, const char *type)
{
    enum { ROMAN_MAX = 3999 };
    char form = type == NULL || type[0] == 0 || type[1] != 0 ? '1' : type[0];
    if ((form == 'a' || form == 'A') && number > 0)
        return put_letters(at, number, form);
    if ((form == 'i' || form == 'I') && number > 0 && number <= ROMAN_MAX)
        return put_roman(at, number, form == 'I');
    return (size_t)sprintf(at, "%ld", number);
}

static struct str mark_of(const struct html_tree *tree, uint32_t i, char *at)
{
    const struct html_node *node = &tree->nodes[i];
    if (!node->is_numbered)
        return STR("- ");
    const char *type = html_node_find(node, "type");
    if (type == NULL)
        type = html_node_find(&tree->nodes[node->parent], "type");
    size_t n = put_number(at, node->number, type);
    memcpy(at + n, ". ", 2);
    return (struct str){at, n + 2};
}

struct str html_lists_mark(const struct html_tree *tree, uint32_t i, char at[HTML_MARK_MAX_BYTES])
{
    size_t n = tree->nodes[i].indent;
    memset(at, ' ', n);
    char mark_at[HTML_MARK_MAX_BYTES - INDENT_MAX];
    struct str mark = mark_of(tree, i, mark_at);
    memcpy(at + n, mark.at, mark.n);
    return (struct str){at, n + mark.n};
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
