/* SPDX-License-Identifier: MIT
 * test_workflow_postgres.c - services/workflow/sql on PostgreSQL: what a statement may do, and what
 * happens once. */
#include "postgres_fixture.h"
#include "sql_attacks.h"

static void an_empty_database_gets_the_sample(void **state)
{
    expect_rows("SELECT id, name FROM patterns ORDER BY id LIMIT 2",
                "[[1,\"retry with backoff\"],[2,\"circuit breaker\"]]");
    assert_string_equal(got.columns, "[\"id\",\"name\"]");
    expect_rows("SELECT count(*) FROM episodes", "[[10]]");
}

static void values_are_json(void **state)
{
    expect_rows("SELECT 1, 2.5::float8, NULL, 'é\"', true, 1.50, 123456789012345678901.5, "
                "'NaN'::float8, date '2024-02-29', 9223372036854775807",
                "[[1,2.5,null,\"é\\\"\",true,1.5,\"123456789012345678901.5\",null,"
                "\"2024-02-29\",9223372036854775807]]");
}

static void a_statement_reads_queries_of_its_own(void **state)
{
    expect_rows("WITH c AS (SELECT 1 AS x) SELECT count(*) FROM c", "[[1]]");
    expect_rows("WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 4) "
                "SELECT count(*) FROM t",
                "[[4]]");
    expect_rows("-- first\n(SELECT 1) UNION ALL ((SELECT 2))", "[[1],[2]]");
    expect_rows("VALUES (1), (2)", "[[1],[2]]");
}

static void a_rule_changes_nothing(void **state)
{
    for (const char *const *at = writes; *at != NULL; at++)
        expect_refused(SQL_READ, *at);
    expect_rows("SELECT (SELECT count(*) FROM patterns), (SELECT count(*) FROM episodes)",
                "[[10,10]]");
}

static void each_attack_is_refused(void **state)
{
    for (const char *const *at = attacks; *at != NULL; at++) {
        run_sql(SQL_READ, *at);
        if (got.outcome == SQL_DONE)
            fail_msg("read: %s", *at);
        run_sql(SQL_WRITE, *at);
        if (got.outcome == SQL_DONE)
            fail_msg("write: %s", *at);
    }
    expect_rows("SELECT count(*) FROM patterns", "[[10]]");
    assert_int_equal(access(ATTACK_FILE, F_OK), -1);
}

/* The words are not the only guard: the same statements as the statement role, without them. */
static void the_role_alone_refuses(void **state)
{
    static const char *const texts[] = {"DELETE FROM patterns",
                                        "DROP TABLE patterns",
                                        "TRUNCATE patterns",
                                        "ALTER TABLE patterns ADD x text",
                                        "CREATE TABLE x (y int)",
                                        "CREATE TEMP TABLE x (y int)",
                                        "SELECT * FROM parley.parley_ledger",
                                        "SELECT pg_read_file('/etc/passwd')",
                                        "COPY patterns TO '" ATTACK_FILE "'",
                                        "COPY patterns TO PROGRAM 'id'",
                                        "SELECT lo_import('/etc/passwd')",
                                        "SELECT * FROM pg_authid",
                                        NULL};
    expect_rows("SELECT 1", "[[1]]");
    for (const char *const *at = texts; *at != NULL; at++)
        if (run_command("echo \"SET ROLE parley_statement; %s\" | tests/postgres.sh sql %s "
                        "parley_workflow >%s/out 2>&1",
                        *at, server, folder) == 0)
            fail_msg("%s", *at);
}

static void content_inserts_and_updates(void **state)
{
    expect_change("INSERT INTO patterns (name, description, kind) VALUES ('a', 'b', 'c'), "
                  "('d', 'e', 'f')",
                  2);
    expect_change("UPDATE public.patterns SET kind = 'x' WHERE name IN ('a', 'd');", 2);
    expect_change("INSERT INTO public.patterns (name, description, kind) VALUES ('a', 'b2', 'c') "
                  "ON CONFLICT (name) DO UPDATE SET description = excluded.description",
                  1);
    expect_change("WITH n(x) AS (SELECT 'new' UNION VALUES ('newer')) INSERT INTO patterns (name, "
                  "description, kind) SELECT x, replace(x, 'n', 'm'), 'y' FROM n ORDER BY x",
                  2);
    expect_rows("SELECT name, description, kind FROM patterns WHERE id > 10 ORDER BY name",
                "[[\"a\",\"b2\",\"x\"],[\"d\",\"e\",\"x\"],[\"new\",\"mew\",\"y\"],"
                "[\"newer\",\"mewer\",\"y\"]]");
    run_sql(SQL_WRITE, "INSERT INTO patterns (name, description, kind) VALUES ('a', 'b', 'c')");
    expect_outcome("a name twice", SQL_FAILED);
    assert_non_null(strstr(got.reason, "duplicate key"));
    run_sql(SQL_READ, "SELECT nothing FROM nowhere");
    expect_outcome("no such table", SQL_FAILED);
    assert_string_equal(got.reason, "PostgreSQL: relation \"nowhere\" does not exist.");
}

static void innocent_statements_pass(void **state)
{
    static const char *const texts[] = {
        "SELECT p.name, count(*) FROM patterns p JOIN cards c ON (c.pattern_id = p.id) GROUP BY "
        "p.name HAVING count(*) > 1",
        "SELECT name FROM patterns WHERE name ILIKE '%a%' AND id IN (1, 2) OR (id = 3)",
        "SELECT upper(name), row_number() OVER (PARTITION BY kind ORDER BY id) FROM patterns",
        "SELECT string_agg(name, ', ') FILTER (WHERE id < 3) FROM patterns",
        "SELECT CASE WHEN (id > 3) THEN 'x' ELSE (name) END FROM patterns",
        "SELECT cast(id AS varchar(10)), id::text, extract(year FROM now()) FROM patterns",
        "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t(n, x) -- with a comment",
        "WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < 5) "
        "SELECT * FROM t",
        "SELECT EXISTS (SELECT 1 FROM cards), array[1, 2], coalesce(NULL, 'x'), now()",
        NULL};
    for (const char *const *at = texts; *at != NULL; at++) {
        run_sql(SQL_READ, *at);
        expect_outcome(*at, SQL_DONE);
    }
}

static void a_result_is_cut(void **state)
{
#define LONG                                                                                       \
    "WITH RECURSIVE t(x, n) AS (SELECT 'xxxxxxxxxxxxxxxx', 1 UNION ALL SELECT x || x, n + 1 FROM " \
    "t WHERE n < 17) "
    run_sql(SQL_READ, "SELECT a.id FROM patterns a, patterns b, patterns c");
    expect_outcome("a thousand rows", SQL_DONE);
    assert_int_equal(got.row_n, SQL_ROWS_MAX);
    assert_true(got.is_cut);
    /* Of 1 MiB: PostgreSQL makes that well within SQL_LIMIT_MS on a busy machine. */
    run_sql(SQL_READ, LONG "SELECT x FROM t WHERE n = 17");
    expect_outcome("a long value", SQL_DONE);
    assert_true(got.is_cut);
    run_sql(SQL_READ, LONG "SELECT cast(x AS integer) FROM t WHERE n = 17");
    expect_outcome("a long message", SQL_FAILED);
    assert_true(strlen(got.reason) < 400);
    expect_rows("SELECT 1", "[[1]]");
}

static void a_statement_happens_once(void **state)
{
    static const char text[] = "INSERT INTO cards (pattern_id, title, body) VALUES (1, 'a', 'b')";
    run_step(5000, SQL_WRITE, text);
    expect_outcome(text, SQL_DONE);
    assert_false(got.had_happened);
    run_step(5000, SQL_WRITE, text);
    expect_outcome(text, SQL_DONE);
    assert_true(got.had_happened);
    assert_int_equal(got.row_n, 1);
    expect_rows("SELECT count(*) FROM cards WHERE title = 'a'", "[[1]]");
    run_step(5001, SQL_WRITE, "INSERT INTO cards (pattern_id, title, body) VALUES (99, 'c', 'd')");
    expect_outcome("a foreign key", SQL_FAILED);
    run_step(5001, SQL_WRITE, "INSERT INTO cards (pattern_id, title, body) VALUES (9, 'c', 'd')");
    expect_outcome("the same step", SQL_DONE);
    assert_false(got.had_happened);
}

static void of_two_stores_one_does_it(void **state)
{
    struct sql_store *other = sql_store_create(&loop, settings);
    static const char text[] = "UPDATE episodes SET title = title || '!' WHERE id = 1";
    for (uint64_t number = 6000; number < 6020; number++) {
        struct got second = {0};
        struct sql_statement statement = {SESSION, 1, number, SQL_WRITE, str_of(text)};
        got.n = 0;
        (void)!start_step(number, SQL_WRITE, text);
        (void)!sql_start(other, &statement, on_end, &second);
        wait_for(&got, 1);
        wait_for(&second, 1);
        assert_int_equal(got.outcome, SQL_DONE);
        assert_int_equal(second.outcome, SQL_DONE);
        assert_int_equal(got.had_happened + second.had_happened, 1);
        assert_int_equal(second.row_n, 1);
    }
    sql_store_destroy(other);
    expect_rows("SELECT length(title) - length(rtrim(title, '!')) FROM episodes WHERE id = 1",
                "[[20]]");
}

static void a_runaway_statement_is_cut(void **state)
{
#define ENDLESS                                                                                    \
    "SELECT count(*) FROM episodes a, episodes b, episodes c, episodes d, episodes e, "            \
    "episodes f, episodes g, episodes h, episodes i, episodes j"
    run_sql(SQL_READ, ENDLESS);
    expect_outcome("a join", SQL_TIMED_OUT);
    run_sql(SQL_READ, "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) "
                      "SELECT max(n) FROM t");
    if (got.outcome != SQL_FAILED) /* past temp_file_limit */
        expect_outcome("a recursion", SQL_TIMED_OUT);
    run_step(7000, SQL_WRITE, "UPDATE patterns SET kind = (" ENDLESS ")");
    expect_outcome("a runaway update", SQL_TIMED_OUT);
    expect_rows("SELECT count(*) FROM patterns WHERE kind = 'resilience'", "[[3]]");
}

static void tables_are_described(void **state)
{
    expect_rows("SELECT 1", "[[1]]");
    sql_as_admin("parley_workflow", "CREATE TABLE hidden (x int); CREATE SCHEMA s; GRANT USAGE ON "
                                    "SCHEMA s TO parley_statement; CREATE TABLE s.seen (y int); "
                                    "GRANT SELECT ON s.seen TO parley_statement");
    got.n = 0;
    (void)!sql_describe(store, on_tables, &got);
    wait_for(&got, 1);
    assert_string_equal(got.tables, "{\"cards\":[\"id\",\"pattern_id\",\"title\",\"body\"],"
                                    "\"episodes\":[\"id\",\"card_id\",\"title\",\"happened_on\"],"
                                    "\"patterns\":[\"id\",\"name\",\"description\",\"kind\"],"
                                    "\"s.seen\":[\"y\"]}");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_empty_database_gets_the_sample),
        TEST(values_are_json),
        TEST(a_statement_reads_queries_of_its_own),
        TEST(a_rule_changes_nothing),
        TEST(each_attack_is_refused),
        TEST(the_role_alone_refuses),
        TEST(content_inserts_and_updates),
        TEST(innocent_statements_pass),
        TEST(a_result_is_cut),
        TEST(a_statement_happens_once),
        TEST(of_two_stores_one_does_it),
        TEST(a_runaway_statement_is_cut),
        TEST(tables_are_described),
    };
    return cmocka_run_group_tests(tests, set_up_group, tear_down_group);
}
