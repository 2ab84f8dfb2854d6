/* SPDX-License-Identifier: MIT
 * pdf_furniture.c - see pdf_furniture.h. Only the lines nearest to the upper and lower edge of a
 * page are looked at. A line is furniture if the same text is at the same height on several
 * pages, apart from one number that rises by one from page to page. So titles such as "Step 1" and
 * "Step 2" are kept unless they are counted like pages, and so are lines with other numbers. */
#include "shared/extract/pdf_furniture.h"

#include "shared/base/mem.h"
#include "shared/text/fold.h"
#include "shared/text/text.h"

#include <stdlib.h>

enum { EDGE_LINES = 3, PAGES_FEW = 3, NUMBERS_MAX = 4, NUMBER_MAX = 1000000 };

#define EDGE_SHARE 0.14F  /* of the page's height */
#define FOOT_SHARE 0.18F  /* of it at the foot, for nothing but a page's number */
#define HEIGHT_SLACK 4.0F /* points */
#define TITLE_APART 3.0F  /* of the height */

/* One line near an edge, and a number in it. */
struct edge {
    uint64_t shape; /* of the text without that number, and of the edge */
    int64_t offset; /* the number less that of its page; NO_OFFSET compares the whole text */
    float y;
    uint32_t page, line;
    bool is_label;  /* nothing but a page's number, ... */
    bool is_framed; /* with more than its digits */
};

static const int64_t whole_text = INT64_MAX;

struct edges {
    struct edge *at;
    uint32_t n;
};

/* ---- the text of a line ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_page_word(struct str word)
{
    static const char *const words[] = {
        "page", "p.",    "pg.",  "seite", "s.",  "pagina",  "página", "pág.",   "strona",
        "str.", "sida",  "side", "sivu",  "lk",  "stránka", "strana", "oldal",  "sayfa",
        "стр.", "стор.", "σελ.", "頁",    "页",  "ページ",  "第",     "페이지", "страница",
        "of",   "von",   "de",   "di",    "sur", "z",       "af",     "av",     "из",
        "|",    "-",     "–",    "/",     "—"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq_nocase(word, str_of(words[i])))
            return true;
    return false;
}

static bool is_dash(uint32_t c)
{
    return c == '-' || (c >= 0x2010 && c <= 0x2015);
}

static bool has_letter(struct str word)
{
    uint32_t c;
    for (size_t step; (step = text_char(word, &c)) > 0; word.at += step, word.n -= step)
        if (fold_is_word(c) && !is_dash(c) && !(c >= '0' && c <= '9'))
            return true;
    return false;
}

/* The digits at the front of a word. */
static size_t digits_length(struct str word, int64_t *ret_value)
{
    size_t n = 0;
    *ret_value = 0;
    while (n < word.n && is_digit(word.at[n]) && *ret_value < NUMBER_MAX)
        *ret_value = *ret_value * 10 + (word.at[n++] - '0');
    return n;
}

/* Hash of a line's text without its number `skipped`, counted from 0; of all of it for a greater
 * one. Returns how many numbers it has; the value of the skipped one is in `*ret_value`. */
static uint32_t mix_line(const struct pdf_words *w, const struct pdf_line *line, uint32_t skipped,
                         uint64_t *hash, int64_t *ret_value)
{
    uint32_t number_n = 0;
    for (uint32_t i = line->word; i < line->word + line->word_n; i++) {
        struct str word = w->words[i].text;
        for (size_t n; word.n > 0; word = (struct str){word.at + n, word.n - n}) {
            int64_t value;
            n = digits_length(word, &value);
            bool is_number = n > 0;
            while (!is_number && n < word.n && !is_digit(word.at[n]))
                n++;
            if (!is_number || number_n != skipped)
                *hash = text_hash((struct str){word.at, n}, *hash);
            else
                *ret_value = value;
            number_n += is_number;
        }
        *hash = text_hash(STR(" "), *hash);
    }
    return number_n;
}

/* ---- edges ---- */

static void put_edge(struct edges *edges, struct edge edge)
{
    edges->at = mem_grow(edges->at, edges->n, sizeof *edges->at);
    edges->at[edges->n++] = edge;
}

/* Is the next line right behind it, as a title is behind the number of its section? */
static bool has_title(const struct pdf_words *w, const struct pdf_line *line)
{
    const struct pdf_line *next = line + 1;
    if (next == w->lines + w->line_n)
        return false;
    float room = next->box.x0 - line->box.x1,
          move = pdf_middle(&next->box) - pdf_middle(&line->box);
    return room > 0 && room < TITLE_APART * line->height && move < HEIGHT_SLACK &&
           move > -HEIGHT_SLACK;
}

/* Is it nothing but numbers, and words such as "page"? */
static bool is_label(const struct pdf_words *w, const struct pdf_line *line)
{
    if (has_title(w, line))
        return false;
    for (uint32_t i = line->word; i < line->word + line->word_n; i++)
        if (has_letter(w->words[i].text) && !is_page_word(w->words[i].text))
            return false;
    return true;
}

/* Has it more than digits? */
static bool is_framed(const struct pdf_words *w, const struct pdf_line *line)
{
    int64_t value;
    struct str word = pdf_first(w, line)->text;
    return line->word_n > 1 || digits_length(word, &value) < word.n;
}

/* An edge for each of its first numbers, and one for the whole text. */
static void put_line(const struct pdf_words *w, uint32_t line_at, uint32_t page, bool is_foot,
                     struct edges *edges)
{
    const struct pdf_line *line = &w->lines[line_at];
    struct edge edge = {.y = line->box.y0, .page = page, .line = line_at};
    uint32_t number_n = 1;
    for (uint32_t number = 0; number < NUMBERS_MAX && number < number_n; number++) {
        int64_t value = 0;
        edge.shape = is_foot;
        number_n = mix_line(w, line, number, &edge.shape, &value);
        edge.offset = value - (int64_t)page;
        edge.is_label = is_label(w, line);
        edge.is_framed = is_framed(w, line);
        if (number_n > 0)
            put_edge(edges, edge);
    }
    int64_t none;
    edge.shape = is_foot;
    (void)mix_line(w, line, UINT32_MAX, &edge.shape, &none);
    edge.offset = whole_text;
    edge.is_label = false;
    put_edge(edges, edge);
}

/* Keeps the line if it is among the EDGE_LINES nearest to the edge. */
static void keep_nearest(const struct pdf_words *w, uint32_t line, bool is_foot,
                         uint32_t nearest[EDGE_LINES])
{
    for (unsigned i = 0; i < EDGE_LINES; i++) {
        uint32_t other = nearest[i];
        bool is_nearer =
            other == PDF_NONE || (is_foot ? w->lines[line].box.y0 > w->lines[other].box.y0
                                          : w->lines[line].box.y0 < w->lines[other].box.y0);
        if (is_nearer) {
            nearest[i] = line;
            line = other;
        }
        if (line == PDF_NONE)
            return;
    }
}

static void put_page(const struct pdf_words *w, uint32_t page_at, struct edges *edges)
{
    const struct pdf_page *page = &w->pages[page_at];
    for (int is_foot = 0; is_foot < 2; is_foot++) {
        uint32_t nearest[EDGE_LINES] = {PDF_NONE, PDF_NONE, PDF_NONE};
        for (uint32_t i = page->line; i < page->line + page->line_n; i++) {
            const struct pdf_line *line = &w->lines[i];
            float share = is_foot ? 1 - line->box.y0 / page->height : line->box.y1 / page->height;
            bool is_at_edge =
                share < EDGE_SHARE || (is_foot && share < FOOT_SHARE && is_label(w, line));
            if (is_at_edge && !line->is_turned)
                keep_nearest(w, i, is_foot, nearest);
        }
        for (unsigned i = 0; i < EDGE_LINES && nearest[i] != PDF_NONE; i++)
            put_line(w, nearest[i], page_at, is_foot, edges);
    }
}

/* ---- groups ---- */

static int compare(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->shape != b->shape)
        return a->shape < b->shape ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    if (a->page != b->page)
        return a->page < b->page ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static bool is_same(const struct edge *a, const struct edge *b)
{
    float apart = a->y - b->y;
    return a->shape == b->shape && a->offset == b->offset && apart < HEIGHT_SLACK &&
           apart > -HEIGHT_SLACK;
}

/* The lines of a group are on that many pages: are these enough? */
static bool is_repeated(const struct edge *edge, uint32_t pages, uint32_t page_n)
{
    uint32_t needed = page_n < PAGES_FEW || edge->is_label ? 2 : PAGES_FEW;
    return pages >= needed;
}

/* The first one stays, unless it is a page's number; so does what is alone on its page. */
static void remove_group(struct pdf_words *w, const struct edge *group, uint32_t n)
{
    for (uint32_t i = group->is_label ? 0 : 1; i < n; i++)
        if (group->is_label || w->pages[group[i].page].line_n > 1)
            w->lines[group[i].line].is_gone = true;
}

void pdf_remove_furniture(struct pdf_words *w)
{
    struct edges edges = {0};
    for (uint32_t i = 0; i < w->page_n; i++)
        put_page(w, i, &edges);
    if (edges.n > 1)
        qsort(edges.at, edges.n, sizeof *edges.at, compare);
    for (uint32_t i = 0, end; i < edges.n; i = end) {
        uint32_t pages = 1;
        for (end = i + 1; end < edges.n && is_same(&edges.at[end - 1], &edges.at[end]); end++)
            pages += edges.at[end].page != edges.at[end - 1].page;
        if (is_repeated(&edges.at[i], pages, w->page_n))
            remove_group(w, &edges.at[i], end - i);
    }
    free(edges.at);
}
