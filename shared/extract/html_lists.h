/* SPDX-License-Identifier: MIT
 *
 * html_lists: the numbers of list items, and which descriptions follow a term. One thread.
 */
#ifndef PARLEY_EXTRACT_HTML_LISTS_H
#define PARLEY_EXTRACT_HTML_LISTS_H

#include "shared/extract/html_tree.h"

enum { HTML_MARK_MAX_BYTES = 128 };

/* Sets item, number, indent and is_after_term of all nodes, which were counted. */
void html_lists_number(struct html_tree *tree);
/* The mark of an item with the columns before it: "- ", "   a. ". It lies in `at`. */
struct str html_lists_mark(const struct html_tree *tree, uint32_t i, char at[HTML_MARK_MAX_BYTES]);

#endif
