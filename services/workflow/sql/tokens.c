/* SPDX-License-Identifier: MIT
 * tokens.c - see tokens.h. */
#include "services/workflow/sql/tokens.h"

#include "shared/base/mem.h"

struct reader {
    struct str text;
    size_t at;
    enum sql_dialect dialect;
    struct tokens tokens;
    unsigned depth;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c) ||
           c == '$' || (unsigned char)c >= 0x80;
}

static char peek(const struct reader *r, size_t after)
{
    return r->at + after < r->text.n ? r->text.at[r->at + after] : 0;
}

static void add(struct reader *r, enum token_kind kind, size_t from, size_t to)
{
    r->tokens.at =
        mem_grow(r->tokens.at, r->tokens.n == 0 ? 0 : r->tokens.n + 1, sizeof *r->tokens.at);
    r->tokens.at[r->tokens.n++] = (struct token){kind, {r->text.at + from, to - from}, r->depth};
    r->tokens.at[r->tokens.n] = (struct token){.kind = TOKEN_END};
}

/* A line comment ends at a newline; for PostgreSQL also at a carriage return. A block nests for
 * PostgreSQL alone. */
static const char *skip_comment(struct reader *r, bool is_line)
{
    for (r->at += 2; r->at < r->text.n; r->at++) {
        char c = peek(r, 0);
        if (is_line && c == '\r')
            return "A comment has a carriage return.";
        if (is_line ? c == '\n' : c == '*' && peek(r, 1) == '/') {
            r->at += is_line ? 1 : 2;
            return NULL;
        }
        if (!is_line && c == '/' && peek(r, 1) == '*')
            return "A comment has another one inside.";
    }
    return is_line ? NULL : "A comment has no end.";
}

/* Up to the `end` quote, which doubled stands for itself (never "]"). */
static const char *read_quoted(struct reader *r, char end, enum token_kind kind)
{
    size_t from = ++r->at;
    for (; r->at < r->text.n; r->at++) {
        if (peek(r, 0) != end)
            continue;
        if (end != ']' && peek(r, 1) == end) {
            r->at++;
            continue;
        }
        add(r, kind, from, r->at++);
        return NULL;
    }
    return kind == TOKEN_VALUE ? "A string has no end." : "A quoted name has no end.";
}

static const char *read_number(struct reader *r)
{
    size_t from = r->at;
    bool is_hex = peek(r, 0) == '0' && (peek(r, 1) == 'x' || peek(r, 1) == 'X');
    if (is_hex)
        for (r->at += 2;
             is_digit(peek(r, 0)) || ((peek(r, 0) | 32) >= 'a' && (peek(r, 0) | 32) <= 'f');)
            r->at++;
    while (!is_hex && (is_digit(peek(r, 0)) || peek(r, 0) == '.'))
        r->at++;
    if (!is_hex && (peek(r, 0) | 32) == 'e') {
        size_t sign = peek(r, 1) == '+' || peek(r, 1) == '-' ? 2 : 1;
        if (is_digit(peek(r, sign)))
            for (r->at += sign; is_digit(peek(r, 0));)
                r->at++;
    }
    if (is_word(peek(r, 0)))
        return "A number runs into a word: put a space between them.";
    add(r, TOKEN_VALUE, from, r->at);
    return NULL;
}

/* x'00' is a value; E'', U&'' and their like are read differently. */
static const char *read_word(struct reader *r)
{
    size_t from = r->at;
    while (is_word(peek(r, 0)))
        r->at++;
    if (peek(r, 0) == '\'' && !(r->at - from == 1 && (r->text.at[from] | 32) == 'x'))
        return "A string has a prefix: write it in plain quotes.";
    if (peek(r, 0) == '&' && (peek(r, 1) == '\'' || peek(r, 1) == '"'))
        return "A string or name has the prefix U&: write it in plain quotes.";
    add(r, TOKEN_WORD, from, r->at);
    return NULL;
}

static const char *read_sign(struct reader *r)
{
    char c = peek(r, 0);
    bool is_sqlite = r->dialect == SQL_SQLITE;
    if ((unsigned char)c < ' ' || c == 0x7f || c == '\\')
        return "The statement has a character that is not allowed.";
    if (c == '$' || (is_sqlite && (c == '?' || c == '@' || c == ':' || c == '#')))
        return "The statement has a parameter ($, ?, : or @) or a dollar quote.";
    if (c == ')' && r->depth == 0)
        return "A parenthesis is closed that was not opened.";
    if (c == ')')
        r->depth--;
    add(r, TOKEN_SIGN, r->at, r->at + 1);
    if (c == '(')
        r->depth++;
    r->at++;
    return NULL;
}

static const char *read_one(struct reader *r)
{
    char c = peek(r, 0);
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        r->at++;
        return NULL;
    }
    if (c == '-' && peek(r, 1) == '-')
        return skip_comment(r, true);
    if (c == '/' && peek(r, 1) == '*')
        return skip_comment(r, false);
    if (c == '\'')
        return read_quoted(r, '\'', TOKEN_VALUE);
    if (c == '"')
        return read_quoted(r, '"', TOKEN_QUOTED);
    if (r->dialect == SQL_SQLITE && (c == '[' || c == '`'))
        return read_quoted(r, c == '[' ? ']' : '`', TOKEN_QUOTED);
    if (is_digit(c) || (c == '.' && is_digit(peek(r, 1))))
        return read_number(r);
    if (is_word(c) && c != '$')
        return read_word(r);
    return read_sign(r);
}

const char *tokens_read(struct str text, enum sql_dialect dialect, struct tokens *ret_tokens)
{
    struct reader r = {.text = text, .dialect = dialect};
    const char *fault = NULL;
    if (text.n > 0 && (memchr(text.at, 0, text.n) != NULL || !str_is_utf8(text)))
        fault = "The statement is not plain text.";
    while (fault == NULL && r.at < text.n)
        fault = read_one(&r);
    while (fault == NULL && r.tokens.n > 0 && token_is(&r.tokens.at[r.tokens.n - 1], ";"))
        r.tokens.at[--r.tokens.n] = (struct token){.kind = TOKEN_END};
    if (fault == NULL && r.tokens.n == 0)
        fault = "The statement is empty.";
    if (fault == NULL && r.depth > 0)
        fault = "A parenthesis is not closed.";
    if (fault != NULL)
        free(r.tokens.at);
    else
        *ret_tokens = r.tokens;
    return fault;
}
