/* SPDX-License-Identifier: MIT
 *
 * pdf_words: the words of a PDF with their places, as `pdftotext -tsv` prints them: pages, blocks
 * (paragraphs and cells), lines, words, in poppler's reading order. Places are in points from the
 * upper left corner. Pure functions, any thread; any bytes are safe.
 */
#ifndef PARLEY_EXTRACT_PDF_WORDS_H
#define PARLEY_EXTRACT_PDF_WORDS_H

#include "shared/base/str.h"
#include "shared/extract/pdf_box.h"

struct pdf_word {
    struct str text; /* borrowed; it has something to be seen */
    struct pdf_box box;
};

enum { PDF_NONE = UINT32_MAX };

struct pdf_line {
    uint32_t word, word_n; /* its first word, and how many; at least one */
    uint32_t block, char_n;
    struct pdf_box box;
    float height;   /* of its tallest word */
    bool is_turned; /* its words are one above the other */
    bool is_gone;   /* not printed at its place (pdf_furniture.h, pdf_tables.h) */
    uint32_t mark;  /* the line that is its bullet or number, or PDF_NONE */
    uint32_t table; /* the table that it is a cell of, or PDF_NONE */
};

struct pdf_block {
    uint32_t line, line_n;
    float x0, x1;
    bool is_prose; /* several long lines: no cell of a table */
};

struct pdf_page {
    uint32_t line, line_n;
    float height;
};

struct pdf_words {
    struct pdf_word *words;
    struct pdf_line *lines;
    struct pdf_block *blocks;
    struct pdf_page *pages;
    uint32_t word_n, line_n, block_n, page_n;
};

/* Reads it all; rows that are none of `pdftotext -tsv` are skipped. pdf_words_fini frees it. */
void pdf_words_read(struct str tsv, struct pdf_words *ret_words);
void pdf_words_fini(struct pdf_words *words);

/* The first word of a line. */
static inline const struct pdf_word *pdf_first(const struct pdf_words *w,
                                               const struct pdf_line *line)
{
    return &w->words[line->word];
}
/* The last word of a line. */
static inline const struct pdf_word *pdf_last(const struct pdf_words *w,
                                              const struct pdf_line *line)
{
    return &w->words[line->word + line->word_n - 1];
}
/* Returns whether a line of which `before` is the end and `next` the beginning would have been
 * wider than `width`: then it was broken because there was no room. */
bool pdf_is_wrapped(const struct pdf_words *w, const struct pdf_line *before,
                    const struct pdf_line *next, float width);
/* Returns whether the line is a mark before an item: a bullet, "3.", "b)", "(iv)". */
bool pdf_is_mark(const struct pdf_words *w, const struct pdf_line *line);
/* The same for a word. */
bool pdf_is_mark_word(struct str word);

#endif
