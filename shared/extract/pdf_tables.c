/* SPDX-License-Identifier: MIT
 * pdf_tables.c - see pdf_tables.h. Page by page:
 *
 *   lines by height ──▶ strips: lines at one height, side by side ──▶ runs: strips one below the
 *   other that may be a table ──▶ columns, and strips that continue the cells above them
 *
 * A run is a table if its fullest strips have the same columns, and at most one column has long
 * lines: else it is prose in columns. Blocks that are prose (pdf_words.h) part strips, so that a
 * table beside a paragraph keeps to itself. */
#include "shared/extract/pdf_tables.h"

#include "shared/base/mem.h"

#include <stdlib.h>

enum {
    RUNS_MAX = 8,      /* side by side */
    SEEK_MAX = 64,     /* lines at the height of a bullet */
    LONE_CHARS = 40,   /* a single line of more is no cell */
    LONG_CHARS = 28,   /* per line of a column: prose */
    LISTING_LINES = 8, /* of a block: a column of words, as in an index */
};

#define SAME_HEIGHT 0.4F /* of the line's height */
#define SAME_CELL 0.6F
#define NEXT_LINE 1.0F
#define NEXT_ROW 2.5F
#define MARK_APART 5.0F

struct spot {
    float x, y;
    uint32_t line;
};

struct strip {
    uint32_t spot, spot_n;
    uint32_t next; /* in its run */
    struct pdf_box box;
};

struct run {
    uint32_t first, last, last_row; /* strips; the last one with several lines */
    float x0, x1;
    uint32_t strip_n, row_n, widest; /* row_n: strips with several lines */
};

struct column {
    float x0, x1;
    uint32_t line_n, last; /* `last`: of the row under way */
    uint64_t char_n;
    bool is_listing;
};

struct sheet {
    struct pdf_words *w;
    struct pdf_tables *tables;
    struct spot *spots;
    struct strip *strips;
    uint32_t spot_n, strip_n;
    struct run open[RUNS_MAX];
    unsigned open_n;
};

static const struct pdf_line *line_of(const struct sheet *sheet, const struct strip *strip,
                                      uint32_t i)
{
    return &sheet->w->lines[sheet->spots[strip->spot + i].line];
}

/* ---- lines by height ---- */

static int compare_height(const void *left, const void *right)
{
    const struct spot *a = left, *b = right;
    if (a->y < b->y || a->y > b->y)
        return a->y < b->y ? -1 : 1;
    return a->line < b->line ? -1 : 1;
}

static int compare_place(const void *left, const void *right)
{
    const struct spot *a = left, *b = right;
    if (a->x < b->x || a->x > b->x)
        return a->x < b->x ? -1 : 1;
    return a->line < b->line ? -1 : 1;
}

static void list_spots(struct sheet *sheet, const struct pdf_page *page)
{
    sheet->spot_n = 0;
    for (uint32_t i = page->line; i < page->line + page->line_n; i++) {
        const struct pdf_line *line = &sheet->w->lines[i];
        if (line->is_gone || line->is_turned)
            continue;
        sheet->spots = mem_grow(sheet->spots, sheet->spot_n, sizeof *sheet->spots);
        sheet->spots[sheet->spot_n++] = (struct spot){line->box.x0, pdf_middle(&line->box), i};
    }
    if (sheet->spot_n > 1)
        qsort(sheet->spots, sheet->spot_n, sizeof *sheet->spots, compare_height);
}

static bool is_level(const struct pdf_line *a, const struct pdf_line *b)
{
    float apart = pdf_middle(&a->box) - pdf_middle(&b->box);
    float height = a->height < b->height ? a->height : b->height;
    return apart < SAME_HEIGHT * height && apart > -SAME_HEIGHT * height;
}

/* ---- bullets ---- */

static bool is_dash(const struct sheet *sheet, const struct pdf_line *line)
{
    struct str word = pdf_first(sheet->w, line)->text;
    return str_eq(word, STR("-")) || str_eq(word, STR("–")) || str_eq(word, STR("—"));
}

/* Gives a bullet to the line that it belongs to: the nearest one to its right, at its height. A
 * dash to the right of another line is the empty cell of a table. */
static void give_mark(struct sheet *sheet, uint32_t at)
{
    struct pdf_line *lines = sheet->w->lines, *mark = &lines[sheet->spots[at].line], *item = NULL;
    uint32_t from = at > SEEK_MAX / 2 ? at - SEEK_MAX / 2 : 0;
    for (uint32_t i = from; i < sheet->spot_n && i < from + SEEK_MAX; i++) {
        struct pdf_line *line = &lines[sheet->spots[i].line];
        if (line->box.x1 < mark->box.x0 && is_level(line, mark) && is_dash(sheet, mark))
            return;
        bool is_beside = line->box.x0 > mark->box.x0 && line->box.x0 >= mark->box.x1 - 1 &&
                         line->box.x0 - mark->box.x1 < MARK_APART * line->height;
        if (line != mark && is_beside && is_level(line, mark) && line->mark == PDF_NONE &&
            (item == NULL || line->box.x0 < item->box.x0))
            item = line;
    }
    if (item == NULL || pdf_is_mark(sheet->w, item))
        return;
    item->mark = sheet->spots[at].line;
    mark->is_gone = true;
}

static void give_marks(struct sheet *sheet)
{
    for (uint32_t i = 0; i < sheet->spot_n; i++)
        if (pdf_is_mark(sheet->w, &sheet->w->lines[sheet->spots[i].line]))
            give_mark(sheet, i);
}

/* ---- strips ---- */

static void put_strip(struct sheet *sheet, uint32_t from, uint32_t to)
{
    if (from == to)
        return;
    struct strip strip = {.spot = from, .spot_n = to - from, .next = PDF_NONE};
    strip.box = line_of(sheet, &strip, 0)->box;
    for (uint32_t i = 1; i < strip.spot_n; i++) {
        const struct pdf_box *box = &line_of(sheet, &strip, i)->box;
        strip.box.x1 = box->x1 > strip.box.x1 ? box->x1 : strip.box.x1;
        strip.box.y0 = box->y0 < strip.box.y0 ? box->y0 : strip.box.y0;
        strip.box.y1 = box->y1 > strip.box.y1 ? box->y1 : strip.box.y1;
    }
    sheet->strips = mem_grow(sheet->strips, sheet->strip_n, sizeof *sheet->strips);
    sheet->strips[sheet->strip_n++] = strip;
}

/* Cuts lines at one height where prose is between them, and where two lie over each other. */
static void cut_level(struct sheet *sheet, uint32_t from, uint32_t to)
{
    const struct pdf_words *w = sheet->w;
    uint32_t begin = from;
    qsort(sheet->spots + from, to - from, sizeof *sheet->spots, compare_place);
    for (uint32_t i = from; i < to; i++) {
        const struct pdf_line *line = &w->lines[sheet->spots[i].line];
        bool is_wall = w->blocks[line->block].is_prose;
        bool is_over = i > begin && w->lines[sheet->spots[i - 1].line].box.x1 > line->box.x0 + 1;
        if (is_wall || is_over) {
            put_strip(sheet, begin, i);
            begin = i + is_wall;
        }
    }
    put_strip(sheet, begin, to);
}

static void cut_strips(struct sheet *sheet)
{
    sheet->strip_n = 0;
    for (uint32_t from = 0, to; from < sheet->spot_n; from = to) {
        const struct pdf_line *line = &sheet->w->lines[sheet->spots[from].line];
        for (to = from + 1; to < sheet->spot_n; to++)
            if (!is_level(line, &sheet->w->lines[sheet->spots[to].line]))
                break;
        cut_level(sheet, from, to);
    }
}

/* ---- columns ---- */

/* Makes columns of the fullest strips of a run. False unless there are as many as these strips have
 * lines. */
static bool find_columns(const struct sheet *sheet, const struct run *run, struct column *columns)
{
    uint32_t n = run->widest;
    bool is_begun = false;
    for (uint32_t s = run->first; s != PDF_NONE; s = sheet->strips[s].next) {
        const struct strip *strip = &sheet->strips[s];
        if (strip->spot_n != n)
            continue;
        for (uint32_t i = 0; i < n; i++) {
            const struct pdf_box *box = &line_of(sheet, strip, i)->box;
            if (!is_begun || box->x0 < columns[i].x0)
                columns[i].x0 = box->x0;
            if (!is_begun || box->x1 > columns[i].x1)
                columns[i].x1 = box->x1;
        }
        is_begun = true;
    }
    for (uint32_t i = 1; i < n; i++)
        if (columns[i].x0 < columns[i - 1].x1)
            return false;
    return is_begun;
}

/* The column that a line covers most, or is nearest to. */
static uint32_t column_of(const struct pdf_line *line, const struct column *columns, uint32_t n)
{
    uint32_t best = 0;
    float most = 0;
    for (uint32_t i = 0; i < n; i++) {
        float from = line->box.x0 > columns[i].x0 ? line->box.x0 : columns[i].x0;
        float to = line->box.x1 < columns[i].x1 ? line->box.x1 : columns[i].x1;
        if (i == 0 || to - from > most) {
            best = i;
            most = to - from;
        }
    }
    return best;
}

static void count_lines(const struct sheet *sheet, const struct run *run, struct column *columns)
{
    for (uint32_t s = run->first; s != PDF_NONE; s = sheet->strips[s].next)
        for (uint32_t i = 0; i < sheet->strips[s].spot_n; i++) {
            const struct pdf_line *line = line_of(sheet, &sheet->strips[s], i);
            struct column *column = &columns[column_of(line, columns, run->widest)];
            char c = *pdf_first(sheet->w, line)->text.at;
            bool is_word = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c & 0x80) != 0;
            column->is_listing |= is_word && sheet->w->blocks[line->block].line_n >= LISTING_LINES;
            column->line_n++;
            column->char_n += line->char_n;
        }
}

static bool ends_with_colon(const struct sheet *sheet, const struct pdf_line *line)
{
    struct str text = pdf_last(sheet->w, line)->text;
    return text.at[text.n - 1] == ':';
}

/* Is it a table, and no prose or index in columns? One row alone is none, unless it is a label with
 * its value. */
static bool is_table(const struct sheet *sheet, const struct run *run, struct column *columns)
{
    uint32_t long_n = 0, listing_n = 0;
    if (run->widest < 2 || run->widest > PDF_COLUMNS_MAX || !find_columns(sheet, run, columns))
        return false;
    if (run->row_n == 1)
        return run->widest == 2 &&
               ends_with_colon(sheet, line_of(sheet, &sheet->strips[run->first], 0));
    count_lines(sheet, run, columns);
    for (uint32_t i = 0; i < run->widest; i++) {
        long_n += columns[i].char_n >= (uint64_t)LONG_CHARS * columns[i].line_n;
        listing_n += columns[i].is_listing;
    }
    return long_n < 2 && listing_n < run->widest;
}

/* ---- rows ---- */

/* A value does not continue the one above it. */
static bool is_value(const struct sheet *sheet, const struct pdf_line *line)
{
    struct str word = pdf_first(sheet->w, line)->text;
    size_t at = word.n > 1 && (*word.at == '-' || *word.at == '+' || *word.at == '$');
    return word.at[at] >= '0' && word.at[at] <= '9';
}

/* Does each line of the strip continue the cell above it? */
static bool is_more(const struct sheet *sheet, const struct run *run, const struct strip *strip,
                    const struct column *columns, uint32_t filled_n)
{
    if (strip->spot_n >= filled_n)
        return false;
    for (uint32_t i = 0; i < strip->spot_n; i++) {
        const struct pdf_line *line = line_of(sheet, strip, i), *above;
        const struct column *column = &columns[column_of(line, columns, run->widest)];
        if (column->last == PDF_NONE || is_value(sheet, line))
            return false;
        above = &sheet->w->lines[column->last];
        if (line->box.y0 - above->box.y1 > SAME_CELL * line->height ||
            !pdf_is_wrapped(sheet->w, above, line, column->x1 - column->x0))
            return false;
    }
    return true;
}

static void put_cell(struct sheet *sheet, uint32_t line, uint32_t row, uint32_t column)
{
    struct pdf_tables *tables = sheet->tables;
    struct pdf_table *table = &tables->tables[tables->table_n];
    tables->cells = mem_grow(tables->cells, tables->cell_n, sizeof *tables->cells);
    tables->cells[tables->cell_n++] = (struct pdf_cell){line, row, column};
    sheet->w->lines[line].table = tables->table_n;
    table->cell_n++;
    table->line = line < table->line ? line : table->line;
}

static int compare_cells(const void *left, const void *right)
{
    const struct pdf_cell *a = left, *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    return a->line < b->line ? -1 : 1;
}

static void put_table(struct sheet *sheet, const struct run *run, struct column *columns)
{
    struct pdf_tables *tables = sheet->tables;
    uint32_t row = 0, filled_n = 0;
    bool is_past = false; /* below the last strip that has several lines */
    tables->tables = mem_grow(tables->tables, tables->table_n, sizeof *tables->tables);
    tables->tables[tables->table_n] = (struct pdf_table){.cell = tables->cell_n, .line = PDF_NONE};
    for (uint32_t s = run->first; s != PDF_NONE; s = sheet->strips[s].next) {
        const struct strip *strip = &sheet->strips[s];
        bool continues = filled_n > 0 && is_more(sheet, run, strip, columns, filled_n);
        if (is_past && !continues)
            break;
        if (!continues) {
            row += filled_n > 0;
            filled_n = strip->spot_n;
            for (uint32_t i = 0; i < run->widest; i++)
                columns[i].last = PDF_NONE;
        }
        for (uint32_t i = 0; i < strip->spot_n; i++) {
            uint32_t line = sheet->spots[strip->spot + i].line;
            uint32_t column = column_of(&sheet->w->lines[line], columns, run->widest);
            columns[column].last = line;
            put_cell(sheet, line, row, column);
        }
        is_past |= s == run->last_row;
    }
    const struct pdf_table *table = &tables->tables[tables->table_n++];
    qsort(tables->cells + table->cell, table->cell_n, sizeof *tables->cells, compare_cells);
}

/* ---- runs ---- */

static void close_run(struct sheet *sheet, unsigned at)
{
    struct run run = sheet->open[at];
    struct column columns[PDF_COLUMNS_MAX] = {{0}};
    sheet->open[at] = sheet->open[--sheet->open_n];
    if (is_table(sheet, &run, columns))
        put_table(sheet, &run, columns);
}

/* Adds a strip to the run above it. A single line that is long, or too far below, ends the run. */
static bool join_run(struct sheet *sheet, unsigned at, uint32_t strip_at)
{
    struct run *run = &sheet->open[at];
    struct strip *strip = &sheet->strips[strip_at];
    const struct pdf_line *line = line_of(sheet, strip, 0);
    float apart = strip->box.y0 - sheet->strips[run->last].box.y1;
    bool is_row = strip->spot_n > 1;
    if (strip->box.x0 >= run->x1 || strip->box.x1 <= run->x0)
        return false;
    if (!is_row && (line->char_n >= LONE_CHARS || apart > NEXT_LINE * line->height)) {
        close_run(sheet, at);
        return false;
    }
    sheet->strips[run->last].next = strip_at;
    run->last = strip_at;
    if (!is_row)
        return true;
    run->last_row = strip_at;
    run->row_n++;
    run->x0 = strip->box.x0 < run->x0 ? strip->box.x0 : run->x0;
    run->x1 = strip->box.x1 > run->x1 ? strip->box.x1 : run->x1;
    run->widest = strip->spot_n > run->widest ? strip->spot_n : run->widest;
    return true;
}

static void close_far(struct sheet *sheet, float y, float height)
{
    for (unsigned i = sheet->open_n; i-- > 0;)
        if (y - sheet->strips[sheet->open[i].last].box.y1 > NEXT_ROW * height)
            close_run(sheet, i);
}

static void find_runs(struct sheet *sheet)
{
    for (uint32_t s = 0; s < sheet->strip_n; s++) {
        const struct strip *strip = &sheet->strips[s];
        bool is_joined = false;
        close_far(sheet, strip->box.y0, line_of(sheet, strip, 0)->height);
        for (unsigned i = sheet->open_n; i-- > 0 && !is_joined;)
            is_joined = join_run(sheet, i, s);
        if (!is_joined && strip->spot_n > 1 && sheet->open_n < RUNS_MAX)
            sheet->open[sheet->open_n++] = (struct run){.first = s,
                                                        .last = s,
                                                        .last_row = s,
                                                        .x0 = strip->box.x0,
                                                        .x1 = strip->box.x1,
                                                        .row_n = 1,
                                                        .widest = strip->spot_n};
    }
    while (sheet->open_n > 0)
        close_run(sheet, sheet->open_n - 1);
}

void pdf_find_tables(struct pdf_words *words, struct pdf_tables *ret_tables)
{
    struct sheet sheet = {.w = words, .tables = ret_tables};
    *ret_tables = (struct pdf_tables){0};
    for (uint32_t i = 0; i < words->page_n; i++) {
        list_spots(&sheet, &words->pages[i]);
        give_marks(&sheet);
        list_spots(&sheet, &words->pages[i]);
        cut_strips(&sheet);
        find_runs(&sheet);
    }
    free(sheet.spots);
    free(sheet.strips);
}

void pdf_tables_fini(struct pdf_tables *tables)
{
    free(tables->cells);
    free(tables->tables);
    *tables = (struct pdf_tables){0};
}
