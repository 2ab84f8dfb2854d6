/* SPDX-License-Identifier: MIT
 * rtf_text.c - see rtf_text.h. A cell, a note and a mark have flows of their own while they are
 * open. */
#include "shared/extract/rtf_text.h"

#include "shared/text/fold.h"
#include "shared/text/text.h"

#include <stdio.h>

enum { TEXT_MAX_BYTES = 32 << 20, MARK_TEXT_MAX_BYTES = 4096, MIDDLE_DOT = 0xb7 };

void rtf_text_init(struct rtf_text *text, struct buf *out)
{
    *text = (struct rtf_text){.flow.out = out};
    buf_init(&text->notes, TEXT_MAX_BYTES);
    buf_init(&text->cell, TEXT_MAX_BYTES);
    buf_init(&text->mark_text, MARK_TEXT_MAX_BYTES);
    table_rows_init(&text->rows);
}

void rtf_text_fini(struct rtf_text *text)
{
    buf_fini(&text->notes);
    buf_fini(&text->cell);
    buf_fini(&text->mark_text);
    table_rows_fini(&text->rows);
}

/* ---- paragraphs ---- */

static void begin_cell(struct rtf_text *text)
{
    if (!text->is_row_open) {
        flow_break(&text->flow, text->was_row ? 1 : 2);
        table_rows_begin(&text->rows);
        text->cell_n = 0;
    }
    text->is_row_open = text->is_cell_open = true;
    text->outer_of_cell = text->flow;
    buf_clear(&text->cell);
    text->flow = (struct flow){.out = &text->cell, .cell_depth = 1};
}

/* The first text of a paragraph. */
static void begin_paragraph(struct rtf_text *text)
{
    static const char marks[] = "###### ";
    if (text->is_begun || text->is_in_mark)
        return;
    text->is_begun = true;
    if (text->is_in_table && !text->is_cell_open && !text->is_in_note)
        begin_cell(text);
    flow_break(&text->flow, text->is_item && text->was_item ? 1 : 2);
    text->was_item = text->is_item;
    text->was_row &= text->is_cell_open;
    if (text->is_item)
        flow_mark(&text->flow, str_of(text->mark));
    else if (text->heading > 0)
        flow_mark(&text->flow, str_of(marks + 6 - text->heading));
}

void rtf_text_put(struct rtf_text *text, struct str letters, char script)
{
    struct flow *flow = &text->flow;
    if (letters.n == 0)
        return;
    begin_paragraph(text);
    bool is_close = flow->newlines == 0 && flow->spaces == 0 && flow->out->n > 0;
    if (script != 0 && script != text->last_script && is_close)
        flow_put(flow, (struct str){&script, 1});
    text->last_script = script;
    flow_put(flow, letters);
}

void rtf_text_end_paragraph(struct rtf_text *text)
{
    text->is_begun = text->is_item = false;
    text->last_script = 0;
    flow_mark(&text->flow, STR(""));
    flow_break(&text->flow, 1);
}

/* ---- tables ---- */

void rtf_text_end_cell(struct rtf_text *text)
{
    if (text->is_in_note || text->is_in_mark)
        return;
    if (!text->is_cell_open)
        begin_cell(text);
    text->is_cell_open = text->is_begun = text->is_item = false;
    text->flow = text->outer_of_cell;
    enum rtf_cell cell = text->cell_n < text->defined_n ? text->cells[text->cell_n] : RTF_CELL_OWN;
    text->cell_n++;
    if (cell == RTF_CELL_BESIDE && text->cell.n == 0)
        table_rows_put_beside(&text->rows);
    else if (cell == RTF_CELL_BELOW && text->cell.n == 0)
        table_rows_repeat(&text->rows, 1);
    else
        table_rows_put(&text->rows, buf_str(&text->cell), 1, 1);
}

void rtf_text_end_row(struct rtf_text *text)
{
    if (text->is_in_note || text->is_in_mark || !text->is_row_open)
        return;
    if (text->is_cell_open)
        rtf_text_end_cell(text);
    text->is_row_open = false;
    struct str line = table_rows_end(&text->rows);
    if (line.n > 0)
        flow_put_line(&text->flow, line);
    text->was_row = true;
    text->was_item = false;
}

/* ---- notes and marks ---- */

bool rtf_text_begin_note(struct rtf_text *text)
{
    char mark[16];
    if (text->is_in_note || text->is_in_mark)
        return false;
    snprintf(mark, sizeof mark, "[%u]", ++text->note_n);
    begin_paragraph(text);
    flow_put(&text->flow, str_of(mark));
    text->is_in_note = true;
    text->outer_of_note = text->flow;
    if (text->notes.n > 0)
        buf_lit(&text->notes, "\n\n");
    buf_put(&text->notes, str_of(mark));
    text->flow =
        (struct flow){.out = &text->notes, .has_begun = true, .spaces = 1, .cell_depth = 1};
    return true;
}

void rtf_text_end_note(struct rtf_text *text)
{
    text->is_in_note = false;
    text->flow = text->outer_of_note;
    text->is_begun = true; /* the paragraph that it interrupted */
}

bool rtf_text_begin_mark(struct rtf_text *text)
{
    if (text->is_in_mark)
        return false;
    text->is_in_mark = true;
    text->outer_of_mark = text->flow;
    buf_clear(&text->mark_text);
    text->flow = (struct flow){.out = &text->mark_text, .cell_depth = 1};
    return true;
}

static bool has_word(struct str s)
{
    while (s.n > 0) {
        uint32_t code;
        size_t n = text_char(s, &code);
        if (code != MIDDLE_DOT && fold_is_word(code))
            return true;
        s = (struct str){s.at + n, s.n - n};
    }
    return false;
}

void rtf_text_end_mark(struct rtf_text *text)
{
    struct str mark = buf_str(&text->mark_text);
    int shown = (int)(mark.n < RTF_MARK_MAX_BYTES - 2 ? mark.n : RTF_MARK_MAX_BYTES - 2);
    text->is_in_mark = false;
    text->flow = text->outer_of_mark;
    text->is_item = !text->is_begun && str_trim(mark).n > 0;
    if (has_word(mark))
        snprintf(text->mark, sizeof text->mark, "%.*s ", shown, mark.at);
    else
        snprintf(text->mark, sizeof text->mark, "- ");
}

void rtf_text_finish(struct rtf_text *text, struct buf *out)
{
    rtf_text_end_row(text);
    if (text->notes.n > 0) {
        buf_lit(out, "\n\n");
        buf_put(out, buf_str(&text->notes));
    }
    out->is_over |= text->notes.is_over || text->cell.is_over;
}
