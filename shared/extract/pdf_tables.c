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

#include "shared/extract/pdf_columns.h"

#include "shared/base/mem.h"

#include <stdlib.h>

enum {
    SEEK_MAX = 64,   /* lines at the height of a bullet */
    HEAD_MAX = 4,    /* strips of a head */
    LONE_CHARS = 40, /* a single line of more is no cell */
};

#define SAME_HEIGHT 0.4F /* of the line's height */
#define NEXT_LINE 1.0F
#define NEXT_ROW 2.5F
#define MARK_APART 5.0F
#define HEAD_APART 0.35F

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
    strip.box = pdf_line_of(sheet, &strip, 0)->box;
    for (uint32_t i = 1; i < strip.spot_n; i++) {
        const struct pdf_box *box = &pdf_line_of(sheet, &strip, i)->box;
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

/* ---- runs ---- */

static void close_run(struct sheet *sheet, unsigned at)
{
    struct run run = sheet->open[at];
    sheet->open[at] = sheet->open[--sheet->open_n];
    pdf_put_table(sheet, &run);
}

/* Adds a strip to the run above it. A single line that is long, or too far below, ends the run. */
static bool join_run(struct sheet *sheet, unsigned at, uint32_t strip_at)
{
    struct run *run = &sheet->open[at];
    struct strip *strip = &sheet->strips[strip_at];
    const struct pdf_line *line = pdf_line_of(sheet, strip, 0);
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

/* May the strip be part of the head of a table, of which `below` is the next strip? Poppler takes
 * cells that are close together for words of one line. Cells of several lines whose middles are at
 * one height overlap their neighbours. */
static bool is_head(const struct sheet *sheet, const struct strip *strip, const struct strip *below)
{
    const struct pdf_line *line = pdf_line_of(sheet, strip, 0);
    const struct pdf_word *words = &sheet->w->words[line->word];
    float apart = below->box.y0 - strip->box.y1;
    if (strip->spot_n > 1 || line->table != PDF_NONE || apart > NEXT_LINE * line->height)
        return false;
    if (apart < 0)
        return true;
    for (uint32_t i = 1; i < line->word_n; i++)
        if (words[i].box.x0 - words[i - 1].box.x1 > HEAD_APART * line->height)
            return strip->box.x0 < below->box.x1 && strip->box.x1 > below->box.x0;
    return false;
}

/* Begins a run with the strip, or with the head above it; the `free_n` strips above it are in no
 * run. */
static void begin_run(struct sheet *sheet, uint32_t at, uint32_t free_n)
{
    struct strip *strip = &sheet->strips[at];
    struct run run = {.first = at,
                      .last = at,
                      .last_row = at,
                      .x0 = strip->box.x0,
                      .x1 = strip->box.x1,
                      .row_n = 1,
                      .widest = strip->spot_n};
    for (; run.head_n < free_n && run.head_n < HEAD_MAX && is_head(sheet, strip - 1, strip);
         run.head_n++) {
        strip--;
        strip->next = run.first--;
    }
    sheet->open[sheet->open_n++] = run;
}

static void find_runs(struct sheet *sheet)
{
    uint32_t free_n = 0; /* strips right above that are in no run */
    for (uint32_t s = 0; s < sheet->strip_n; s++) {
        const struct strip *strip = &sheet->strips[s];
        bool is_joined = false;
        close_far(sheet, strip->box.y0, pdf_line_of(sheet, strip, 0)->height);
        for (unsigned i = sheet->open_n; i-- > 0 && !is_joined;)
            is_joined = join_run(sheet, i, s);
        bool is_begun = !is_joined && strip->spot_n > 1 && sheet->open_n < PDF_RUNS_MAX;
        if (is_begun)
            begin_run(sheet, s, free_n);
        free_n = is_joined || is_begun ? 0 : free_n + 1;
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
