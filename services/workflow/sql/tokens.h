/* SPDX-License-Identifier: MIT
 *
 * tokens: the words of a statement, for statement.c. Where SQLite and PostgreSQL cut a text
 * differently, or one of them differs between versions, the text is refused, so that what is
 * checked is what the database reads. Pure functions, any thread.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_SQL_TOKENS_H
#define PARLEY_SERVICES_WORKFLOW_SQL_TOKENS_H

#include "shared/base/str.h"

enum sql_dialect { SQL_SQLITE, SQL_POSTGRESQL };

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_QUOTED /* a name */, TOKEN_VALUE, TOKEN_SIGN };

struct token {
    enum token_kind kind;
    struct str text; /* without the quotes of a name; doubled quotes stay */
    unsigned depth;  /* open parentheses around it; those of "(" and ")" themselves are the outer */
};

struct tokens {
    struct token *at; /* its last one is TOKEN_END */
    size_t n;         /* without the last one */
};

/* Returns why the text cannot be read; NULL: it can, and the caller frees `ret_tokens->at`. They
 * borrow `text`. A semicolon at its end is left out. */
const char *tokens_read(struct str text, enum sql_dialect dialect,
                        struct tokens *ret_tokens) must_check;

static inline bool token_is(const struct token *token, const char *word)
{
    return (token->kind == TOKEN_WORD || token->kind == TOKEN_SIGN) &&
           str_eq_nocase(token->text, str_of(word));
}
static inline bool token_is_name(const struct token *token)
{
    return token->kind == TOKEN_WORD || token->kind == TOKEN_QUOTED;
}

#endif
