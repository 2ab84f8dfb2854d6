/* SPDX-License-Identifier: MIT
 * show_rows.c - see show_rows.h. The rows are read twice: for the columns' widths, and to print. */
#include "services/commands/show_rows.h"

#include "shared/base/json_scan.h"
#include "shared/base/shown.h"

#include <stdio.h>

enum { COLUMNS_MAX = 24, CELL_MAX_BYTES = 4096 };

struct column {
    struct str name;
    size_t width;
    bool is_number; /* so far: to the right */
};

struct row {
    struct json_member members[COLUMNS_MAX];
    size_t n;
};

static bool next_row(struct str *rest, struct row *ret_row)
{
    while (rest->at != NULL && rest->n > 0) {
        const char *reason;
        size_t at;
        bool is_object;
        if (json_scan_object(str_cut(rest, '\n'), ret_row->members, COLUMNS_MAX, &ret_row->n,
                             &reason, &at, &is_object) &&
            ret_row->n <= COLUMNS_MAX)
            return true;
    }
    return false;
}

/* Puts what people see of a value: a text without what is not seen, other values as they came. */
static void put_shown(struct buf *b, const struct json_span *value)
{
    struct buf plain;
    if (value->kind != JSON_SPAN_TEXT) {
        buf_put_shown(b, value->raw);
        return;
    }
    buf_init(&plain, CELL_MAX_BYTES);
    buf_put_span_text(&plain, value);
    buf_put_shown(b, buf_str(&plain));
    buf_fini(&plain);
}

/* --- a table ---------------------------------------------------------------------------------- */

static size_t count_characters(struct str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.at[i] & 0xc0) != 0x80;
    return n;
}

static struct column *column_of(struct column *columns, size_t *n, struct str name)
{
    size_t i = 0;
    while (i < *n && !str_eq(columns[i].name, name))
        i++;
    if (i == COLUMNS_MAX)
        return NULL;
    if (i == *n) {
        columns[i] = (struct column){name, count_characters(name), true};
        ++*n;
    }
    return &columns[i];
}

static size_t measure(struct str rows, struct column *columns)
{
    struct row row;
    struct buf cell;
    size_t n = 0;
    buf_init(&cell, CELL_MAX_BYTES);
    while (next_row(&rows, &row))
        for (size_t i = 0; i < row.n; i++) {
            struct column *column = column_of(columns, &n, row.members[i].name.raw);
            if (column == NULL)
                continue;
            buf_clear(&cell);
            put_shown(&cell, &row.members[i].value);
            size_t width = count_characters(buf_str(&cell));
            column->width = width > column->width ? width : column->width;
            column->is_number = column->is_number && row.members[i].value.kind == JSON_SPAN_NUMBER;
        }
    buf_fini(&cell);
    return n;
}

static void print_cell(const struct column *column, struct str text, bool is_last)
{
    int room = (int)(column->width - count_characters(text));
    if (column->is_number)
        printf("%*s%.*s%s", room, "", STR_ARG(text), is_last ? "\n" : "  ");
    else
        printf("%.*s%*s", STR_ARG(text), is_last ? 0 : room + 2, is_last ? "\n" : "");
}

static void print_table(struct str rows)
{
    struct column columns[COLUMNS_MAX];
    struct row row;
    struct buf cell;
    size_t n = measure(rows, columns);
    buf_init(&cell, CELL_MAX_BYTES);
    for (size_t i = 0; i < n; i++)
        print_cell(&columns[i], columns[i].name, i + 1 == n);
    while (next_row(&rows, &row))
        for (size_t i = 0; i < n; i++) {
            buf_clear(&cell);
            for (size_t k = 0; k < row.n; k++)
                if (str_eq(row.members[k].name.raw, columns[i].name))
                    put_shown(&cell, &row.members[k].value);
            print_cell(&columns[i], buf_str(&cell), i + 1 == n);
        }
    buf_fini(&cell);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_value(struct buf *b, const struct json_span *value)
{
    struct buf shown;
    if (value->kind != JSON_SPAN_TEXT) {
        buf_put(b, value->raw);
        return;
    }
    buf_init(&shown, CELL_MAX_BYTES);
    put_shown(&shown, value);
    buf_put_json(b, buf_str(&shown));
    buf_fini(&shown);
}

static void print_json(struct str rows)
{
    struct row row;
    struct buf line;
    const char *between = "[";
    buf_init(&line, COLUMNS_MAX * CELL_MAX_BYTES * 2);
    for (; next_row(&rows, &row); between = ",\n ") {
        buf_clear(&line);
        for (size_t i = 0; i < row.n; i++) {
            buf_put_char(&line, i == 0 ? '{' : ',');
            buf_put_json(&line, row.members[i].name.raw);
            buf_put_char(&line, ':');
            put_value(&line, &row.members[i].value);
        }
        printf("%s%.*s}", between, STR_ARG(buf_str(&line)));
    }
    puts(between[0] == '[' ? "[]" : "]");
    buf_fini(&line);
}

void show_rows_print(struct str rows, bool as_json)
{
    if (as_json)
        print_json(rows);
    else
        print_table(rows);
    fflush(stdout);
}
