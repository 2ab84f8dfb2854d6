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
#include "shared/extract/html_table.h"

#include <stdlib.h>

enum {
    PARAGRAPH_MIN_BYTES = 60, /* shorter ones are labels and teasers */
    PROSE_MIN_BYTES = 300,    /* a page with less is small and taken whole */
    LINKS_MIN = 3,
};

/* In percent. */
enum {
    CLUTTER_MAX = 30,  /* of the page's text: what has more is no clutter, whatever its class */
    HIDDEN_MAX = 50,   /* the same of what is hidden from readers of screens */
    COMMENTS_MAX = 90, /* the same of comments, which may be longer than the article */
    MAIN_MIN = 33,     /* of the plain text, to believe a <main> */
    ONLY_MIN = 25,     /* of the prose, to believe an <article> that is the only one */
    ARTICLE_MIN = 60,  /* the same of one among several */
    PROSE_MAX = 40,    /* of an element's text: with more of it, its id is the name of a section */
    INNER_MIN = 96,    /* of the prose, to go into an element */
    LINKED_MIN = 70,   /* of the text of a list of links */
    FLOW_MIN = 50,     /* of the prose: a list that is directly in such an element is text */
    INDEX_MAX = 40,    /* of the text: with less prose, links are what a page has to say */
    LEFT_MIN = 10,     /* of the text, to leave out lists of links */
};

struct article {
    struct html_tree *tree;
    uint32_t *prose; /* bytes by node */
    uint32_t root;
};

static bool is_share(uint64_t part, uint64_t all, unsigned percent)
{
    return part * 100 >= all * percent;
}

static uint32_t plain_n(const struct html_node *node)
{
    return node->text_n - node->link_n;
}

static void leave_out(struct html_tree *tree, uint32_t i)
{
    for (uint32_t k = i; k < tree->nodes[i].end; k++)
        tree->nodes[k].is_left_out = true;
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

static bool is_block(GumboTag tag)
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

/* ---- clutter by name ---- */

static bool is_listed(const char *value, const char *const *words)
{
    for (; value != NULL && *words != NULL; words++)
        if (strcasestr(value, *words) != NULL)
            return true;
    return false;
}

static bool is_named(const struct article *article, uint32_t i, const char *const *words)
{
    const struct html_node *node = &article->tree->nodes[i];
    return is_listed(html_node_find(node, "class"), words) ||
           (!is_share(article->prose[i], node->text_n, PROSE_MAX) &&
            is_listed(html_node_find(node, "id"), words));
}

static bool has_clutter_role(const struct html_node *node)
{
    static const char *const roles[] = {"navigation", "banner", "contentinfo", "search",
                                        "dialog",     "menu",   "toolbar",     NULL};
    return is_listed(html_node_find(node, "role"), roles);
}

static bool has_clutter_name(const struct article *article, uint32_t i)
{
    static const char *const words[] = {
        "sidebar",       "related",         "share",    "sharing",
        "social",        "newsletter",      "subscri",  "promo",
        "cookie",        "consent",         "gdpr",     "popup",
        "modal",         "breadcrumb",      "paginat",  "pager",
        "menu",          "navbar",          "masthead", "recommend",
        "trending",      "most-read",       "popular",  "sponsor",
        "advert",        "outbrain",        "taboola",  "signup",
        "sign-up",       "login",           "toolbar",  "footer",
        "also-like",     "skip-link",       "sr-only",  "navigation",
        "screen-reader", "visually-hidden", "noprint",  "editsection",
        "navbox",        "catlinks",        NULL};
    return is_named(article, i, words);
}

static bool has_comments_name(const struct article *article, uint32_t i)
{
    static const char *const words[] = {"comment", "disqus", "respond", NULL};
    return is_named(article, i, words);
}

static bool is_clutter(const struct article *article, uint32_t i, bool is_in_article)
{
    const struct html_node *node = &article->tree->nodes[i];
    uint32_t page_n = article->tree->nodes[0].text_n;
    const char *aria_hidden = html_node_find(node, "aria-hidden");
    bool is_small = !is_share(node->text_n, page_n, CLUTTER_MAX);
    switch (node->tag) {
    case GUMBO_TAG_NAV:
    case GUMBO_TAG_BUTTON: return true;
    case GUMBO_TAG_FOOTER:
    case GUMBO_TAG_ASIDE: return !is_in_article || (is_small && has_clutter_name(article, i));
    case GUMBO_TAG_HTML:
    case GUMBO_TAG_BODY:
    case GUMBO_TAG_MAIN:
    case GUMBO_TAG_ARTICLE: return false;
    default: break;
    }
    if (has_clutter_role(node))
        return true;
    if (aria_hidden != NULL && strcmp(aria_hidden, "true") == 0 &&
        !is_share(node->text_n, page_n, HIDDEN_MAX))
        return true;
    if (!is_block(node->tag) || node->tag == GUMBO_TAG_P ||
        (node->tag >= GUMBO_TAG_H1 && node->tag <= GUMBO_TAG_H6))
        return false;
    return (is_small && !node->is_quote_in && has_clutter_name(article, i)) ||
           (!is_share(node->text_n, page_n, COMMENTS_MAX) && has_comments_name(article, i));
}

static void leave_out_clutter(const struct article *article)
{
    struct html_tree *tree = article->tree;
    uint32_t article_end = 0;
    for (uint32_t i = 0; i < tree->n;) {
        const struct html_node *node = &tree->nodes[i];
        if (node->tag == GUMBO_TAG_ARTICLE || node->tag == GUMBO_TAG_MAIN)
            article_end = article_end > node->end ? article_end : node->end;
        if (node->attributes == NULL || node->is_left_out ||
            !is_clutter(article, i, i < article_end)) {
            i++;
            continue;
        }
        leave_out(tree, i);
        i = node->end;
    }
    html_tree_count(tree);
    if (tree->nodes[0].text_n == 0)
        take_back(tree);
}

/* ---- the article ---- */

struct paragraph {
    uint32_t block, text_n, link_n;
};

/* Adds up the prose of all nodes. */
static void count_prose(struct article *article)
{
    const struct html_tree *tree = article->tree;
    struct paragraph *paragraphs = mem_zeroed_n(tree->n, sizeof *paragraphs);
    for (uint32_t i = 1; i < tree->n; i++) {
        const struct html_node *node = &tree->nodes[i];
        struct paragraph *own = &paragraphs[i];
        own->block = is_block(node->tag) ? i : paragraphs[node->parent].block;
        if (html_node_is_text(node) && !node->is_left_out) {
            paragraphs[own->block].text_n += node->text_n;
            paragraphs[own->block].link_n += node->link_n;
        }
    }
    memset(article->prose, 0, tree->n * sizeof *article->prose);
    for (uint32_t i = (uint32_t)tree->n; i-- > 1;) {
        uint32_t plain = paragraphs[i].text_n - paragraphs[i].link_n;
        if (plain >= PARAGRAPH_MIN_BYTES && plain > paragraphs[i].link_n)
            article->prose[i] += plain;
        article->prose[tree->nodes[i].parent] += article->prose[i];
        tree->nodes[tree->nodes[i].parent].has_paragraph |=
            tree->nodes[i].tag == GUMBO_TAG_P && article->prose[i] > 0;
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

static uint32_t find_largest(const struct article *article, uint32_t root, GumboTag tag)
{
    const struct html_node *nodes = article->tree->nodes;
    uint32_t found = 0;
    for (uint32_t i = root + 1; i < nodes[root].end; i++)
        if (nodes[i].tag == tag && !nodes[i].is_left_out &&
            (found == 0 || article->prose[i] > article->prose[found]))
            found = i;
    return found;
}

static uint32_t richest_child(const struct article *article, uint32_t i)
{
    const struct html_node *nodes = article->tree->nodes;
    uint32_t found = 0;
    for (uint32_t k = i + 1; k < nodes[i].end; k = nodes[k].end)
        if (!html_node_is_text(&nodes[k]) &&
            (found == 0 || article->prose[k] > article->prose[found]))
            found = k;
    return found;
}

static uint32_t find_root(const struct article *article)
{
    const struct html_node *nodes = article->tree->nodes;
    uint32_t root = find_body(article->tree),
             found = find_only(article->tree, root, GUMBO_TAG_MAIN);
    if (found != 0 && is_share(plain_n(&nodes[found]), plain_n(&nodes[root]), MAIN_MIN))
        root = found;
    bool is_small = article->prose[root] < PROSE_MIN_BYTES;
    if (is_small) {
        found = find_only(article->tree, root, GUMBO_TAG_ARTICLE);
        return found != 0 && is_share(plain_n(&nodes[found]), plain_n(&nodes[root]), MAIN_MIN)
                   ? found
                   : root;
    }
    found = find_only(article->tree, root, GUMBO_TAG_ARTICLE);
    if (found == 0)
        found = find_headed(article->tree, root);
    unsigned percent = found != 0 ? ONLY_MIN : ARTICLE_MIN;
    if (found == 0)
        found = find_largest(article, root, GUMBO_TAG_ARTICLE);
    if (found != 0 && is_share(article->prose[found], article->prose[root], percent))
        root = found;
    while ((found = richest_child(article, root)) != 0 && is_block(nodes[found].tag) &&
           nodes[found].tag != GUMBO_TAG_P &&
           is_share(article->prose[found], article->prose[root], INNER_MIN))
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
            leave_out(tree, i);
            i = tree->nodes[i].end;
        }
    }
}

/* ---- lists of links ---- */

/* Returns whether links may be what an element has to say: a list between paragraphs, a table. */
static bool is_of_text(const struct article *article, uint32_t i)
{
    const struct html_tree *tree = article->tree;
    const struct html_node *node = &tree->nodes[i];
    switch (node->tag) {
    case GUMBO_TAG_P:
    case GUMBO_TAG_BLOCKQUOTE: return true;
    case GUMBO_TAG_UL:
    case GUMBO_TAG_OL:
    case GUMBO_TAG_DL:
        return tree->nodes[node->parent].has_paragraph ||
               is_share(article->prose[node->parent], article->prose[article->root], FLOW_MIN);
    case GUMBO_TAG_TABLE: return html_table_is_data(tree, i);
    default: return !is_block(node->tag);
    }
}

static bool is_list_of_links(const struct article *article, uint32_t i)
{
    const struct html_tree *tree = article->tree;
    const struct html_node *node = &tree->nodes[i];
    size_t link_n = 0;
    if (node->is_left_out || node->text_n == 0 ||
        !is_share(node->link_n, node->text_n, LINKED_MIN) || is_of_text(article, i))
        return false;
    for (uint32_t k = i; k < node->end && link_n < LINKS_MIN; k++)
        link_n += tree->nodes[k].tag == GUMBO_TAG_A && !tree->nodes[k].is_left_out;
    return link_n >= LINKS_MIN;
}

/* The next node, past a text or list that has been dealt with. */
static uint32_t next_of(const struct html_tree *tree, uint32_t i, bool is_whole)
{
    return is_whole ? tree->nodes[i].end : i + 1;
}

static void leave_out_links(const struct article *article)
{
    struct html_tree *tree = article->tree;
    uint32_t root = article->root;
    uint32_t linked_n = 0, all_n = tree->nodes[root].text_n;
    bool is_whole;
    if (!is_share(article->prose[root], all_n, INDEX_MAX))
        return;
    for (uint32_t i = root + 1; i < tree->nodes[root].end; i = next_of(tree, i, is_whole)) {
        bool is_list = is_list_of_links(article, i);
        linked_n += is_list ? tree->nodes[i].text_n : 0;
        is_whole = is_list || is_of_text(article, i);
    }
    if (!is_share(all_n - linked_n, all_n, LEFT_MIN))
        return;
    for (uint32_t i = root + 1; i < tree->nodes[root].end; i = next_of(tree, i, is_whole)) {
        bool is_list = is_list_of_links(article, i);
        is_whole = is_list || is_of_text(article, i);
        if (is_list)
            leave_out(tree, i);
    }
}

void html_article_find(struct html_tree *tree)
{
    html_tree_count(tree);
    if (tree->n == 0 || tree->nodes[0].text_n == 0)
        return;
    struct article article = {.tree = tree, .prose = mem_zeroed_n(tree->n, sizeof *article.prose)};
    count_prose(&article);
    leave_out_clutter(&article);
    count_prose(&article);
    article.root = find_root(&article);
    leave_out_around(tree, article.root);
    html_tree_count(tree);
    leave_out_links(&article);
    html_tree_count(tree);
    if (tree->nodes[0].text_n == 0)
        take_back(tree);
    free(article.prose);
}
