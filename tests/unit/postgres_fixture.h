/* SPDX-License-Identifier: MIT
 *
 * postgres_fixture: a store (sql_fixture.h) on a real PostgreSQL server (tests/postgres.sh) with
 * the roles of docs/operations/workflow-database.md. One server for all tests of a program, a
 * database for each test.
 */
#ifndef PARLEY_TESTS_POSTGRES_FIXTURE_H
#define PARLEY_TESTS_POSTGRES_FIXTURE_H

#include "sql_fixture.h"

static char server[128], url[512], password_file[192];

__attribute__((unused)) static int sql_as_admin(const char *database, const char *sql)
{
    return run_command("echo \"%s\" | tests/postgres.sh sql %s %s", sql, server, database);
}

static void write_password(const char *password)
{
    FILE *file = fopen(password_file, "w");
    assert_non_null(file);
    fputs(password, file);
    fclose(file);
}

static void set_url(const char *user)
{
    snprintf(url, sizeof url, "postgresql://%s@/parley_workflow?host=%s", user, server);
}

static int set_up_group(void **state)
{
    snprintf(server, sizeof server, "/tmp/parley-pg-%d", (int)getpid());
    return run_command("tests/postgres.sh start %s %d", server, (int)getpid());
}

static int tear_down_group(void **state)
{
    return run_command("tests/postgres.sh stop %s && rm -rf %s", server, server);
}

static int set_up(void **state)
{
    set_up_fixture();
    snprintf(password_file, sizeof password_file, "%s/password", folder);
    write_password("change me\n");
    assert_int_equal(run_command("tests/postgres.sh roles %s", server), 0);
    set_url("parley_workflow");
    open_store(url, password_file);
    return 0;
}

static int tear_down(void **state)
{
    tear_down_fixture();
    sql_as_admin("postgres", "DROP DATABASE IF EXISTS parley_workflow WITH (FORCE)");
    sql_as_admin("postgres", "DROP ROLE IF EXISTS parley_workflow; DROP ROLE IF EXISTS "
                             "parley_statement; DROP ROLE IF EXISTS other");
    return 0;
}

#endif
