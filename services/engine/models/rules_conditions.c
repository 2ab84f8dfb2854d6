/* SPDX-License-Identifier: MIT
 * rules_conditions.c - the conditions of a SELECT, from the words of a request (rules_select.h). A
 * value is a literal, whatever it holds; an id is digits. */
#include "services/engine/models/rules_select.h"

#include <stdio.h>

static void put_and(struct rules_select *r)
{
    buf_put(&r->where, r->where.n > 0 ? STR(" AND ") : STR(" WHERE "));
}

/* Puts `column sign value`. Ids are numbers; all else is a literal that the database turns
 * into the column's type. Texts are equal whatever their case. */
static bool put_condition(struct rules_select *r, struct str column, const char *sign,
                          struct str value)
{
    bool is_text = rules_is_text_column(column) && (sign[0] == '=' || sign[0] == '!');
    if (rules_is_id(column) && !rules_is_number(value))
        return false;
    put_and(r);
    buf_put(&r->where, is_text ? STR("lower(") : STR(""));
    rules_put_sql_name(&r->where, column);
    buf_printf(&r->where, is_text ? ") %s lower(" : " %s ", sign);
    if (rules_is_id(column))
        buf_put(&r->where, value);
    else
        rules_put_sql_text(&r->where, value);
    buf_put(&r->where, is_text ? STR(")") : STR(""));
    return true;
}

static void put_like(struct buf *b, struct str column, struct str value)
{
    struct buf pattern;
    bool has_sign = false;
    buf_init(&pattern, RULES_SQL_MAX_BYTES);
    buf_put_char(&pattern, '%');
    for (size_t i = 0; i < value.n; i++) {
        bool is_sign = value.at[i] == '%' || value.at[i] == '_' || value.at[i] == '!';
        has_sign = has_sign || is_sign;
        if (is_sign)
            buf_put_char(&pattern, '!');
        buf_put_char(&pattern, value.at[i]);
    }
    buf_put_char(&pattern, '%');
    buf_lit(b, "lower(");
    rules_put_sql_name(b, column);
    buf_lit(b, ") LIKE lower(");
    rules_put_sql_text(b, buf_str(&pattern));
    buf_put(b, has_sign ? STR(") ESCAPE '!'") : STR(")"));
    buf_fini(&pattern);
}

/* Any of the columns that hold words, or only `column`. */
static bool put_contains(struct rules_select *r, const char *column, struct str value)
{
    size_t k, n = 0;
    json_t *at;
    struct buf any;
    buf_init(&any, RULES_SQL_MAX_BYTES);
    json_array_foreach(r->columns, k, at)
    {
        struct str name = json_str(at);
        if (column != NULL ? !str_eq(name, str_of(column)) : !rules_is_text_column(name))
            continue;
        buf_put(&any, n++ > 0 ? STR(" OR ") : STR(""));
        put_like(&any, name, value);
    }
    if (n > 0) {
        put_and(r);
        buf_put(&r->where, n > 1 ? STR("(") : STR(""));
        buf_put(&r->where, buf_str(&any));
        buf_put(&r->where, n > 1 ? STR(")") : STR(""));
    }
    buf_fini(&any);
    return n > 0;
}

/* ---- the parts of a request ---- */

bool rules_is_one(const struct rules_select *r, size_t i, const char *word)
{
    return rules_is(r->words, i, (const char *const[]){word, NULL});
}

const char *rules_column_at(const struct rules_select *r, size_t i, size_t *ret_n)
{
    const char *column = rules_match_column(r->columns, r->words, i, ret_n);
    if (column != NULL)
        return column;
    *ret_n = 1;
    if (rules_is_one(r, i, "date") || rules_is_one(r, i, "time"))
        return rules_date_column(r->columns);
    return rules_is_one(r, i, "name") || rules_is_one(r, i, "names") ||
                   rules_is_one(r, i, "title") || rules_is_one(r, i, "titles")
               ? rules_name_column(r->columns)
               : NULL;
}

bool rules_take_named(struct rules_select *r)
{
    static const char *const named[] = {"named", "called", "titled", "entitled", NULL};
    struct str value;
    size_t at = r->i + 1;
    const char *column = rules_name_column(r->columns);
    if (!rules_is(r->words, r->i, named) || column == NULL ||
        !rules_take_value(r->words, &at, &value) || !put_condition(r, str_of(column), "=", value))
        return false;
    r->i = at;
    return true;
}

bool rules_take_contains(struct rules_select *r)
{
    static const char *const containing[] = {"containing", "contains",   "contain",
                                             "about",      "mentioning", "mention",
                                             "mentions",   "matching",   NULL};
    struct str value;
    size_t at = r->i + 1;
    if (!rules_is(r->words, r->i, containing) || !rules_take_value(r->words, &at, &value) ||
        !put_contains(r, NULL, value))
        return false;
    r->i = at;
    return true;
}

/* The operator at *i, moved past it; "=" where there is none. */
static const char *operator_at(const struct rules_select *r, size_t *i)
{
    static const char *const more[] = {"over", "above", "after", "greater", "more", NULL};
    static const char *const less[] = {"before", "below", "less", "smaller", "under", NULL};
    static const char *const equal[] = {"is", "equals", "equal", "of", "on", "to", NULL};
    const char *found = "=";
    size_t at = *i;
    at += rules_is_one(r, at, "is") || rules_is_one(r, at, "are");
    if (rules_is_sign(r->words, at, '=') || rules_is_sign(r->words, at, ':')) {
        at++;
    } else if (rules_is_sign(r->words, at, '<') || rules_is_sign(r->words, at, '>')) {
        bool is_less = rules_is_sign(r->words, at, '<');
        bool has_equal = rules_is_sign(r->words, at + 1, '=');
        found = is_less ? (has_equal ? "<=" : "<") : (has_equal ? ">=" : ">");
        at += 1 + has_equal;
    } else if (rules_is(r->words, at, more) || rules_is(r->words, at, less)) {
        found = rules_is(r->words, at, more) ? ">" : "<";
        at++;
        at += rules_is_one(r, at, "than");
    } else if (rules_is_one(r, at, "since")) {
        found = ">=";
        at++;
    } else if (rules_is_one(r, at, "not")) {
        found = "!=";
        at++;
    } else if (at == *i) {
        at += rules_is(r->words, at, equal);
    }
    *i = at;
    return found;
}

/* A column: with a value a condition, before the table one of those to show. */
bool rules_take_column(struct rules_select *r)
{
    static const char *const containing[] = {"contains", "containing", "like", NULL};
    struct str value;
    size_t n, at;
    const char *column = rules_column_at(r, r->i, &n);
    if (column == NULL)
        return false;
    at = r->i + n;
    if (r->i < r->subject && r->words->at[at < r->words->n ? at : r->i].kind != RULES_QUOTED) {
        buf_put(&r->list, r->list.n > 0 ? STR(", ") : STR(""));
        rules_put_sql_name(&r->list, str_of(column));
        r->i = at;
        return true;
    }
    bool is_contained = rules_is(r->words, at, containing);
    const char *sign = is_contained ? "" : operator_at(r, &at);
    at += is_contained;
    if (!rules_take_value(r->words, &at, &value) ||
        !(is_contained ? put_contains(r, column, value)
                       : put_condition(r, str_of(column), sign, value)))
        return false;
    r->i = at;
    return true;
}

/* The row that is after the name of its table: its id or its name. */
static bool take_row(struct rules_select *r, size_t *at, const char **ret_column,
                     struct str *ret_value)
{
    static const char *const named[] = {"named", "called", "number", "no", "id", "titled", NULL};
    *at += rules_is(r->words, *at, named);
    *at += rules_is_sign(r->words, *at, '#');
    if (*at < r->words->n && r->words->at[*at].kind == RULES_NUMBER) {
        *ret_column = "id";
        *ret_value = r->words->at[(*at)++].text;
        return rules_is_number(*ret_value);
    }
    *ret_column = NULL;
    return rules_take_value(r->words, at, ret_value);
}

bool rules_take_subject(struct rules_select *r)
{
    struct str value;
    const char *column;
    if (r->i != r->subject)
        return false;
    size_t at = r->subject_end;
    r->i = at;
    if (at >= r->words->n)
        return true;
    enum rules_kind kind = r->words->at[at].kind;
    if (kind != RULES_NUMBER && kind != RULES_QUOTED && !rules_is_sign(r->words, at, '#') &&
        !rules_is_one(r, at, "number"))
        return true;
    if (!take_row(r, &at, &column, &value))
        return false;
    column = column != NULL ? column : rules_name_column(r->columns);
    if (column == NULL || !rules_has_column(r->columns, str_of(column)) ||
        !put_condition(r, str_of(column), "=", value))
        return false;
    r->i = at;
    return true;
}

/* Another table: the row of it that the subject's rows refer to. */
bool rules_take_reference(struct rules_select *r)
{
    struct rules_mention other = rules_find_table(r->tables, r->words, r->i);
    struct str value;
    if (other.table == NULL || other.at != r->i || strcmp(other.table, r->table) == 0)
        return false;
    const char *reference = rules_reference(r->columns, other.table), *column;
    const json_t *columns = json_object_get(r->tables, other.table);
    size_t at = other.at + other.n;
    if (reference == NULL || !take_row(r, &at, &column, &value))
        return false;
    if (column != NULL) {
        if (!put_condition(r, str_of(reference), "=", value))
            return false;
    } else {
        column = rules_name_column(columns);
        if (column == NULL || !rules_has_column(columns, STR("id")))
            return false;
        put_and(r);
        rules_put_sql_name(&r->where, str_of(reference));
        buf_lit(&r->where, " IN (SELECT id FROM ");
        rules_put_sql_name(&r->where, str_of(other.table));
        buf_lit(&r->where, " WHERE lower(");
        rules_put_sql_name(&r->where, str_of(column));
        buf_lit(&r->where, ") = lower(");
        rules_put_sql_text(&r->where, value);
        buf_lit(&r->where, "))");
    }
    r->i = at;
    return true;
}

static bool is_date(struct str text)
{
    return text.n == 10 && text.at[4] == '-' && text.at[7] == '-';
}

bool rules_take_date(struct rules_select *r)
{
    static const char *const inside[] = {"in", "from", "of", "during", NULL};
    static const char *const moments[] = {"after", "since", "before", "on", NULL};
    const char *date = rules_date_column(r->columns);
    size_t at = r->i;
    uint64_t year;
    if (date == NULL || at + 1 >= r->words->n)
        return false;
    struct str next = r->words->at[at + 1].text;
    if (rules_is(r->words, at, moments) && is_date(next)) {
        const char *sign = operator_at(r, &at);
        r->i += 2;
        return put_condition(r, str_of(date), sign, next);
    }
    if (!rules_is(r->words, at, inside) || next.n != 4 || !str_parse_u64(next, &year))
        return false;
    char first[24], end[24];
    snprintf(first, sizeof first, "%04u-01-01", (unsigned)year);
    snprintf(end, sizeof end, "%04u-01-01", (unsigned)year + 1);
    r->i += 2;
    return put_condition(r, str_of(date), ">=", str_of(first)) &&
           put_condition(r, str_of(date), "<", str_of(end));
}
