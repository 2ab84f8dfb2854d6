/* SPDX-License-Identifier: MIT
 * sqlite.c - SQLite as one of the databases (database.h), in the child that holds it.
 *
 * What holds a statement, from the outside in: the child can be killed; no system call of it opens
 * a file (sandbox_filter.h); the heap is bounded; limits of SQLite's, its defensive mode and
 * untrusted schemas; the authorizer, which knows the tables and the functions that may be used; and
 * a hook that sees each deleted row, also those that a table's own ON CONFLICT REPLACE deletes.
 *
 * The journal is a write-ahead log, so that reading never waits; several nodes of the host have the
 * file open. A transaction that was cut off by a kill is rolled back by the next one to look. */
#define SQLITE_ENABLE_PREUPDATE_HOOK /* as Debian's and Ubuntu's libraries are built */

#include "services/workflow/sql/database.h"

#include "services/workflow/sql/sample.h"
#include "shared/extract/sandbox_filter.h"

#include "shared/base/mem.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    BUSY_MS = 4000,
    HEAP_MAX_MIB = 192,
    VALUE_MAX_BYTES = 8 << 20,
    TABLES_MAX = 200,
    COLUMNS_MAX = 100,
    QUERIES_MAX = 64,
    TABLE_TEXT_MAX_BYTES = 128,
    REASON_MAX_BYTES = 400,
    SQL_MAX_BYTES = 512,
    LEDGER_DAYS = 400, /* longer than runs are kept */
};

struct table {
    char *name;
    bool is_view;
};

struct sqlite {
    sqlite3 *db;
    struct table tables[TABLES_MAX];
    unsigned table_n;
    struct str queries[QUERIES_MAX]; /* of the statement, by their names */
    unsigned query_n;
    const struct database_job *job; /* whose statement is prepared or runs; NULL: our own */
    bool has_deleted;
    char denied[REASON_MAX_BYTES]; /* why the authorizer refused; "": it did not */
};

/* ---- what a statement may touch ---- */

static const struct table *find_table(const struct sqlite *sqlite, const char *name)
{
    for (unsigned i = 0; i < sqlite->table_n; i++)
        if (sqlite3_stricmp(sqlite->tables[i].name, name) == 0)
            return &sqlite->tables[i];
    return NULL;
}

/* A query of the statement's own from which no column is taken, `WITH c AS (...) SELECT count(*)
 * FROM c`: SQLite asks as for a table. */
static bool is_own_query(const struct sqlite *sqlite, const char *name, const char *column)
{
    for (unsigned i = 0; column != NULL && *column == 0 && i < sqlite->query_n; i++)
        if (str_eq_nocase(sqlite->queries[i], str_of(name)))
            return true;
    return false;
}

static int deny(struct sqlite *sqlite, const char *before, const char *name, const char *after)
{
    if (sqlite->denied[0] == 0)
        snprintf(sqlite->denied, sizeof sqlite->denied, "%s%.64s%s", before,
                 name == NULL ? "" : name, after);
    return SQLITE_DENY;
}

static int authorize(void *context, int action, const char *a, const char *b, const char *database,
                     const char *trigger)
{
    struct sqlite *sqlite = context;
    const struct table *table;
    if (sqlite->job == NULL)
        return SQLITE_OK;
    bool may_write = sqlite->job->task == DATABASE_WRITE;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_READ:
        return find_table(sqlite, a) != NULL || is_own_query(sqlite, a, b)
                   ? SQLITE_OK
                   : deny(sqlite, "The table ", a, " is none that statements may read.");
    case SQLITE_FUNCTION:
        return statement_may_call(str_of(b)) ? SQLITE_OK
                                             : deny(sqlite, "The statement calls ", b,
                                                    ", a function that statements may not call.");
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
        table = may_write ? find_table(sqlite, a) : NULL;
        return table != NULL && !table->is_view
                   ? SQLITE_OK
                   : deny(sqlite, "The statement may not change the table ", a, ".");
    case SQLITE_DELETE:
        return deny(sqlite, "The statement would delete rows of the table ", a, ".");
    default: return deny(sqlite, "The statement does what no step may do.", NULL, "");
    }
    (void)database;
    (void)trigger;
}

static void on_change(void *context, sqlite3 *db, int action, const char *database,
                      const char *table, sqlite3_int64 before, sqlite3_int64 after)
{
    struct sqlite *sqlite = context;
    if (action == SQLITE_DELETE && sqlite->job != NULL)
        sqlite->has_deleted = true;
    (void)db, (void)database, (void)table, (void)before, (void)after;
}

/* ---- our own statements ---- */

static int execute(struct sqlite *sqlite, const char *sql)
{
    return sqlite3_exec(sqlite->db, sql, NULL, NULL, NULL);
}

static sqlite3_stmt *prepare(struct sqlite *sqlite, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    return sqlite3_prepare_v2(sqlite->db, sql, -1, &statement, NULL) == SQLITE_OK ? statement
                                                                                  : NULL;
}

static bool load_tables(struct sqlite *sqlite)
{
    sqlite3_stmt *list =
        prepare(sqlite, "SELECT name, type FROM sqlite_schema WHERE type IN ('table','view') AND "
                        "name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND lower(name)<>'parley_ledger' "
                        "AND sql NOT LIKE 'create virtual%' ORDER BY name");
    while (sqlite->table_n > 0)
        free(sqlite->tables[--sqlite->table_n].name);
    while (list != NULL && sqlite->table_n < TABLES_MAX && sqlite3_step(list) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(list, 0);
        sqlite->tables[sqlite->table_n++] =
            (struct table){str_copy(str_of(name)), sqlite3_column_text(list, 1)[0] == 'v'};
    }
    return sqlite3_finalize(list) == SQLITE_OK && list != NULL;
}

/* ---- opening ---- */

static const char *path_of(const char *url)
{
    return url + strlen("sqlite:");
}

static const char *check_url(const char *url)
{
    const char *path = path_of(url);
    if (*path == 0 || strncmp(path, "//", 2) == 0 || path[strlen(path) - 1] == '/')
        return "takes sqlite:PATH, with the path of a file: sqlite:var/workflow.db";
    if (strcmp(path, ":memory:") == 0)
        return "takes sqlite:PATH, with the path of a file: a database in memory would be "
               "another one in each process";
    return NULL;
}

static void put_place(struct buf *b, const char *url)
{
    buf_put(b, str_of(url));
}

/* The folder of the default need not exist; no other is created. */
static void make_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? NULL : str_copy((struct str){path, (size_t)(slash - path)});
    if (folder != NULL && *folder != 0)
        (void)mkdir(folder, 0700);
    free(folder);
}

static void set_bounds(struct sqlite *sqlite)
{
    static const int limits[][2] = {
        {SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES},
        {SQLITE_LIMIT_SQL_LENGTH, SQL_STATEMENT_MAX_BYTES + 1024},
        {SQLITE_LIMIT_COLUMN, COLUMNS_MAX},
        {SQLITE_LIMIT_EXPR_DEPTH, 100},
        {SQLITE_LIMIT_COMPOUND_SELECT, 50},
        {SQLITE_LIMIT_VDBE_OP, 100000},
        {SQLITE_LIMIT_FUNCTION_ARG, 50},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 10},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 10},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    static const int switches[][2] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
        {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},
        {SQLITE_DBCONFIG_DQS_DML, 0},
        {SQLITE_DBCONFIG_ENABLE_FKEY, 1},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        sqlite3_limit(sqlite->db, limits[i][0], limits[i][1]);
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        sqlite3_db_config(sqlite->db, switches[i][0], switches[i][1], NULL);
    sqlite3_hard_heap_limit64((sqlite3_int64)HEAP_MAX_MIB << 20);
    sqlite3_busy_timeout(sqlite->db, BUSY_MS);
}

/* Within the transaction that creates the ledger, so that only one of several children finds the
 * database empty. */
static int seed(struct sqlite *sqlite)
{
    char sql[SQL_MAX_BYTES];
    int status = SQLITE_OK;
    for (size_t i = 0; status == SQLITE_OK && sample_tables[i] != NULL; i++) {
        /* Formats are ours, with one %s. */
        const char *at = strstr(sample_tables[i], "%s");
        snprintf(sql, sizeof sql, "%.*sINTEGER PRIMARY KEY%s", (int)(at - sample_tables[i]),
                 sample_tables[i], at + 2);
        status = execute(sqlite, sql);
    }
    for (size_t i = 0; status == SQLITE_OK && sample_rows[i] != NULL; i++)
        status = execute(sqlite, sample_rows[i]);
    return status;
}

static bool has_ledger(struct sqlite *sqlite)
{
    sqlite3_stmt *find =
        prepare(sqlite, "SELECT 1 FROM sqlite_schema WHERE type='table' AND name='parley_ledger'");
    bool is_there = find != NULL && sqlite3_step(find) == SQLITE_ROW;
    sqlite3_finalize(find);
    return is_there;
}

static int set_up(struct sqlite *sqlite)
{
    char forget[SQL_MAX_BYTES];
    int status = execute(sqlite, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
                                 "PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON; "
                                 "PRAGMA cache_size=-8192");
    if (status == SQLITE_OK)
        status = execute(sqlite, "BEGIN IMMEDIATE");
    if (status == SQLITE_OK && !has_ledger(sqlite)) {
        if (!load_tables(sqlite))
            status = sqlite3_errcode(sqlite->db);
        if (status == SQLITE_OK && sqlite->table_n == 0)
            status = seed(sqlite);
        if (status == SQLITE_OK)
            status = execute(sqlite, "CREATE TABLE parley_ledger (run TEXT NOT NULL, step INTEGER "
                                     "NOT NULL, rowcount INTEGER NOT NULL, at INTEGER NOT NULL, "
                                     "PRIMARY KEY (run, step)) WITHOUT ROWID");
    }
    snprintf(forget, sizeof forget, "DELETE FROM parley_ledger WHERE at < unixepoch() - %d",
             LEDGER_DAYS * 86400);
    if (status == SQLITE_OK)
        status = execute(sqlite, forget);
    return status == SQLITE_OK ? execute(sqlite, "COMMIT") : status;
}

static void put_error(struct sqlite *sqlite, struct buf *reason)
{
    database_put_message(reason, "SQLite", sqlite3_errmsg(sqlite->db));
}

static enum database_opened open_database(const struct database_settings *settings,
                                          void **ret_database, struct buf *reason)
{
    struct sqlite *sqlite = mem_zeroed(sizeof *sqlite);
    const char *path = path_of(settings->url);
    make_folder(path);
    tzset();
    /* A path, not a URI of SQLite's, whose parameters would change how it is opened. */
    int status =
        sqlite3_open_v2(path, &sqlite->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (status == SQLITE_OK) {
        set_bounds(sqlite);
        status = set_up(sqlite);
    }
    if (status != SQLITE_OK) {
        put_error(sqlite, reason);
        return (status & 0xff) == SQLITE_BUSY ? DATABASE_AWAY : DATABASE_REFUSED;
    }
    sqlite3_set_authorizer(sqlite->db, authorize, sqlite);
    sqlite3_preupdate_hook(sqlite->db, on_change, sqlite);
    if (!sandbox_confine_database()) {
        buf_lit(reason, "The kernel refuses to confine the process.");
        return DATABASE_REFUSED;
    }
    *ret_database = sqlite;
    return DATABASE_OPEN;
}

/* ---- a statement ---- */

static json_t *read_cell(struct result *result, sqlite3_stmt *statement, int i)
{
    switch (sqlite3_column_type(statement, i)) {
    case SQLITE_INTEGER: return json_integer(sqlite3_column_int64(statement, i));
    case SQLITE_FLOAT: {
        json_t *number = json_real(sqlite3_column_double(statement, i));
        return number != NULL ? number : json_null(); /* infinity */
    }
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_column_text(statement, i);
        return result_text(result, (struct str){text, (size_t)sqlite3_column_bytes(statement, i)});
    }
    case SQLITE_BLOB:
        return json_sprintf("(%llu %s)", COUNTED(sqlite3_column_bytes(statement, i), "byte"));
    default: return json_null();
    }
}

static bool read_row(struct result *result, sqlite3_stmt *statement)
{
    json_t *row = json_array();
    for (int i = 0; i < sqlite3_column_count(statement); i++)
        json_array_append_new(row, read_cell(result, statement, i));
    return result_add_row(result, row);
}

static void read_rows(struct sqlite *sqlite, sqlite3_stmt *statement,
                      struct database_answer *answer)
{
    struct result result = {.answer = answer};
    int status;
    answer->columns = json_array();
    answer->rows = json_array();
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        const char *name = sqlite3_column_name(statement, i);
        json_array_append_new(answer->columns, result_text(&result, str_of(name)));
    }
    while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
        if (answer->row_n == SQL_ROWS_MAX)
            answer->is_cut = true;
        if (answer->row_n == SQL_ROWS_MAX || !read_row(&result, statement))
            break;
        answer->row_n++;
    }
    if (status == SQLITE_ROW || status == SQLITE_DONE)
        answer->outcome = SQL_DONE;
    else
        put_error(sqlite, &answer->reason);
}

static void refuse(struct database_answer *answer, const char *reason)
{
    answer->outcome = SQL_REFUSED;
    buf_clear(&answer->reason);
    buf_put(&answer->reason, str_of(reason));
}

/* Also of tables that exist only inside SQLite. */
static bool is_hidden_table(struct sqlite *sqlite, struct str name)
{
    static const struct str prefixes[] = {STR("sqlite_"), STR("pragma_")};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (name.n >= prefixes[i].n &&
            str_eq_nocase((struct str){name.at, prefixes[i].n}, prefixes[i]))
            return true;
    sqlite3_stmt *find =
        prepare(sqlite, "SELECT name FROM sqlite_schema WHERE name=?1 COLLATE NOCASE UNION ALL "
                        "SELECT name FROM pragma_module_list WHERE name=?1 COLLATE NOCASE");
    if (find != NULL)
        sqlite3_bind_text(find, 1, name.at, (int)name.n, SQLITE_STATIC);
    bool is_hidden = find == NULL || sqlite3_step(find) != SQLITE_DONE;
    sqlite3_finalize(find);
    return is_hidden;
}

/* A query with the name of a table could stand for that table somewhere else in the statement. */
static void note_queries(struct sqlite *sqlite, const struct database_job *job)
{
    struct str names[QUERIES_MAX];
    unsigned n =
        statement_queries((struct str){job->text, job->text_n}, SQL_SQLITE, names, QUERIES_MAX);
    sqlite->query_n = 0;
    for (unsigned i = 0; i < n; i++)
        if (!is_hidden_table(sqlite, names[i]))
            sqlite->queries[sqlite->query_n++] = names[i];
}

/* Inside a transaction. */
static void run_statement(struct sqlite *sqlite, const struct database_job *job,
                          struct database_answer *answer)
{
    sqlite3_stmt *statement = NULL;
    const char *rest = NULL;
    answer->outcome = SQL_FAILED;
    sqlite->denied[0] = 0;
    sqlite->has_deleted = false;
    note_queries(sqlite, job);
    sqlite->job = job;
    int status = sqlite3_prepare_v2(sqlite->db, job->text, (int)job->text_n, &statement, &rest);
    if (status != SQLITE_OK)
        put_error(sqlite, &answer->reason);
    else if (statement == NULL || sqlite3_stmt_isexplain(statement) ||
             (job->task == DATABASE_READ && !sqlite3_stmt_readonly(statement)))
        refuse(answer, "This is no statement that the step may run.");
    else
        read_rows(sqlite, statement, answer);
    sqlite3_finalize(statement);
    sqlite->job = NULL;
    if (answer->outcome == SQL_DONE && job->task == DATABASE_WRITE)
        answer->row_n = (uint64_t)sqlite3_changes64(sqlite->db);
    if (sqlite->has_deleted)
        refuse(answer, "The statement would delete rows: the table replaces them on a conflict.");
    if (sqlite->denied[0] != 0)
        refuse(answer, sqlite->denied);
}

/* ---- the ledger ---- */

static sqlite3_stmt *prepare_ledger(struct sqlite *sqlite, const struct database_job *job,
                                    const char *sql)
{
    sqlite3_stmt *statement = prepare(sqlite, sql);
    if (statement != NULL) {
        sqlite3_bind_text(statement, 1, job->run.at, (int)job->run.n, SQLITE_STATIC);
        sqlite3_bind_int64(statement, 2, (sqlite3_int64)job->step);
    }
    return statement;
}

static void put_busy_or_error(struct sqlite *sqlite, struct database_answer *answer)
{
    int status = sqlite3_errcode(sqlite->db);
    answer->outcome = SQL_FAILED;
    if ((status & 0xff) == SQLITE_BUSY) {
        answer->outcome = SQL_UNREACHABLE;
        buf_lit(&answer->reason, "Another program holds the database locked.");
    } else {
        put_error(sqlite, &answer->reason);
    }
}

/* Fills the answer if the step's statement has happened. False: it cannot be known. */
static bool read_ledger(struct sqlite *sqlite, const struct database_job *job,
                        struct database_answer *answer)
{
    sqlite3_stmt *find =
        prepare_ledger(sqlite, job, "SELECT rowcount FROM parley_ledger WHERE run=?1 AND step=?2");
    int status = find == NULL ? SQLITE_ERROR : sqlite3_step(find);
    if (status == SQLITE_ROW) {
        answer->had_happened = true;
        answer->outcome = SQL_DONE;
        answer->row_n = (uint64_t)sqlite3_column_int64(find, 0);
    }
    sqlite3_finalize(find);
    if (status != SQLITE_ROW && status != SQLITE_DONE)
        put_busy_or_error(sqlite, answer);
    return status == SQLITE_ROW || status == SQLITE_DONE;
}

static bool record(struct sqlite *sqlite, const struct database_job *job, uint64_t row_n)
{
    sqlite3_stmt *add =
        prepare_ledger(sqlite, job, "INSERT INTO parley_ledger VALUES (?1, ?2, ?3, unixepoch())");
    if (add != NULL)
        sqlite3_bind_int64(add, 3, (sqlite3_int64)row_n);
    bool is_done = add != NULL && sqlite3_step(add) == SQLITE_DONE;
    sqlite3_finalize(add);
    return is_done;
}

static void write_once(struct sqlite *sqlite, const struct database_job *job,
                       struct database_answer *answer)
{
    if (!read_ledger(sqlite, job, answer) || answer->had_happened)
        return;
    if (job->task == DATABASE_CHECK) {
        answer->outcome = SQL_DONE;
        return;
    }
    job->on_begin();
    run_statement(sqlite, job, answer);
    if (answer->outcome != SQL_DONE)
        return;
    if (!record(sqlite, job, answer->row_n) || execute(sqlite, "COMMIT") != SQLITE_OK)
        put_busy_or_error(sqlite, answer);
}

static void describe(struct sqlite *sqlite, struct database_answer *answer)
{
    sqlite3_stmt *list = prepare(sqlite, "SELECT name FROM pragma_table_info(?1)");
    answer->tables = json_object();
    answer->outcome = SQL_DONE;
    for (unsigned i = 0; list != NULL && i < sqlite->table_n; i++) {
        json_t *columns = json_array();
        sqlite3_bind_text(list, 1, sqlite->tables[i].name, -1, SQLITE_STATIC);
        while (sqlite3_step(list) == SQLITE_ROW && json_array_size(columns) < COLUMNS_MAX)
            json_array_append_new(columns, json_string((const char *)sqlite3_column_text(list, 0)));
        sqlite3_reset(list);
        json_object_set_new(answer->tables, sqlite->tables[i].name, columns);
    }
    sqlite3_finalize(list);
}

static void run(void *database, const struct database_job *job, struct database_answer *answer)
{
    struct sqlite *sqlite = database;
    bool is_reading = job->task == DATABASE_READ || job->task == DATABASE_DESCRIBE;
    if (execute(sqlite, is_reading ? "PRAGMA query_only=1; BEGIN" : "BEGIN IMMEDIATE") !=
            SQLITE_OK ||
        !load_tables(sqlite)) {
        put_busy_or_error(sqlite, answer);
    } else if (job->task == DATABASE_DESCRIBE) {
        describe(sqlite, answer);
    } else if (job->task == DATABASE_READ) {
        job->on_begin();
        run_statement(sqlite, job, answer);
    } else {
        write_once(sqlite, job, answer);
    }
    if (sqlite3_get_autocommit(sqlite->db) == 0)
        execute(sqlite, "ROLLBACK");
    if (is_reading)
        execute(sqlite, "PRAGMA query_only=0");
}

const struct database_kind database_sqlite = {
    .scheme = "sqlite",
    .dialect = SQL_SQLITE,
    .child_n = 2,
    .begin_ms = BUSY_MS + 4000,
    .check_url = check_url,
    .put_place = put_place,
    .open = open_database,
    .run = run,
};
