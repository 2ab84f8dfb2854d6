/* SPDX-License-Identifier: MIT
 * html_text.c - see html_text.h. The nodes are walked in the order of the page; an element is left
 * when the first node after it comes. */
#include "shared/extract/html_text.h"

#include "shared/extract/flow.h"
#include "shared/extract/html_lists.h"
#include "shared/extract/html_math.h"
#include "shared/extract/html_table.h"
#include "shared/text/fold.h"

#include <stdlib.h>

enum { ID_MAX_BYTES = 64, SCRIPT_MAX_BYTES = 64 };

struct walk {
    const struct html_tree *tree;
    struct flow flow;
    unsigned pre_depth;
    struct str picture; /* the description of the last picture */
    bool has_anchors;
    bool is_after_box;              /* a letter that comes next is parted from it */
    char mark[HTML_MARK_MAX_BYTES]; /* of the list item that has begun */
};

/* ---- elements ---- */

static bool is_list(GumboTag tag)
{
    return tag == GUMBO_TAG_UL || tag == GUMBO_TAG_OL;
}

/* How many newlines an element puts before and after itself. */
static unsigned break_of(const struct walk *walk, uint32_t i)
{
    const struct html_node *node = &walk->tree->nodes[i];
    switch (node->tag) {
    case GUMBO_TAG_P:
    case GUMBO_TAG_H1:
    case GUMBO_TAG_H2:
    case GUMBO_TAG_H3:
    case GUMBO_TAG_H4:
    case GUMBO_TAG_H5:
    case GUMBO_TAG_H6:
    case GUMBO_TAG_DL:
    case GUMBO_TAG_TABLE:
    case GUMBO_TAG_SECTION:
    case GUMBO_TAG_ARTICLE:
    case GUMBO_TAG_PRE:
    case GUMBO_TAG_BLOCKQUOTE:
    case GUMBO_TAG_HEADER:
    case GUMBO_TAG_FOOTER:
    case GUMBO_TAG_FIGURE:
    case GUMBO_TAG_FIGCAPTION:
    case GUMBO_TAG_DETAILS: return 2;
    case GUMBO_TAG_UL:
    case GUMBO_TAG_OL:
        return node->item == 0 && !is_list(walk->tree->nodes[node->parent].tag) ? 2 : 1;
    case GUMBO_TAG_BR:
    case GUMBO_TAG_DIV:
    case GUMBO_TAG_LI:
    case GUMBO_TAG_DT:
    case GUMBO_TAG_DD:
    case GUMBO_TAG_HR:
    case GUMBO_TAG_MAIN:
    case GUMBO_TAG_BODY:
    case GUMBO_TAG_CAPTION:
    case GUMBO_TAG_SUMMARY:
    case GUMBO_TAG_LEGEND:
    case GUMBO_TAG_ADDRESS:
    case GUMBO_TAG_FORM:
    case GUMBO_TAG_FIELDSET:
    case GUMBO_TAG_ASIDE:
    case GUMBO_TAG_NAV:
    case GUMBO_TAG_CENTER:
    case GUMBO_TAG_TR:
    case GUMBO_TAG_TD:
    case GUMBO_TAG_TH: return 1;
    default: return 0;
    }
}

/* 1 to 6; 0 for what is no heading. */
static unsigned heading_level(GumboTag tag)
{
    return tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6 ? (unsigned)(tag - GUMBO_TAG_H1) + 1 : 0;
}

static bool is_of_id(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == ':';
}

/* Where the heading has an anchor, its line ends with it, as in Markdown: `## Brakes {#brakes}`. */
static void end_heading(struct walk *walk, const struct html_node *node)
{
    struct str id = str_of(html_node_find(node, "id"));
    bool is_plain = id.n > 0 && id.n <= ID_MAX_BYTES;
    for (size_t i = 0; is_plain && i < id.n; i++)
        is_plain = is_of_id(id.at[i]);
    if (is_plain && walk->has_anchors && walk->flow.prefix.n == 0 && walk->flow.cell_depth == 0) {
        flow_put(&walk->flow, STR(" {#"));
        flow_put(&walk->flow, id);
        flow_put(&walk->flow, STR("}"));
    }
    flow_mark(&walk->flow, STR(""));
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* Returns whether what is raised or lowered has a meaning of its own: a number, a variable; not an
 * ordinal's "th" or a mark in brackets. */
static bool is_script_distinct(const struct html_node *node, struct str text)
{
    size_t digits = 0, letters = 0;
    for (size_t i = 0; i < text.n; i++) {
        digits += is_digit(text.at[i]);
        letters += is_letter(text.at[i]);
    }
    if (text.n == 0 || strchr("[({", *text.at) != NULL)
        return false;
    return digits > 0 || node->tag == GUMBO_TAG_SUB || letters == 1;
}

/* Returns whether it takes parentheses: 2^(n+1), Ca^(2+). */
static bool is_script_long(struct str text)
{
    static const struct str minus = {"\xe2\x88\x92", 3};
    if (text.n > 1 && memmem(text.at + 1, text.n - 1, minus.at, minus.n) != NULL)
        return true;
    for (size_t i = 1; i < text.n; i++)
        if (!is_digit(text.at[i]) && !is_letter(text.at[i]) && text.at[i] != '.' &&
            text.at[i] != ',')
            return true;
    return false;
}

static void put_script(struct walk *walk, uint32_t i, bool is_begin)
{
    char at[SCRIPT_MAX_BYTES];
    const struct html_node *node = &walk->tree->nodes[i];
    size_t n = html_tree_copy_text(walk->tree, i, at, sizeof at);
    struct str text = str_trim(str_of(at));
    if (n >= sizeof at || !is_script_distinct(node, text))
        return;
    if (is_begin)
        flow_put(&walk->flow, node->tag == GUMBO_TAG_SUB ? STR("_") : STR("^"));
    if (is_script_long(text))
        flow_put(&walk->flow, is_begin ? STR("(") : STR(")"));
}

/* Returns whether a link is the mark of a note that only a style raises, as in many books. */
static bool is_note_mark(const struct walk *walk, uint32_t i)
{
    const struct html_node *nodes = walk->tree->nodes;
    const char *role = html_node_find(&nodes[i], "role"),
               *class = html_node_find(&nodes[i], "class");
    bool is_mark = (role != NULL && strcmp(role, "doc-noteref") == 0) ||
                   (class != NULL && strcmp(class, "footnote-ref") == 0);
    bool is_raised = nodes[nodes[i].parent].tag == GUMBO_TAG_SUP ||
                     (i + 1 < nodes[i].end && nodes[i + 1].tag == GUMBO_TAG_SUP);
    return is_mark && !is_raised;
}

/* ---- what is put in place of an element ---- */

static bool is_in_words(struct str s)
{
    struct folded first;
    return fold_next(s, &first) > 0 && first.kind == FOLD_WORD;
}

/* A description that all pictures of an article have says nothing after the first; in cells, which
 * have a walk of their own, it may be a value. */
static void put_alt(struct walk *walk, const struct html_node *node)
{
    struct str alt = str_of(html_node_find(node, "alt"));
    if (str_trim(alt).n == 0 || str_eq(alt, walk->picture))
        return;
    walk->picture = alt;
    flow_put(&walk->flow, STR(" "));
    flow_put(&walk->flow, alt);
    walk->is_after_box = true;
}

static void put_input(struct walk *walk, const struct html_node *node)
{
    static const char *const shown[] = {"text", "number", "email", "tel",  "url",
                                        "date", "time",   "month", "week", "datetime-local"};
    const char *type = html_node_find(node, "type"), *value = html_node_find(node, "value");
    bool is_shown = type == NULL;
    for (size_t i = 0; !is_shown && i < sizeof shown / sizeof *shown; i++)
        is_shown = str_eq_nocase(str_of(type), str_of(shown[i]));
    if (!is_shown || value == NULL)
        return;
    flow_put(&walk->flow, STR(" "));
    flow_put(&walk->flow, str_of(value));
    walk->is_after_box = true;
}

static void put_nodes(struct walk *walk, uint32_t first);

static void put_line(struct buf *out, const struct html_tree *tree, uint32_t i)
{
    struct walk walk = {.tree = tree, .flow = {.out = out, .cell_depth = 1}};
    put_nodes(&walk, i);
}

/* Puts an element that is no mere container, with all that it contains. False: it is one. */
static bool put_whole(struct walk *walk, uint32_t i)
{
    const struct html_node *node = &walk->tree->nodes[i];
    struct buf line;
    switch (node->tag) {
    case GUMBO_TAG_IMG: put_alt(walk, node); return true;
    case GUMBO_TAG_INPUT: put_input(walk, node); return true;
    case GUMBO_TAG_MATH:
        buf_init(&line, walk->flow.out->max);
        html_math_put(&line, walk->tree, i);
        flow_put(&walk->flow, buf_str(&line));
        buf_fini(&line);
        return true;
    case GUMBO_TAG_TABLE:
        if (walk->flow.cell_depth > 0 || !html_table_is_data(walk->tree, i))
            return false;
        flow_break(&walk->flow, 2);
        html_table_put(&walk->flow, walk->tree, i, put_line);
        flow_break(&walk->flow, 2);
        return true;
    default: return false;
    }
}

/* ---- the walk ---- */

static void begin(struct walk *walk, uint32_t i)
{
    static const struct str marks = {"###### ", 7};
    const struct html_node *node = &walk->tree->nodes[i];
    unsigned level = heading_level(node->tag);
    flow_break(&walk->flow, break_of(walk, i));
    if (level > 0)
        flow_mark(&walk->flow, (struct str){marks.at + 6 - level, level + 1});
    switch (node->tag) {
    case GUMBO_TAG_LI: flow_mark(&walk->flow, html_lists_mark(walk->tree, i, walk->mark)); break;
    case GUMBO_TAG_DD:
        if (node->is_after_term)
            flow_join(&walk->flow);
        break;
    case GUMBO_TAG_PRE: walk->flow.is_literal = ++walk->pre_depth > 0; break;
    case GUMBO_TAG_SUP:
    case GUMBO_TAG_SUB: put_script(walk, i, true); break;
    case GUMBO_TAG_A:
        if (is_note_mark(walk, i))
            put_script(walk, i, true);
        break;
    case GUMBO_TAG_RT: flow_put(&walk->flow, STR("(")); break;
    case GUMBO_TAG_Q: flow_put(&walk->flow, STR("\xe2\x80\x9c")); break;
    case GUMBO_TAG_TEXTAREA:
    case GUMBO_TAG_OPTION: flow_put(&walk->flow, STR(" ")); break;
    default: break;
    }
}

static void end(struct walk *walk, uint32_t i)
{
    const struct html_node *node = &walk->tree->nodes[i];
    if (heading_level(node->tag) > 0)
        end_heading(walk, node);
    switch (node->tag) {
    case GUMBO_TAG_LI: flow_mark(&walk->flow, STR("")); break;
    case GUMBO_TAG_PRE: walk->flow.is_literal = --walk->pre_depth > 0; break;
    case GUMBO_TAG_SUP:
    case GUMBO_TAG_SUB: put_script(walk, i, false); break;
    case GUMBO_TAG_A:
        if (is_note_mark(walk, i))
            put_script(walk, i, false);
        break;
    case GUMBO_TAG_RT: flow_put(&walk->flow, STR(")")); break;
    case GUMBO_TAG_Q: flow_put(&walk->flow, STR("\xe2\x80\x9d")); break;
    case GUMBO_TAG_TEXTAREA:
    case GUMBO_TAG_OPTION: flow_put(&walk->flow, STR(" ")); break;
    default: break;
    }
    flow_break(&walk->flow, break_of(walk, i));
}

static void put_text(struct walk *walk, struct str s)
{
    if (walk->is_after_box && is_in_words(s))
        flow_put(&walk->flow, STR(" "));
    walk->is_after_box = false;
    html_text_put_seen(&walk->flow, s);
}

void html_text_put_seen(struct flow *flow, struct str s)
{
    static const struct str soft_hyphen = {"\xc2\xad", 2};
    while (s.n > 0) {
        const char *found = memmem(s.at, s.n, soft_hyphen.at, soft_hyphen.n);
        size_t n = found == NULL ? s.n : (size_t)(found - s.at);
        flow_put(flow, (struct str){s.at, n});
        n += found == NULL ? 0 : soft_hyphen.n;
        s = (struct str){s.at + n, s.n - n};
    }
}

static void put_nodes(struct walk *walk, uint32_t first)
{
    const struct html_node *nodes = walk->tree->nodes;
    uint32_t open = first, last = nodes[first].end;
    begin(walk, first);
    for (uint32_t i = first + 1; i < last;) {
        for (; i >= nodes[open].end; open = nodes[open].parent)
            end(walk, open);
        if (nodes[i].is_left_out || (!html_node_is_text(&nodes[i]) && put_whole(walk, i))) {
            i = nodes[i].end;
        } else if (html_node_is_text(&nodes[i])) {
            put_text(walk, nodes[i++].text);
        } else {
            open = i++;
            begin(walk, open);
        }
    }
    for (; open != first; open = nodes[open].parent)
        end(walk, open);
    end(walk, first);
}

void html_text_put(struct buf *out, struct html_tree *tree, bool has_anchors)
{
    struct walk walk = {.tree = tree, .flow = {.out = out}, .has_anchors = has_anchors};
    if (tree->n == 0)
        return;
    html_lists_number(tree);
    put_nodes(&walk, 0);
}
