/* SPDX-License-Identifier: MIT
 * extract_csv.c - CSV and TSV (RFC 4180): rows with their heads (sheet_rows.h). The separator is
 * the sign that is in most of the first lines equally often: comma, semicolon, tab or bar. */
#include "shared/extract/office.h"
#include "shared/extract/sheet_rows.h"

enum { LINES_MAX = 20, LINE_MAX_BYTES = 1 << 16, CELL_MAX_BYTES = 1 << 20 };

/* How often a sign is in a line, outside of quotes; `*rest` loses the line. */
static unsigned count_in_line(struct str *rest, char sign)
{
    unsigned n = 0;
    bool is_quoted = false;
    size_t i;
    for (i = 0; i < rest->n && (is_quoted || rest->at[i] != '\n') && i < LINE_MAX_BYTES; i++) {
        is_quoted ^= rest->at[i] == '"';
        n += !is_quoted && rest->at[i] == sign;
    }
    i += i < rest->n;
    *rest = (struct str){rest->at + i, rest->n - i};
    return n;
}

static char find_separator(struct str text)
{
    static const char signs[] = {',', ';', '\t', '|'};
    char best = ',';
    unsigned best_score = 0;
    for (size_t k = 0; k < sizeof signs; k++) {
        struct str rest = text;
        unsigned first = count_in_line(&rest, signs[k]), score = first > 0;
        for (int i = 1; first > 0 && i < LINES_MAX && rest.n > 0; i++)
            score += count_in_line(&rest, signs[k]) == first;
        if (score > best_score || (score == best_score && score > 0 && signs[k] == '\t')) {
            best = signs[k];
            best_score = score;
        }
    }
    return best;
}

/* "1,234.50", "-3.5 %", "12.5": digits and the signs around them. */
static bool is_number(struct str s)
{
    size_t digit_n = 0;
    for (size_t i = 0; i < s.n; i++) {
        bool is_digit = s.at[i] >= '0' && s.at[i] <= '9';
        if (!is_digit && memchr("+-.,% /:'", s.at[i], 9) == NULL)
            return false;
        digit_n += is_digit;
    }
    return digit_n > 0;
}

/* Takes a cell off the text and puts what is in it; returns whether it was the last of its row. A
 * quote within quotes is written twice. */
static bool next_cell(struct str *rest, char separator, struct buf *cell)
{
    size_t i = 0;
    bool is_quoted = rest->n > 0 && *rest->at == '"';
    buf_clear(cell);
    for (i = is_quoted; i < rest->n; i++) {
        char c = rest->at[i];
        if (is_quoted && c == '"') {
            if (i + 1 >= rest->n || rest->at[i + 1] != '"') {
                is_quoted = false;
                continue;
            }
            i++;
        } else if (!is_quoted && (c == separator || c == '\n')) {
            break;
        }
        buf_put_char(cell, c);
    }
    bool is_last = i >= rest->n || rest->at[i] == '\n';
    i += i < rest->n;
    *rest = (struct str){rest->at + i, rest->n - i};
    return is_last;
}

static void put_rows(struct sheet_rows *rows, struct str text)
{
    struct buf cell;
    char separator = find_separator(text);
    buf_init(&cell, CELL_MAX_BYTES);
    for (uint64_t number = 1; text.n > 0 && !rows->out->is_over; number++) {
        bool is_last = false;
        for (unsigned column = 0; !is_last; column++) {
            is_last = next_cell(&text, separator, &cell);
            sheet_rows_put(rows, column, buf_str(&cell), is_number(str_trim(buf_str(&cell))));
        }
        sheet_rows_end(rows, number);
    }
    buf_fini(&cell);
}

enum extract_fault extract_put_csv(struct buf *text, struct str bytes)
{
    struct buf clean;
    struct sheet_rows rows;
    buf_init(&clean, EXTRACT_TEXT_MAX_BYTES);
    enum extract_fault fault = extract_put_text(&clean, bytes);
    sheet_rows_init(&rows, text);
    if (fault == EXTRACT_FAULT_NONE && clean.n > 0)
        put_rows(&rows, buf_str(&clean));
    sheet_rows_fini(&rows);
    if (fault == EXTRACT_FAULT_NONE && (clean.is_over || text->is_over))
        fault = EXTRACT_FAULT_TOO_MUCH_TEXT;
    buf_fini(&clean);
    return fault;
}
