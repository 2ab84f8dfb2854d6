/* SPDX-License-Identifier: MIT
 *
 * html_text: the text of a web page as people read it: headings and list items are marked as in
 * Markdown, lists are numbered as they count, rows of tables are lines, raised and lowered letters
 * stay distinct (10^6, x_12), readings of ruby are in parentheses. One thread.
 */
#ifndef PARLEY_EXTRACT_HTML_TEXT_H
#define PARLEY_EXTRACT_HTML_TEXT_H

#include "shared/base/buf.h"
#include "shared/extract/flow.h"
#include "shared/extract/html_tree.h"

/* Puts what is not left out. Numbers the list items of the tree. With `has_anchors`, headings end
 * with their id. */
void html_text_put(struct buf *out, struct html_tree *tree, bool has_anchors);

/* Puts text without soft hyphens, which are seen at the end of a line only. */
void html_text_put_seen(struct flow *flow, struct str s);

#endif
