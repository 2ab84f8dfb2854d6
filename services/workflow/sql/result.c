/* SPDX-License-Identifier: MIT
 * result.c - the rows of an answer and their bounds, see database.h. */
#include "services/workflow/sql/database.h"

#include "shared/base/shown.h"

#include <stdlib.h>

enum { CELL_MAX_BYTES = 8192, MESSAGE_MAX_BYTES = 300 };

/* The end of what fits, not inside a character. */
static size_t fit(struct str text, size_t n)
{
    while (n > 0 && ((unsigned char)text.at[n] & 0xc0) == 0x80)
        n--;
    return n;
}

void database_put_message(struct buf *reason, const char *who, const char *message)
{
    struct str rest = str_of(message), first = str_trim(str_cut(&rest, '\n'));
    if (first.n > MESSAGE_MAX_BYTES)
        first.n = fit(first, MESSAGE_MAX_BYTES);
    buf_put(reason, str_of(who));
    buf_lit(reason, ": ");
    buf_put(reason, first);
    if (first.n == 0 || first.at[first.n - 1] != '.')
        buf_put_char(reason, '.');
}

json_t *result_text(struct result *result, struct str text)
{
    struct buf shown;
    if (text.n > CELL_MAX_BYTES) {
        result->answer->is_cut = true;
        text.n = fit(text, CELL_MAX_BYTES);
    }
    if (str_is_utf8(text) && memchr(text.at, 0, text.n) == NULL)
        return json_stringn(text.at, text.n);
    buf_init(&shown, 4 * CELL_MAX_BYTES);
    buf_put_shown(&shown, text);
    json_t *value = json_stringn(shown.at == NULL ? "" : shown.at, shown.n);
    buf_fini(&shown);
    return value;
}

bool result_add_row(struct result *result, json_t *row)
{
    size_t n = row == NULL ? 0 : json_dumpb(row, NULL, 0, JSON_COMPACT);
    if (row == NULL)
        abort();
    if (result->bytes + n > SQL_RESULT_MAX_BYTES) {
        result->answer->is_cut = true;
        json_decref(row);
        return false;
    }
    result->bytes += n + 1;
    return json_array_append_new(result->answer->rows, row) == 0;
}
