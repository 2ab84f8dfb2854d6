/* SPDX-License-Identifier: MIT
 *
 * flow: puts the text of marked-up documents as people would see it: runs of white space become one
 * space, blocks become lines, at most one line stays empty. A separator is written only when the
 * second piece comes, so none is left at the ends. One thread.
 */
#ifndef PARLEY_EXTRACT_FLOW_H
#define PARLEY_EXTRACT_FLOW_H

#include "shared/base/buf.h"

/* Zeroed except for `out`, which is borrowed. */
struct flow {
    struct buf *out;
    bool has_begun;
    bool is_literal; /* white space counts as it is, as in <pre>; set by the caller */
    unsigned newlines, spaces, bars;
    unsigned cell_depth; /* how many cells of tables are open */
    bool is_row_begun;   /* a cell of this row was there */
    struct str prefix;   /* of the next piece, if it begins a line: a mark of flow_mark */
    bool is_joined;      /* see flow_join */
};

/* Puts characters. */
void flow_put(struct flow *flow, struct str s);
/* Puts a line of a table as it is, with its blanks, on a line of its own. Not within cells. */
void flow_put_line(struct flow *flow, struct str line);
/* Begins a line (1), a paragraph (2), or nothing new (0) with the next text. Within a cell, only a
 * space parts it from the text before. */
void flow_break(struct flow *flow, unsigned newlines);
/* The line that comes next begins with a mark: of a heading ("## ") or of an item ("- "). With an
 * empty one a mark that no text came after is forgotten. Not within cells. */
void flow_mark(struct flow *flow, struct str mark);
/* The next text continues the line of a term as its description, after a colon; not a text with a
 * mark. */
void flow_join(struct flow *flow);
/* A row of a table begins. */
void flow_row(struct flow *flow);
/* A cell begins, and ends: cells are separated by " | ", those of a table within a cell by
 * spaces. */
void flow_cell(struct flow *flow);
void flow_cell_end(struct flow *flow);

#endif
