/* SPDX-License-Identifier: MIT
 *
 * sql: runs the statements of a run's steps on the database of --sql-url, one per step and in a
 * transaction of its own. Two kinds of databases behind one table of functions: SQLite, for one
 * host, and PostgreSQL. Neither runs in the node: children that can be killed hold the connections
 * (ADR 48).
 *
 * SQL_READ may only read. SQL_WRITE may only insert or update, and its statement commits together
 * with a row (run, step) in the table parley_ledger: however often and on however many nodes the
 * step is started, its statement happens at most once. No statement sees the ledger.
 *
 * A store belongs to one node and is used on its loop's thread only. Settings are read once per
 * process, before threads start, and do not change.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_SQL_SQL_H
#define PARLEY_SERVICES_WORKFLOW_SQL_SQL_H

#include "services/workflow/sql/settings.h"
#include "shared/base/json.h"
#include "shared/op/loop.h"

/* Connects to PostgreSQL and waits, 6 s at most, to see what its roles may do. Returns false after
 * one line on standard error if they may do too much, or the login is refused; true otherwise, even
 * if no server responds: then each connection is checked when it is made. Once, before nodes run.
 */
bool sql_check_roles(const struct sql_settings *settings) must_check;

/* ---- a node's store ---- */

struct sql_statement {
    struct str session; /* 32 hex digits */
    uint64_t run, step;
    enum sql_right right;
    struct str text;
    struct str account, user; /* names: whose turn it takes */
};

struct sql_end {
    enum sql_outcome outcome;
    const json_t *columns; /* array of names; NULL unless SQL_DONE */
    const json_t *rows;    /* array of arrays; NULL unless SQL_DONE */
    uint64_t row_n;        /* rows that were returned, or inserted and updated */
    bool is_cut;           /* there were more rows, or longer values, than `rows` has */
    bool had_happened;     /* an earlier start of this step has done it; `rows` is empty */
    struct str reason;     /* a sentence for people; never empty */
};

/* Runs once, on the loop's thread, never inside sql_start. All of `end` is borrowed. */
typedef void sql_end_cb(void *context, const struct sql_end *end);
/* Runs once, never inside sql_describe. `tables` is an object, name of each table to an array of
 * its columns' names, borrowed; NULL with a reason if the database did not respond. */
typedef void sql_tables_cb(void *context, const json_t *tables, struct str reason);

struct sql_store;
struct sql_call;

/* Nothing is opened before the first statement. `settings` is borrowed. */
struct sql_store *sql_store_create(struct loop *loop,
                                   const struct sql_settings *settings) must_check;
/* Kills the children. No callback runs any more. Accepts NULL. */
void sql_store_destroy(struct sql_store *store);

/* Copies `statement`. The call is freed after its callback. */
struct sql_call *sql_start(struct sql_store *store, const struct sql_statement *statement,
                           sql_end_cb *on_end, void *context) must_check;
/* The tables that statements may use, at most a few seconds old. A database that does not respond
 * within 2 s has none, for a few seconds, unless it is busy: then within 30 s. */
struct sql_call *sql_describe(struct sql_store *store, sql_tables_cb *on_tables,
                              void *context) must_check;
/* The callback does not run any more. A statement that is running is ended, and may have happened:
 * starting its step again reports it. */
void sql_cancel(struct sql_call *call);

#endif
