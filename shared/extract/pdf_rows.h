/* SPDX-License-Identifier: MIT
 *
 * pdf_rows: which pieces of a grid are one row of its table. Pure, any thread.
 */
#ifndef PARLEY_EXTRACT_PDF_ROWS_H
#define PARLEY_EXTRACT_PDF_ROWS_H

#include "shared/extract/pdf_grid.h"

/* Numbers the rows, and takes out the pieces above and below that are no part of the table.
 * `last_row` is the last strip with several lines. */
void pdf_number_rows(struct grid *grid, uint32_t last_row);

#endif
