/* SPDX-License-Identifier: MIT
 *
 * sql_fixture: a store of services/workflow/sql/sql.h on a loop, whose calls are waited for, and a
 * folder for databases. The children are the program that lies beside the tests.
 */
#ifndef PARLEY_TESTS_SQL_FIXTURE_H
#define PARLEY_TESTS_SQL_FIXTURE_H

#include "services/workflow/sql/child.h"
#include "services/workflow/sql/sql.h"
#include "shared/base/log.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { FIXTURE_MOST_MS = 60000 };

#define SESSION STR("0123456789abcdef0123456789abcdef")

struct got {
    unsigned n; /* calls that ended */
    enum sql_outcome outcome;
    char rows[4096], columns[1024], reason[1024], tables[4096];
    uint64_t row_n;
    bool is_cut, had_happened;
};

static struct loop loop;
static struct sql_store *store;
static struct sql_settings *settings;
static struct got got;
static uint64_t step = 1;
static char folder[64], program[4096];

static void dump(const json_t *value, char *room, size_t size)
{
    char *text = value == NULL ? NULL : json_dumps(value, JSON_COMPACT);
    snprintf(room, size, "%s", text == NULL ? "" : text);
    free(text);
}

static void on_end(void *context, const struct sql_end *end)
{
    struct got *into = context;
    *into = (struct got){.n = into->n + 1,
                         .outcome = end->outcome,
                         .row_n = end->row_n,
                         .is_cut = end->is_cut,
                         .had_happened = end->had_happened};
    assert_true(end->reason.n > 0);
    assert_true((end->columns != NULL) == (end->outcome == SQL_DONE));
    assert_true((end->rows != NULL) == (end->outcome == SQL_DONE));
    dump(end->rows, into->rows, sizeof into->rows);
    dump(end->columns, into->columns, sizeof into->columns);
    snprintf(into->reason, sizeof into->reason, "%.*s", STR_ARG(end->reason));
    loop_finish(&loop);
}

__attribute__((unused)) static void on_tables(void *context, const json_t *tables,
                                              struct str reason)
{
    struct got *into = context;
    into->n++;
    dump(tables, into->tables, sizeof into->tables);
    snprintf(into->reason, sizeof into->reason, "%.*s", STR_ARG(reason));
    loop_finish(&loop);
}

static void on_too_long(struct deadline *deadline)
{
    fprintf(stderr, "the call did not end in %d s\n", FIXTURE_MOST_MS / 1000);
    abort();
}

/* Turns the loop until `n` calls have ended. */
static void wait_for(struct got *into, unsigned n)
{
    struct deadline most = {.on_expire = on_too_long};
    loop_set_deadline(&loop, &most, FIXTURE_MOST_MS);
    while (into->n < n) {
        loop.is_done = false;
        loop_run(&loop);
    }
    loop_cancel_deadline(&loop, &most);
}

static void on_pause_over(struct deadline *deadline)
{
    loop_finish(&loop);
}

/* Turns the loop for a moment, between looks at a condition. */
__attribute__((unused)) static void turn_a_moment(void)
{
    struct deadline pause = {.on_expire = on_pause_over};
    loop_set_deadline(&loop, &pause, 20);
    loop.is_done = false;
    loop_run(&loop);
    loop_cancel_deadline(&loop, &pause);
}

static struct sql_call *start_step(uint64_t number, enum sql_right right, const char *text)
{
    struct sql_statement statement = {SESSION, 1, number, right, str_of(text)};
    return sql_start(store, &statement, on_end, &got);
}

static void run_step(uint64_t number, enum sql_right right, const char *text)
{
    got.n = 0;
    struct sql_call *call = start_step(number, right, text);
    assert_int_equal(got.n, 0); /* never inside */
    (void)call;
    wait_for(&got, 1);
}

static void run_sql(enum sql_right right, const char *text)
{
    run_step(step++, right, text);
}

static void expect_outcome(const char *text, enum sql_outcome outcome)
{
    static const char *const names[] = {"DONE", "REFUSED", "FAILED", "TIMED_OUT", "UNREACHABLE"};
    if (got.outcome != outcome)
        fail_msg("%s\n  is %s, not %s: %s", text, names[got.outcome], names[outcome], got.reason);
}

__attribute__((unused)) static void expect_rows(const char *text, const char *rows)
{
    run_sql(SQL_READ, text);
    expect_outcome(text, SQL_DONE);
    assert_string_equal(got.rows, rows);
}

__attribute__((unused)) static void expect_change(const char *text, uint64_t row_n)
{
    run_sql(SQL_WRITE, text);
    expect_outcome(text, SQL_DONE);
    assert_int_equal(got.row_n, row_n);
}

/* Expects that no right allows it. */
__attribute__((unused)) static void expect_refused(enum sql_right right, const char *text)
{
    run_sql(right, text);
    expect_outcome(text, SQL_REFUSED);
}

static struct sql_settings *read_settings(const char *url, const char *password_file)
{
    static const struct config_group *const groups[] = {&sql_options, NULL};
    static char *argv[8];
    static struct config config;
    int argc = 0;
    argv[argc++] = "--sql-url";
    argv[argc++] = (char *)url;
    if (password_file != NULL) {
        argv[argc++] = "--sql-password-file";
        argv[argc++] = (char *)password_file;
    }
    config_fini(&config);
    assert_int_equal(config_read(&config, groups, "serve", argc, argv), CONFIG_READY);
    struct sql_settings *read = sql_read_options(&config);
    config_fini(&config);
    config = (struct config){0};
    return read;
}

static void open_store(const char *url, const char *password_file)
{
    settings = read_settings(url, password_file);
    assert_non_null(settings);
    store = sql_store_create(&loop, settings);
}

static void close_store(void)
{
    sql_store_destroy(store);
    sql_settings_free(settings);
    store = NULL;
    settings = NULL;
}

/* The processes that hold a database for this one, by /proc. */
__attribute__((unused)) static unsigned list_children(pid_t *pids, unsigned max)
{
    char path[64], line[4096] = "";
    unsigned n = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL)
        line[0] = 0;
    if (file != NULL)
        fclose(file);
    for (char *at = line, *end; n < max; at = end) {
        long pid = strtol(at, &end, 10);
        if (end == at)
            break;
        pids[n++] = (pid_t)pid;
    }
    return n;
}

static int run_command(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int run_command(const char *format, ...)
{
    char command[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return system(command);
}

static void set_up_fixture(void)
{
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 16);
    assert_true(n > 0);
    program[n] = 0;
    strcpy(strrchr(program, '/'), "/parley");
    assert_int_equal(access(program, X_OK), 0);
    child_set_program(program);
    signal(SIGPIPE, SIG_IGN); /* as in a node */
    log_setup(LOG_ERROR, false);
    strcpy(folder, "/tmp/parley-sql-XXXXXX");
    assert_non_null(mkdtemp(folder));
    chmod(folder, 0755);
    if (loop.h2o == NULL) /* libh2o cannot free one: all tests share it */
        loop_init(&loop);
}

static void tear_down_fixture(void)
{
    close_store();
    run_command("rm -rf '%s'", folder);
}

#endif
