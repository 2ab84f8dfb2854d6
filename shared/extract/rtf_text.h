/* SPDX-License-Identifier: MIT
 *
 * rtf_text: the text of an RTF document while it is read: paragraphs with their marks, rows of
 * tables, and notes, which come after the text. One document; one thread.
 */
#ifndef PARLEY_EXTRACT_RTF_TEXT_H
#define PARLEY_EXTRACT_RTF_TEXT_H

#include "shared/extract/flow.h"
#include "shared/extract/table_rows.h"

enum { RTF_MARK_MAX_BYTES = 64 };

/* Whose text a cell of a table has. */
enum rtf_cell { RTF_CELL_OWN, RTF_CELL_BESIDE, RTF_CELL_BELOW };

struct rtf_text {
    struct flow flow, outer_of_note, outer_of_cell, outer_of_mark;
    struct buf notes, cell, mark_text;
    struct table_rows rows;
    /* The cells of the row, which its reader sets; `defined`: of the next. */
    enum rtf_cell cells[TABLE_COLUMNS_MAX], defined;
    unsigned defined_n, cell_n; /* cell_n: those that have ended */
    unsigned note_n;
    bool is_cell_open, is_row_open, is_in_note, is_in_mark;
    /* The paragraph that is open; its reader sets the first two. */
    unsigned heading; /* 1 to 6; 0: none */
    bool is_in_table;
    bool is_begun, is_item, was_item, was_row;
    char last_script;
    char mark[RTF_MARK_MAX_BYTES];
};

/* Begins; `out` is borrowed. */
void rtf_text_init(struct rtf_text *text, struct buf *out);
void rtf_text_fini(struct rtf_text *text);

/* Puts letters, which are raised ('^'), lowered ('_') or neither (0). */
void rtf_text_put(struct rtf_text *text, struct str letters, char script);
void rtf_text_end_paragraph(struct rtf_text *text);
void rtf_text_end_cell(struct rtf_text *text);
void rtf_text_end_row(struct rtf_text *text);
/* Begins a note, or the number or sign of an item; false if one is open already. */
bool rtf_text_begin_note(struct rtf_text *text) must_check;
void rtf_text_end_note(struct rtf_text *text);
bool rtf_text_begin_mark(struct rtf_text *text) must_check;
void rtf_text_end_mark(struct rtf_text *text);
/* Puts what is left: a row, and the notes. */
void rtf_text_finish(struct rtf_text *text, struct buf *out);

#endif
