/* SPDX-License-Identifier: MIT
 *
 * html_table: a table of a web page as lines: its cells are separated by " | ", and a cell that
 * spans columns or rows is repeated in each of them. One thread.
 */
#ifndef PARLEY_EXTRACT_HTML_TABLE_H
#define PARLEY_EXTRACT_HTML_TABLE_H

#include "shared/extract/flow.h"
#include "shared/extract/html_tree.h"

/* Returns whether the table shows data; if not, it only places parts of the page, or its cells are
 * too large to be read as lines. */
bool html_table_is_data(const struct html_tree *tree, uint32_t table);
/* Puts the text of one node on one line. */
typedef void html_put_line(struct buf *out, const struct html_tree *tree, uint32_t i);

/* Puts the rows; `put_line` puts the text of a cell. */
void html_table_put(struct flow *flow, const struct html_tree *tree, uint32_t table,
                    html_put_line *put_line);

#endif
