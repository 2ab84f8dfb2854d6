/* SPDX-License-Identifier: MIT
 *
 * database: one kind of database as a table of functions, and what runs in the child that holds its
 * connection (child.h). A child does one job after the other and waits for each; nothing here runs
 * in a node, except `check_url`. The statement has passed statement_check.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_SQL_DATABASE_H
#define PARLEY_SERVICES_WORKFLOW_SQL_DATABASE_H

#include "services/workflow/sql/statement.h"
#include "shared/base/json.h"

/* As they come from the node: NUL-terminated. */
struct database_settings {
    const char *url;      /* whole */
    const char *password; /* NULL: none besides those in the URL and the environment */
    const char *role;
};

enum database_task {
    DATABASE_READ,
    DATABASE_WRITE,
    DATABASE_CHECK,   /* whether the step's statement has happened: `had_happened`. It waits for
                       * a node that may still be at it */
    DATABASE_DESCRIBE /* its tables, as `tables` */
};

struct database_job {
    enum database_task task;
    struct str run; /* "<session>.<run>": of WRITE and CHECK */
    uint64_t step;
    const char *text;
    size_t text_n;
    /* To be called when the statement begins, after any wait for locks. */
    void (*on_begin)(void);
};

struct database_answer {
    enum sql_outcome outcome;
    json_t *columns, *rows, *tables; /* the caller's to decref; NULL: none */
    uint64_t row_n;
    bool is_cut, had_happened;
    bool is_lost; /* the connection has ended, and the child with it */
    struct buf reason;
};

enum database_opened {
    DATABASE_OPEN,
    DATABASE_REFUSED, /* it must not be used, or its settings are wrong: no use in trying again */
    DATABASE_AWAY     /* not now */
};

struct database_kind {
    const char *scheme; /* of its URLs, before the colon */
    enum sql_dialect dialect;
    unsigned child_n;     /* of a node, at most */
    uint64_t begin_ms;    /* until a job begins: waits for locks */
    uint64_t grace_ms;    /* after SQL_LIMIT_MS, for the database to end a statement by itself */
    bool has_environment; /* children get the variables that its library reads */
    /* NULL, or why no such database can be meant, which continues the setting's name. */
    const char *(*check_url)(const char *url);
    /* The part of the URL that may be shown. */
    void (*put_place)(struct buf *b, const char *url);
    /* Connects, and creates the ledger; an empty database gets the sample. */
    enum database_opened (*open)(const struct database_settings *settings, void **ret_database,
                                 struct buf *reason);
    void (*run)(void *database, const struct database_job *job, struct database_answer *answer);
};

extern const struct database_kind database_sqlite, database_postgres;

/* ---- for both ---- */

/* Puts a database's own message as a sentence: its first line, cut to what people read. */
void database_put_message(struct buf *reason, const char *who, const char *message);

/* The rows of an answer, which are bounded in bytes. */
struct result {
    struct database_answer *answer;
    size_t bytes;
};
/* Text of a cell, cut to what one cell may have; bytes that are not UTF-8 become U+FFFD. */
json_t *result_text(struct result *result, struct str text) must_check;
/* Takes `row`, an array. Returns false, with `is_cut` set, if it does not fit. */
bool result_add_row(struct result *result, json_t *row) must_check;

#endif
