/* SPDX-License-Identifier: MIT
 * rules_tables.c - finds in a request the tables and columns that the prompt lists, for the rules
 * (rules_internal.h). What the prompt does not list is never found. */
#include "services/engine/models/rules_internal.h"

static const char *const joining[] = {"of",    "for",       "in",   "from", "to",
                                      "under", "into",      "on",   "per",  "by",
                                      "at",    "belonging", "each", "than", NULL};

static struct rules_mention table_at(const json_t *tables, const struct rules_words *words,
                                     size_t i)
{
    struct rules_mention found = {.at = i};
    const char *name;
    json_t *columns;
    json_object_foreach((json_t *)tables, name, columns)
    {
        size_t n = rules_match(words, i, str_of(name));
        if (n > found.n) { /* the longest: "pattern links" before "patterns" */
            found.table = name;
            found.n = n;
        }
    }
    return found;
}

struct rules_mention rules_find_table(const json_t *tables, const struct rules_words *words,
                                      size_t i)
{
    for (; i < words->n; i++) {
        struct rules_mention found = table_at(tables, words, i);
        if (found.table != NULL)
            return found;
    }
    return (struct rules_mention){.table = NULL};
}

/* Returns whether the word before `i`, articles aside, is one that makes what follows a detail. */
static bool is_joined(const struct rules_words *words, size_t i)
{
    static const char *const articles[] = {"the", "a",     "an",    "this", "that", "my",
                                           "all", "every", "these", "our",  NULL};
    while (i > 0 && rules_is(words, i - 1, articles))
        i--;
    return i > 0 && rules_is(words, i - 1, joining);
}

struct rules_mention rules_find_subject(const json_t *tables, const struct rules_words *words)
{
    struct rules_mention first = rules_find_table(tables, words, 0), at = first;
    while (at.table != NULL && is_joined(words, at.at))
        at = rules_find_table(tables, words, at.at + at.n);
    first.is_detail = true;
    return at.table != NULL ? at : first;
}

const char *rules_match_column(const json_t *columns, const struct rules_words *words, size_t i,
                               size_t *ret_n)
{
    size_t k, n, most = 0;
    json_t *column;
    const char *found = NULL;
    json_array_foreach(columns, k, column)
    {
        n = json_is_string(column) ? rules_match(words, i, json_str(column)) : 0;
        if (n > most) {
            most = n;
            found = json_string_value(column);
        }
    }
    *ret_n = most;
    return found;
}

bool rules_has_column(const json_t *columns, struct str name)
{
    size_t k;
    json_t *column;
    json_array_foreach(columns, k, column) if (json_is_string(column) &&
                                               str_eq_nocase(json_str(column), name)) return true;
    return false;
}

static bool is_listed(struct str name, const char *const *list)
{
    for (; *list != NULL; list++)
        if (str_eq_nocase(name, str_of(*list)))
            return true;
    return false;
}

/* By the order of the list, which begins with the likeliest. */
static const char *first_of(const json_t *columns, const char *const *list)
{
    size_t k;
    json_t *column;
    for (; *list != NULL; list++)
        json_array_foreach(
            columns, k, column) if (json_is_string(column) &&
                                    str_eq_nocase(json_str(column),
                                                  str_of(*list))) return json_string_value(column);
    return NULL;
}

static const char *const names[] = {"name", "title", "label", "subject", "username", NULL};
static const char *const bodies[] = {"body", "text",    "content", "description", "notes",
                                     "note", "comment", "summary", NULL};
static const char *const kinds[] = {"kind", "type", "category", "status", "state", "author", NULL};

const char *rules_name_column(const json_t *columns)
{
    return first_of(columns, names);
}

const char *rules_body_column(const json_t *columns)
{
    return first_of(columns, bodies);
}

bool rules_is_text_column(struct str name)
{
    return is_listed(name, names) || is_listed(name, bodies) || is_listed(name, kinds);
}

static bool ends_with(struct str s, struct str end)
{
    return s.n >= end.n && str_eq_nocase((struct str){s.at + s.n - end.n, end.n}, end);
}

const char *rules_date_column(const json_t *columns)
{
    size_t k;
    json_t *column;
    json_array_foreach(columns, k, column)
    {
        struct str name = json_str(column);
        if (ends_with(name, STR("_on")) || ends_with(name, STR("_at")) ||
            ends_with(name, STR("date")) || ends_with(name, STR("time")))
            return name.at;
    }
    return NULL;
}

/* Compares by stem, because the table is in the plural and the column mostly is not. */
const char *rules_reference(const json_t *columns, const char *table)
{
    size_t k;
    json_t *column;
    json_array_foreach(columns, k, column)
    {
        struct str own = json_str(column), other = str_of(table);
        struct text_word a, b;
        bool is_same = rules_is_id(own) && own.n > 3;
        own.n -= is_same ? 3 : 0; /* _id */
        bool has_a = text_next_word(&own, &a), has_b = text_next_word(&other, &b);
        while (is_same && has_a && has_b) {
            is_same = str_eq((struct str){a.at, a.n}, (struct str){b.at, b.n});
            has_a = text_next_word(&own, &a);
            has_b = text_next_word(&other, &b);
        }
        if (is_same && !has_a && !has_b)
            return json_string_value(column);
    }
    return NULL;
}

void rules_put_tables(struct buf *b, const json_t *tables)
{
    enum { SHOWN_MAX = 12 };
    size_t i = 0, n = json_object_size(tables), shown = n < SHOWN_MAX ? n : SHOWN_MAX;
    const char *name;
    json_t *columns;
    json_object_foreach((json_t *)tables, name, columns)
    {
        if (i == shown)
            break;
        if (i > 0)
            buf_put(b, i + 1 == n ? STR(" and ") : STR(", "));
        buf_put(b, str_of(name));
        i++;
    }
    if (n > shown)
        buf_printf(b, " and %zu more", n - shown);
}
