/* SPDX-License-Identifier: MIT
 *
 * pdf_grid: the words of a run of strips, by column and strip, from which pdf_columns.c makes a
 * table. Pure, any thread.
 */
#ifndef PARLEY_EXTRACT_PDF_GRID_H
#define PARLEY_EXTRACT_PDF_GRID_H

#include "shared/extract/pdf_sheet.h"

struct column {
    float x0, x1;
    uint32_t line_n, strip_n, last; /* last: piece of the row under way, or PDF_NONE */
    uint64_t char_n, word_n;
    bool is_listing;
};

/* Words of a line in one column. */
struct piece {
    struct pdf_line line; /* of these words only */
    uint32_t from;        /* the line that it is of */
    uint32_t strip, column, row;
    bool is_first; /* of that line */
};

struct grid {
    struct sheet *sheet;
    const struct run *run;
    struct column columns[PDF_COLUMNS_MAX];
    uint32_t column_n;
    struct piece *pieces; /* by strip, then from the left */
    uint32_t piece_n;
    uint32_t strip_n; /* those that belong to the table */
};

/* Makes columns of the fullest strips. False unless there are several. */
bool pdf_find_columns(struct grid *grid);

/* Fills `pieces`, which the caller frees, and widens the columns to what is in them. */
void pdf_list_pieces(struct grid *grid);

/* Returns the number of the piece after those of the strip that begins with number `i`. */
uint32_t pdf_strip_end(const struct grid *grid, uint32_t i);

/* Does a piece continue the one above it in its column? */
bool pdf_is_below(const struct grid *grid, const struct piece *above, const struct piece *piece);

/* Begins a row: no column has a piece of it yet. */
void pdf_forget_row(struct grid *grid);

#endif
