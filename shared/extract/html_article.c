/* SPDX-License-Identifier: MIT
 * html_article.c - see html_article.h.
 *
 * First what its element, role or class calls clutter goes. Then the article is looked for: the
 * innermost element that holds nearly all prose, which is text in paragraphs that are not mostly
 * links; <main> and <article> are believed if they hold much of it. Last, lists of links go from
 * the article, too, if most of it is prose: an index has little but links. Each step is taken back
 * if it leaves too little. */
#include "shared/extract/html_article.h"

#include "shared/base/mem.h"
#include "shared/extract/html_clutter.h"
#include "shared/extract/html_table.h"

#include <stdlib.h>

enum {
    PARAGRAPH_MIN_BYTES = 60, /* shorter ones are labels and teasers */
    LINKS_MIN = 3,            /* with targets of their own: a product or a teaser has one */
};

/* In percent. */
enum {
    MAIN_MIN = 33,    /* of the plain text, to believe a <main> */
    ONLY_MIN = 25,    /* of the prose, to believe an <article> that is the only one */
    ARTICLE_MIN = 60, /* the same of one among several */
    INNER_MIN = 96,   /* of the prose, to go into an element */
    LINKED_MIN = 70,  /* of the text of a list of links */
    FLOW_MIN = 50,    /* of the prose: a list that is directly in such an element is text */
    INDEX_MAX = 40,   /* of the text: with less prose, links are what a page has to say */
    LEFT_MIN = 10,    /* of the text, to leave out lists of links */
};

static uint32_t plain_n(const struct html_node *node)
{
    return node->text_n - node->link_n;
}

static void take_back(struct html_tree *tree)
{
    for (uint32_t i = 0; i < tree->n; i++)
        tree->nodes[i].is_left_out = tree->nodes[i].is_unseen;
    html_tree_count(tree);
}

static uint32_t find_body(const struct html_tree *tree)
{
    for (uint32_t i = 0; i < tree->n; i++)
        if (tree->nodes[i].tag == GUMBO_TAG_BODY)
            return i;
    return 0;
}

/* ---- the article ---- */

struct paragraph {
    uint32_t block, text_n, link_n;
};

/* Adds up the prose of all nodes. */
static void count_prose(struct html_tree *tree)
{
    struct paragraph *paragraphs = mem_zeroed_n(tree->n, sizeof *paragraphs);
    for (uint32_t i = 1; i < tree->n; i++) {
        const struct html_node *node = &tree->nodes[i];
        struct paragraph *own = &paragraphs[i];
        own->block = html_tag_is_block(node->tag) ? i : paragraphs[node->parent].block;
        if (html_node_is_text(node) && !node->is_left_out) {
            paragraphs[own->block].text_n += node->text_n;
            paragraphs[own->block].link_n += node->link_n;
        }
    }
    for (uint32_t i = 0; i < tree->n; i++)
        tree->nodes[i].prose_n = 0;
    for (uint32_t i = (uint32_t)tree->n; i-- > 1;) {
        uint32_t plain = paragraphs[i].text_n - paragraphs[i].link_n;
        if (plain >= PARAGRAPH_MIN_BYTES && plain > paragraphs[i].link_n)
            tree->nodes[i].prose_n += plain;
        tree->nodes[tree->nodes[i].parent].prose_n += tree->nodes[i].prose_n;
        tree->nodes[tree->nodes[i].parent].has_paragraph |=
            tree->nodes[i].tag == GUMBO_TAG_P && tree->nodes[i].prose_n > 0;
    }
    free(paragraphs);
}

/* The only element of its kind in `root` that is not within another; 0 if there is none or more. */
static uint32_t find_only(const struct html_tree *tree, uint32_t root, GumboTag tag)
{
    uint32_t found = 0;
    for (uint32_t i = root + 1; i < tree->nodes[root].end;) {
        bool is_one = tree->nodes[i].tag == tag && !tree->nodes[i].is_left_out;
        if (is_one && found != 0)
            return 0;
        if (is_one)
            found = i;
        i = is_one ? tree->nodes[i].end : i + 1;
    }
    return found;
}

/* The only <article> in `root` that has a heading of the first level; 0 if there is none or more.
 */
static uint32_t find_headed(const struct html_tree *tree, uint32_t root)
{
    const struct html_node *nodes = tree->nodes;
    uint32_t found = 0, article = root;
    for (uint32_t i = root + 1; i < nodes[root].end; i++) {
        if (nodes[i].tag == GUMBO_TAG_ARTICLE)
            article = i;
        if (nodes[i].tag != GUMBO_TAG_H1 || nodes[i].is_left_out || i >= nodes[article].end ||
            article == root || article == found)
            continue;
        if (found != 0)
            return 0;
        found = article;
    }
    return found;
}

static uint32_t find_largest(const struct html_tree *tree, uint32_t root, GumboTag tag)
{
    const struct html_node *nodes = tree->nodes;
    uint32_t found = 0;
    for (uint32_t i = root + 1; i < nodes[root].end; i++)
        if (nodes[i].tag == tag && !nodes[i].is_left_out &&
            (found == 0 || nodes[i].prose_n > nodes[found].prose_n))
            found = i;
    return found;
}

static uint32_t richest_child(const struct html_tree *tree, uint32_t i)
{
    const struct html_node *nodes = tree->nodes;
    uint32_t found = 0;
    for (uint32_t k = i + 1; k < nodes[i].end; k = nodes[k].end)
        if (!html_node_is_text(&nodes[k]) &&
            (found == 0 || nodes[k].prose_n > nodes[found].prose_n))
            found = k;
    return found;
}

static uint32_t find_root(const struct html_tree *tree)
{
    const struct html_node *nodes = tree->nodes;
    uint32_t root = find_body(tree), found = find_only(tree, root, GUMBO_TAG_MAIN);
    if (found != 0 && html_is_share(plain_n(&nodes[found]), plain_n(&nodes[root]), MAIN_MIN))
        root = found;
    bool is_small = nodes[root].prose_n < HTML_PROSE_MIN_BYTES;
    if (is_small) {
        found = find_only(tree, root, GUMBO_TAG_ARTICLE);
        return found != 0 && html_is_share(plain_n(&nodes[found]), plain_n(&nodes[root]), MAIN_MIN)
                   ? found
                   : root;
    }
    found = find_only(tree, root, GUMBO_TAG_ARTICLE);
    if (found == 0)
        found = find_headed(tree, root);
    unsigned percent = found != 0 ? ONLY_MIN : ARTICLE_MIN;
    if (found == 0)
        found = find_largest(tree, root, GUMBO_TAG_ARTICLE);
    if (found != 0 && html_is_share(nodes[found].prose_n, nodes[root].prose_n, percent))
        root = found;
    while ((found = richest_child(tree, root)) != 0 && html_tag_is_block(nodes[found].tag) &&
           nodes[found].tag != GUMBO_TAG_P &&
           html_is_share(nodes[found].prose_n, nodes[root].prose_n, INNER_MIN))
        root = found;
    return root;
}

/* Leaves out what is around the root, except for the heading before it if it has none. */
static void leave_out_around(struct html_tree *tree, uint32_t root)
{
    uint32_t heading = 0;
    bool has_heading = false;
    for (uint32_t i = 1; i < tree->nodes[root].end; i++) {
        if (tree->nodes[i].tag != GUMBO_TAG_H1 || tree->nodes[i].is_left_out)
            continue;
        has_heading |= i > root;
        heading = i < root ? i : heading;
    }
    if (has_heading)
        heading = 0;
    for (uint32_t i = 1; i < tree->n;) {
        bool is_around = i < root && tree->nodes[i].end > root;
        bool is_around_heading = heading != 0 && i <= heading && tree->nodes[i].end > heading;
        if (i == root || i == heading) {
            i = tree->nodes[i].end;
        } else if (is_around || is_around_heading) {
            i++;
        } else {
            html_tree_leave_out(tree, i);
            i = tree->nodes[i].end;
        }
    }
}

/* ---- lists of links ---- */

/* Returns whether links may be what an element has to say: a list between paragraphs, a table. */
static bool is_of_text(const struct html_tree *tree, uint32_t root, uint32_t i)
{
    const struct html_node *node = &tree->nodes[i];
    switch (node->tag) {
    case GUMBO_TAG_P:
    case GUMBO_TAG_BLOCKQUOTE: return true;
    case GUMBO_TAG_UL:
    case GUMBO_TAG_OL:
    case GUMBO_TAG_DL:
        return tree->nodes[node->parent].has_paragraph ||
               html_is_share(tree->nodes[node->parent].prose_n, tree->nodes[root].prose_n,
                             FLOW_MIN);
    case GUMBO_TAG_TABLE: return html_table_is_data(tree, i);
    default: return !html_tag_is_block(node->tag);
    }
}

/* Returns whether the links of an element lead to LINKS_MIN places or more. */
static bool has_links(const struct html_tree *tree, uint32_t i)
{
    const char *targets[LINKS_MIN] = {0};
    size_t n = 0;
    for (uint32_t k = i; k < tree->nodes[i].end && n < LINKS_MIN; k++) {
        const struct html_node *node = &tree->nodes[k];
        const char *target = html_node_find(node, "href");
        size_t at = 0;
        if (node->tag != GUMBO_TAG_A || node->is_left_out || node->text_n == 0 || target == NULL)
            continue;
        while (at < n && strcmp(targets[at], target) != 0)
            at++;
        if (at == n)
            targets[n++] = target;
    }
    return n == LINKS_MIN;
}

static bool is_list_of_links(const struct html_tree *tree, uint32_t root, uint32_t i)
{
    const struct html_node *node = &tree->nodes[i];
    return !node->is_left_out && node->text_n > 0 &&
           html_is_share(node->link_n, node->text_n, LINKED_MIN) && !is_of_text(tree, root, i) &&
           has_links(tree, i);
}

/* The next node, past a text or list that has been dealt with. */
static uint32_t next_of(const struct html_tree *tree, uint32_t i, bool is_whole)
{
    return is_whole ? tree->nodes[i].end : i + 1;
}

static void leave_out_links(struct html_tree *tree, uint32_t root)
{
    uint32_t linked_n = 0, all_n = tree->nodes[root].text_n;
    bool is_whole;
    if (!html_is_share(tree->nodes[root].prose_n, all_n, INDEX_MAX))
        return;
    for (uint32_t i = root + 1; i < tree->nodes[root].end; i = next_of(tree, i, is_whole)) {
        bool is_list = is_list_of_links(tree, root, i);
        linked_n += is_list ? tree->nodes[i].text_n : 0;
        is_whole = is_list || is_of_text(tree, root, i);
    }
    if (!html_is_share(all_n - linked_n, all_n, LEFT_MIN))
        return;
    for (uint32_t i = root + 1; i < tree->nodes[root].end; i = next_of(tree, i, is_whole)) {
        bool is_list = is_list_of_links(tree, root, i);
        is_whole = is_list || is_of_text(tree, root, i);
        if (is_list)
            html_tree_leave_out(tree, i);
    }
}

void html_article_find(struct html_tree *tree)
{
    html_tree_count(tree);
    if (tree->n == 0 || tree->nodes[0].text_n == 0)
        return;
    count_prose(tree);
    html_clutter_leave_out(tree);
    if (tree->nodes[0].text_n == 0)
        take_back(tree);
    count_prose(tree);
    uint32_t root = find_root(tree);
    leave_out_around(tree, root);
    html_tree_count(tree);
    leave_out_links(tree, root);
    html_tree_count(tree);
    if (tree->nodes[0].text_n == 0)
        take_back(tree);
}
