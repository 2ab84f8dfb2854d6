/* SPDX-License-Identifier: MIT
 * sheet_rows.c - see sheet_rows.h. The first row with two texts, no number and no text twice has
 * the heads; single cells above it are titles. After empty rows another such row begins a new
 * table, if the one before it had numbers. */
#include "shared/extract/sheet_rows.h"

#include "shared/base/mem.h"

#include <stdlib.h>

enum { TEXTS_MAX_BYTES = 32 << 20, HEAD_MAX_BYTES = 100, HEADS_MAX = 256, BEFORE_MAX = 20 };

void sheet_rows_init(struct sheet_rows *rows, struct buf *out)
{
    *rows = (struct sheet_rows){.out = out};
    buf_init(&rows->row.texts, TEXTS_MAX_BYTES);
    buf_init(&rows->heads.texts, TEXTS_MAX_BYTES);
    sheet_rows_begin(rows, STR(""));
}

void sheet_rows_fini(struct sheet_rows *rows)
{
    free(rows->row.cells);
    free(rows->heads.cells);
    buf_fini(&rows->row.texts);
    buf_fini(&rows->heads.texts);
}

void sheet_rows_begin(struct sheet_rows *rows, struct str name)
{
    rows->name = name;
    rows->has_heads = rows->has_numbers = false;
    rows->may_have_heads = true;
    rows->before_n = 0;
    rows->last_number = 0;
    rows->row.n = 0;
    buf_clear(&rows->row.texts);
}

/* Puts a text on one line. */
static void put_on_line(struct buf *b, struct str text)
{
    bool is_parted = false;
    size_t from = b->n;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c <= ' ') {
            is_parted = true;
            continue;
        }
        if (is_parted && b->n > from)
            buf_put_char(b, ' ');
        is_parted = false;
        buf_put_char(b, (char)c);
    }
}

void sheet_rows_put(struct sheet_rows *rows, unsigned column, struct str text, bool is_number)
{
    struct sheet_row *row = &rows->row;
    struct sheet_cell cell = {.column = column, .from = row->texts.n, .is_number = is_number};
    if (row->n >= SHEET_CELLS_MAX)
        return;
    put_on_line(&row->texts, text);
    cell.n = row->texts.n - cell.from;
    if (cell.n == 0)
        return;
    row->cells = mem_grow(row->cells, row->n, sizeof *row->cells);
    row->cells[row->n++] = cell;
}

static struct str text_of(const struct sheet_row *row, const struct sheet_cell *cell)
{
    return (struct str){row->texts.at + cell->from, cell->n};
}

/* ---- heads ---- */

static int compare_texts(const void *a, const void *b)
{
    return str_compare(*(const struct str *)a, *(const struct str *)b);
}

static bool has_twins(const struct sheet_row *row)
{
    struct str texts[HEADS_MAX];
    for (size_t i = 0; i < row->n; i++)
        texts[i] = text_of(row, &row->cells[i]);
    qsort(texts, row->n, sizeof *texts, compare_texts);
    for (size_t i = 1; i < row->n; i++)
        if (str_eq(texts[i - 1], texts[i]))
            return true;
    return false;
}

static bool are_heads(const struct sheet_row *row)
{
    if (row->n < 2 || row->n > HEADS_MAX)
        return false;
    for (size_t i = 0; i < row->n; i++)
        if (row->cells[i].is_number || row->cells[i].n > HEAD_MAX_BYTES)
            return false;
    return !has_twins(row);
}

/* The row becomes the heads, and the former heads the next row's memory. */
static void take_heads(struct sheet_rows *rows)
{
    struct sheet_row former = rows->heads;
    rows->heads = rows->row;
    rows->row = former;
    rows->has_heads = true;
    rows->may_have_heads = rows->has_numbers = false;
}

static struct str head_of(const struct sheet_rows *rows, unsigned column, size_t *hint)
{
    const struct sheet_row *heads = &rows->heads;
    for (size_t i = 0; i < heads->n; i++) {
        const struct sheet_cell *head = &heads->cells[(*hint + i) % heads->n];
        if (head->column == column) {
            *hint = (*hint + i + 1) % heads->n;
            return text_of(heads, head);
        }
    }
    return STR("");
}

/* ---- rows ---- */

static void begin_line(struct sheet_rows *rows)
{
    if (rows->name.n > 0) {
        buf_put(rows->out, rows->out->n > 0 ? STR("\n\n## ") : STR("## "));
        put_on_line(rows->out, rows->name);
        buf_lit(rows->out, "\n");
    }
    if (rows->out->n > 0)
        buf_put_char(rows->out, '\n');
    rows->name = STR("");
}

static void put_row(struct sheet_rows *rows)
{
    const struct sheet_row *row = &rows->row;
    size_t hint = 0;
    begin_line(rows);
    for (size_t i = 0; i < row->n && !rows->out->is_over; i++) {
        bool is_known = rows->has_heads && i < 2 * HEADS_MAX;
        struct str head = is_known ? head_of(rows, row->cells[i].column, &hint) : STR("");
        if (i > 0)
            buf_lit(rows->out, " | ");
        buf_put(rows->out, head);
        if (head.n > 0)
            buf_put(rows->out, head.at[head.n - 1] == ':' ? STR(" ") : STR(": "));
        buf_put(rows->out, text_of(row, &row->cells[i]));
    }
}

static void find_heads(struct sheet_rows *rows, uint64_t number)
{
    const struct sheet_row *row = &rows->row;
    bool is_after_gap = number > rows->last_number + 1 && rows->last_number > 0;
    if (is_after_gap && rows->has_numbers) {
        rows->may_have_heads = true;
        rows->before_n = 0;
    }
    if (!rows->may_have_heads)
        return;
    if (are_heads(row)) {
        rows->has_heads = false;
        put_row(rows);
        take_heads(rows);
        rows->row.n = 0;
    } else if (row->n > 1 || ++rows->before_n > BEFORE_MAX) {
        rows->may_have_heads = false;
    }
}

void sheet_rows_end(struct sheet_rows *rows, uint64_t number)
{
    if (rows->row.n > 0) {
        find_heads(rows, number);
        rows->last_number = number;
    }
    if (rows->row.n > 0)
        put_row(rows);
    for (size_t i = 0; i < rows->row.n; i++)
        rows->has_numbers |= rows->row.cells[i].is_number;
    rows->row.n = 0;
    buf_clear(&rows->row.texts);
}
