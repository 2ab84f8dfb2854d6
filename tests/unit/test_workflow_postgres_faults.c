/* SPDX-License-Identifier: MIT
 * test_workflow_postgres_faults.c - services/workflow/sql on PostgreSQL: children and servers that
 * end, and roles that may do too much. */
#include "postgres_fixture.h"

#include <signal.h>

static void several_children_make_one_sample(void **state)
{
    struct sql_store *stores[4];
    struct got each[4] = {{0}};
    struct sql_statement statement = {SESSION, 1, 1, SQL_READ,
                                      STR("SELECT count(*) FROM patterns")};
    for (unsigned i = 0; i < 4; i++) {
        stores[i] = sql_store_create(&loop, settings);
        (void)!sql_start(stores[i], &statement, on_end, &each[i]);
    }
    for (unsigned i = 0; i < 4; i++) {
        wait_for(&each[i], 1);
        assert_string_equal(each[i].rows, "[[10]]");
        sql_store_destroy(stores[i]);
    }
}

static void a_child_that_is_killed_leaves_all_or_nothing(void **state)
{
    char text[256];
    expect_rows("SELECT 1", "[[1]]");
    for (unsigned i = 0; i < 10; i++) {
        struct deadline pause = {.on_expire = on_pause_over};
        pid_t pid;
        got.n = 0;
        snprintf(text, sizeof text,
                 "INSERT INTO cards (pattern_id, title, body) SELECT 1, 'kill %u', a.name FROM "
                 "patterns a, patterns b, patterns c",
                 i);
        (void)!start_step(8000 + i, SQL_WRITE, text);
        loop_set_deadline(&loop, &pause, i);
        loop.is_done = false;
        loop_run(&loop);
        loop_cancel_deadline(&loop, &pause);
        if (list_children(&pid, 1) == 1)
            kill(pid, SIGKILL);
        wait_for(&got, 1);
        expect_outcome(text, SQL_DONE);
        assert_int_equal(got.row_n, 1000);
    }
    expect_rows("SELECT count(*), count(DISTINCT title) FROM cards WHERE title LIKE 'kill%'",
                "[[10000,10]]");
}

static void a_server_that_restarts_loses_nothing(void **state)
{
    char text[256];
    expect_rows("SELECT 1", "[[1]]");
    for (unsigned i = 0; i < 2; i++) {
        got.n = 0;
        snprintf(text, sizeof text,
                 "INSERT INTO cards (pattern_id, title, body) SELECT 1, 'again %u', a.name FROM "
                 "patterns a, patterns b, patterns c, patterns d",
                 i);
        (void)!start_step(8500 + i, SQL_WRITE, text);
        turn_a_moment();
        assert_int_equal(run_command("tests/postgres.sh again %s", server), 0);
        wait_for(&got, 1);
        expect_outcome(text, SQL_DONE);
        assert_int_equal(got.row_n, 10000);
    }
    expect_rows("SELECT count(*) FROM cards WHERE title LIKE 'again%'", "[[20000]]");
}

static void no_server_is_unreachable(void **state)
{
    close_store();
    snprintf(url, sizeof url, "postgresql://parley_workflow@127.0.0.1:1/x");
    open_store(url, NULL);
    assert_true(sql_check_roles(settings));
    run_sql(SQL_READ, "SELECT 1");
    expect_outcome("no server", SQL_UNREACHABLE);
    assert_non_null(strstr(got.reason, "Connection refused"));
}

static void a_wrong_password_is_said_without_it(void **state)
{
    close_store();
    write_password("wrong-password");
    open_store(url, password_file);
    assert_false(sql_check_roles(settings));
    run_sql(SQL_READ, "SELECT 1");
    expect_outcome("a wrong password", SQL_UNREACHABLE);
    assert_non_null(strstr(got.reason, "password authentication failed"));
    assert_null(strstr(got.reason, "wrong-password"));
}

/* Each with what is then refused. */
static void roles_that_may_do_more_are_refused(void **state)
{
    static const struct {
        const char *grant, *revoke, *reason;
    } cases[] = {
        {"ALTER ROLE parley_statement SUPERUSER", "ALTER ROLE parley_statement NOSUPERUSER",
         "superuser"},
        {"ALTER ROLE parley_workflow SUPERUSER", "ALTER ROLE parley_workflow NOSUPERUSER",
         "superuser"},
        {"CREATE ROLE other SUPERUSER ROLE parley_statement", "DROP ROLE other", "superuser"},
        {"ALTER ROLE parley_statement CREATEROLE", "ALTER ROLE parley_statement NOCREATEROLE",
         "may create roles"},
        {"ALTER ROLE parley_workflow CREATEDB", "ALTER ROLE parley_workflow NOCREATEDB",
         "may create roles"},
        {"GRANT pg_read_server_files TO parley_statement",
         "REVOKE pg_read_server_files FROM parley_statement", "pg_read_server_files"},
        {"GRANT pg_execute_server_program TO parley_workflow",
         "REVOKE pg_execute_server_program FROM parley_workflow", "pg_execute_server_program"},
        {"GRANT CREATE ON DATABASE parley_workflow TO parley_statement",
         "REVOKE CREATE ON DATABASE parley_workflow FROM parley_statement", "may create schemas"},
        {"GRANT CREATE ON SCHEMA public TO parley_statement",
         "REVOKE CREATE ON SCHEMA public FROM parley_statement", "may create tables"},
        {"ALTER TABLE patterns OWNER TO parley_statement",
         "ALTER TABLE patterns OWNER TO parley_workflow", "owns patterns"},
        {"GRANT DELETE ON patterns TO parley_statement",
         "REVOKE DELETE ON patterns FROM parley_statement", "may delete"},
        {"GRANT USAGE ON SCHEMA parley TO parley_statement",
         "REVOKE USAGE ON SCHEMA parley FROM parley_statement", "ledger"},
        {"GRANT EXECUTE ON FUNCTION pg_read_file(text) TO parley_statement",
         "REVOKE EXECUTE ON FUNCTION pg_read_file(text) FROM parley_statement", "pg_read_file"},
        {"REVOKE parley_statement FROM parley_workflow",
         "GRANT parley_statement TO parley_workflow", "is no member"},
    };
    expect_rows("SELECT 1", "[[1]]");
    close_store();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(sql_as_admin("parley_workflow", cases[i].grant), 0);
        open_store(url, password_file);
        if (sql_check_roles(settings))
            fail_msg("%s", cases[i].grant);
        run_sql(SQL_READ, "SELECT 1");
        expect_outcome(cases[i].grant, SQL_UNREACHABLE);
        if (strstr(got.reason, cases[i].reason) == NULL)
            fail_msg("%s: %s", cases[i].grant, got.reason);
        close_store();
        assert_int_equal(sql_as_admin("parley_workflow", cases[i].revoke), 0);
    }
    open_store(url, password_file);
    assert_true(sql_check_roles(settings));
    expect_rows("SELECT 1", "[[1]]");
}

static void no_password_is_in_the_process_list(void **state)
{
    pid_t pid;
    expect_rows("SELECT 1", "[[1]]");
    assert_int_equal(list_children(&pid, 1), 1);
    assert_int_not_equal(run_command("tr '\\0' ' ' </proc/%d/cmdline | grep -q change", (int)pid),
                         0);
    assert_int_equal(run_command("tr '\\0' ' ' </proc/%d/cmdline | grep -q sql-child", (int)pid),
                     0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(several_children_make_one_sample),
        TEST(a_child_that_is_killed_leaves_all_or_nothing),
        TEST(a_server_that_restarts_loses_nothing),
        TEST(no_server_is_unreachable),
        TEST(a_wrong_password_is_said_without_it),
        TEST(roles_that_may_do_more_are_refused),
        TEST(no_password_is_in_the_process_list),
    };
    return cmocka_run_group_tests(tests, set_up_group, tear_down_group);
}
