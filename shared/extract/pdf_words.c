/* SPDX-License-Identifier: MIT
 * pdf_words.c - see pdf_words.h. A row has twelve columns:
 *
 *   level page_num par_num block_num line_num word_num left top width height conf text
 *
 * Level 1 begins a page, 3 a block, 4 a line, 5 is a word. */
#include "shared/extract/pdf_words.h"

#include "shared/base/mem.h"
#include "shared/extract/pdf_places.h"
#include "shared/text/text.h"

enum {
    COLUMN_LEFT = 6,
    COLUMN_TEXT = 11,
    DIGITS_MAX = 7,
    PROSE_LINES = 3,
    PROSE_CHARS = 30,
    MARK_MAX_BYTES = 6,
};

/* ---- rows ---- */

struct row {
    char level;
    struct pdf_box box;
    struct str text;
};

/* A number as the program prints it; 0 for all else, and for what no page is wide. */
static float read_number(struct str s)
{
    bool is_negative = str_has_prefix(s, STR("-"));
    float value = 0, unit = 1;
    size_t at = is_negative, digits = 0;
    for (; at < s.n && s.at[at] >= '0' && s.at[at] <= '9'; at++, digits++)
        value = value * 10 + (float)(s.at[at] - '0');
    if (digits > DIGITS_MAX)
        return 0;
    if (at < s.n && s.at[at] == '.')
        for (at++; at < s.n && s.at[at] >= '0' && s.at[at] <= '9' && unit > 0.0001F; at++)
            value += (float)(s.at[at] - '0') * (unit /= 10);
    return is_negative ? -value : value;
}

static bool read_row(struct str line, struct row *ret_row)
{
    float numbers[4] = {0};
    struct row row = {.level = line.n > 1 && line.at[1] == '\t' ? *line.at : 0};
    for (unsigned column = 0; column < COLUMN_TEXT; column++) {
        struct str field = str_cut(&line, '\t');
        if (line.at == NULL)
            return false;
        if (column >= COLUMN_LEFT && column < COLUMN_LEFT + 4)
            numbers[column - COLUMN_LEFT] = read_number(field);
    }
    row.box =
        (struct pdf_box){numbers[0], numbers[1], numbers[0] + numbers[2], numbers[1] + numbers[3]};
    row.text = line;
    *ret_row = row;
    return true;
}

/* ---- building ---- */

/* Counts what a reader sees: no control characters, blanks, marks of width 0. */
static uint32_t count_seen(struct str text)
{
    uint32_t n = 0, c;
    for (size_t step; (step = text_char(text, &c)) > 0; text.at += step, text.n -= step)
        n += !(c <= 0x20 || (c >= 0x7f && c <= 0xa0) || c == 0xad || (c >= 0x200b && c <= 0x200f) ||
               (c >= 0x2028 && c <= 0x202e) || c == 0xfeff);
    return n;
}

static void begin_page(struct pdf_words *w, const struct row *row)
{
    w->pages = mem_grow(w->pages, w->page_n, sizeof *w->pages);
    /* Its left and top are those of the line before (poppler 22.12). */
    w->pages[w->page_n++] =
        (struct pdf_page){.line = w->line_n, .height = row->box.y1 - row->box.y0};
}

static void begin_block(struct pdf_words *w)
{
    w->blocks = mem_grow(w->blocks, w->block_n, sizeof *w->blocks);
    w->blocks[w->block_n++] = (struct pdf_block){.line = w->line_n};
}

static void begin_line(struct pdf_words *w)
{
    w->lines = mem_grow(w->lines, w->line_n, sizeof *w->lines);
    w->lines[w->line_n++] = (struct pdf_line){
        .word = w->word_n, .block = w->block_n - 1, .mark = PDF_NONE, .table = PDF_NONE};
    w->pages[w->page_n - 1].line_n++;
    w->blocks[w->block_n - 1].line_n++;
}

static void widen(struct pdf_box *box, const struct pdf_box *by)
{
    box->x0 = by->x0 < box->x0 ? by->x0 : box->x0;
    box->y0 = by->y0 < box->y0 ? by->y0 : box->y0;
    box->x1 = by->x1 > box->x1 ? by->x1 : box->x1;
    box->y1 = by->y1 > box->y1 ? by->y1 : box->y1;
}

static void put_word(struct pdf_words *w, const struct row *row, uint32_t char_n)
{
    struct pdf_line *line = &w->lines[w->line_n - 1];
    float height = row->box.y1 - row->box.y0;
    w->words = mem_grow(w->words, w->word_n, sizeof *w->words);
    w->words[w->word_n++] = (struct pdf_word){row->text, row->box};
    if (line->word_n == 0)
        line->box = row->box;
    else
        widen(&line->box, &row->box);
    line->height = height > line->height ? height : line->height;
    line->char_n += char_n + (line->word_n > 0);
    line->word_n++;
}

/* Is there a page, a block, a line that has to be begun before the next word? A line is begun by
 * its first word, so that none is empty. */
struct progress {
    bool needs_block, needs_line;
    struct pdf_places *places;
};

/* Does a word continue the last line, at its height and with the room of a blank between them?
 * Poppler ends a line where another word lies on top of it. */
static bool is_in_line(const struct pdf_words *w, const struct row *row)
{
    const struct pdf_box *before = &w->words[w->word_n - 1].box;
    float height = row->box.y1 - row->box.y0, gap = row->box.x0 - before->x1,
          move = pdf_middle(&row->box) - pdf_middle(before),
          growth = height - (before->y1 - before->y0);
    return gap > 0 && gap < height * 0.6F && (move < 0 ? -move : move) < height * 0.15F &&
           (growth < 0 ? -growth : growth) < height * 0.2F;
}

static void take_word(struct pdf_words *w, const struct row *row, struct progress *progress)
{
    uint32_t char_n = count_seen(row->text);
    if (w->page_n == 0 || char_n == 0 ||
        !pdf_places_take(progress->places, w->page_n, row->text, &row->box))
        return;
    if (progress->needs_block)
        begin_block(w);
    if (progress->needs_block || (progress->needs_line && !is_in_line(w, row)))
        begin_line(w);
    progress->needs_block = progress->needs_line = false;
    put_word(w, row, char_n);
}

static void put_row(struct pdf_words *w, const struct row *row, struct progress *progress)
{
    switch (row->level) {
    case '1':
        begin_page(w, row);
        progress->needs_block = true;
        break;
    case '3': progress->needs_block = true; break;
    case '4': progress->needs_line = true; break;
    case '5': take_word(w, row, progress); break;
    default: break;
    }
}

/* ---- what lines and blocks are like ---- */

static bool is_turned(const struct pdf_words *w, const struct pdf_line *line)
{
    const struct pdf_box *first = &pdf_first(w, line)->box, *last = &pdf_last(w, line)->box;
    if (line->word_n == 1)
        return line->char_n >= 3 && first->y1 - first->y0 > 2 * pdf_width(first) &&
               pdf_width(first) > 0;
    float dx = last->x0 - first->x0, dy = pdf_middle(last) - pdf_middle(first);
    return (dy < 0 ? -dy : dy) > (dx < 0 ? -dx : dx);
}

static void describe(struct pdf_words *w, struct pdf_block *block)
{
    uint64_t char_n = 0;
    for (uint32_t i = block->line; i < block->line + block->line_n; i++) {
        struct pdf_line *line = &w->lines[i];
        line->is_turned = is_turned(w, line);
        char_n += line->char_n;
        block->x0 = i == block->line || line->box.x0 < block->x0 ? line->box.x0 : block->x0;
        block->x1 = i == block->line || line->box.x1 > block->x1 ? line->box.x1 : block->x1;
    }
    block->is_prose =
        block->line_n >= PROSE_LINES && char_n >= (uint64_t)block->line_n * PROSE_CHARS;
}

void pdf_words_read(struct str tsv, struct pdf_words *ret_words)
{
    struct pdf_words w = {0};
    struct pdf_places places;
    struct progress progress = {.needs_block = true, .needs_line = true, .places = &places};
    struct row row;
    pdf_places_init(&places);
    while (tsv.n > 0)
        if (read_row(str_cut(&tsv, '\n'), &row))
            put_row(&w, &row, &progress);
    pdf_places_fini(&places);
    for (uint32_t i = 0; i < w.block_n; i++)
        describe(&w, &w.blocks[i]);
    *ret_words = w;
}

void pdf_words_fini(struct pdf_words *w)
{
    free(w->words);
    free(w->lines);
    free(w->blocks);
    free(w->pages);
    *w = (struct pdf_words){0};
}

/* ---- questions ---- */

bool pdf_is_wrapped(const struct pdf_words *w, const struct pdf_line *before,
                    const struct pdf_line *next, float width)
{
    float needed =
        pdf_width(&before->box) + before->height / 4 + pdf_width(&pdf_first(w, next)->box);
    return needed > width - before->height / 4;
}

static bool is_bullet(uint32_t c)
{
    return c == 0x2022 || c == 0x2023 || c == 0x2043 || c == 0x2219 || c == 0xb7 || c == 0x25cf ||
           c == 0x25cb || c == 0x25aa || c == 0x25ab || c == 0x25a0 || c == 0x25a1 || c == 0x25e6 ||
           c == 0x2013 || c == 0x2014 || c == 0x2212 || c == '-' || c == '*' ||
           (c >= 0x2713 && c <= 0x2718) || (c >= 0x2794 && c <= 0x27be) ||
           (c >= 0xf000 && c <= 0xf0ff);
}

/* Digits, or letters as in a), iv), with "." or ")" after them. */
static bool is_number(struct str word)
{
    size_t n = 0;
    bool has_digit = false;
    if (word.n > 0 && *word.at == '(')
        word = (struct str){word.at + 1, word.n - 1};
    for (; n < word.n && ((word.at[n] >= '0' && word.at[n] <= '9') || word.at[n] == '.'); n++)
        has_digit |= word.at[n] != '.';
    if (has_digit && n == word.n)
        return word.at[n - 1] == '.';
    while (!has_digit && n < word.n && word.at[n] >= 'a' && word.at[n] <= 'z' && n < 4)
        n++;
    if (!has_digit && n == 0 && word.n == 2 && word.at[0] >= 'A' && word.at[0] <= 'Z')
        n++;
    return n > 0 && n + 1 == word.n && (word.at[n] == ')' || (word.at[n] == '.' && n == 1));
}

bool pdf_is_mark_word(struct str word)
{
    uint32_t c;
    if (word.n == 0 || word.n > MARK_MAX_BYTES)
        return false;
    return (text_char(word, &c) == word.n && is_bullet(c)) || is_number(word);
}

bool pdf_is_mark(const struct pdf_words *w, const struct pdf_line *line)
{
    return line->word_n == 1 && pdf_is_mark_word(pdf_first(w, line)->text);
}
