/* SPDX-License-Identifier: MIT
 *
 * lines: reading what the scripts of lua/ answer: fields on lines of their own, none of which holds
 * a newline. A missing line reads as empty, so a short reply never leads outside of it. All that is
 * read borrows from the text. Pure functions, any thread.
 */
#ifndef PARLEY_QUEUE_LINES_H
#define PARLEY_QUEUE_LINES_H

#include "shared/base/buf.h"

struct lines {
    struct str rest;
};

static inline struct lines lines_of(struct str text)
{
    return (struct lines){text};
}
static inline bool lines_are_left(const struct lines *lines)
{
    return lines->rest.at != NULL;
}
static inline struct str lines_next(struct lines *lines)
{
    struct str line = str_cut(&lines->rest, '\n');
    return line.at == NULL ? STR("") : line;
}
/* A number; 0 when the line is none. */
static inline uint64_t lines_next_u64(struct lines *lines)
{
    uint64_t value = 0;
    return str_parse_u64(lines_next(lines), &value) ? value : 0;
}

/* Takes a part off: `<length>:<bytes>`, where bytes may be anything. False at the end, and for what
 * is no part. */
bool lines_next_part(struct lines *lines, struct str *ret_part) must_check;

/* One row: what was asked, see lua/queue/records.lua. */
struct query_row {
    uint64_t created_ms;
    struct str account, user_name, model_name;             /* names as in keys */
    struct str user, model, modifiers, traceparent, query; /* JSON; traceparent may be "" */
};
struct query_row lines_next_row(struct lines *lines);

/* What became of a query, see lua/queue/outcomes.lua. */
struct outcome {
    struct str status; /* Open, Pending, Done, Failed, Cancelled */
    struct query_row row;
    struct str answer, think, model; /* JSON; empty without an answer */
    struct str reason;               /* JSON; of Failed and Cancelled */
    uint64_t answered_ms;
    struct str attempt; /* of Pending, where it is known */
};
struct outcome lines_next_outcome(struct lines *lines);

/* Puts the texts of a stored answer, a JSON list, one below the other. */
void buf_put_json_texts(struct buf *b, struct str list);
/* The text that a JSON string says, put into `b`; nothing for other values. */
void buf_put_json_text(struct buf *b, struct str json);

/* What engines poll for. */
enum work { WORK_QUERIES, WORK_LOOKUPS, WORK_NR };

/* A claim, see lua/queue/claims.lua and lua/lookup/lookups.lua. `queries` still holds its Seqs and
 * rows; of a lookup its fragment (JSON), count and threshold. */
struct claim {
    enum work work;
    struct str class_name;
    struct str topic; /* of a lookup its fingerprint */
    struct str lease;
    uint64_t attempt;
    unsigned n;
    struct lines queries;
};
/* What polls of a class are for: "<account>|?" are those for lookups. */
enum work lines_work_of(struct str class_name);
struct claim lines_next_claim(struct lines *lines);

/* A page of noted_lookups (lua/lookup/noted.lua), query by query. It borrows from the reply. */
struct noted {
    struct lines lines;
    struct str number, next;
    uint64_t seq, before_n, n; /* of the query that was read last */
    struct str query;
};
struct noted lines_noted_of(struct str reply);
/* Its `n` fingerprints are to be read from `lines` next; false when there are no more queries. */
bool lines_next_noted(struct noted *noted);

/* Puts a name (buf_put_name) as the JSON string of what it names, with its namespace in front if it
 * has one: `acme~inbox` (ADR 16). */
void buf_put_json_of_name(struct buf *b, struct str name);
/* The name without its namespace, and the namespace alone (n == 0: none). They borrow from it. */
struct str lines_name_within(struct str name);
struct str lines_namespace_of(struct str name);
/* Puts the JSON timestamp of a time in ms, with quotes. */
void buf_put_json_ms(struct buf *b, uint64_t ms);

#endif
