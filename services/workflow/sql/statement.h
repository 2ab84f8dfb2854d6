/* SPDX-License-Identifier: MIT
 *
 * statement: decides by its words alone whether a text may be given to a database: one statement,
 * of a kind that its right allows, without what neither database can be trusted to refuse. It reads
 * tokens and no grammar: what it does not know, the database refuses. Each database has guards of
 * its own (sqlite.c, postgres.c); this one is the same for both. Pure functions, any thread.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_SQL_STATEMENT_H
#define PARLEY_SERVICES_WORKFLOW_SQL_STATEMENT_H

#include "services/workflow/sql/tokens.h"
#include "shared/base/buf.h"

enum {
    SQL_LIMIT_MS = 5000,          /* of one statement */
    SQL_ROWS_MAX = 100,           /* of one result */
    SQL_RESULT_MAX_BYTES = 65536, /* of its rows as JSON */
    SQL_STATEMENT_MAX_BYTES = 65536,
    /* Statements of a node that wait for a child; then the one with the most loses its newest. */
    SQL_WAITING_MAX = 200,
};

enum sql_right { SQL_READ /* RULE */, SQL_WRITE /* CONTENT */ };

enum sql_outcome {
    SQL_DONE,
    SQL_REFUSED,     /* not a statement that this right allows; the database was not changed */
    SQL_FAILED,      /* the database refused it: syntax, a constraint, no space */
    SQL_TIMED_OUT,   /* it ran for SQL_LIMIT_MS, and nothing of it happened */
    SQL_UNREACHABLE, /* no database, or it was lost on the way: start the same step again, which
                      * runs the statement or finds that it has happened */
    SQL_NR
};

/* False with a sentence for people in `reason`, whose maximum should be a few hundred bytes: names
 * in it are cut. */
bool statement_check(struct str text, enum sql_right right, enum sql_dialect dialect,
                     struct buf *reason) must_check;

/* Sets *ret_names to the names that the statement gives to queries of its own (WITH name AS ...),
 * at most `max` of them, and returns how many. They borrow from `text`. */
unsigned statement_queries(struct str text, enum sql_dialect dialect, struct str *ret_names,
                           unsigned max);

/* Returns whether statements may call the function `name`, in either case. */
bool statement_may_call(struct str name) must_check;

#endif
