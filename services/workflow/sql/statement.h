/* SPDX-License-Identifier: MIT
 *
 * statement: decides by its words alone whether a text may be given to a database: one statement,
 * of a kind that its right allows, without what neither database can be trusted to refuse. It reads
 * tokens and no grammar: what it does not know, the database refuses. Each database has guards of
 * its own (sqlite.c, postgres.c); this one is the same for both. Pure functions, any thread.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_SQL_STATEMENT_H
#define PARLEY_SERVICES_WORKFLOW_SQL_STATEMENT_H

#include "services/workflow/sql/sql.h"

enum sql_dialect { SQL_SQLITE, SQL_POSTGRESQL };

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
