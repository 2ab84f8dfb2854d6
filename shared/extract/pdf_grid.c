/* SPDX-License-Identifier: MIT
 * pdf_grid.c - see pdf_grid.h. The fullest strips give the columns. Words of one line that are in
 * several columns, with room between them, are parted there. */
#include "shared/extract/pdf_grid.h"

#include "shared/base/mem.h"

#define SAME_CELL 0.6F /* of the line's height */
/* Room between words of two cells: between two words of one it is 0.2 to 0.3 of the line's height,
 * or as wide as the narrowest room of that line, but not wider than FAR. */
#define PARTED 0.35F
#define PARTED_SHARE 1.4F
#define FAR 0.8F

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

/* A column that one strip alone has is none: its words belong to the cell before them. The first
 * strip may be a head whose column is empty below. */
static void unite_lone_columns(struct grid *grid)
{
    const struct sheet *sheet = grid->sheet;
    if (sheet->strips[grid->run->first].spot_n == grid->column_n)
        return;
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

bool pdf_find_columns(struct grid *grid)
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

/* The narrowest room between words of a line, which is that of a space: letters of one width and
 * justified lines have wide ones. 0 of two words. */
static float space_of(const struct pdf_words *w, const struct pdf_line *line)
{
    float least = 0;
    for (uint32_t i = line->word + 1; line->word_n > 2 && i < line->word + line->word_n; i++) {
        float room = w->words[i].box.x0 - w->words[i - 1].box.x1;
        least = i == line->word + 1 || room < least ? room : least;
    }
    return least;
}

/* The least room that parts two cells in a line. */
static float parting_room(const struct pdf_words *w, const struct pdf_line *line)
{
    float room = PARTED_SHARE * space_of(w, line), most = FAR * line->height;
    room = room > PARTED * line->height ? room : PARTED * line->height;
    return room < most ? room : most;
}

/* Parts a line between two columns where the room is widest. */
static void put_pieces(struct grid *grid, uint32_t line_at)
{
    const struct pdf_words *w = grid->sheet->w;
    const struct pdf_line *line = &w->lines[line_at];
    uint32_t begin = line->word, end = line->word + line->word_n, covering = begin;
    uint32_t column = covered_column(grid, &w->words[begin].box);
    float parting = parting_room(w, line);
    for (uint32_t i = begin + 1; i < end; i++) {
        uint32_t next = covered_column(grid, &w->words[i].box);
        float room = 0;
        if (next == PDF_NONE)
            continue;
        uint32_t at = widest_gap(w, covering + 1, i, &room);
        if (column != PDF_NONE && next > column && room > parting) {
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

void pdf_list_pieces(struct grid *grid)
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

uint32_t pdf_strip_end(const struct grid *grid, uint32_t i)
{
    uint32_t end = i;
    while (end < grid->piece_n && grid->pieces[end].strip == grid->pieces[i].strip)
        end++;
    return end;
}

bool pdf_is_below(const struct grid *grid, const struct piece *above, const struct piece *piece)
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

void pdf_forget_row(struct grid *grid)
{
    for (uint32_t i = 0; i < grid->column_n; i++)
        grid->columns[i].last = PDF_NONE;
}
