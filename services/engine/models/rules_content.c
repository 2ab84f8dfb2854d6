/* SPDX-License-Identifier: MIT
 * rules_content.c - writes an INSERT or UPDATE from a request, for the rules (rules_internal.h):
 * `Add a card "Title" to pattern 2: text`, `Rename pattern 2 to "Loop"`, `Set the title of card 3
 * to "Knot"`. What is after the colon is stored as it is. */
#include "services/engine/models/rules_internal.h"

enum { VALUES_MAX = 16, SQL_MAX_BYTES = 64 << 10 };

struct value {
    const char *column;
    struct str text;
    const char *table; /* the text is the name of a row of this table; NULL: it is the value */
};

struct reading {
    const struct rules_words *words;
    const json_t *tables, *columns;
    const char *table;
    struct str request;
    size_t i, subject, subject_end;
    struct value values[VALUES_MAX];
    size_t n;
    struct str id;       /* of the row to update; at == NULL: none */
    const char *pending; /* the column that waits for "to" and its value */
    bool is_update, is_rename, is_done;
    const char *fault; /* what would help; NULL: a word is not understood */
};

static bool is(const struct reading *r, size_t i, const char *word)
{
    return rules_is(r->words, i, (const char *const[]){word, NULL});
}

static bool has(const struct reading *r, const char *column)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->values[i].column, column) == 0)
            return true;
    return false;
}

static bool add(struct reading *r, const char *column, struct str text, const char *table)
{
    if (column == NULL || r->n == VALUES_MAX || has(r, column))
        return false;
    if (table == NULL && rules_is_id(str_of(column)) && !rules_is_number(text)) {
        r->fault = "A row is named by its number";
        return false;
    }
    r->values[r->n++] = (struct value){column, text, table};
    return true;
}

/* ---- parts of a request; each returns whether it took words at r->i ---- */

static bool take_verb(struct reading *r)
{
    static const char *const begin[] = {"extract", "please", "now", NULL};
    static const char *const insert[] = {"add",    "insert", "create", "save",  "store", "put",
                                         "record", "new",    "make",   "write", NULL};
    static const char *const update[] = {"update", "change", "set", "edit", "correct", NULL};
    bool is_update = rules_is(r->words, r->i, update), is_rename = is(r, r->i, "rename");
    if (!is_update && !is_rename && !rules_is(r->words, r->i, insert) &&
        !rules_is(r->words, r->i, begin))
        return false;
    r->is_update = r->is_update || is_update || is_rename;
    if (is_rename)
        r->pending = rules_name_column(r->columns);
    r->i++;
    return true;
}

/* The number or name of the row after the name of its table. */
static bool take_row(struct reading *r, size_t *at, bool *ret_is_id, struct str *ret_text)
{
    static const char *const named[] = {"named", "called", "number", "no", "id", "titled", NULL};
    *at += rules_is(r->words, *at, named);
    *at += rules_is_sign(r->words, *at, '#');
    *ret_is_id = *at < r->words->n && r->words->at[*at].kind == RULES_NUMBER;
    if (*ret_is_id) {
        *ret_text = r->words->at[(*at)++].text;
        return rules_is_number(*ret_text);
    }
    return rules_take_value(r->words, at, ret_text);
}

static bool take_subject(struct reading *r)
{
    size_t at = r->subject_end;
    bool is_id;
    if (r->i != r->subject)
        return false;
    r->i = at;
    if (r->is_update && at < r->words->n &&
        (r->words->at[at].kind == RULES_NUMBER || is(r, at, "number") ||
         rules_is_sign(r->words, at, '#'))) {
        if (!take_row(r, &at, &is_id, &r->id) || !is_id)
            return false;
        r->i = at;
    }
    return true;
}

static bool take_reference(struct reading *r)
{
    struct rules_mention other = rules_find_table(r->tables, r->words, r->i);
    struct str text;
    bool is_id;
    if (other.table == NULL || other.at != r->i || strcmp(other.table, r->table) == 0)
        return false;
    const char *reference = rules_reference(r->columns, other.table);
    const json_t *columns = json_object_get(r->tables, other.table);
    size_t at = other.at + other.n;
    if (reference == NULL || !take_row(r, &at, &is_id, &text))
        return false;
    if (!is_id && (rules_name_column(columns) == NULL || !rules_has_column(columns, STR("id"))))
        return false;
    r->i = at;
    return add(r, reference, text, is_id ? NULL : other.table);
}

static bool take_column(struct reading *r)
{
    static const char *const equal[] = {"is", "to", "as", "of", "be", NULL};
    struct str text;
    size_t n, at;
    const char *column = rules_match_column(r->columns, r->words, r->i, &n);
    if (column == NULL && (is(r, r->i, "name") || is(r, r->i, "title"))) {
        column = rules_name_column(r->columns);
        n = 1;
    }
    if (column == NULL)
        return false;
    at = r->i + n;
    if (r->is_update && r->i < r->subject) { /* "set the title of card 3 to ..." */
        r->pending = column;
        r->i = at;
        return true;
    }
    if (rules_is_sign(r->words, at, '=') || rules_is_sign(r->words, at, ':'))
        at++;
    else
        at += rules_is(r->words, at, equal);
    if (!rules_take_value(r->words, &at, &text))
        return false;
    r->i = at;
    return add(r, column, text, NULL);
}

/* The text from word `at` to the end of the request; without its marks if it is one quotation. */
static struct str rest_from(const struct reading *r, size_t at)
{
    const struct rules_word *word = &r->words->at[at];
    if (word->kind == RULES_QUOTED && at + 1 == r->words->n && r->words->rest.n == 0)
        return word->text;
    const char *end = r->request.at + r->request.n;
    return str_trim((struct str){word->here.at, (size_t)(end - word->here.at)});
}

static bool take_rest(struct reading *r, const char *column, size_t at)
{
    if (at >= r->words->n)
        return false;
    r->is_done = true;
    return add(r, column, rest_from(r, at), NULL);
}

/* After a colon are columns with their values, or the text of the row. */
static bool take_text(struct reading *r)
{
    size_t n, at = r->i + 1;
    if (!rules_is_sign(r->words, r->i, ':') || r->i < r->subject_end)
        return false;
    const char *column = rules_match_column(r->columns, r->words, at, &n);
    if (column != NULL &&
        (rules_is_sign(r->words, at + n, ':') || rules_is_sign(r->words, at + n, '='))) {
        r->i = at;
        return true;
    }
    if (r->is_update && is(r, at, "set")) {
        r->i = at;
        return true;
    }
    column = r->pending != NULL ? r->pending : rules_body_column(r->columns);
    r->pending = NULL;
    return take_rest(r, column, at);
}

static bool take_pending(struct reading *r)
{
    const char *column = r->pending;
    bool is_here = is(r, r->i, "to") || is(r, r->i, "as") || rules_is_sign(r->words, r->i, '=');
    if (column == NULL || !is_here || r->i < r->subject_end)
        return false;
    r->pending = NULL;
    return take_rest(r, column, r->i + 1 + rules_is_sign(r->words, r->i + 1, ':'));
}

/* Takes a quotation without a word for it as the row's name, then as its text. */
static bool take_quoted(struct reading *r)
{
    const char *name = rules_name_column(r->columns), *body = rules_body_column(r->columns);
    if (r->words->at[r->i].kind != RULES_QUOTED || r->i < r->subject || r->is_update)
        return false;
    const char *column = name != NULL && !has(r, name) ? name : body;
    return add(r, column, r->words->at[r->i++].text, NULL);
}

static bool take_named(struct reading *r)
{
    static const char *const named[] = {"named", "called", "titled", "entitled", NULL};
    struct str text;
    size_t at = r->i + 1;
    if (!rules_is(r->words, r->i, named) || !rules_take_value(r->words, &at, &text))
        return false;
    r->i = at;
    return add(r, rules_name_column(r->columns), text, NULL);
}

static bool take_filler(struct reading *r)
{
    static const char *const fillers[] = {"a",     "an", "the",  "new",  "to",   "for",   "in",
                                          "of",    "on", "into", "with", "and",  "under", "its",
                                          "whose", "my", "our",  "this", "that", "from",  NULL};
    if (!rules_is(r->words, r->i, fillers) && !rules_is_sign(r->words, r->i, ',') &&
        !rules_is_sign(r->words, r->i, ';') && !rules_is_sign(r->words, r->i, '.'))
        return false;
    r->i++;
    return true;
}

static bool read_all(struct reading *r)
{
    static bool (*const parts[])(struct reading *) = {take_subject, take_text,      take_pending,
                                                      take_named,   take_reference, take_column,
                                                      take_quoted,  take_verb,      take_filler};
    while (r->i < r->words->n && !r->is_done) {
        bool is_taken = false;
        size_t before = r->i;
        for (size_t k = 0; k < sizeof parts / sizeof *parts && !is_taken; k++)
            is_taken = parts[k](r);
        if (!is_taken) {
            r->i = before;
            return false;
        }
    }
    if (r->is_done)
        return true;
    return r->words->rest.n == 0;
}

/* ---- the statement ---- */

static void put_value(struct buf *b, const struct value *value)
{
    if (rules_is_id(str_of(value->column)))
        buf_put(b, value->text);
    else
        rules_put_sql_text(b, value->text);
}

static void put_insert(const struct reading *r, struct buf *sql)
{
    const struct value *named = NULL;
    buf_lit(sql, "INSERT INTO ");
    rules_put_sql_name(sql, str_of(r->table));
    for (size_t i = 0; i < r->n; i++) {
        buf_put(sql, i > 0 ? STR(", ") : STR(" ("));
        rules_put_sql_name(sql, str_of(r->values[i].column));
        named = r->values[i].table != NULL ? &r->values[i] : named;
    }
    buf_put(sql, named != NULL ? STR(") SELECT ") : STR(") VALUES ("));
    for (size_t i = 0; i < r->n; i++) {
        buf_put(sql, i > 0 ? STR(", ") : STR(""));
        if (&r->values[i] == named)
            buf_lit(sql, "id");
        else
            put_value(sql, &r->values[i]);
    }
    if (named == NULL) {
        buf_put_char(sql, ')');
        return;
    }
    /* No row of that name: nothing is inserted, instead of a row that refers to none. */
    const char *column = rules_name_column(json_object_get(r->tables, named->table));
    buf_lit(sql, " FROM ");
    rules_put_sql_name(sql, str_of(named->table));
    buf_lit(sql, " WHERE lower(");
    rules_put_sql_name(sql, str_of(column));
    buf_lit(sql, ") = lower(");
    rules_put_sql_text(sql, named->text);
    buf_lit(sql, ") ORDER BY id LIMIT 1");
}

static void put_update(const struct reading *r, struct buf *sql)
{
    buf_lit(sql, "UPDATE ");
    rules_put_sql_name(sql, str_of(r->table));
    for (size_t i = 0; i < r->n; i++) {
        buf_put(sql, i > 0 ? STR(", ") : STR(" SET "));
        rules_put_sql_name(sql, str_of(r->values[i].column));
        buf_lit(sql, " = ");
        put_value(sql, &r->values[i]);
    }
    buf_lit(sql, " WHERE id = ");
    buf_put(sql, r->id);
}

static json_t *number(struct str digits)
{
    uint64_t value = 0;
    (void)!str_parse_u64(digits, &value); /* rules_is_number has checked it */
    return json_integer((json_int_t)value);
}

static void put_entities(const struct reading *r, json_t *output)
{
    json_t *entity = json_object(), *list = json_array();
    json_object_set_new(entity, "table", json_string(r->table));
    if (r->is_update)
        json_object_set_new(entity, "id", number(r->id));
    for (size_t i = 0; i < r->n; i++) {
        const struct value *value = &r->values[i];
        bool is_number = value->table == NULL && rules_is_id(str_of(value->column));
        json_object_set_new(entity, value->column,
                            is_number ? number(value->text)
                                      : json_stringn(value->text.at, value->text.n));
    }
    json_array_append_new(list, entity);
    json_object_set_new(output, "entities", list);
}

/* Returns what is missing from a request whose words are all understood; NULL if nothing is. */
static const char *missing(const struct reading *r)
{
    const char *name = rules_name_column(r->columns);
    size_t named = 0;
    for (size_t i = 0; i < r->n; i++)
        named += r->values[i].table != NULL;
    if (r->pending != NULL)
        return "Say what the new value is, after \"to\"";
    if (r->n == 0)
        return "Say what to store: the name in quotation marks, the text after a colon";
    if (r->is_update && (r->id.at == NULL || !rules_has_column(r->columns, STR("id"))))
        return "Say which row by its number";
    if (r->is_update && named > 0)
        return "Name the other row by its number";
    if (named > 1)
        return "Name all but one of the other rows by their numbers";
    if (!r->is_update && name != NULL && !has(r, name))
        return "Give its name in quotation marks";
    return NULL;
}

static void decide(struct reading *r, struct rules_decision *d)
{
    struct buf sql;
    bool is_read = read_all(r);
    const char *fault = is_read ? missing(r) : r->fault;
    if (!is_read || fault != NULL) {
        rules_say(d, false, "0.6", "the rules find the table ");
        buf_put(&d->reason, str_of(r->table));
        if (fault == NULL) {
            struct str words = r->i < r->words->n ? r->words->at[r->i].here : r->words->rest;
            words.n = (size_t)(r->request.at + r->request.n - words.at);
            buf_lit(&d->reason, " but do not understand ");
            rules_quote(&d->reason, words);
            fault = "Write it like: Add a card \"Title\" to pattern 2: text";
        } else {
            buf_lit(&d->reason, ", but something is missing");
        }
        buf_lit(&d->reason, ". ");
        buf_put(&d->reason, str_of(fault));
        buf_lit(&d->reason, ", give the statement as sql_query, or use a language model.");
        return;
    }
    buf_init(&sql, SQL_MAX_BYTES);
    if (r->is_update)
        put_update(r, &sql);
    else
        put_insert(r, &sql);
    json_object_set_new(d->output, "sql_query", json_stringn(sql.at, sql.n));
    put_entities(r, d->output);
    rules_say(d, true, "0.8",
              r->is_update ? "every word of the request has a meaning; it changes one row of "
                           : "every word of the request has a meaning; it adds one row to ");
    buf_put(&d->reason, str_of(r->table));
    buf_put_char(&d->reason, '.');
    buf_fini(&sql);
}

void rules_write_content(const struct rules_case *c, struct rules_decision *d)
{
    struct rules_mention subject = rules_find_subject(c->tables, &c->words);
    if (subject.table == NULL) {
        rules_say(d, false, "0.6", "the request names no table. Name one of ");
        rules_put_tables(&d->reason, c->tables);
        buf_lit(&d->reason, ", give the statement as sql_query, or use a language model.");
        return;
    }
    struct reading r = {.words = &c->words,
                        .tables = c->tables,
                        .columns = json_object_get(c->tables, subject.table),
                        .table = subject.table,
                        .request = c->request,
                        .subject = subject.at,
                        .subject_end = subject.at + subject.n};
    decide(&r, d);
}
