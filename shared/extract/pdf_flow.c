/* SPDX-License-Identifier: MIT
 * pdf_flow.c - see pdf_flow.h. Lines that cross the middle of a page, such as titles, part it into
 * bands. A band is prose in two columns if no line crosses the gutter, both sides have lines of
 * several words that mostly fill their column, and these begin paragraphs independently of each
 * other: the cells of a row begin at one height. */
#include "shared/extract/pdf_flow.h"

#include "shared/base/mem.h"

#include <stdlib.h>

enum {
    LINES_MIN = 6,  /* of a column */
    CHARS_MIN = 18, /* per line of a column, ... */
    WORDS_MIN = 3,  /* and words */
    PARAGRAPH = 5,  /* halves of a line: with longer paragraphs it is prose in any case */
    BINS = 64,      /* places for the gutter, across the middle half of the page */
};

#define SAME_LEVEL 0.4F /* of the line's height */
#define NEXT_LINE 0.6F
#define FULL 0.65F /* share of the column's width that lines of prose fill */

struct flow {
    struct pdf_words *w;
    uint32_t *at; /* the band's lines, from top to bottom */
    uint32_t n;
    float gutter;
};

struct side {
    uint32_t line_n, begin_n, shared_n; /* shared: begins beside a begin of the other side */
    uint64_t char_n, word_n;
    float x0, x1, filled;
    const struct pdf_line *last;
};

static bool is_right(const struct flow *flow, const struct pdf_line *line)
{
    return (line->box.x0 + line->box.x1) / 2 > flow->gutter;
}

/* ---- the gutter ---- */

/* The place in the middle half of the page that the fewest lines cover; the one nearest to its
 * middle of those. */
static float find_gutter(const struct pdf_words *w, const struct pdf_page *page, float x0, float x1)
{
    uint32_t covered[BINS] = {0}, best = BINS / 2;
    float from = x0 + (x1 - x0) / 4, step = (x1 - x0) / 2 / BINS;
    for (uint32_t i = page->line; step > 0 && i < page->line + page->line_n; i++)
        for (uint32_t k = 0; k < BINS; k++) {
            float x = from + step * (float)k;
            covered[k] += w->lines[i].box.x0 < x && w->lines[i].box.x1 > x;
        }
    for (uint32_t k = 0; k < BINS; k++) {
        uint32_t off = k > BINS / 2 ? k - BINS / 2 : BINS / 2 - k;
        uint32_t best_off = best > BINS / 2 ? best - BINS / 2 : BINS / 2 - best;
        if (covered[k] < covered[best] || (covered[k] == covered[best] && off < best_off))
            best = k;
    }
    return from + step * (float)best;
}

/* ---- is it prose? ---- */

static void measure(const struct flow *flow, struct side sides[2])
{
    for (uint32_t i = 0; i < flow->n; i++) {
        const struct pdf_line *line = &flow->w->lines[flow->at[i]];
        struct side *side = &sides[is_right(flow, line)];
        side->x0 = side->line_n == 0 || line->box.x0 < side->x0 ? line->box.x0 : side->x0;
        side->x1 = side->line_n == 0 || line->box.x1 > side->x1 ? line->box.x1 : side->x1;
        side->filled += pdf_width(&line->box);
        side->char_n += line->char_n;
        side->word_n += line->word_n;
        side->line_n++;
    }
}

static bool is_level(const struct pdf_line *a, const struct pdf_line *b)
{
    float apart = pdf_middle(&a->box) - pdf_middle(&b->box);
    return apart < SAME_LEVEL * a->height && apart > -SAME_LEVEL * a->height;
}

static bool begins(const struct flow *flow, const struct side *side, const struct pdf_line *line)
{
    return side->last == NULL || line->box.y0 - side->last->box.y1 > NEXT_LINE * line->height ||
           !pdf_is_wrapped(flow->w, side->last, line, side->x1 - side->last->box.x0);
}

static void count_begins(const struct flow *flow, struct side sides[2])
{
    const struct pdf_line *begun = NULL; /* the last line that began a paragraph */
    for (uint32_t i = 0; i < flow->n; i++) {
        const struct pdf_line *line = &flow->w->lines[flow->at[i]];
        bool right = is_right(flow, line);
        if (begins(flow, &sides[right], line)) {
            bool is_shared =
                begun != NULL && is_right(flow, begun) != right && is_level(begun, line);
            sides[right].begin_n++;
            sides[0].shared_n += is_shared;
            sides[1].shared_n += is_shared;
            begun = line;
        }
        sides[right].last = line;
    }
}

static bool is_prose(const struct flow *flow)
{
    struct side sides[2] = {{0}};
    uint32_t long_n = 0;
    measure(flow, sides);
    for (unsigned i = 0; i < 2; i++)
        if (sides[i].line_n < LINES_MIN || sides[i].char_n < sides[i].line_n * CHARS_MIN ||
            sides[i].word_n < sides[i].line_n * WORDS_MIN ||
            sides[i].filled < FULL * (sides[i].x1 - sides[i].x0) * (float)sides[i].line_n)
            return false;
    if (sides[0].x1 >= sides[1].x0)
        return false;
    count_begins(flow, sides);
    for (unsigned i = 0; i < 2; i++)
        long_n += sides[i].line_n * 2 >= sides[i].begin_n * PARAGRAPH;
    return long_n == 2 || (sides[0].shared_n + 1) * 2 < sides[0].begin_n;
}

/* ---- the order ---- */

static int compare_numbers(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* Puts the lines of the left side into the first places of the band, those of the right into the
 * others; within a side they keep their order. */
static void reorder(struct flow *flow)
{
    struct pdf_line *lines = mem_zeroed_n(flow->n, sizeof *lines);
    uint32_t n = 0;
    qsort(flow->at, flow->n, sizeof *flow->at, compare_numbers);
    for (int right = 0; right < 2; right++)
        for (uint32_t i = 0; i < flow->n; i++)
            if (is_right(flow, &flow->w->lines[flow->at[i]]) == (right == 1))
                lines[n++] = flow->w->lines[flow->at[i]];
    for (uint32_t i = 0; i < n; i++) {
        flow->w->lines[flow->at[i]] = lines[i];
        flow->w->blocks[lines[i].block].is_prose = true;
    }
    free(lines);
}

static void end_band(struct flow *flow)
{
    if (flow->n >= 2 * LINES_MIN && is_prose(flow))
        reorder(flow);
    flow->n = 0;
}

/* ---- pages ---- */

struct place {
    float y;
    uint32_t line;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->y < b->y || a->y > b->y)
        return a->y < b->y ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static void order_page(struct flow *flow, const struct pdf_page *page, struct place *places)
{
    float x0 = 0, x1 = 0;
    uint32_t n = 0;
    for (uint32_t i = page->line; i < page->line + page->line_n; i++) {
        const struct pdf_line *line = &flow->w->lines[i];
        if (line->is_gone || line->is_turned)
            continue;
        x0 = n == 0 || line->box.x0 < x0 ? line->box.x0 : x0;
        x1 = n == 0 || line->box.x1 > x1 ? line->box.x1 : x1;
        places[n++] = (struct place){pdf_middle(&line->box), i};
    }
    if (n < 2 * LINES_MIN)
        return;
    qsort(places, n, sizeof *places, compare_places);
    flow->gutter = find_gutter(flow->w, page, x0, x1);
    for (uint32_t i = 0; i < n; i++) {
        const struct pdf_line *line = &flow->w->lines[places[i].line];
        if (line->box.x0 < flow->gutter && line->box.x1 > flow->gutter)
            end_band(flow);
        else
            flow->at[flow->n++] = places[i].line;
    }
    end_band(flow);
}

void pdf_order_columns(struct pdf_words *words)
{
    struct flow flow = {.w = words};
    flow.at = mem_zeroed_n(words->line_n + 1, sizeof *flow.at);
    struct place *places = mem_zeroed_n(words->line_n + 1, sizeof *places);
    for (uint32_t i = 0; i < words->page_n; i++)
        order_page(&flow, &words->pages[i], places);
    free(places);
    free(flow.at);
}
