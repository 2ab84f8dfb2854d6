/* SPDX-License-Identifier: MIT
 *
 * pdf_table: tables of a PDF: which lines are in which cells.
 */
#ifndef PARLEY_EXTRACT_PDF_TABLE_H
#define PARLEY_EXTRACT_PDF_TABLE_H

#include <stdint.h>

enum { PDF_COLUMNS_MAX = 32 };

/* A line that belongs to a cell. */
struct pdf_cell {
    uint32_t line, row, column, order; /* order: within the table, from top to bottom */
};

struct pdf_table {
    uint32_t cell, cell_n; /* by row, then column, then from top to bottom */
    uint32_t column_n;
    uint32_t line; /* the first one in reading order: the table is printed there */
};

struct pdf_tables {
    struct pdf_cell *cells;
    struct pdf_table *tables;
    uint32_t cell_n, table_n;
};

#endif
