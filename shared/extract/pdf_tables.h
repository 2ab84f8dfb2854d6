/* SPDX-License-Identifier: MIT
 *
 * pdf_tables: finds what is side by side on the pages of a PDF: the rows of tables, and bullets
 * with their items. Prose in columns is left as it is. Pure, any thread.
 */
#ifndef PARLEY_EXTRACT_PDF_TABLES_H
#define PARLEY_EXTRACT_PDF_TABLES_H

#include "shared/extract/pdf_table.h"
#include "shared/extract/pdf_words.h"

/* Sets `mark` and `table` of lines; lines that are marks are gone. pdf_tables_fini frees it. */
void pdf_find_tables(struct pdf_words *words, struct pdf_tables *ret_tables);
void pdf_tables_fini(struct pdf_tables *tables);

#endif
