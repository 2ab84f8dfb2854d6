/* SPDX-License-Identifier: MIT
 * rules_select.c - writes a SELECT from a request, for the rules (rules_internal.h). It reads the
 * request from left to right and has to understand every word of it: "Show the newest 5 cards of
 * pattern 3". Where a word is left, the statement would not be what was asked for, so there is
 * none, and the reason names the word. */
#include "services/engine/models/rules_select.h"

enum { ROWS = 100 };

/* ---- parts of a request; each returns whether it took words at r->i ---- */

static bool take_filler(struct rules_select *r)
{
    static const char *const fillers[] = {
        "a",        "all",       "an",      "any",    "apply",    "are",    "can",     "check",
        "complete", "could",     "data",    "did",    "display",  "do",     "does",    "each",
        "entries",  "every",     "execute", "exist",  "existing", "fetch",  "find",    "for",
        "from",     "get",       "give",    "has",    "have",     "having", "i",       "in",
        "is",       "list",      "look",    "me",     "my",       "need",   "now",     "of",
        "only",     "our",       "please",  "print",  "query",    "read",   "return",  "rows",
        "records",  "rule",      "run",     "search", "see",      "select", "show",    "stored",
        "table",    "tell",      "that",    "the",    "their",    "them",   "there",   "these",
        "to",       "under",     "up",      "us",     "want",     "we",     "were",    "was",
        "what",     "where",     "which",   "who",    "whose",    "with",   "would",   "you",
        "and",      "belonging", "like",    "known",  "zeige",    "zeig",   "mir",     "alle",
        "liste",    "montre",    "affiche", "toutes", "tous",     "les",    "muestra", "todos",
        "los",      "mostra",    "tutti",   "toon",   NULL};
    static const char signs[] = ",.?!:;";
    const struct rules_word *word = &r->words->at[r->i];
    bool is_sign =
        word->kind == RULES_SIGN && word->here.n == 1 && strchr(signs, word->here.at[0]) != NULL;
    if (!is_sign && !rules_is(r->words, r->i, fillers))
        return false;
    r->i++;
    return true;
}

static bool take_limit(struct rules_select *r)
{
    static const char *const first[] = {"top", "first", "oldest", "earliest", NULL};
    static const char *const last[] = {"last", "newest", "latest", "recent", NULL};
    bool is_last = rules_is(r->words, r->i, last), is_first = rules_is(r->words, r->i, first);
    size_t at = r->i + (rules_is_one(r, r->i, "most") && rules_is_one(r, r->i + 1, "recent"));
    is_last = is_last || at > r->i;
    bool is_number = r->words->at[r->i].kind == RULES_NUMBER;
    if (rules_is_one(r, r->i, "limit"))
        at++;
    else if (is_last || is_first)
        at++;
    else if (!is_number ||
             (r->i + 1 != r->subject && !rules_is(r->words, r->i + 1, last) &&
              !rules_is(r->words, r->i + 1, first) && !rules_is_one(r, r->i + 1, "rows") &&
              !rules_is_one(r, r->i + 1, "most")))
        return false;
    uint64_t n = 0;
    bool has_number = at < r->words->n && r->words->at[at].kind == RULES_NUMBER &&
                      str_parse_u64(r->words->at[at].text, &n) && n > 0;
    if (!has_number && !is_last && !is_first)
        return false;
    if (has_number) {
        r->limit = n < ROWS ? n : ROWS;
        r->has_limit = true;
        at++;
    }
    if (is_last || is_first) {
        const char *date = rules_date_column(r->columns);
        const char *order = date != NULL && !rules_is_one(r, r->i, "top") ? date : "id";
        if (!rules_has_column(r->columns, str_of(order)))
            return false;
        r->order = order;
        r->is_descending = is_last;
    }
    r->i = at;
    return true;
}

static bool take_order(struct rules_select *r)
{
    static const char *const sorting[] = {"sorted", "sort", "ordered", "order", NULL};
    static const char *const down[] = {"desc", "descending", "reverse", NULL};
    static const char *const upward[] = {"asc", "ascending", NULL};
    size_t at = r->i, n = 1;
    if (rules_is_one(r, at, "alphabetically")) {
        r->order = rules_name_column(r->columns);
        r->i++;
        return r->order != NULL;
    }
    bool is_sorted = rules_is(r->words, at, sorting);
    at += is_sorted;
    if (!rules_is_one(r, at, "by") || (r->is_count && !is_sorted))
        return false;
    const char *column = rules_column_at(r, at + 1, &n);
    if (column == NULL)
        return false;
    r->order = column;
    r->i = at + 1 + n;
    r->is_descending = rules_is(r->words, r->i, down);
    r->i += r->is_descending || rules_is(r->words, r->i, upward);
    return true;
}

static bool take_count(struct rules_select *r)
{
    size_t n = rules_is_one(r, r->i, "how") && rules_is_one(r, r->i + 1, "many")    ? 2
               : rules_is_one(r, r->i, "number") && rules_is_one(r, r->i + 1, "of") ? 2
               : rules_is_one(r, r->i, "count")                                     ? 1
                                                                                    : 0;
    r->is_count = r->is_count || n > 0;
    r->i += n;
    return n > 0;
}

/* "per kind", "by kind", "for each pattern" in a count. */
static bool take_group(struct rules_select *r)
{
    size_t at = r->i, n = 0;
    if (!r->is_count)
        return false;
    at += rules_is_one(r, at, "for") && rules_is_one(r, at + 1, "each");
    if (!rules_is_one(r, at, "per") && !rules_is_one(r, at, "by") && !rules_is_one(r, at, "each"))
        return false;
    const char *column = rules_column_at(r, at + 1, &n);
    if (column == NULL) {
        struct rules_mention other = rules_find_table(r->tables, r->words, at + 1);
        if (other.table == NULL || other.at != at + 1)
            return false;
        column = rules_reference(r->columns, other.table);
        n = other.n;
    }
    r->group = column;
    r->i = at + 1 + n;
    return column != NULL;
}

static bool take_distinct(struct rules_select *r)
{
    static const char *const distinct[] = {"distinct", "different", "unique", NULL};
    if (!rules_is(r->words, r->i, distinct))
        return false;
    r->is_distinct = true;
    r->i++;
    return true;
}

/* Reads the whole request; false: word r->i is not understood. */
static bool read_all(struct rules_select *r)
{
    static bool (*const parts[])(struct rules_select *) = {
        rules_take_subject, take_count,           take_group,        take_order,
        take_limit,         rules_take_date,      rules_take_named,  rules_take_contains,
        take_distinct,      rules_take_reference, rules_take_column, take_filler};
    while (r->i < r->words->n) {
        bool is_taken = false;
        size_t before = r->i;
        for (size_t k = 0; k < sizeof parts / sizeof *parts && !is_taken; k++)
            is_taken = parts[k](r);
        if (!is_taken) {
            r->i = before;
            return false;
        }
    }
    return r->words->rest.n == 0 && !(r->is_distinct && r->list.n == 0) &&
           !(r->is_count && r->list.n > 0);
}

static void put_columns(const struct rules_select *r, struct buf *sql)
{
    size_t k;
    json_t *column;
    if (r->group != NULL) {
        rules_put_sql_name(sql, str_of(r->group));
        buf_lit(sql, ", COUNT(*) AS count");
    } else if (r->is_count) {
        buf_lit(sql, "COUNT(*) AS count");
    } else if (r->list.n > 0) {
        buf_put(sql, r->is_distinct ? STR("DISTINCT ") : STR(""));
        buf_put(sql, buf_str(&r->list));
    } else {
        json_array_foreach(r->columns, k, column)
        {
            buf_put(sql, k > 0 ? STR(", ") : STR(""));
            rules_put_sql_name(sql, json_str(column));
        }
    }
}

static void put_select(const struct rules_select *r, struct buf *sql)
{
    const char *order = r->group != NULL                          ? r->group
                        : r->is_count || r->is_distinct           ? NULL
                        : r->order != NULL                        ? r->order
                        : rules_has_column(r->columns, STR("id")) ? "id"
                                                                  : NULL;
    buf_lit(sql, "SELECT ");
    put_columns(r, sql);
    buf_lit(sql, " FROM ");
    rules_put_sql_name(sql, str_of(r->table));
    buf_put(sql, buf_str(&r->where));
    if (r->group != NULL) {
        buf_lit(sql, " GROUP BY ");
        rules_put_sql_name(sql, str_of(r->group));
    }
    if (order != NULL) {
        buf_lit(sql, " ORDER BY ");
        rules_put_sql_name(sql, str_of(order));
        buf_put(sql, r->is_descending && r->group == NULL ? STR(" DESC") : STR(""));
    }
    buf_printf(sql, " LIMIT %u",
               r->has_limit && !r->is_count ? (unsigned)r->limit : (unsigned)ROWS);
}

/* "newest episode" is one episode. */
static bool is_single(const struct rules_select *r)
{
    struct str word = r->words->at[r->subject].here;
    return r->order != NULL && !r->has_limit && r->is_descending &&
           !str_eq_nocase(word, str_of(r->table)) && strchr("sS", word.at[word.n - 1]) == NULL;
}

static void refuse(const struct rules_select *r, struct rules_decision *d)
{
    struct str words = r->i < r->words->n ? r->words->at[r->i].here : r->words->rest;
    struct str last = r->words->n > 0 ? r->words->at[r->words->n - 1].here : words;
    if (r->i < r->words->n)
        words.n = (size_t)(last.at + last.n - words.at);
    rules_say(d, false, "0.6", "the rules find the table ");
    buf_put(&d->reason, str_of(r->table));
    if (words.n > 0) {
        buf_lit(&d->reason, " but do not understand ");
        rules_quote(&d->reason, words);
    } else {
        buf_lit(&d->reason, " but not what to show of it");
    }
    buf_lit(&d->reason, ". Correct the request to something like \"Show ");
    buf_put(&d->reason, str_of(r->table));
    buf_lit(&d->reason, "\", give the statement as sql_query, or use a language model.");
}

static void decide(struct rules_select *r, struct rules_decision *d)
{
    struct buf sql;
    if (is_single(r)) {
        r->limit = 1;
        r->has_limit = true;
    }
    buf_init(&sql, RULES_SQL_MAX_BYTES);
    put_select(r, &sql);
    json_object_set_new(d->output, "sql_query", json_stringn(sql.at, sql.n));
    if (r->words->has_long_values)
        rules_say(d, true, "0.6",
                  "the request fits if one of its names has several words. It reads ");
    else
        rules_say(d, true, r->where.n > 0 ? "0.8" : "0.9",
                  "every word of the request has a meaning for the table ");
    buf_put(&d->reason, str_of(r->table));
    buf_put_char(&d->reason, '.');
    buf_fini(&sql);
}

/* Reads the request from its start. */
static bool read(struct rules_case *c, struct rules_select *r, bool has_long_values)
{
    struct buf list = r->list, where = r->where;
    buf_clear(&list);
    buf_clear(&where);
    c->words.has_long_values = has_long_values;
    *r = (struct rules_select){.words = &c->words,
                               .tables = c->tables,
                               .columns = r->columns,
                               .table = r->table,
                               .subject = r->subject,
                               .subject_end = r->subject_end,
                               .list = list,
                               .where = where};
    return read_all(r);
}

void rules_write_select(struct rules_case *c, struct rules_decision *d)
{
    struct rules_mention subject = rules_find_subject(c->tables, &c->words);
    if (subject.table == NULL) {
        rules_say(d, false, "0.6",
                  "the request names no table. Name one, give the statement as sql_query, or use a "
                  "language model. There are ");
        rules_put_tables(&d->reason, c->tables);
        buf_put_char(&d->reason, '.');
        return;
    }
    struct rules_select r = {.columns = json_object_get(c->tables, subject.table),
                             .table = subject.table,
                             .subject = subject.at,
                             .subject_end = subject.at + subject.n};
    buf_init(&r.list, RULES_SQL_MAX_BYTES);
    buf_init(&r.where, RULES_SQL_MAX_BYTES);
    if (read(c, &r, false) || read(c, &r, true)) {
        decide(&r, d);
    } else {
        (void)read(c, &r, false); /* up to the word that is not understood */
        refuse(&r, d);
    }
    c->words.has_long_values = false;
    buf_fini(&r.list);
    buf_fini(&r.where);
}
