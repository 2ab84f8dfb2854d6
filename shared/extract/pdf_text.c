/* SPDX-License-Identifier: MIT
 * pdf_text.c - see pdf_text.h. Lines are printed in poppler's reading order. What comes between two
 * of them depends on why the first one ended: a space if the next word had no room, a line end if
 * it had, an empty line between blocks, unless a sentence continues in the next block or on the
 * next page. */
#include "shared/extract/pdf_text.h"

#include "shared/extract/pdf_characters.h"
#include "shared/extract/pdf_flow.h"
#include "shared/extract/pdf_furniture.h"
#include "shared/extract/pdf_hyphens.h"
#include "shared/extract/pdf_line.h"
#include "shared/extract/pdf_tables.h"

/* FULL_CHARS: a line of fewer did not end for want of room. */
enum { SENTENCE_WORDS = 3, FULL_CHARS = 12 };

struct printer {
    struct buf *text;
    const struct pdf_words *w;
    const struct pdf_tables *tables;
    struct pdf_hyphens hyphens;
    const struct pdf_line *before; /* the last line of a paragraph; NULL after a table */
    bool is_page_due;              /* a form feed comes before the next line */
};

/* ---- between two lines ---- */

/* Does the sentence that `before` ends with continue with `next`? */
static bool continues(const struct printer *p, const struct pdf_line *next)
{
    const struct pdf_line *before = p->before;
    if (before == NULL || before->is_turned || next->is_turned || next->mark != PDF_NONE ||
        before->word_n < SENTENCE_WORDS || next->word_n < SENTENCE_WORDS ||
        pdf_is_mark_word(pdf_first(p->w, next)->text))
        return false;
    uint32_t end = pdf_last_character(pdf_last(p->w, before)->text);
    uint32_t first = pdf_first_character(pdf_first(p->w, next)->text);
    bool is_open = pdf_is_lower(end) || end == ',' || end == '-' || end == 0x2010;
    bool is_number = first >= '0' && first <= '9' &&
                     pdf_is_lower(pdf_first_character(p->w->words[next->word + 1].text));
    return is_open && (pdf_is_lower(first) || is_number);
}

static enum pdf_join join_of(const struct printer *p, const struct pdf_line *next)
{
    return pdf_hyphens_join(&p->hyphens, pdf_last(p->w, p->before)->text,
                            pdf_first(p->w, next)->text);
}

/* Are they lines of one paragraph, where the second one began for want of room? */
static bool is_one_paragraph(const struct printer *p, const struct pdf_line *next)
{
    const struct pdf_block *block = &p->w->blocks[next->block];
    bool has_parted = join_of(p, next) == PDF_JOIN_WORD || join_of(p, next) == PDF_JOIN_COMPOUND;
    if (next->is_turned || next->mark != PDF_NONE || pdf_has_leader(p->w, p->before) ||
        pdf_is_mark_word(pdf_first(p->w, next)->text))
        return false;
    if (has_parted)
        return true;
    uint32_t wide = pdf_is_ideograph(pdf_first_character(pdf_first(p->w, next)->text)) ? 2 : 1;
    return p->before->char_n * wide >= FULL_CHARS &&
           pdf_is_wrapped(p->w, p->before, next, block->x1 - p->before->box.x0);
}

/* Puts the beginning of `next` up to where it may be parted from the line before, and returns how
 * many of its words that were. */
static uint32_t put_joined(struct printer *p, const struct pdf_line *next)
{
    switch (join_of(p, next)) {
    case PDF_JOIN_SPACE: buf_put_char(p->text, ' '); return 0;
    case PDF_JOIN_NONE: return 0;
    case PDF_JOIN_WORD: pdf_drop_hyphen(p->text); break;
    case PDF_JOIN_COMPOUND: break;
    }
    pdf_put_characters(p->text, pdf_first(p->w, next)->text);
    if (next->word_n > 1)
        buf_put_char(p->text, ' ');
    return 1;
}

static void put_page_end(struct printer *p)
{
    if (p->is_page_due)
        buf_put_char(p->text, '\f');
    p->is_page_due = false;
}

/* Puts what comes before `next` and returns how many of its words are in it. */
static uint32_t put_break(struct printer *p, const struct pdf_line *next)
{
    uint32_t word_n = 0;
    bool is_same_block = p->before != NULL && p->before->block == next->block && !p->is_page_due;
    if (p->text->n == 0) {
        put_page_end(p);
        return 0;
    }
    if (p->before != NULL && (is_same_block ? is_one_paragraph(p, next) : continues(p, next))) {
        word_n = put_joined(p, next);
        if (p->is_page_due && word_n == next->word_n)
            buf_put_char(p->text, '\n');
    } else {
        buf_put(p->text, is_same_block ? STR("\n") : STR("\n\n"));
    }
    put_page_end(p);
    return word_n;
}

/* ---- lines and tables ---- */

/* Puts a line without its first words, which are printed already. */
static void put_rest(struct printer *p, const struct pdf_line *line, uint32_t done)
{
    if (line->mark != PDF_NONE) {
        pdf_put_line(p->text, p->w, &p->w->lines[line->mark], 0);
        buf_put_char(p->text, ' ');
    }
    pdf_put_line(p->text, p->w, line, done);
    p->before = line;
}

/* Puts the lines of one cell, from number `i` on, and returns where the next one begins. */
static uint32_t put_cell(struct printer *p, const struct pdf_table *table, uint32_t i)
{
    const struct pdf_cell *cells = p->tables->cells;
    uint32_t end = table->cell + table->cell_n, first = i;
    p->before = NULL;
    for (; i < end && cells[i].row == cells[first].row && cells[i].column == cells[first].column;
         i++) {
        const struct pdf_line *line = &p->w->lines[cells[i].line];
        put_rest(p, line, p->before != NULL ? put_joined(p, line) : 0);
    }
    return i;
}

/* Puts what is between two cells of a row: only a space after a label ("Weight:"), a mark, or dots
 * that lead to the only other column, as in a table of contents. */
static void put_bar(struct printer *p, const struct pdf_table *table, const struct pdf_cell *next)
{
    const struct pdf_line *before = p->before;
    struct str last = pdf_last(p->w, before)->text;
    bool is_label = last.at[last.n - 1] == ':' || pdf_is_mark(p->w, before) ||
                    (table->column_n == 2 && pdf_has_leader(p->w, before));
    uint32_t empty_n = next->column - next[-1].column;
    if (is_label && empty_n == 1) {
        pdf_put_space(p->text);
        return;
    }
    if (p->text->n > 0 && p->text->at[p->text->n - 1] == ' ')
        p->text->n--; /* dots were there */
    buf_lit(p->text, " |");
    for (; empty_n > 1; empty_n--)
        buf_lit(p->text, " |");
    buf_put_char(p->text, ' ');
}

/* Puts the row that begins with number `i`, and returns where the next one begins. Empty cells
 * before the first one count only where others come after it. */
static uint32_t put_row(struct printer *p, const struct pdf_table *table, uint32_t i)
{
    const struct pdf_cell *cells = p->tables->cells;
    uint32_t end = i, first = i;
    while (end < table->cell + table->cell_n && cells[end].row == cells[i].row)
        end++;
    bool is_lone = cells[end - 1].column == cells[i].column;
    for (uint32_t k = 0; !is_lone && k < cells[i].column; k++)
        buf_lit(p->text, " | ");
    while (i < end) {
        if (i > first)
            put_bar(p, table, &cells[i]);
        i = put_cell(p, table, i);
    }
    return end;
}

static void put_table(struct printer *p, const struct pdf_table *table)
{
    if (p->text->n > 0)
        buf_lit(p->text, "\n\n");
    put_page_end(p);
    for (uint32_t i = table->cell; i < table->cell + table->cell_n;) {
        if (i > table->cell)
            buf_put_char(p->text, '\n');
        i = put_row(p, table, i);
    }
    p->before = NULL;
}

static void put_page(struct printer *p, const struct pdf_page *page)
{
    for (uint32_t i = page->line; i < page->line + page->line_n; i++) {
        const struct pdf_line *line = &p->w->lines[i];
        if (line->is_gone)
            continue;
        if (line->table == PDF_NONE)
            put_rest(p, line, put_break(p, line));
        else if (p->tables->tables[line->table].line == i)
            put_table(p, &p->tables->tables[line->table]);
    }
}

void pdf_put_text(struct buf *text, struct str tsv)
{
    struct pdf_words words;
    struct pdf_tables tables;
    pdf_words_read(tsv, &words);
    pdf_remove_furniture(&words);
    pdf_order_columns(&words);
    pdf_find_tables(&words, &tables);
    struct printer p = {.text = text, .w = &words, .tables = &tables};
    pdf_hyphens_init(&p.hyphens, &words);
    for (uint32_t i = 0; i < words.page_n; i++) {
        if (p.is_page_due) {
            buf_put(text, text->n > 0 ? STR("\n\n\f") : STR("\f")); /* the page before is empty */
            p.before = NULL;
        }
        p.is_page_due = i > 0;
        put_page(&p, &words.pages[i]);
    }
    if (text->n > 0)
        buf_put_char(text, '\n');
    pdf_hyphens_fini(&p.hyphens);
    pdf_tables_fini(&tables);
    pdf_words_fini(&words);
}
