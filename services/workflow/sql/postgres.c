/* SPDX-License-Identifier: MIT
 * postgres.c - PostgreSQL as one of the databases (database.h), in the child that holds one
 * connection.
 *
 * A statement runs as the statement role (postgres_roles.h), sent by the extended protocol, which
 * takes one statement, under statement_timeout:
 *
 *   to read    BEGIN READ ONLY, SET LOCAL ROLE, DECLARE ... CURSOR FOR the statement, which takes
 *              only what returns rows and changes none, FETCH, ROLLBACK
 *   to write   BEGIN, the row in the ledger, SET LOCAL ROLE, the statement, SET LOCAL ROLE NONE,
 *              its number of rows into the ledger, COMMIT
 *
 * The row in the ledger comes first: a second node that has the same step waits at it until the
 * first one commits or gives up. Then nothing of a session is left (DISCARD ALL). */
#include "services/workflow/sql/postgres_roles.h"
#include "services/workflow/sql/sample.h"
#include "shared/base/mem.h"

#include <libpq-fe.h>
#include <stdio.h>

enum {
    CONNECT_S = 5,
    CLAIM_MS = SQL_LIMIT_MS + 3000, /* longer than the holder of the row may take */
    STEP_BYTES = 24,
    SQL_MAX_BYTES = 1024,
    LEDGER_DAYS = 400,
    /* pg_type.dat */
    OID_BOOL = 16,
    OID_INT8 = 20,
    OID_INT2 = 21,
    OID_INT4 = 23,
    OID_FLOAT4 = 700,
    OID_FLOAT8 = 701,
    OID_NUMERIC = 1700,
};
/* "parley" */
#define SEED_LOCK "SELECT pg_advisory_xact_lock(123610917561721)"

struct postgres {
    PGconn *connection;
    char *role; /* quoted */
    char *plain_role;
};

/* ---- our own statements ---- */

static void put_message(struct buf *reason, const char *message)
{
    database_put_message(reason, "PostgreSQL", message);
}

/* Takes `result`. */
static bool is_good(PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

static bool execute(struct postgres *postgres, const char *sql)
{
    return is_good(PQexec(postgres->connection, sql));
}

static bool is_connected(const struct postgres *postgres)
{
    return PQstatus(postgres->connection) == CONNECTION_OK;
}

/* A connection that is lost is no answer. */
static void fail(struct postgres *postgres, const PGresult *result, struct database_answer *answer)
{
    const char *state = result == NULL ? NULL : PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message =
        result == NULL ? NULL : PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    bool is_ending = state != NULL && strncmp(state, "57P", 3) == 0; /* the server shuts down */
    if (!is_connected(postgres) || is_ending) {
        answer->outcome = SQL_UNREACHABLE;
        answer->is_lost = true;
        buf_lit(&answer->reason, "PostgreSQL: the connection was lost.");
        return;
    }
    /* query_canceled, lock_not_available */
    bool is_slow = state != NULL && (strcmp(state, "57014") == 0 || strcmp(state, "55P03") == 0);
    answer->outcome = is_slow ? SQL_TIMED_OUT : SQL_FAILED;
    if (is_slow)
        buf_lit(&answer->reason, "The statement was ended: it ran for 5 seconds.");
    else
        put_message(&answer->reason,
                    message != NULL ? message : PQerrorMessage(postgres->connection));
}

/* ---- opening ---- */

static const char *check_url(const char *url)
{
    char *error = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &error);
    PQfreemem(error); /* it may quote the password */
    if (options == NULL)
        return "is not a URL that PostgreSQL's library takes: "
               "postgresql://user@host:port/database, with special characters as %XX";
    PQconninfoFree(options);
    return NULL;
}

static void put_place(struct buf *b, const char *url)
{
    static const char *const shown[] = {"user", "host", "port", "dbname", NULL};
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    buf_lit(b, "postgresql:");
    for (PQconninfoOption *option = options; option != NULL && option->keyword != NULL; option++)
        for (const char *const *name = shown; *name != NULL; name++)
            if (strcmp(option->keyword, *name) == 0 && option->val != NULL && *option->val != 0) {
                buf_put_char(b, ' ');
                buf_put(b, str_of(option->keyword));
                buf_put_char(b, '=');
                buf_put(b, str_of(option->val));
            }
    PQconninfoFree(options);
}

static void drop_notice(void *context, const char *message)
{
    (void)context;
    (void)message;
}

static PGconn *connect_to(const struct database_settings *settings, PGPing *ret_ping)
{
    const char *const names[] = {"connect_timeout", "application_name", "dbname",
                                 "client_encoding", "password",         NULL};
    const char *const values[] = {"5", "parley", settings->url, "UTF8", settings->password, NULL};
    _Static_assert(CONNECT_S == 5, "connect_timeout");
    /* `dbname` is the whole URL, which wins over what precedes it. */
    PGconn *connection = PQconnectdbParams(names, values, 1);
    *ret_ping = PQPING_OK;
    if (PQstatus(connection) != CONNECTION_OK)
        *ret_ping = PQpingParams(names, values, 1);
    PQsetNoticeProcessor(connection, drop_notice, NULL);
    return connection;
}

/* The user's tables, in a database that nobody has used yet. */
static bool is_empty(struct postgres *postgres)
{
    PGresult *found = PQexec(
        postgres->connection,
        "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind IN "
        "('r','p','v','m','f') AND nspname !~ '^pg_' AND nspname NOT IN ('information_schema', "
        "'parley') LIMIT 1");
    bool is_so = PQresultStatus(found) == PGRES_TUPLES_OK && PQntuples(found) == 0;
    PQclear(found);
    return is_so;
}

static bool has_ledger(struct postgres *postgres)
{
    PGresult *found =
        PQexec(postgres->connection, "SELECT 1 WHERE to_regclass('parley.parley_ledger') IS NULL");
    bool is_there = PQresultStatus(found) == PGRES_TUPLES_OK && PQntuples(found) == 0;
    PQclear(found);
    return is_there;
}

/* Into the schema public, where the login role may create tables: otherwise the database stays
 * empty. */
static bool seed(struct postgres *postgres)
{
    char sql[SQL_MAX_BYTES];
    PGresult *may =
        PQexec(postgres->connection, "SELECT 1 FROM pg_namespace WHERE nspname = "
                                     "'public' AND has_schema_privilege(oid, 'CREATE')");
    bool is_done = true, may_create = PQntuples(may) == 1;
    PQclear(may);
    if (!may_create)
        return true;
    execute(postgres, "SET LOCAL search_path = public");
    for (size_t i = 0; is_done && sample_tables[i] != NULL; i++) {
        const char *at = strstr(sample_tables[i], "%s");
        snprintf(sql, sizeof sql, "%.*sINTEGER GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY%s",
                 (int)(at - sample_tables[i]), sample_tables[i], at + 2);
        is_done = execute(postgres, sql);
        snprintf(sql, sizeof sql, "GRANT SELECT, INSERT, UPDATE ON public.%s TO %s",
                 sample_names[i], postgres->role);
        is_done = is_done && execute(postgres, sql);
    }
    for (size_t i = 0; is_done && sample_rows[i] != NULL; i++)
        is_done = execute(postgres, sample_rows[i]);
    return is_done;
}

static bool create_ledger(struct postgres *postgres)
{
    /* CREATE SCHEMA IF NOT EXISTS needs the right to create one even if it exists. */
    return execute(postgres, "DO $$ BEGIN IF to_regnamespace('parley') IS NULL THEN "
                             "CREATE SCHEMA parley; END IF; END $$") &&
           execute(postgres, "CREATE TABLE parley.parley_ledger (run text NOT NULL, step bigint "
                             "NOT NULL, rowcount bigint NOT NULL, at timestamptz NOT NULL "
                             "DEFAULT now(), PRIMARY KEY (run, step))");
}

/* One of several nodes that start at once does it. */
static bool set_up(struct postgres *postgres, struct buf *reason)
{
    char forget[SQL_MAX_BYTES];
    snprintf(forget, sizeof forget,
             "DELETE FROM parley.parley_ledger WHERE at < now() - interval '%d days'", LEDGER_DAYS);
    bool is_done = execute(postgres, "BEGIN; SET LOCAL statement_timeout = 5000; " SEED_LOCK);
    if (is_done && !has_ledger(postgres))
        is_done = (!is_empty(postgres) || seed(postgres)) && create_ledger(postgres);
    is_done = is_done && execute(postgres, forget) && execute(postgres, "COMMIT");
    if (!is_done) {
        put_message(reason, PQerrorMessage(postgres->connection));
        buf_lit(reason, " The login role needs a schema `parley` of its own for the ledger.");
    }
    return is_done;
}

static enum database_opened open_database(const struct database_settings *settings,
                                          void **ret_database, struct buf *reason)
{
    PGPing ping;
    struct postgres *postgres = mem_zeroed(sizeof *postgres);
    postgres->connection = connect_to(settings, &ping);
    postgres->plain_role = str_copy(str_of(settings->role));
    if (!is_connected(postgres)) {
        /* The process ends when it has reported this (child_main.c), so nothing is freed. */
        put_message(reason,
                    PQerrorMessage(postgres->connection)); /* NOLINT(clang-analyzer-unix.Malloc) */
        return ping == PQPING_OK ? DATABASE_REFUSED : DATABASE_AWAY;
    }
    postgres->role =
        PQescapeIdentifier(postgres->connection, settings->role, strlen(settings->role));
    if (postgres->role == NULL)
        abort();
    enum database_opened opened =
        postgres_check_roles(postgres->connection, settings->role, reason);
    if (opened != DATABASE_OPEN)
        return opened;
    if (!set_up(postgres, reason))
        return is_connected(postgres) ? DATABASE_REFUSED : DATABASE_AWAY;
    *ret_database = postgres;
    return DATABASE_OPEN;
}

/* ---- rows ---- */

static json_t *read_number(const char *text, bool is_integer)
{
    char *end;
    double number = strtod(text, &end);
    if (is_integer)
        return json_integer(strtoll(text, NULL, 10));
    json_t *value = *end == 0 ? json_real(number) : NULL;
    return value != NULL ? value : json_null(); /* NaN, infinity */
}

static json_t *read_cell(struct result *result, const PGresult *rows, int row, int column)
{
    const char *text = PQgetvalue(rows, row, column);
    size_t n = (size_t)PQgetlength(rows, row, column);
    if (PQgetisnull(rows, row, column))
        return json_null();
    switch (PQftype(rows, column)) {
    case OID_BOOL: return json_boolean(text[0] == 't');
    case OID_INT2:
    case OID_INT4:
    case OID_INT8: return read_number(text, true);
    case OID_FLOAT4:
    case OID_FLOAT8: return read_number(text, false);
    case OID_NUMERIC:
        /* What a double holds exactly; otherwise its digits as text. */
        if (n <= 15 && strchr(text, 'N') == NULL)
            return read_number(text, strchr(text, '.') == NULL);
        return result_text(result, (struct str){text, n});
    default: return result_text(result, (struct str){text, n});
    }
}

static void read_rows(const PGresult *rows, struct database_answer *answer)
{
    struct result result = {.answer = answer};
    int n = PQntuples(rows), column_n = PQnfields(rows);
    answer->columns = json_array();
    answer->rows = json_array();
    for (int i = 0; i < column_n; i++)
        json_array_append_new(answer->columns, result_text(&result, str_of(PQfname(rows, i))));
    answer->is_cut |= n > SQL_ROWS_MAX;
    for (int i = 0; i < n && i < SQL_ROWS_MAX; i++) {
        json_t *row = json_array();
        for (int j = 0; j < column_n; j++)
            json_array_append_new(row, read_cell(&result, rows, i, j));
        if (!result_add_row(&result, row))
            break;
        answer->row_n++;
    }
    answer->outcome = SQL_DONE;
}

/* ---- a statement ---- */

static bool begin(struct postgres *postgres, const char *mode, unsigned timeout_ms)
{
    char sql[SQL_MAX_BYTES];
    snprintf(sql, sizeof sql,
             "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED %s; "
             "SET LOCAL standard_conforming_strings = on; SET LOCAL client_min_messages = error; "
             "SET LOCAL idle_in_transaction_session_timeout = 20000; %s"
             "SET LOCAL statement_timeout = %u",
             mode,
             /* Ends a statement whose child was killed. */
             PQserverVersion(postgres->connection) >= 140000
                 ? "SET LOCAL client_connection_check_interval = 500; "
                 : "",
             timeout_ms);
    return execute(postgres, sql);
}

static bool take_role(struct postgres *postgres)
{
    char sql[SQL_MAX_BYTES];
    snprintf(sql, sizeof sql, "SET LOCAL ROLE %s; SET LOCAL statement_timeout = %d", postgres->role,
             SQL_LIMIT_MS);
    return execute(postgres, sql);
}

/* By the extended protocol. */
static PGresult *send_one(struct postgres *postgres, const char *sql)
{
    return PQexecParams(postgres->connection, sql, 0, NULL, NULL, NULL, NULL, 0);
}

static void read_statement(struct postgres *postgres, const struct database_job *job,
                           struct database_answer *answer)
{
    struct buf declare;
    char fetch[64];
    if (!begin(postgres, "READ ONLY", SQL_LIMIT_MS) || !take_role(postgres)) {
        fail(postgres, NULL, answer);
        return;
    }
    job->on_begin();
    buf_init(&declare, SQL_STATEMENT_MAX_BYTES + SQL_MAX_BYTES);
    buf_lit(&declare, "DECLARE parley_rows NO SCROLL CURSOR FOR ");
    buf_put(&declare, (struct str){job->text, job->text_n});
    buf_put_char(&declare, 0);
    snprintf(fetch, sizeof fetch, "FETCH %d FROM parley_rows", SQL_ROWS_MAX + 1);
    PGresult *result = send_one(postgres, declare.at);
    if (PQresultStatus(result) == PGRES_COMMAND_OK) {
        PQclear(result);
        result = send_one(postgres, fetch);
    }
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        read_rows(result, answer);
    else
        fail(postgres, result, answer);
    PQclear(result);
    buf_fini(&declare);
}

/* ---- the ledger ---- */

struct ledger_row {
    char *run;
    char step[STEP_BYTES], rowcount[STEP_BYTES];
    const char *values[3];
};

static PGresult *ask_ledger(struct postgres *postgres, const struct ledger_row *row,
                            const char *sql, int n)
{
    return PQexecParams(postgres->connection, sql, n, NULL, row->values, NULL, NULL, 0);
}

static void read_ledger(struct postgres *postgres, const struct ledger_row *row,
                        struct database_answer *answer)
{
    PGresult *found = ask_ledger(
        postgres, row, "SELECT rowcount FROM parley.parley_ledger WHERE run = $1 AND step = $2", 2);
    if (PQresultStatus(found) == PGRES_TUPLES_OK && PQntuples(found) == 1) {
        answer->outcome = SQL_DONE;
        answer->had_happened = true;
        answer->row_n = strtoull(PQgetvalue(found, 0, 0), NULL, 10);
    } else {
        fail(postgres, found, answer);
    }
    PQclear(found);
}

static void commit(struct postgres *postgres, const struct ledger_row *row,
                   struct database_answer *answer)
{
    PGresult *result = NULL;
    bool is_done = execute(postgres, "SET LOCAL ROLE NONE");
    if (is_done) {
        result = ask_ledger(
            postgres, row,
            "UPDATE parley.parley_ledger SET rowcount = $3 WHERE run = $1 AND step = $2", 3);
        is_done = PQresultStatus(result) == PGRES_COMMAND_OK;
    }
    if (is_done) {
        PQclear(result);
        result = PQexec(postgres->connection, "COMMIT");
        is_done = strcmp(PQcmdStatus(result), "COMMIT") == 0;
    }
    if (!is_done)
        fail(postgres, result, answer);
    PQclear(result);
}

static void write_statement(struct postgres *postgres, const struct database_job *job,
                            struct ledger_row *row, struct database_answer *answer)
{
    if (!take_role(postgres)) {
        fail(postgres, NULL, answer);
        return;
    }
    job->on_begin();
    PGresult *result = send_one(postgres, job->text);
    if (PQresultStatus(result) == PGRES_COMMAND_OK) {
        answer->outcome = SQL_DONE;
        answer->columns = json_array();
        answer->rows = json_array();
        answer->row_n = strtoull(PQcmdTuples(result), NULL, 10);
        snprintf(row->rowcount, sizeof row->rowcount, "%llu", (unsigned long long)answer->row_n);
        commit(postgres, row, answer);
    } else {
        fail(postgres, result, answer);
    }
    PQclear(result);
}

static void write_once(struct postgres *postgres, const struct database_job *job,
                       struct database_answer *answer)
{
    struct ledger_row row = {.run = str_copy(job->run)};
    row.values[0] = row.run;
    row.values[1] = row.step;
    row.values[2] = row.rowcount;
    snprintf(row.step, sizeof row.step, "%llu", (unsigned long long)job->step);
    PGresult *claim = NULL;
    if (begin(postgres, "READ WRITE", CLAIM_MS))
        claim = ask_ledger(postgres, &row,
                           "INSERT INTO parley.parley_ledger (run, step, rowcount) VALUES "
                           "($1, $2, 0) ON CONFLICT DO NOTHING",
                           2);
    if (claim == NULL || PQresultStatus(claim) != PGRES_COMMAND_OK)
        fail(postgres, claim, answer);
    else if (strcmp(PQcmdTuples(claim), "0") == 0)
        read_ledger(postgres, &row, answer);
    else if (job->task == DATABASE_WRITE)
        write_statement(postgres, job, &row, answer);
    else
        answer->outcome = SQL_DONE; /* a check that found nothing */
    PQclear(claim);
    free(row.run);
}

/* ---- its tables ---- */

static void describe(struct postgres *postgres, struct database_answer *answer)
{
    const char *role = postgres->plain_role;
    PGresult *rows = PQexecParams(
        postgres->connection,
        "SELECT CASE WHEN pg_table_is_visible(c.oid) THEN relname ELSE nspname || '.' || relname "
        "END, attname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace JOIN "
        "pg_attribute a ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped WHERE relkind IN "
        "('r','p','v','m','f') AND nspname !~ '^pg_' AND nspname NOT IN ('information_schema', "
        "'parley') AND has_schema_privilege($1::name, n.oid, 'USAGE') AND "
        "has_column_privilege($1::name, c.oid, attnum, 'SELECT') ORDER BY 1, attnum LIMIT 5000",
        1, NULL, &role, NULL, NULL, 0);
    if (PQresultStatus(rows) != PGRES_TUPLES_OK) {
        fail(postgres, rows, answer);
        PQclear(rows);
        return;
    }
    answer->outcome = SQL_DONE;
    answer->tables = json_object();
    for (int i = 0; i < PQntuples(rows); i++) {
        json_t *columns = json_object_get(answer->tables, PQgetvalue(rows, i, 0));
        if (columns == NULL) {
            columns = json_array();
            json_object_set_new(answer->tables, PQgetvalue(rows, i, 0), columns);
        }
        json_array_append_new(columns, json_string(PQgetvalue(rows, i, 1)));
    }
    PQclear(rows);
}

static void run(void *database, const struct database_job *job, struct database_answer *answer)
{
    struct postgres *postgres = database;
    switch (job->task) {
    case DATABASE_READ: read_statement(postgres, job, answer); break;
    case DATABASE_WRITE:
    case DATABASE_CHECK: write_once(postgres, job, answer); break;
    case DATABASE_DESCRIBE: describe(postgres, answer); break;
    }
    if (is_connected(postgres) && PQtransactionStatus(postgres->connection) != PQTRANS_IDLE)
        execute(postgres, "ROLLBACK");
    if (is_connected(postgres))
        execute(postgres, "DISCARD ALL");
    answer->is_lost = answer->is_lost || !is_connected(postgres);
}

const struct database_kind database_postgres = {
    .scheme = "postgresql",
    .dialect = SQL_POSTGRESQL,
    .child_n = 2,
    .begin_ms = CLAIM_MS + 2000,
    .grace_ms = 3000,
    .has_environment = true,
    .check_url = check_url,
    .put_place = put_place,
    .open = open_database,
    .run = run,
};
