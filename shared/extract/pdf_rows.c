/* SPDX-License-Identifier: MIT
 * pdf_rows.c - see pdf_rows.h. Cells of a row are those between two wide gaps, or else what
 * continues the cell above it. */
#include "shared/extract/pdf_rows.h"

#include <string.h>

#define ROW_APART 0.2F /* how much wider gaps between rows are than those within */

/* A value does not continue the one above it. */
static bool is_value(const struct grid *grid, const struct piece *piece)
{
    struct str word = pdf_first(grid->sheet->w, &piece->line)->text;
    size_t at = word.n > 1 && (*word.at == '-' || *word.at == '+' || *word.at == '$');
    return word.at[at] >= '0' && word.at[at] <= '9';
}

static bool is_more_of_cell(const struct grid *grid, const struct piece *piece)
{
    uint32_t last = grid->columns[piece->column].last;
    return last != PDF_NONE && !is_value(grid, piece) &&
           pdf_is_below(grid, &grid->pieces[last], piece);
}

/* The same between two wide gaps, where text may continue with a number. */
static bool is_more_in_row(const struct grid *grid, const struct piece *piece)
{
    const struct piece *above = &grid->pieces[grid->columns[piece->column].last];
    bool is_number = piece->line.word_n == 1 && is_value(grid, piece);
    return pdf_is_below(grid, above, piece) && !(is_number && above->line.word_n == 1);
}

/* Each strip is a row, unless it has fewer pieces than the row above and continues its cells. What
 * follows the last strip of several lines belongs to the table only if it continues. */
static void number_rows_by_cells(struct grid *grid, uint32_t last_row)
{
    uint32_t row = 0, filled_n = 0;
    pdf_forget_row(grid);
    for (uint32_t i = 0, end; i < grid->piece_n; i = end) {
        end = pdf_strip_end(grid, i);
        bool continues = filled_n > 0 && end - i < filled_n;
        for (uint32_t k = i; k < end && continues; k++)
            continues = is_more_of_cell(grid, &grid->pieces[k]);
        if (!continues && grid->pieces[i].strip > last_row) {
            grid->piece_n = i;
            return;
        }
        if (!continues) {
            row += filled_n > 0;
            filled_n = end - i;
            pdf_forget_row(grid);
        }
        for (uint32_t k = i; k < end; k++) {
            grid->pieces[k].row = row;
            grid->columns[grid->pieces[k].column].last = k;
        }
    }
}

/* The gap above the strip that begins with number `i`: from the lowest line before it. */
static float gap_above(const struct grid *grid, uint32_t i, float lowest)
{
    float top = grid->pieces[i].line.box.y0;
    for (uint32_t k = i, end = pdf_strip_end(grid, i); k < end; k++)
        top = grid->pieces[k].line.box.y0 < top ? grid->pieces[k].line.box.y0 : top;
    return top - lowest;
}

static float lowest_of(const struct grid *grid, uint32_t i, float lowest)
{
    for (uint32_t k = i, end = pdf_strip_end(grid, i); k < end; k++)
        lowest = grid->pieces[k].line.box.y1 > lowest ? grid->pieces[k].line.box.y1 : lowest;
    return lowest;
}

/* Are the pieces with numbers `i` to `end` one row? In a cell each line continues the one above,
 * and some cell has one line only, or these may be rows that are close together. */
static bool is_row(struct grid *grid, uint32_t i, uint32_t end)
{
    uint32_t filled_n = 0, long_n = 0, more_n[PDF_COLUMNS_MAX] = {0};
    pdf_forget_row(grid);
    for (uint32_t k = i; k < end; k++) {
        uint32_t at = grid->pieces[k].column, *last = &grid->columns[at].last;
        bool is_level = *last != PDF_NONE && grid->pieces[*last].strip == grid->pieces[k].strip;
        if (*last != PDF_NONE && !is_level && !is_more_in_row(grid, &grid->pieces[k]))
            return false;
        filled_n += *last == PDF_NONE;
        more_n[at] += *last != PDF_NONE && !is_level;
        long_n += *last != PDF_NONE && !is_level && more_n[at] == 1;
        *last = k;
    }
    return pdf_strip_end(grid, i) == end || long_n < filled_n;
}

/* Rows are what is between gaps that are clearly wider than others. False if there are none, or
 * what is between them is no row; then nothing is numbered. */
static bool number_rows_by_gaps(struct grid *grid, uint32_t last_row)
{
    float narrow = 0, wide = 0, lowest = lowest_of(grid, 0, 0), height = 0;
    uint32_t strip_n = 0, row = 0, begin = 0;
    for (uint32_t i = 0; i < grid->piece_n; i = pdf_strip_end(grid, i), strip_n++) {
        float gap = gap_above(grid, i, lowest);
        height = grid->pieces[i].line.height > height ? grid->pieces[i].line.height : height;
        if (strip_n == 1 || (strip_n > 1 && gap < narrow))
            narrow = gap;
        if (strip_n == 1 || (strip_n > 1 && gap > wide))
            wide = gap;
        lowest = lowest_of(grid, i, lowest);
    }
    if (strip_n < 3 || wide - narrow < ROW_APART * height)
        return false;
    lowest = lowest_of(grid, 0, 0);
    for (uint32_t i = 0, end; i < grid->piece_n; i = end) {
        end = pdf_strip_end(grid, i);
        if (i > 0 && gap_above(grid, i, lowest) > (wide + narrow) / 2) {
            if (!is_row(grid, begin, i))
                return false;
            row++;
            begin = i;
            if (grid->pieces[i].strip > last_row) {
                grid->piece_n = i;
                return true;
            }
        }
        for (uint32_t k = i; k < end; k++)
            grid->pieces[k].row = row;
        lowest = lowest_of(grid, i, lowest);
    }
    return row > 0 && is_row(grid, begin, grid->piece_n);
}

static void remove_first(struct grid *grid, uint32_t n)
{
    grid->piece_n -= n;
    memmove(grid->pieces, grid->pieces + n, grid->piece_n * sizeof *grid->pieces);
}

/* Single lines above the first strip with several are part of the table if they are of that row, or
 * were parted. */
void pdf_number_rows(struct grid *grid, uint32_t last_row)
{
    uint32_t head_n = grid->run->head_n, first = 0;
    bool has_gaps = number_rows_by_gaps(grid, last_row);
    while (grid->pieces[first].strip < head_n)
        first++;
    for (uint32_t i = first, n = 0; i-- > 0;) {
        n = pdf_strip_end(grid, i) - i;
        bool is_lone = n == 1 && (i == 0 || grid->pieces[i - 1].strip < grid->pieces[i].strip);
        if (is_lone && !(has_gaps && grid->pieces[i].row == grid->pieces[first].row)) {
            remove_first(grid, i + 1);
            break;
        }
    }
    if (!has_gaps)
        number_rows_by_cells(grid, last_row);
}
