/* SPDX-License-Identifier: MIT
 *
 * rules_internal: shared by the files of the rules: a workflow's prompt taken apart, the words of
 * its request, the tables that the prompt lists, and the decision that grows. Pure.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_RULES_INTERNAL_H
#define PARLEY_SERVICES_ENGINE_MODELS_RULES_INTERNAL_H

#include "shared/base/json.h"
#include "shared/text/text.h"

enum { RULES_WORDS_MAX = 256, RULES_REQUEST_MAX_BYTES = 16 << 10 };

/* ---- rules_words.c: the words of a request ---- */

enum rules_kind { RULES_WORD, RULES_NUMBER, RULES_QUOTED, RULES_SIGN };

/* All borrowed from the request. */
struct rules_word {
    enum rules_kind kind;
    struct str here; /* as it stands, with its quotation marks */
    struct str text; /* without them */
    char stem[TEXT_WORD_MAX_BYTES];
    size_t stem_n; /* 0: not a single word of letters */
};

struct rules_words {
    struct rules_word at[RULES_WORDS_MAX];
    size_t n;
    struct str rest;      /* what follows the last of RULES_WORDS_MAX words */
    bool has_long_values; /* see rules_take_value */
};

void rules_read_words(struct rules_words *words, struct str text);
/* Returns whether word `i` is one of `list`, which ends with NULL, in any case. False past the end.
 */
bool rules_is(const struct rules_words *words, size_t i, const char *const *list);
bool rules_is_sign(const struct rules_words *words, size_t i, char sign);
/* Returns how many words from `i` on are the name of a table or column: "happened on" for
 * happened_on, "pattern" for patterns. 0: none. */
size_t rules_match(const struct rules_words *words, size_t i, struct str name);
/* Reads a value: something quoted, a number, or the words up to a sign or to a word that begins
 * the next condition; with has_long_values only "and", "or", "but" and "not" end it, as in "named
 * retry with backoff". Moves *i past it; false if there is none. */
bool rules_take_value(const struct rules_words *words, size_t *i, struct str *ret_value);

/* ---- rules_tables.c: what the prompt says there is ---- */

/* One mention of a table in a request: words `at` to `at + n`. */
struct rules_mention {
    const char *table; /* NULL: none */
    size_t at, n;
    bool is_detail; /* of rules_find_subject: all mentions are after "of", "for", "in" */
};

/* The first table that the words from `i` on name. */
struct rules_mention rules_find_table(const json_t *tables, const struct rules_words *words,
                                      size_t i);
/* The table that the request is about: the first one that is after no "of", "for" or "in",
 * else the first one. */
struct rules_mention rules_find_subject(const json_t *tables, const struct rules_words *words);
/* The column that the words at `i` name, and in *ret_n how many words they are; else NULL. */
const char *rules_match_column(const json_t *columns, const struct rules_words *words, size_t i,
                               size_t *ret_n);
/* The first column that has one of the usual names for this; NULL if there is none. */
const char *rules_name_column(const json_t *columns);
const char *rules_body_column(const json_t *columns);
const char *rules_date_column(const json_t *columns);
bool rules_has_column(const json_t *columns, struct str name);
/* Returns whether the column holds words, by its name. */
bool rules_is_text_column(struct str name);
/* The column of `columns` that refers to a row of `table`: pattern_id for patterns. Or NULL. */
const char *rules_reference(const json_t *columns, const char *table);
/* Puts "cards, episodes and patterns", at most a dozen. */
void rules_put_tables(struct buf *b, const json_t *tables);

/* ---- rules_sql.c: statements ---- */

/* Puts a name as SQL, in quotes where it needs them, and text as a literal. */
void rules_put_sql_name(struct buf *b, struct str name);
void rules_put_sql_text(struct buf *b, struct str text);
/* Returns whether the column holds numbers of rows: id, pattern_id. */
bool rules_is_id(struct str column);
bool rules_is_number(struct str text);

/* ---- rules_check.c ---- */

/* Returns whether the text is one statement that only reads, or with `is_write` only inserts or
 * updates, and names nothing but the tables and their columns. If not, puts why. */
bool rules_check_sql(struct str sql, bool is_write, const json_t *tables, struct buf *why);

/* ---- one prompt and its decision ---- */

struct rules_case {
    struct str task;      /* what the agent is for: its prompt */
    struct str agent;     /* empty: a prompt without such a line */
    struct str verb;      /* RULE, CONTENT or another; may be empty */
    struct str verbs;     /* of the agent that chooses one: a list with commas; else empty */
    struct str request;   /* trimmed, as people have corrected it */
    struct buf corrected; /* what `request` borrows from then */
    bool is_unclear;      /* the rules do not know what a correction changes */
    json_t *tables;       /* an object of lists of columns; NULL: none */
    json_t *body;         /* messageBody; NULL: none */
    struct rules_words words;
};

struct rules_decision {
    bool is_yes;
    const char *confidence; /* a JSON number */
    struct buf reason;
    json_t *output; /* an object */
};

static inline void rules_say(struct rules_decision *d, bool is_yes, const char *confidence,
                             const char *reason)
{
    d->is_yes = is_yes;
    d->confidence = confidence;
    buf_lit(&d->reason, "Built-in rule: ");
    buf_put(&d->reason, str_of(reason));
}
/* Puts a client's words into a reason: in quotes, at most 80 bytes of them. */
void rules_quote(struct buf *reason, struct str text);

/* The first word that can be what the request asks for: no verb, article or number; else all. */
struct str rules_find_object(const struct rules_case *c);

/* rules_corrections.c: takes the lines "Correction:" of a run's prompt into the request. */
void rules_correct(struct rules_case *c, struct str prompt);

/* rules_select.c: writes a SELECT from the request. */
void rules_write_select(struct rules_case *c, struct rules_decision *d);
/* rules_content.c: writes an INSERT or UPDATE from the request, and lists what it holds. */
void rules_write_content(const struct rules_case *c, struct rules_decision *d);

#endif
