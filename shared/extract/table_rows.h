/* SPDX-License-Identifier: MIT
 *
 * table_rows: the rows of a table as lines, with " | " between cells. A cell that spans columns or
 * rows is repeated in each of them if it is short, so that every value has its heads; a longer one
 * leaves them empty. So does a wide one below the heads, and any where a table has little text
 * besides what is repeated. The only cell of a row is not repeated. Nor are cells below the heads
 * if all of their row span columns: it is divided otherwise than the table. Empty cells keep their
 * place. One table; one thread.
 */
#ifndef PARLEY_EXTRACT_TABLE_ROWS_H
#define PARLEY_EXTRACT_TABLE_ROWS_H

#include "shared/base/buf.h"

enum { TABLE_COLUMNS_MAX = 256, TABLE_ROWS_SPANNED_MAX = 10000, TABLE_REPEATED_MAX_BYTES = 200 };

struct table_column {
    char *text; /* of the last cell in it, if it may be repeated; NULL: none */
    unsigned rows_left;
};

struct table_rows {
    struct buf line;
    struct table_column columns[TABLE_COLUMNS_MAX];
    unsigned at;       /* the next column */
    struct buf once;   /* the line with each cell in its first column only */
    unsigned row_n;    /* begun so far */
    unsigned cell_n;   /* of this row, without those from above */
    unsigned narrow_n; /* of these, how many span one column */
    bool has_text, has_above, was_empty;
    uint64_t own_bytes, repeated_bytes; /* of all rows */
};

void table_rows_init(struct table_rows *rows);
void table_rows_fini(struct table_rows *rows);

/* Ends the cells of all rows so far: a group of rows begins. */
void table_rows_end_spans(struct table_rows *rows);

/* Begins a row, and adds a cell to it that spans so many columns and rows (1: only its own). Cells
 * from rows above are put in their places. */
void table_rows_begin(struct table_rows *rows);
void table_rows_put(struct table_rows *rows, struct str text, unsigned column_n, unsigned row_n);
/* Adds a cell that continues the one to its left. */
void table_rows_put_beside(struct table_rows *rows);
/* Leaves so many columns empty. */
void table_rows_skip(struct table_rows *rows, unsigned column_n);
/* Adds the continuation of the cell above. */
void table_rows_repeat(struct table_rows *rows, unsigned column_n);
/* Ends the row: its line, which is valid until the next row. Empty if no cell has text. */
struct str table_rows_end(struct table_rows *rows);

#endif
