/* SPDX-License-Identifier: MIT
 *
 * pdf_tables: finds what is side by side on the pages of a PDF: the rows of tables, and bullets
 * with their items. Prose in columns is left as it is. Pure, any thread.
 */
#ifndef PARLEY_EXTRACT_PDF_TABLES_H
#define PARLEY_EXTRACT_PDF_TABLES_H

#include "shared/extract/pdf_words.h"

enum { PDF_COLUMNS_MAX = 32 };

/* A line that belongs to a cell. */
struct pdf_cell {
    uint32_t line, row, column, order; /* order: within the table, from top to bottom */
};

struct pdf_table {
    uint32_t cell, cell_n; /* by row, then column, then from top to bottom */
    uint32_t line;         /* the first one in reading order: the table is printed there */
};

struct pdf_tables {
    struct pdf_cell *cells;
    struct pdf_table *tables;
    uint32_t cell_n, table_n;
};

/* Sets `mark` and `table` of lines; lines that are marks are gone. pdf_tables_fini frees it. */
void pdf_find_tables(struct pdf_words *words, struct pdf_tables *ret_tables);
void pdf_tables_fini(struct pdf_tables *tables);

#endif
