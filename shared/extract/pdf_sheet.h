/* SPDX-License-Identifier: MIT
 *
 * pdf_sheet: the lines of a page, as strips that lie one below the other in runs. pdf_tables.c
 * fills it, pdf_columns.c makes tables of the runs.
 */
#ifndef PARLEY_EXTRACT_PDF_SHEET_H
#define PARLEY_EXTRACT_PDF_SHEET_H

#include "shared/extract/pdf_table.h"
#include "shared/extract/pdf_words.h"

enum { PDF_RUNS_MAX = 8 }; /* side by side */

struct spot {
    float x, y;
    uint32_t line;
};

/* Lines at one height, side by side. */
struct strip {
    uint32_t spot, spot_n;
    uint32_t next; /* in its run */
    struct pdf_box box;
};

/* Strips one below the other. */
struct run {
    uint32_t first, last, last_row; /* strips; the last one with several lines */
    float x0, x1;
    uint32_t row_n, widest; /* row_n: strips with several lines */
    uint32_t head_n;        /* strips of one line, above the first one with several */
};

struct sheet {
    struct pdf_words *w;
    struct pdf_tables *tables;
    struct spot *spots;
    struct strip *strips;
    uint32_t spot_n, strip_n;
    struct run open[PDF_RUNS_MAX];
    unsigned open_n;
};

static inline struct pdf_line *pdf_line_of(const struct sheet *sheet, const struct strip *strip,
                                           uint32_t i)
{
    return &sheet->w->lines[sheet->spots[strip->spot + i].line];
}

#endif
