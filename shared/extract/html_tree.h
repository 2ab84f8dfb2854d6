/* SPDX-License-Identifier: MIT
 *
 * html_tree: the elements and texts of a web page as the HTML standard builds them, by gumbo, in an
 * array in the order of the page. What people do not see is marked, and each element knows how much
 * text it contains. One thread.
 */
#ifndef PARLEY_EXTRACT_HTML_TREE_H
#define PARLEY_EXTRACT_HTML_TREE_H

#include "shared/base/str.h"

#include <gumbo.h>

struct html_node {
    GumboTag tag;    /* GUMBO_TAG_LAST: a text */
    uint32_t parent; /* its own number: the root */
    uint32_t end;    /* what it contains has the numbers after its own and before this one */
    struct str text; /* of a text; the name of an element that gumbo does not know */
    const GumboVector *attributes; /* NULL for a text */
    bool is_unseen;                /* nobody sees it */
    bool is_left_out;              /* with all that it contains; at first what is unseen */
    bool is_link;                  /* within a link */
    bool has_paragraph;            /* a <p> of prose is directly in it (html_article) */
    bool is_table_in, is_quote_in; /* a table, a block of a quotation is within */
    bool is_numbered;              /* a list item of an ordered list: it has a number */
    bool is_after_term;            /* a description directly after its term */
    int32_t number;
    uint16_t indent;         /* of a list item: columns before its mark */
    uint32_t item;           /* the list item that it is in; 0: none */
    uint32_t text_n, link_n; /* bytes that are no blanks, and those of them in links */
    uint32_t prose_n;        /* those in paragraphs that are not mostly links (html_article) */
};

/* A page with less prose is small. */
enum { HTML_PROSE_MIN_BYTES = 300 };

struct html_tree {
    struct html_node *nodes;
    size_t n;
    GumboOutput *output;
};

/* Builds the tree of a page that html_tidy wrote and that stays until html_tree_fini. */
void html_tree_init(struct html_tree *tree, struct str html);
void html_tree_fini(struct html_tree *tree);

/* Adds up the texts of all nodes that are not left out. */
void html_tree_count(struct html_tree *tree);
/* Leaves an element out with all that it contains. */
void html_tree_leave_out(struct html_tree *tree, uint32_t i);
/* Returns whether an element parts its text from what is around it. */
bool html_tag_is_block(GumboTag tag);
/* The value of an attribute; NULL if the element does not have it. */
const char *html_node_find(const struct html_node *node, const char *name);
/* The number that an attribute begins with; `otherwise` without one. */
long html_node_number(const struct html_node *node, const char *name, long otherwise);
/* Copies at most `max` - 1 bytes of the text of a node, without what is left out, and a NUL.
 * Returns how many bytes there were. */
size_t html_tree_copy_text(const struct html_tree *tree, uint32_t i, char *at, size_t max);

static inline bool html_is_share(uint64_t part, uint64_t all, unsigned percent)
{
    return part * 100 >= all * percent;
}

static inline bool html_node_is_text(const struct html_node *node)
{
    return node->tag == GUMBO_TAG_LAST;
}

#endif
