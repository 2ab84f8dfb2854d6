/* SPDX-License-Identifier: MIT
 * rules_sql.c - names and texts as SQL, for the rules (rules_internal.h). A text from a client
 * leaves here only as a literal, in which every quotation mark is doubled. */
#include "services/engine/models/rules_internal.h"

/* Names that SQLite or PostgreSQL would take for a word of the language. */
static bool is_reserved(struct str name)
{
    static const char *const reserved[] = {
        "all",     "analyse", "analyze", "and",      "any",    "array",   "as",         "asc",
        "between", "both",    "case",    "cast",     "check",  "collate", "column",     "create",
        "default", "delete",  "desc",    "distinct", "do",     "drop",    "else",       "end",
        "escape",  "except",  "exists",  "false",    "fetch",  "for",     "foreign",    "from",
        "full",    "glob",    "grant",   "group",    "having", "if",      "in",         "index",
        "inner",   "insert",  "into",    "is",       "isnull", "join",    "key",        "left",
        "like",    "limit",   "match",   "natural",  "not",    "null",    "of",         "offset",
        "on",      "only",    "or",      "order",    "outer",  "primary", "references", "regexp",
        "replace", "right",   "select",  "set",      "some",   "table",   "then",       "to",
        "true",    "union",   "unique",  "update",   "user",   "using",   "values",     "view",
        "when",    "where",   "window",  "with",     NULL};
    for (const char *const *at = reserved; *at != NULL; at++)
        if (str_eq(name, str_of(*at)))
            return true;
    return false;
}

static bool is_plain(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.at[i];
        if (!(c >= 'a' && c <= 'z') && c != '_' && !(i > 0 && c >= '0' && c <= '9'))
            return false;
    }
    return name.n > 0 && !is_reserved(name);
}

static void put_doubled(struct buf *b, struct str text, char mark)
{
    buf_put_char(b, mark);
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] == mark)
            buf_put_char(b, mark);
        buf_put_char(b, text.at[i]);
    }
    buf_put_char(b, mark);
}

void rules_put_sql_name(struct buf *b, struct str name)
{
    if (is_plain(name))
        buf_put(b, name);
    else
        put_doubled(b, name, '"');
}

void rules_put_sql_text(struct buf *b, struct str text)
{
    put_doubled(b, text, '\'');
}

bool rules_is_id(struct str column)
{
    return str_eq_nocase(column, STR("id")) ||
           (column.n > 3 && str_eq_nocase((struct str){column.at + column.n - 3, 3}, STR("_id")));
}

bool rules_is_number(struct str text)
{
    enum { DIGITS_MAX = 18 }; /* fits 64 bits with a sign */
    for (size_t i = 0; i < text.n; i++)
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
    return text.n > 0 && text.n <= DIGITS_MAX;
}
