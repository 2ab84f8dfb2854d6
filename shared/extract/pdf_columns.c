/* SPDX-License-Identifier: MIT
 * pdf_columns.c - see pdf_columns.h. The fullest strips give the columns. Words of one line that
 * are in several columns, with room between them, are parted there. Cells of a row are those
 * between two wide gaps, or else what continues the cell above it. */
#include "shared/extract/pdf_columns.h"

#include "shared/base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
    LONG_CHARS = 28,   /* per line of a column: prose */
    LISTING_LINES = 8, /* of a block: a column of words, as in an index */
    FLOW_CHARS = 18,   /* per line of a column that may be prose, ... */
    FLOW_WORDS = 3,    /* with so many words, ... */
    FLOW_STRIPS = 4,   /* in so many strips, ... */
    MIXED_SHARE = 4,   /* if one in so many begins a paragraph beside the middle of another */
};

#define SAME_CELL 0.6F /* of the line's height */
#define PARTED 0.3F    /* room between words of two cells; between two words it is 0.22 */
#define ROW_APART 0.2F /* how much wider gaps between rows are than those within */

struct column {
    float x0, x1;
    uint32_t line_n, strip_n, last; /* last: piece of the row under way, or PDF_NONE */
    uint64_t char_n, word_n;
    bool is_listing;
};

/* Words of a line in one column. */
struct piece {
    struct pdf_line line; /* of these words only */
    uint32_t from;        /* the line that it is of */
    uint32_t strip, column, row;
    bool is_first; /* of that line */
};

struct grid {
    struct sheet *sheet;
    const struct run *run;
    struct column columns[PDF_COLUMNS_MAX];
    uint32_t column_n;
    struct piece *pieces; /* by strip, then from the left */
    uint32_t piece_n;
    uint32_t strip_n; /* those that belong to the table */
};

/* ---- columns ---- */

static void widen(struct column *column, const struct pdf_box *box, bool is_begun)
{
    if (!is_begun || box->x0 < column->x0)
        column->x0 = box->x0;
    if (!is_begun || box->x1 > column->x1)
        column->x1 = box->x1;
}

static bool are_apart(const struct column *columns, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (columns[i].x0 < columns[i - 1].x1)
            return false;
    return true;
}

/* The column that a box covers most, or is nearest to. */
static uint32_t column_of(const struct grid *grid, const struct pdf_box *box)
{
    uint32_t best = 0;
    float most = 0;
    for (uint32_t i = 0; i < grid->column_n; i++) {
        const struct column *column = &grid->columns[i];
        float from = box->x0 > column->x0 ? box->x0 : column->x0;
        float to = box->x1 < column->x1 ? box->x1 : column->x1;
        if (i == 0 || to - from > most) {
            best = i;
            most = to - from;
        }
    }
    return best;
}

/* A column that one strip alone has is none: its words belong to the cell before them. */
static void unite_lone_columns(struct grid *grid)
{
    const struct sheet *sheet = grid->sheet;
    for (uint32_t s = grid->run->first; s != PDF_NONE; s = sheet->strips[s].next) {
        uint32_t before = PDF_NONE;
        for (uint32_t i = 0; i < sheet->strips[s].spot_n; i++) {
            uint32_t at = column_of(grid, &pdf_line_of(sheet, &sheet->strips[s], i)->box);
            grid->columns[at].strip_n += at != before;
            before = at;
        }
    }
    uint32_t n = 1;
    for (uint32_t i = 1; i < grid->column_n; i++) {
        if (grid->columns[i].strip_n < 2)
            grid->columns[n - 1].x1 = grid->columns[i].x1;
        else
            grid->columns[n++] = grid->columns[i];
    }
    grid->column_n = n;
}

/* Makes columns of the fullest strips. False unless there are as many as these have lines. */
static bool find_columns(struct grid *grid)
{
    const struct sheet *sheet = grid->sheet;
    uint32_t n = grid->run->widest, full_n = 0;
    for (uint32_t s = grid->run->first; s != PDF_NONE; s = sheet->strips[s].next) {
        const struct strip *strip = &sheet->strips[s];
        if (strip->spot_n != n)
            continue;
        for (uint32_t i = 0; i < n; i++)
            widen(&grid->columns[i], &pdf_line_of(sheet, strip, i)->box, full_n > 0);
        full_n++;
    }
    grid->column_n = n;
    if (full_n == 0 || !are_apart(grid->columns, n))
        return false;
    if (full_n == 1 && grid->run->row_n > 2)
        unite_lone_columns(grid);
    return grid->column_n > 1;
}

/* ---- pieces ---- */

/* The column that a word covers a part of, or PDF_NONE. */
static uint32_t covered_column(const struct grid *grid, const struct pdf_box *box)
{
    uint32_t at = column_of(grid, box);
    return box->x0 < grid->columns[at].x1 && box->x1 > grid->columns[at].x0 ? at : PDF_NONE;
}

static void put_piece(struct grid *grid, uint32_t from, uint32_t word, uint32_t word_n,
                      uint32_t column)
{
    const struct pdf_words *w = grid->sheet->w;
    struct piece piece = {.line = w->lines[from], .from = from, .strip = grid->strip_n};
    piece.is_first = word == piece.line.word;
    if (word_n < piece.line.word_n) {
        piece.line.char_n = (uint32_t)((uint64_t)piece.line.char_n * word_n / piece.line.word_n);
        piece.line.word = word;
        piece.line.word_n = word_n;
        piece.line.box.x0 = w->words[word].box.x0;
        piece.line.box.x1 = w->words[word + word_n - 1].box.x1;
        if (!piece.is_first)
            piece.line.mark = PDF_NONE;
    }
    piece.column = column == PDF_NONE ? column_of(grid, &piece.line.box) : column;
    grid->pieces = mem_grow(grid->pieces, grid->piece_n, sizeof *grid->pieces);
    grid->pieces[grid->piece_n++] = piece;
}

/* The word of those with numbers `from` to `to` that has the most room before it. */
static uint32_t widest_gap(const struct pdf_words *w, uint32_t from, uint32_t to, float *ret_room)
{
    uint32_t widest = from;
    *ret_room = 0;
    for (uint32_t i = from; i <= to; i++) {
        float room = w->words[i].box.x0 - w->words[i - 1].box.x1;
        if (room > *ret_room) {
            *ret_room = room;
            widest = i;
        }
    }
    return widest;
}

/* Parts a line between two columns where the room is widest. */
static void put_pieces(struct grid *grid, uint32_t line_at)
{
    const struct pdf_words *w = grid->sheet->w;
    const struct pdf_line *line = &w->lines[line_at];
    uint32_t begin = line->word, end = line->word + line->word_n, covering = begin;
    uint32_t column = covered_column(grid, &w->words[begin].box);
    for (uint32_t i = begin + 1; i < end; i++) {
        uint32_t next = covered_column(grid, &w->words[i].box);
        float room = 0;
        if (next == PDF_NONE)
            continue;
        uint32_t at = widest_gap(w, covering + 1, i, &room);
        if (column != PDF_NONE && next > column && room > PARTED * line->height) {
            put_piece(grid, line_at, begin, at - begin, column);
            begin = at;
            column = next;
        } else if (column == PDF_NONE) {
            column = next;
        }
        covering = i;
    }
    put_piece(grid, line_at, begin, end - begin, end - begin < line->word_n ? column : PDF_NONE);
}

static void list_pieces(struct grid *grid)
{
    const struct sheet *sheet = grid->sheet;
    for (uint32_t s = grid->run->first; s != PDF_NONE; s = sheet->strips[s].next, grid->strip_n++)
        for (uint32_t i = 0; i < sheet->strips[s].spot_n; i++)
            put_pieces(grid, sheet->spots[sheet->strips[s].spot + i].line);
    for (uint32_t i = 0; i < grid->piece_n; i++) {
        const struct pdf_box *box = &grid->pieces[i].line.box;
        uint32_t at = grid->pieces[i].column;
        bool is_within = (at == 0 || box->x0 >= grid->columns[at - 1].x1) &&
                         (at + 1 == grid->column_n || box->x1 <= grid->columns[at + 1].x0);
        if (is_within)
            widen(&grid->columns[at], box, true);
    }
}

/* The piece after those of the strip that begins with number `i`. */
static uint32_t strip_end(const struct grid *grid, uint32_t i)
{
    uint32_t end = i;
    while (end < grid->piece_n && grid->pieces[end].strip == grid->pieces[i].strip)
        end++;
    return end;
}

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

/* Does a piece continue the one above it in its column? */
static bool is_below(const struct grid *grid, const struct piece *above, const struct piece *piece)
{
    const struct column *column = &grid->columns[piece->column];
    struct pdf_line line = above->line; /* with what is before it in its cell, at its height */
    while (above > grid->pieces && above[-1].strip == above->strip &&
           above[-1].column == above->column) {
        above--;
        line.box.x0 = above->line.box.x0;
        line.word_n += above->line.word_n;
    }
    return piece->line.box.y0 - line.box.y1 <= SAME_CELL * piece->line.height &&
           pdf_is_wrapped(grid->sheet->w, &line, &piece->line, column->x1 - column->x0);
}

static bool may_flow(const struct column *column)
{
    return column->char_n >= (uint64_t)FLOW_CHARS * column->line_n &&
           column->word_n >= (uint64_t)FLOW_WORDS * column->line_n;
}

static void forget_row(struct grid *grid)
{
    for (uint32_t i = 0; i < grid->column_n; i++)
        grid->columns[i].last = PDF_NONE;
}

/* Are two columns prose, whose paragraphs do not begin at the same heights? Cells of a row do. */
static bool is_flowing(struct grid *grid)
{
    uint32_t flow_n = 0, mixed_n = 0, begun_n = 0;
    for (uint32_t i = 0; i < grid->column_n; i++)
        flow_n += may_flow(&grid->columns[i]);
    if (flow_n < 2 || flow_n < grid->column_n || grid->strip_n < FLOW_STRIPS)
        return false;
    forget_row(grid);
    for (uint32_t i = 0, end; i < grid->piece_n; i = end) {
        uint32_t first_n = 0;
        end = strip_end(grid, i);
        for (uint32_t k = i; k < end; k++) {
            uint32_t *last = &grid->columns[grid->pieces[k].column].last;
            first_n += *last == PDF_NONE || !is_below(grid, &grid->pieces[*last], &grid->pieces[k]);
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

/* ---- rows ---- */

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
    return last != PDF_NONE && !is_value(grid, piece) && is_below(grid, &grid->pieces[last], piece);
}

/* The same between two wide gaps, where text may continue with a number. */
static bool is_more_in_row(const struct grid *grid, const struct piece *piece)
{
    const struct piece *above = &grid->pieces[grid->columns[piece->column].last];
    bool is_number = piece->line.word_n == 1 && is_value(grid, piece);
    return is_below(grid, above, piece) && !(is_number && above->line.word_n == 1);
}

/* Each strip is a row, unless it has fewer pieces than the row above and continues its cells. What
 * follows the last strip of several lines belongs to the table only if it continues. */
static void number_rows_by_cells(struct grid *grid, uint32_t last_row)
{
    uint32_t row = 0, filled_n = 0;
    forget_row(grid);
    for (uint32_t i = 0, end; i < grid->piece_n; i = end) {
        end = strip_end(grid, i);
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
            forget_row(grid);
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
    for (uint32_t k = i, end = strip_end(grid, i); k < end; k++)
        top = grid->pieces[k].line.box.y0 < top ? grid->pieces[k].line.box.y0 : top;
    return top - lowest;
}

static float lowest_of(const struct grid *grid, uint32_t i, float lowest)
{
    for (uint32_t k = i, end = strip_end(grid, i); k < end; k++)
        lowest = grid->pieces[k].line.box.y1 > lowest ? grid->pieces[k].line.box.y1 : lowest;
    return lowest;
}

/* Are the pieces with numbers `i` to `end` one row? In a cell each line continues the one above,
 * and some cell has one line only, or these may be rows that are close together. */
static bool is_row(struct grid *grid, uint32_t i, uint32_t end)
{
    uint32_t filled_n = 0, long_n = 0, more_n[PDF_COLUMNS_MAX] = {0};
    forget_row(grid);
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
    return strip_end(grid, i) == end || long_n < filled_n;
}

/* Rows are what is between gaps that are clearly wider than others. False if there are none, or
 * what is between them is no row; then nothing is numbered. */
static bool number_rows_by_gaps(struct grid *grid, uint32_t last_row)
{
    float narrow = 0, wide = 0, lowest = lowest_of(grid, 0, 0), height = 0;
    uint32_t strip_n = 0, row = 0, begin = 0;
    for (uint32_t i = 0; i < grid->piece_n; i = strip_end(grid, i), strip_n++) {
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
        end = strip_end(grid, i);
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
    struct pdf_table table = {.cell = tables->cell_n, .line = PDF_NONE};
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

static void remove_first(struct grid *grid, uint32_t n)
{
    grid->piece_n -= n;
    memmove(grid->pieces, grid->pieces + n, grid->piece_n * sizeof *grid->pieces);
}

/* Single lines above the first strip with several are part of the table if they are of that row, or
 * were parted. */
static void number_rows(struct grid *grid, uint32_t last_row)
{
    uint32_t head_n = grid->run->head_n, first = 0;
    bool has_gaps = number_rows_by_gaps(grid, last_row);
    while (grid->pieces[first].strip < head_n)
        first++;
    for (uint32_t i = first, n = 0; i-- > 0;) {
        n = strip_end(grid, i) - i;
        bool is_lone = n == 1 && (i == 0 || grid->pieces[i - 1].strip < grid->pieces[i].strip);
        if (is_lone && !(has_gaps && grid->pieces[i].row == grid->pieces[first].row)) {
            remove_first(grid, i + 1);
            break;
        }
    }
    if (!has_gaps)
        number_rows_by_cells(grid, last_row);
}

void pdf_put_table(struct sheet *sheet, const struct run *run)
{
    struct grid grid = {.sheet = sheet, .run = run};
    uint32_t last_row = 0, strip = 0;
    if (run->widest < 2 || run->widest > PDF_COLUMNS_MAX || !find_columns(&grid))
        return;
    list_pieces(&grid);
    for (uint32_t s = run->first; s != PDF_NONE; s = sheet->strips[s].next, strip++)
        last_row = s == run->last_row ? strip : last_row;
    if (is_table(&grid)) {
        number_rows(&grid, last_row);
        put_cells(&grid);
    }
    free(grid.pieces);
}
