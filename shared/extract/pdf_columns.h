/* SPDX-License-Identifier: MIT
 *
 * pdf_columns: makes tables of strips of lines that pdf_tables.c found one below the other. Pure,
 * any thread.
 */
#ifndef PARLEY_EXTRACT_PDF_COLUMNS_H
#define PARLEY_EXTRACT_PDF_COLUMNS_H

#include "shared/extract/pdf_sheet.h"

/* Makes a table of a run, if it is one. */
void pdf_put_table(struct sheet *sheet, const struct run *run);

#endif
