/* SPDX-License-Identifier: MIT
 *
 * lines: reads the replies of the scripts in lua/. Each line is one field; fields contain no
 * newlines. A missing line reads as empty, so reading never runs past the end of a short reply.
 * Results borrow from the text. Pure functions, any thread.
 */
#ifndef PARLEY_QUEUE_LINES_H
#define PARLEY_QUEUE_LINES_H

#include "shared/base/buf.h"

struct lines {
    struct str rest;
};

/* A text without a byte has no line. */
static inline struct lines lines_of(struct str text)
{
    return (struct lines){text.n > 0 ? text : (struct str){NULL, 0}};
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
/* Reads a number; 0 if the line is not a number. */
static inline uint64_t lines_next_u64(struct lines *lines)
{
    uint64_t value = 0;
    return str_parse_u64(lines_next(lines), &value) ? value : 0;
}

/* Removes the next part: `<length>:<bytes>`, with arbitrary bytes. Returns false at the end and for
 * a malformed part. */
bool lines_next_part(struct lines *lines, struct str *ret_part) must_check;

/* One row: a stored query, see lua/queue/records.lua. */
struct query_row {
    uint64_t created_ms;
    struct str account, user_name, model_name; /* names as in keys */
    struct str user, model, modifiers, query;  /* JSON */
    struct str trace; /* what follows "Traceparent": in an object, see row.h; may be "" */
};
struct query_row lines_next_row(struct lines *lines);
/* The Api of the door that it came through (lua/queue/apis.lua), as in "chat"; n == 0: none. */
struct str lines_api_of(const struct query_row *row);
/* The id of the request that added the query; `at == NULL`: unknown, or one that would need an
 * escape in JSON. */
struct str lines_request_id(const struct query_row *row);

/* The outcome of a query, see lua/queue/outcomes.lua. */
struct outcome {
    struct str status; /* Open, Pending, Done, Failed, Cancelled */
    struct query_row row;
    struct str answer, think, model; /* JSON; empty without an answer */
    struct str reason;               /* JSON; Failed and Cancelled only */
    struct str fault; /* JSON; Failed only: the error that its engine said, of a door; or "" */
    uint64_t answered_ms;
    struct str facts; /* JSON members FinishReason and Usage, as far as its engine said; or "" */
};
struct outcome lines_next_outcome(struct lines *lines);
/* Returns why the model cut an answer short: `length` or `content_filter`, constants; or "". */
struct str outcome_cut_by(const struct outcome *outcome);

/* Puts the texts of a stored answer, a JSON list, as paragraphs separated by empty lines. */
void buf_put_json_texts(struct buf *b, struct str list);
/* Puts the text of a JSON string; puts nothing for other values. */
void buf_put_json_text(struct buf *b, struct str json);

/* The kinds of work that engines poll for. */
enum work { WORK_QUERIES, WORK_LOOKUPS, WORK_NR };

/* A claim, see lua/queue/claims.lua and lua/lookup/lookups.lua. `queries` holds the rest of the
 * reply: Seqs and rows, or for a lookup its fragment (JSON), count and threshold. After the row of
 * a door's query comes its request (JSON), or if that is long its size. */
struct claim {
    enum work work;
    struct str class_name;
    struct str topic; /* for a lookup, its fingerprint */
    struct str lease;
    uint64_t attempt;
    unsigned n;
    struct lines queries;
};
/* Returns what polls of a class request. The class for lookups is "<account>|?". */
enum work lines_work_of(struct str class_name);
struct claim lines_next_claim(struct lines *lines);

/* A page of noted_lookups (lua/lookup/noted.lua), query by query. It borrows from the reply. */
struct noted {
    struct lines lines;
    struct str number, next;
    uint64_t seq, before_n, n; /* of the current query */
    struct str query;
};
struct noted lines_noted_of(struct str reply);
/* Moves to the next query; then read its `n` fingerprints from `lines`. Returns false if there are
 * no more queries. */
bool lines_next_noted(struct noted *noted);

/* Puts a decoded name (buf_put_name) as a JSON string, prefixed with its namespace, if any:
 * `acme~inbox` (ADR 36). */
void buf_put_json_of_name(struct buf *b, struct str name);
/* Return the name without its namespace, and the namespace alone (n == 0: none). Borrow from
 * `name`. */
struct str lines_name_within(struct str name);
struct str lines_namespace_of(struct str name);
/* Puts a time in ms as a JSON string, in RFC 3339 with its zone: "2025-03-25T01:02:03Z". All times
 * that clients see have this form, except the three below. */
void buf_put_json_time(struct buf *b, uint64_t ms);
/* The same in UTC without a zone: "2025-03-25T01:02:03". BossBot's document shows this form for the
 * Timestamp in the responses of add-query, add-lookup and recommend; nothing else uses it. */
void buf_put_json_zoneless_time(struct buf *b, uint64_t ms);

#endif
