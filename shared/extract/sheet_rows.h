/* SPDX-License-Identifier: MIT
 *
 * sheet_rows: the rows of spreadsheets and of CSV as lines that searches can use: under a row of
 * heads, each value has its head: `Type: A | Pressure: 20 bar`. Rows without heads are `A | 20`. A
 * row is a few cells by their columns, so empty columns and rows cost nothing. One document; one
 * thread.
 */
#ifndef PARLEY_EXTRACT_SHEET_ROWS_H
#define PARLEY_EXTRACT_SHEET_ROWS_H

#include "shared/base/buf.h"

enum { SHEET_CELLS_MAX = 16384 }; /* of a row; what comes after them is left out */

struct sheet_cell {
    unsigned column;
    size_t from, n; /* of its text */
    bool is_number;
};

struct sheet_row {
    struct sheet_cell *cells;
    size_t n;
    struct buf texts;
};

struct sheet_rows {
    struct buf *out; /* borrowed */
    struct sheet_row row, heads;
    struct str name; /* of the sheet, until its first row is put; borrowed */
    bool has_heads, may_have_heads, has_numbers;
    unsigned before_n;    /* rows that came before its heads */
    uint64_t last_number; /* of a row with text */
};

void sheet_rows_init(struct sheet_rows *rows, struct buf *out);
void sheet_rows_fini(struct sheet_rows *rows);

/* Begins a sheet. Its name, which may be empty, becomes a heading before its first row, and must
 * live until then. */
void sheet_rows_begin(struct sheet_rows *rows, struct str name);
/* Adds a cell to the row. Columns count from 0 and should rise. */
void sheet_rows_put(struct sheet_rows *rows, unsigned column, struct str text, bool is_number);
/* Ends the row, which is put unless it is empty. Its number shows where rows between were empty. */
void sheet_rows_end(struct sheet_rows *rows, uint64_t number);

#endif
