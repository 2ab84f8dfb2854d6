/* SPDX-License-Identifier: MIT
 * table_rows.c - see table_rows.h. */
#include "shared/extract/table_rows.h"

#include <stdlib.h>

enum { LINE_MAX_BYTES = 32 << 20 };

void table_rows_init(struct table_rows *rows)
{
    *rows = (struct table_rows){0};
    buf_init(&rows->line, LINE_MAX_BYTES);
}

void table_rows_fini(struct table_rows *rows)
{
    for (unsigned i = 0; i < TABLE_COLUMNS_MAX; i++)
        free(rows->columns[i].text);
    buf_fini(&rows->line);
}

static void put(struct table_rows *rows, struct str text)
{
    if (rows->at > 0)
        buf_lit(&rows->line, " | ");
    buf_put(&rows->line, text);
    rows->has_text |= text.n > 0;
    rows->at++;
}

/* Puts what cells of rows above leave for the next columns. */
static void put_from_above(struct table_rows *rows)
{
    while (rows->at < TABLE_COLUMNS_MAX && rows->columns[rows->at].rows_left > 0) {
        struct table_column *column = &rows->columns[rows->at];
        bool has_text = rows->has_text;
        column->rows_left--;
        put(rows, str_of(column->text));
        rows->has_text = has_text;
    }
}

void table_rows_begin(struct table_rows *rows)
{
    buf_clear(&rows->line);
    rows->at = 0;
    rows->has_text = false;
    rows->cell_n = 0;
}

void table_rows_put(struct table_rows *rows, struct str text, unsigned column_n, unsigned row_n)
{
    struct str repeated = text.n <= TABLE_REPEATED_MAX_BYTES ? text : STR("");
    put_from_above(rows);
    rows->cell_n++;
    if (rows->cell_n == 1) {
        rows->first_bytes = text.n;
        rows->first_columns = column_n;
    }
    for (unsigned i = 0; i < column_n && rows->at < TABLE_COLUMNS_MAX; i++) {
        struct table_column *column = &rows->columns[rows->at];
        free(column->text);
        column->text = repeated.n > 0 ? str_copy(repeated) : NULL;
        column->rows_left = row_n > TABLE_ROWS_SPANNED_MAX ? TABLE_ROWS_SPANNED_MAX
                            : row_n > 0                    ? row_n - 1
                                                           : 0;
        put(rows, i == 0 ? text : repeated);
    }
}

void table_rows_repeat(struct table_rows *rows, unsigned column_n)
{
    bool has_text = rows->has_text;
    rows->cell_n++;
    for (unsigned i = 0; i < column_n && rows->at < TABLE_COLUMNS_MAX; i++)
        put(rows, str_of(rows->columns[rows->at].text));
    rows->has_text = has_text;
}

struct str table_rows_end(struct table_rows *rows)
{
    bool is_whole = rows->cell_n == 1 && rows->at == rows->first_columns && rows->at > 1;
    put_from_above(rows);
    if (!rows->has_text)
        return STR("");
    return (struct str){rows->line.at, is_whole ? rows->first_bytes : rows->line.n};
}
