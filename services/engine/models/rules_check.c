/* SPDX-License-Identifier: MIT
 * rules_check.c - checks a statement against the tables that the prompt lists, for the rules
 * (rules_internal.h). It knows the words of plain SQL and refuses what it does not know: a
 * statement that it lets through reads, inserts or updates, and names only tables and columns
 * that exist. The database has the last word (tool.executeSQL); this only spares a person the
 * obvious faults, with reasons. */
#include "services/engine/models/rules_internal.h"

#include "shared/base/mem.h"

enum { TOKENS_MAX = 1024, SQL_MAX_BYTES = 32 << 10 };

enum token_kind { TOKEN_NAME, TOKEN_QUOTED_NAME, TOKEN_VALUE, TOKEN_SIGN };

struct token {
    enum token_kind kind;
    bool is_table;
    bool is_own;     /* a query of the statement's own, WITH name AS, or one of its columns */
    struct str text; /* of a quoted name: without its marks */
};

struct check {
    const json_t *tables;
    json_t *used; /* those of the tables that the statement names */
    struct buf *why;
    size_t n;
    struct token at[TOKENS_MAX];
};

static bool refuse(struct check *check, const char *before, struct str what, const char *after)
{
    buf_put(check->why, str_of(before));
    if (what.n > 0)
        rules_quote(check->why, what);
    buf_put(check->why, str_of(after));
    return false;
}

static bool is_name_char(unsigned char c)
{
    return c >= 0x80 || c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* The bytes up to and with the closing mark, in which a doubled mark stands for one; 0: none. */
static size_t quoted_bytes(struct str s)
{
    for (size_t i = 1; i < s.n; i++)
        if (s.at[i] == s.at[0]) {
            if (i + 1 == s.n || s.at[i + 1] != s.at[0])
                return i + 1;
            i++;
        }
    return 0;
}

/* Reads the token at the start of `s` and returns its bytes; 0: there is something that no plain
 * statement has, and the reason is put. */
static size_t read_token(struct check *check, struct str s, struct token *token)
{
    static const char signs[] = "(),.*=<>+-/%|!";
    unsigned char c = (unsigned char)s.at[0];
    size_t n = 1;
    token->is_table = token->is_own = false;
    if (c == '\'' || c == '"') {
        n = quoted_bytes(s);
        if (n < 2)
            refuse(check, "the statement has a quotation mark that nothing closes", STR(""), "");
        token->kind = c == '"' ? TOKEN_QUOTED_NAME : TOKEN_VALUE;
        token->text = n < 2 ? s : (struct str){s.at + 1, n - 2};
        return n < 2 ? 0 : n;
    }
    if (str_has_prefix(s, STR("--")) || str_has_prefix(s, STR("/*"))) {
        refuse(check, "the statement holds a comment, which could hide a part of it", STR(""), "");
        return 0;
    }
    if (is_name_char(c)) {
        while (n < s.n &&
               (is_name_char((unsigned char)s.at[n]) || (c >= '0' && c <= '9' && s.at[n] == '.')))
            n++;
        token->kind = c >= '0' && c <= '9' ? TOKEN_VALUE : TOKEN_NAME;
        token->text = (struct str){s.at, n};
        return n;
    }
    token->kind = TOKEN_SIGN;
    token->text = (struct str){s.at, 1};
    if (c != 0 && strchr(signs, c) != NULL)
        return 1;
    if (c == ';')
        refuse(check, "there is more than one statement", STR(""), "");
    else
        refuse(check, "the statement holds the sign ", token->text,
               ", which the rules do not know");
    return 0;
}

static bool read_tokens(struct check *check, struct str sql)
{
    while (sql.n > 0) {
        if (sql.at[0] == ' ' || (sql.at[0] >= '\t' && sql.at[0] <= '\r')) {
            sql = (struct str){sql.at + 1, sql.n - 1};
            continue;
        }
        if (check->n == TOKENS_MAX)
            return refuse(check, "the statement is longer than the rules read", STR(""), "");
        size_t n = read_token(check, sql, &check->at[check->n]);
        if (n == 0)
            return false;
        check->n++;
        sql = (struct str){sql.at + n, sql.n - n};
    }
    return check->n > 0 || refuse(check, "there is no statement", STR(""), "");
}

/* ---- what a token is ---- */

static bool is_word(const struct check *check, size_t i, const char *const *list)
{
    if (i >= check->n || check->at[i].kind != TOKEN_NAME)
        return false;
    for (; *list != NULL; list++)
        if (str_eq_nocase(check->at[i].text, str_of(*list)))
            return true;
    return false;
}

static bool is_one(const struct check *check, size_t i, const char *word)
{
    return is_word(check, i, (const char *const[]){word, NULL});
}

static bool is_sign(const struct check *check, size_t i, char sign)
{
    return i < check->n && check->at[i].kind == TOKEN_SIGN && check->at[i].text.at[0] == sign;
}

static bool is_name(const struct check *check, size_t i)
{
    return i < check->n && check->at[i].kind <= TOKEN_QUOTED_NAME;
}

static bool is_grammar(const struct check *check, size_t i)
{
    static const char *const words[] = {"select",
                                        "from",
                                        "where",
                                        "and",
                                        "or",
                                        "not",
                                        "in",
                                        "is",
                                        "null",
                                        "like",
                                        "ilike",
                                        "glob",
                                        "between",
                                        "exists",
                                        "case",
                                        "when",
                                        "then",
                                        "else",
                                        "end",
                                        "as",
                                        "on",
                                        "join",
                                        "left",
                                        "right",
                                        "inner",
                                        "outer",
                                        "cross",
                                        "natural",
                                        "full",
                                        "using",
                                        "group",
                                        "by",
                                        "having",
                                        "order",
                                        "asc",
                                        "desc",
                                        "nulls",
                                        "first",
                                        "last",
                                        "limit",
                                        "offset",
                                        "distinct",
                                        "all",
                                        "union",
                                        "intersect",
                                        "except",
                                        "with",
                                        "values",
                                        "set",
                                        "insert",
                                        "into",
                                        "update",
                                        "default",
                                        "escape",
                                        "collate",
                                        "nocase",
                                        "cast",
                                        "true",
                                        "false",
                                        "date",
                                        "time",
                                        "timestamp",
                                        "interval",
                                        "text",
                                        "integer",
                                        "int",
                                        "real",
                                        "numeric",
                                        "over",
                                        "partition",
                                        "returning",
                                        "year",
                                        "month",
                                        "day",
                                        "current_date",
                                        "current_timestamp",
                                        "recursive",
                                        "materialized",
                                        NULL};
    return is_word(check, i, words);
}

static bool is_function(const struct check *check, size_t i)
{
    static const char *const words[] = {
        "count",      "min",   "max",        "sum",          "avg",        "total",
        "lower",      "upper", "length",     "substr",       "substring",  "trim",
        "ltrim",      "rtrim", "round",      "abs",          "coalesce",   "ifnull",
        "nullif",     "date",  "datetime",   "strftime",     "to_char",    "date_trunc",
        "extract",    "now",   "concat",     "replace",      "position",   "instr",
        "row_number", "rank",  "dense_rank", "group_concat", "string_agg", "cast",
        NULL};
    return is_word(check, i, words) && is_sign(check, i + 1, '(');
}

static void find_tables(struct check *check)
{
    const char *table;
    json_t *columns;
    for (size_t i = 0; i < check->n; i++) {
        if (!is_name(check, i))
            continue;
        json_object_foreach((json_t *)check->tables, table, columns)
        {
            if (!str_eq_nocase(check->at[i].text, str_of(table)))
                continue;
            check->at[i].is_table = true;
            json_object_set(check->used, table, columns);
        }
    }
}

/* Returns whether one of the tables that the statement names has the column. */
static bool is_column(const struct check *check, struct str name)
{
    const char *table;
    json_t *columns;
    json_object_foreach(check->used, table, columns)
    {
        if (rules_has_column(columns, name))
            return true;
    }
    return false;
}

/* The parenthesis that closes the one at `i`; the end without one. */
static size_t closing(const struct check *check, size_t i)
{
    size_t depth = 0;
    for (; i < check->n; i++) {
        depth += is_sign(check, i, '(');
        if (is_sign(check, i, ')') && --depth == 0)
            break;
    }
    return i;
}

/* "WITH name AS (SELECT", "WITH name (columns) AS MATERIALIZED (SELECT". *ret_end: past its
 * columns. */
static bool is_query_name(const struct check *check, size_t i, size_t *ret_end)
{
    size_t at = i + 1;
    if (i == 0 || !is_name(check, i) ||
        !(is_one(check, i - 1, "with") || is_one(check, i - 1, "recursive") ||
          is_sign(check, i - 1, ',')))
        return false;
    if (is_sign(check, at, '('))
        at = closing(check, at) + 1;
    *ret_end = at;
    if (!is_one(check, at++, "as"))
        return false;
    at += is_one(check, at, "not");
    at += is_one(check, at, "materialized");
    return is_sign(check, at, '(') && !is_sign(check, at + 1, ')');
}

static void find_queries(struct check *check)
{
    size_t end;
    for (size_t i = 0; i < check->n; i++)
        if (is_query_name(check, i, &end))
            for (size_t k = i; k < end && k < check->n; k++)
                check->at[k].is_own = true;
}

/* Returns whether the statement itself introduces the name: "x AS name", "table name", "WITH name
 * AS (". */
static bool is_alias(const struct check *check, struct str name)
{
    for (size_t i = 0; i < check->n; i++) {
        if (!is_name(check, i) || !str_eq_nocase(check->at[i].text, name))
            continue;
        if (check->at[i].is_own)
            return true;
        if (i > 0 && (is_one(check, i - 1, "as") || check->at[i - 1].is_table))
            return true;
    }
    return false;
}

/* ---- the rules ---- */

static bool check_start(struct check *check, bool is_write)
{
    static const char *const reading[] = {"select", "with", "values", NULL};
    if (!is_write && !is_word(check, 0, reading))
        return refuse(check, "a rule may only read, and the statement begins with ",
                      check->at[0].text, "");
    if (is_write && !is_one(check, 0, "insert") && !is_one(check, 0, "update"))
        return refuse(check, "only INSERT and UPDATE are allowed, and the statement begins with ",
                      check->at[0].text, "");
    if (is_one(check, 0, "insert") && !is_one(check, 1, "into"))
        return refuse(check, "an INSERT must continue with INTO, and this one with ",
                      check->n > 1 ? check->at[1].text : STR("nothing"), "");
    return true;
}

static bool check_verbs(struct check *check, bool is_write)
{
    static const char *const never[] = {
        "delete",  "drop",   "alter", "create", "attach",  "detach",   "pragma",    "truncate",
        "grant",   "revoke", "copy",  "vacuum", "reindex", "analyze",  "call",      "merge",
        "execute", "lock",   "load",  "begin",  "commit",  "rollback", "savepoint", NULL};
    static const char *const writing[] = {"insert", "update", "into", NULL};
    for (size_t i = 0; i < check->n; i++) {
        if (is_word(check, i, never) && !is_column(check, check->at[i].text))
            return refuse(check, "the statement holds ", check->at[i].text,
                          is_write ? ", and content may only be inserted or updated"
                                   : ", and a rule may only read");
        if (!is_write && is_word(check, i, writing))
            return refuse(check, "a rule may only read, and the statement holds ",
                          check->at[i].text, "");
        if (is_one(check, i, "or") && is_one(check, i + 1, "replace"))
            return refuse(check, "OR REPLACE would delete rows", STR(""), "");
    }
    return true;
}

static bool check_name(struct check *check, size_t i)
{
    static const char *const before_table[] = {"from", "join", "into", "update", NULL};
    static const char *const of_conflict[] = {"excluded", "do", "nothing", "conflict", NULL};
    struct str name = check->at[i].text;
    bool is_known = check->at[i].is_table || is_column(check, name) || is_alias(check, name);
    if (is_known || is_function(check, i) || is_word(check, i, of_conflict))
        return true;
    if (i > 0 && is_word(check, i - 1, before_table) && !is_one(check, i, "set") &&
        !is_one(check, i, "select"))
        return refuse(check, "there is no table ", name, "");
    if (is_grammar(check, i))
        return true;
    if (is_sign(check, i + 1, '('))
        return refuse(check, "the rules do not know the function ", name, "");
    return refuse(check, "the statement names ", name,
                  ", which is no column of the tables that it uses");
}

static bool check_where(struct check *check)
{
    for (size_t i = 0; i < check->n; i++)
        if (is_one(check, i, "where"))
            return true;
    return !is_one(check, 0, "update") ||
           refuse(check, "an UPDATE without WHERE would change every row", STR(""), "");
}

static bool check_tokens(struct check *check, bool is_write)
{
    find_tables(check);
    find_queries(check);
    if (!check_start(check, is_write) || !check_verbs(check, is_write))
        return false;
    for (size_t i = 0; i < check->n; i++)
        if (is_name(check, i) && !check_name(check, i))
            return false;
    return check_where(check);
}

bool rules_check_sql(struct str sql, bool is_write, const json_t *tables, struct buf *why)
{
    struct check *check = mem_alloc(sizeof *check);
    check->tables = tables;
    check->used = json_object();
    check->why = why;
    check->n = 0;
    sql = str_trim(sql);
    if (sql.n > 0 && sql.at[sql.n - 1] == ';')
        sql.n--;
    bool is_good = sql.n > SQL_MAX_BYTES
                       ? refuse(check, "the statement is longer than the rules read", STR(""), "")
                       : read_tokens(check, sql) && check_tokens(check, is_write);
    json_decref(check->used);
    free(check);
    return is_good;
}
