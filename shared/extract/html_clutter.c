/* SPDX-License-Identifier: MIT
 * html_clutter.c - see html_clutter.h. */
#include "shared/extract/html_clutter.h"

/* In percent. */
enum {
    CLUTTER_MAX = 30,  /* of the page's text: what has more is no clutter, whatever its class */
    HIDDEN_MAX = 50,   /* the same of what is hidden from readers of screens */
    COMMENTS_MAX = 90, /* the same of comments, which may be longer than the article */
    PROSE_MAX = 40,    /* of an element's text: with more of it, its id is the name of a section */
};

static bool is_listed(const char *value, const char *const *words)
{
    for (; value != NULL && *words != NULL; words++)
        if (strcasestr(value, *words) != NULL)
            return true;
    return false;
}

static bool is_named(const struct html_tree *tree, uint32_t i, const char *const *words)
{
    const struct html_node *node = &tree->nodes[i];
    return is_listed(html_node_find(node, "class"), words) ||
           (!html_is_share(tree->nodes[i].prose_n, node->text_n, PROSE_MAX) &&
            is_listed(html_node_find(node, "id"), words));
}

static bool has_clutter_role(const struct html_node *node)
{
    static const char *const roles[] = {"navigation", "banner", "contentinfo", "search",
                                        "dialog",     "menu",   "toolbar",     NULL};
    return is_listed(html_node_find(node, "role"), roles);
}

static bool has_clutter_name(const struct html_tree *tree, uint32_t i)
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
    return is_named(tree, i, words);
}

/* Returns whether a name of its class begins with "ad-". */
static bool is_advertisement(const struct html_node *node)
{
    struct str names = str_of(html_node_find(node, "class"));
    while (names.at != NULL) {
        struct str name = str_cut(&names, ' ');
        if (name.n > 3 && memcmp(name.at, "ad-", 3) == 0)
            return true;
    }
    return false;
}

static bool has_comments_name(const struct html_tree *tree, uint32_t i)
{
    static const char *const words[] = {"comment", "disqus", "respond", NULL};
    return is_named(tree, i, words);
}

static bool has_article_after(const struct html_tree *tree, uint32_t i)
{
    for (uint32_t k = tree->nodes[i].end; k < tree->n; k++)
        if (tree->nodes[k].tag == GUMBO_TAG_ARTICLE &&
            tree->nodes[k].prose_n >= HTML_PROSE_MIN_BYTES)
            return true;
    return false;
}

/* Returns whether an element is hidden from screen readers. All of a page is while a dialog is
 * open; it is still what the page says, unless the article is in the dialog. */
static bool is_behind(const struct html_tree *tree, uint32_t i)
{
    const struct html_node *node = &tree->nodes[i];
    const char *hidden = html_node_find(node, "aria-hidden");
    return hidden != NULL && strcmp(hidden, "true") == 0 &&
           (!html_is_share(node->text_n, tree->nodes[0].text_n, HIDDEN_MAX) ||
            has_article_after(tree, i));
}

/* Returns whether an element among words is for the page's editors or for screen readers. */
static bool is_remark(const struct html_node *node)
{
    static const char *const words[] = {"editsection", "sr-only", "screen-reader",
                                        "visually-hidden", NULL};
    return node->tag == GUMBO_TAG_SPAN && is_listed(html_node_find(node, "class"), words);
}

static bool is_clutter(const struct html_tree *tree, uint32_t i, bool is_in_article)
{
    const struct html_node *node = &tree->nodes[i];
    uint32_t page_n = tree->nodes[0].text_n;
    bool is_small = !html_is_share(node->text_n, page_n, CLUTTER_MAX);
    switch (node->tag) {
    case GUMBO_TAG_NAV:
    case GUMBO_TAG_BUTTON: return true;
    case GUMBO_TAG_FOOTER:
    case GUMBO_TAG_ASIDE: return !is_in_article || (is_small && has_clutter_name(tree, i));
    case GUMBO_TAG_HTML:
    case GUMBO_TAG_BODY:
    case GUMBO_TAG_MAIN:
    case GUMBO_TAG_ARTICLE: return false;
    default: break;
    }
    if (has_clutter_role(node) || is_behind(tree, i) || is_remark(node))
        return true;
    if (!html_tag_is_block(node->tag) || node->tag == GUMBO_TAG_P ||
        (node->tag >= GUMBO_TAG_H1 && node->tag <= GUMBO_TAG_H6))
        return false;
    return (is_small && !node->is_quote_in &&
            (is_advertisement(node) || has_clutter_name(tree, i))) ||
           (!html_is_share(node->text_n, page_n, COMMENTS_MAX) && has_comments_name(tree, i));
}

void html_clutter_leave_out(struct html_tree *tree)
{
    uint32_t article_end = 0;
    for (uint32_t i = 0; i < tree->n;) {
        const struct html_node *node = &tree->nodes[i];
        if (node->tag == GUMBO_TAG_ARTICLE || node->tag == GUMBO_TAG_MAIN)
            article_end = article_end > node->end ? article_end : node->end;
        if (node->attributes == NULL || node->is_left_out ||
            !is_clutter(tree, i, i < article_end)) {
            i++;
            continue;
        }
        html_tree_leave_out(tree, i);
        i = node->end;
    }
    html_tree_count(tree);
}
