/* SPDX-License-Identifier: MIT
 * table_rows.c - see table_rows.h. */
#include "shared/extract/table_rows.h"

#include <stdlib.h>

/* Limits. Of a cell that spans more than NARROW_COLUMNS, only a head is repeated: it is in the
 * first rows, and short. What is repeated may be so many times as much as the cells have, and some
 * more. */
enum {
    LINE_MAX_BYTES = 32 << 20,
    HEAD_ROWS = 2,
    HEAD_MAX_BYTES = 40,
    NARROW_COLUMNS = 2,
    REPEATED_PER_BYTE = 8,
    REPEATED_FREE_BYTES = 4096
};

void table_rows_init(struct table_rows *rows)
{
    *rows = (struct table_rows){0};
    buf_init(&rows->line, LINE_MAX_BYTES);
    buf_init(&rows->once, LINE_MAX_BYTES);
}

void table_rows_fini(struct table_rows *rows)
{
    for (unsigned i = 0; i < TABLE_COLUMNS_MAX; i++)
        free(rows->columns[i].text);
    buf_fini(&rows->line);
    buf_fini(&rows->once);
}

static void put(struct table_rows *rows, struct str text)
{
    if (rows->at > 0)
        buf_put(&rows->line, rows->was_empty && rows->at > 1 ? STR("| ") : STR(" | "));
    buf_put(&rows->line, text);
    rows->was_empty = text.n == 0;
    rows->at++;
}

static void put_again(struct table_rows *rows, struct str text)
{
    uint64_t most = rows->own_bytes * REPEATED_PER_BYTE + REPEATED_FREE_BYTES;
    bool has_room = rows->repeated_bytes + text.n <= most;
    rows->repeated_bytes += has_room ? text.n : 0;
    put(rows, has_room ? text : STR(""));
}

/* Puts what cells of rows above leave for the next columns; in a row without text of its own it is
 * only passed over. */
static void put_from_above(struct table_rows *rows, bool is_shown)
{
    while (rows->at < TABLE_COLUMNS_MAX && rows->columns[rows->at].rows_left > 0) {
        struct table_column *column = &rows->columns[rows->at];
        column->rows_left--;
        rows->has_above = true;
        if (is_shown)
            put_again(rows, str_of(column->text));
        else
            rows->at++;
    }
}

void table_rows_end_spans(struct table_rows *rows)
{
    for (unsigned i = 0; i < TABLE_COLUMNS_MAX; i++)
        rows->columns[i].rows_left = 0;
}

void table_rows_begin(struct table_rows *rows)
{
    buf_clear(&rows->line);
    buf_clear(&rows->once);
    rows->at = rows->cell_n = rows->narrow_n = 0;
    rows->has_text = rows->has_above = rows->was_empty = false;
    rows->row_n++;
}

void table_rows_put(struct table_rows *rows, struct str text, unsigned column_n, unsigned row_n)
{
    bool is_head = rows->row_n <= HEAD_ROWS && text.n <= HEAD_MAX_BYTES;
    struct str below = text.n <= TABLE_REPEATED_MAX_BYTES ? text : STR("");
    struct str beside = column_n > NARROW_COLUMNS && !is_head ? STR("") : below;
    put_from_above(rows, true);
    rows->own_bytes += text.n;
    rows->has_text |= text.n > 0;
    if (rows->cell_n++ > 0)
        buf_lit(&rows->once, " | ");
    buf_put(&rows->once, text);
    rows->narrow_n += column_n <= 1;
    for (unsigned i = 0; i < column_n && rows->at < TABLE_COLUMNS_MAX; i++) {
        struct table_column *column = &rows->columns[rows->at];
        free(column->text);
        struct str repeated = i == 0 ? below : beside;
        column->text = repeated.n > 0 ? str_copy(repeated) : NULL;
        column->rows_left = row_n > TABLE_ROWS_SPANNED_MAX ? TABLE_ROWS_SPANNED_MAX
                            : row_n > 0                    ? row_n - 1
                                                           : 0;
        if (i == 0)
            put(rows, text);
        else
            put_again(rows, beside);
    }
}

void table_rows_put_beside(struct table_rows *rows)
{
    bool has_left = rows->at > 0 && rows->at <= TABLE_COLUMNS_MAX;
    table_rows_put(rows, str_of(has_left ? rows->columns[rows->at - 1].text : NULL), 1, 1);
}

void table_rows_skip(struct table_rows *rows, unsigned column_n)
{
    put_from_above(rows, true);
    for (unsigned i = 0; i < column_n && rows->at < TABLE_COLUMNS_MAX; i++)
        put(rows, STR(""));
}

void table_rows_repeat(struct table_rows *rows, unsigned column_n)
{
    rows->has_above = true;
    rows->cell_n++;
    for (unsigned i = 0; i < column_n && rows->at < TABLE_COLUMNS_MAX; i++)
        put_again(rows, str_of(rows->columns[rows->at].text));
}

struct str table_rows_end(struct table_rows *rows)
{
    put_from_above(rows, rows->has_text);
    if (!rows->has_text)
        return STR("");
    bool is_other = rows->cell_n == 1 || rows->row_n > HEAD_ROWS;
    return buf_str(is_other && rows->narrow_n == 0 && !rows->has_above ? &rows->once : &rows->line);
}
