/* SPDX-License-Identifier: MIT
 * pdf_columns.c - see pdf_columns.h. Prose in columns, or an index, is no table. */
#include "shared/extract/pdf_columns.h"

#include "shared/base/mem.h"
#include "shared/extract/pdf_grid.h"
#include "shared/extract/pdf_rows.h"

#include <stdlib.h>

enum {
    LONG_CHARS = 28,   /* per line of a column: prose */
    LISTING_LINES = 8, /* of a block: a column of words, as in an index */
    FLOW_CHARS = 18,   /* per line of a column that may be prose, ... */
    FLOW_WORDS = 3,    /* with so many words, ... */
    FLOW_STRIPS = 4,   /* in so many strips, ... */
    MIXED_SHARE = 4,   /* if one in so many begins a paragraph beside the middle of another */
};

/* ---- prose ---- */

static void count_lines(struct grid *grid)
{
    const struct pdf_words *w = grid->sheet->w;
    for (uint32_t i = 0; i < grid->piece_n; i++) {
        const struct pdf_line *line = &grid->pieces[i].line;
        struct column *column = &grid->columns[grid->pieces[i].column];
        char c = *pdf_first(w, line)->text.at;
        bool is_word = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c & 0x80) != 0;
        column->is_listing |= is_word && w->blocks[line->block].line_n >= LISTING_LINES;
        column->line_n++;
        column->word_n += line->word_n;
        column->char_n += line->char_n;
    }
}

static bool may_flow(const struct column *column)
{
    return column->char_n >= (uint64_t)FLOW_CHARS * column->line_n &&
           column->word_n >= (uint64_t)FLOW_WORDS * column->line_n;
}

/* Are two columns prose, whose paragraphs do not begin at the same heights? Cells of a row do. */
static bool is_flowing(struct grid *grid)
{
    uint32_t flow_n = 0, mixed_n = 0, begun_n = 0;
    for (uint32_t i = 0; i < grid->column_n; i++)
        flow_n += may_flow(&grid->columns[i]);
    if (flow_n < 2 || flow_n < grid->column_n || grid->strip_n < FLOW_STRIPS)
        return false;
    pdf_forget_row(grid);
    for (uint32_t i = 0, end; i < grid->piece_n; i = end) {
        uint32_t first_n = 0;
        end = pdf_strip_end(grid, i);
        for (uint32_t k = i; k < end; k++) {
            uint32_t *last = &grid->columns[grid->pieces[k].column].last;
            first_n +=
                *last == PDF_NONE || !pdf_is_below(grid, &grid->pieces[*last], &grid->pieces[k]);
            *last = k;
        }
        mixed_n += first_n > 0 && first_n < end - i;
        begun_n += first_n > 0 && first_n == end - i && end - i > 1;
    }
    return begun_n < 2 || mixed_n * MIXED_SHARE >= mixed_n + begun_n;
}

static bool ends_with_colon(const struct grid *grid)
{
    struct str text = pdf_last(grid->sheet->w, &grid->pieces[0].line)->text;
    return text.at[text.n - 1] == ':';
}

/* Is it a table, and no prose or index in columns? One row alone is none, unless it is a label with
 * its value. */
static bool is_table(struct grid *grid)
{
    uint32_t long_n = 0, listing_n = 0;
    if (grid->run->row_n == 1)
        return grid->column_n == 2 && grid->run->head_n == 0 && ends_with_colon(grid);
    count_lines(grid);
    for (uint32_t i = 0; i < grid->column_n; i++) {
        const struct column *column = &grid->columns[i];
        long_n += column->char_n >= (uint64_t)LONG_CHARS * column->line_n;
        listing_n += column->is_listing;
    }
    return long_n < 2 && listing_n < grid->column_n && !is_flowing(grid);
}

/* ---- tables ---- */

/* The line of a piece: the one that it is of, without the words of other pieces, or a new one. */
static uint32_t line_of_piece(struct grid *grid, const struct piece *piece)
{
    struct pdf_words *w = grid->sheet->w;
    if (piece->is_first) {
        w->lines[piece->from] = piece->line;
        return piece->from;
    }
    w->lines = mem_grow(w->lines, w->line_n, sizeof *w->lines);
    w->lines[w->line_n] = piece->line;
    return w->line_n++;
}

static int compare_cells(const void *left, const void *right)
{
    const struct pdf_cell *a = left, *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

static void put_cells(struct grid *grid)
{
    struct pdf_tables *tables = grid->sheet->tables;
    struct pdf_table table = {.cell = tables->cell_n, .column_n = grid->column_n, .line = PDF_NONE};
    for (uint32_t i = 0; i < grid->piece_n; i++) {
        const struct piece *piece = &grid->pieces[i];
        uint32_t line = line_of_piece(grid, piece);
        tables->cells = mem_grow(tables->cells, tables->cell_n, sizeof *tables->cells);
        tables->cells[tables->cell_n++] = (struct pdf_cell){line, piece->row, piece->column, i};
        grid->sheet->w->lines[line].table = tables->table_n;
        table.line = piece->from < table.line ? piece->from : table.line;
        table.cell_n++;
    }
    tables->tables = mem_grow(tables->tables, tables->table_n, sizeof *tables->tables);
    tables->tables[tables->table_n++] = table;
    qsort(tables->cells + table.cell, table.cell_n, sizeof *tables->cells, compare_cells);
}

void pdf_put_table(struct sheet *sheet, const struct run *run)
{
    struct grid grid = {.sheet = sheet, .run = run};
    uint32_t last_row = 0, strip = 0;
    if (run->widest < 2 || run->widest > PDF_COLUMNS_MAX || !pdf_find_columns(&grid))
        return;
    pdf_list_pieces(&grid);
    for (uint32_t s = run->first; s != PDF_NONE; s = sheet->strips[s].next, strip++)
        last_row = s == run->last_row ? strip : last_row;
    if (is_table(&grid)) {
        pdf_number_rows(&grid, last_row);
        put_cells(&grid);
    }
    free(grid.pieces);
}
