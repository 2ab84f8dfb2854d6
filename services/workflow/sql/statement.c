/* SPDX-License-Identifier: MIT
 * statement.c - see statement.h.
 *
 * What SQLite's authorizer sees of a statement, PostgreSQL keeps to itself: which functions are
 * called. Many of those that anyone may call reach beyond a row: pg_sleep, set_config, lo_create,
 * query_to_xml, dblink, and what an extension brings. So the names that may be called are a list
 * (functions.c), and each name before a parenthesis is on it, unless it is a word of SQL, a table's
 * name before its columns, or an alias.
 *
 * INSERT OR REPLACE and REPLACE delete the row that is in the way, without asking SQLite's
 * authorizer. ON CONFLICT DO UPDATE updates it, which is what a right to update is for. */
#include "services/workflow/sql/statement.h"

#include "services/workflow/sql/tokens.h"
#include "shared/base/shown.h"

#include <stdlib.h>

enum { NAME_SHOWN_BYTES = 64 };

struct check {
    const struct token *at;
    enum sql_right right;
    enum sql_dialect dialect;
    struct buf *reason;
};

static bool refuse(const struct check *check, const char *reason)
{
    buf_put(check->reason, str_of(reason));
    return false;
}

static bool refuse_name(const struct check *check, const char *before, struct str name,
                        const char *after)
{
    buf_put(check->reason, str_of(before));
    buf_put_shown(check->reason, name.n > NAME_SHOWN_BYTES ? STR("a long name") : name);
    buf_put(check->reason, str_of(after));
    return false;
}

static bool is_one_of(const struct token *token, const char *const *words)
{
    for (; token->kind == TOKEN_WORD && *words != NULL; words++)
        if (str_eq_nocase(token->text, str_of(*words)))
            return true;
    return false;
}

/* ---- calls ---- */

/* Words of SQL that a parenthesis may follow. */
static const char *const keywords[] = {
    "select",    "distinct",  "all",         "from",         "join",    "lateral",
    "on",        "using",     "where",       "and",          "or",      "not",
    "in",        "any",       "some",        "exists",       "between", "like",
    "ilike",     "is",        "case",        "when",         "then",    "else",
    "by",        "having",    "over",        "partition",    "filter",  "within",
    "union",     "intersect", "except",      "limit",        "offset",  "values",
    "set",       "conflict",  "as",          "materialized", "row",     "array",
    "sets",      "rollup",    "cube",        "cast",         "varchar", "char",
    "character", "varying",   "bpchar",      "numeric",      "decimal", "float",
    "time",      "timestamp", "timestamptz", "interval",     "bit",     "precision",
    "nullif",    "coalesce",  "greatest",    "least",        "escape",  "collate",
    "window",    NULL};

/* `WITH name AS (SELECT ...`, `WITH name (columns) AS (SELECT ...`: `name` is token `i`. A function
 * in FROM may have columns in the same place, `f(x) AS (a int)`, which begins with a name. */
static bool is_query_name(const struct token *tokens, size_t i)
{
    const struct token *at = &tokens[i + 1], *open = at;
    if (i == 0 || !(token_is(&tokens[i - 1], "with") || token_is(&tokens[i - 1], "recursive") ||
                    token_is(&tokens[i - 1], ",")))
        return false;
    if (token_is(open, "(")) {
        while (at->kind != TOKEN_END && !(token_is(at, ")") && at->depth == open->depth))
            at++;
        if (at->kind == TOKEN_END)
            return false;
        at++;
    }
    if (!token_is(at, "as"))
        return false;
    at++;
    if (token_is(at, "not"))
        at++;
    if (token_is(at, "materialized"))
        at++;
    if (!token_is(at++, "("))
        return false;
    return token_is(at, "select") || token_is(at, "with") || token_is(at, "(") ||
           (token_is(at, "values") && token_is(at + 1, "("));
}

static bool is_call_allowed(const struct check *check, size_t i)
{
    static const struct token none = {.kind = TOKEN_END};
    const struct token *token = &check->at[i];
    const struct token *before = i > 0 ? token - 1 : &none;
    if (token_is(before, "."))
        return i >= 3 && token_is(token - 3, "into"); /* a table before its columns */
    if (is_one_of(token, keywords))
        return true;
    /* The same, or an alias before its columns. */
    if (token_is(before, "into") || token_is(before, "as") || token_is(before, ")"))
        return true;
    return is_query_name(check->at, i) || statement_may_call(token->text);
}

/* ---- words ---- */

static bool has_prefix(struct str name, const char *prefix)
{
    struct str wanted = str_of(prefix);
    return name.n >= wanted.n && str_eq_nocase((struct str){name.at, wanted.n}, wanted);
}

/* Catalogs, files, large objects, other databases, the ledger. SQLite's authorizer knows its own.
 */
static bool is_name_allowed(const struct check *check, const struct token *token)
{
    static const char *const prefixes[] = {"pg_", "lo_", "dblink", "information_schema", NULL};
    if (str_eq_nocase(token->text, STR("parley_ledger")))
        return false;
    for (const char *const *p = prefixes; check->dialect == SQL_POSTGRESQL && *p != NULL; p++)
        if (has_prefix(token->text, *p))
            return false;
    return true;
}

static bool check_read(const struct check *check, size_t i)
{
    static const char *const changes[] = {"insert", "update",    "delete", "merge",
                                          "into",   "returning", NULL};
    const struct token *token = &check->at[i];
    if (!is_one_of(token, changes))
        return true;
    return refuse_name(check, "This step may only read, and the statement has the word ",
                       token->text, ". (A column of that name needs double quotes.)");
}

/* `insert_n` counts the statement's own INSERT or UPDATE. */
static bool check_write(const struct check *check, size_t i, unsigned *insert_n)
{
    static const char *const never[] = {"delete",    "merge",    "replace",
                                        "returning", "truncate", NULL};
    const struct token *token = &check->at[i];
    bool is_insert = token_is(token, "insert"), is_update = token_is(token, "update");
    if (is_one_of(token, never) && !(token_is(token, "replace") && token_is(token + 1, "(")))
        return refuse_name(check,
                           "This step may only insert or update, and the statement has the "
                           "word ",
                           token->text, ". (A column of that name needs double quotes.)");
    if (token_is(token, "into") &&
        !(i > 0 && (token_is(token - 1, "insert") || token_is(token - 1, "ignore") ||
                    token_is(token - 1, "abort"))))
        return refuse(check, "The statement has INTO where it is not part of an INSERT.");
    if (is_update && i > 0 && token_is(token - 1, "do"))
        return true;
    if (!is_insert && !is_update)
        return true;
    if (token->depth > 0 || ++*insert_n > 1)
        return refuse(check, "The statement changes rows inside of another statement.");
    if (token_is(token + 1, "or") && !token_is(token + 2, "ignore") &&
        !token_is(token + 2, "abort"))
        return refuse(check, "INSERT OR and UPDATE OR may only be followed by IGNORE: OR REPLACE "
                             "deletes rows.");
    return true;
}

/* `(SELECT ...) UNION (SELECT ...)` reads, too, where the database takes it. */
static bool check_first(const struct check *check)
{
    static const char *const reads[] = {"select", "values", "with", NULL};
    static const char *const writes[] = {"insert", "update", "with", NULL};
    const struct token *first = check->at;
    while (check->right == SQL_READ && token_is(first, "("))
        first++;
    if (is_one_of(first, check->right == SQL_READ ? reads : writes))
        return true;
    return check->right == SQL_READ
               ? refuse_name(check,
                             "This step may only read, so its statement begins with SELECT, "
                             "VALUES or WITH, not with ",
                             first->text, ".")
               : refuse_name(check,
                             "This step may only insert or update, so its statement begins "
                             "with INSERT, UPDATE or WITH, not with ",
                             first->text, ".");
}

static bool check_tokens(const struct check *check, size_t n)
{
    unsigned insert_n = 0;
    for (size_t i = 0; i < n; i++)
        if (token_is(&check->at[i], ";"))
            return refuse(check, "There is more than one statement.");
    if (!check_first(check))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct token *token = &check->at[i];
        if (!(check->right == SQL_READ ? check_read(check, i) : check_write(check, i, &insert_n)))
            return false;
        if (!token_is_name(token))
            continue;
        if (!is_name_allowed(check, token))
            return refuse_name(check, "The statement uses ", token->text,
                               ", which belongs to the database itself.");
        if (check->dialect == SQL_POSTGRESQL && token_is(token + 1, "(") &&
            !is_call_allowed(check, i))
            return refuse_name(check, "The statement calls ", token->text,
                               ", a function that statements may not call.");
    }
    return check->right == SQL_READ || insert_n == 1 ||
           refuse(check, "This step may only insert or update, and the statement does neither.");
}

bool statement_check(struct str text, enum sql_right right, enum sql_dialect dialect,
                     struct buf *reason)
{
    struct tokens tokens;
    struct check check = {.right = right, .dialect = dialect, .reason = reason};
    if (text.n > SQL_STATEMENT_MAX_BYTES)
        return refuse(&check, "The statement is longer than 64 KiB.");
    const char *fault = tokens_read(text, dialect, &tokens);
    if (fault != NULL)
        return refuse(&check, fault);
    check.at = tokens.at;
    bool is_good = check_tokens(&check, tokens.n);
    free(tokens.at);
    return is_good;
}

unsigned statement_queries(struct str text, enum sql_dialect dialect, struct str *ret_names,
                           unsigned max)
{
    struct tokens tokens;
    unsigned n = 0;
    if (tokens_read(text, dialect, &tokens) != NULL)
        return 0;
    for (size_t i = 0; i < tokens.n && n < max; i++)
        if (token_is_name(&tokens.at[i]) && is_query_name(tokens.at, i))
            ret_names[n++] = tokens.at[i].text;
    free(tokens.at);
    return n;
}
