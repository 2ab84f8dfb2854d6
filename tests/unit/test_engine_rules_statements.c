/* SPDX-License-Identifier: MIT
 * test_engine_rules_statements.c - which SQL statements the built-in model lets
 * pass. */
#include "tests/unit/rules_fixture.h"

static void a_statement_may_only_do_what_its_verb_may(void **state)
{
    static const char *const reading[] = {
        "SELECT * FROM patterns",
        "select p.name, count(c.id) as n from patterns p left join cards c on c.pattern_id = p.id "
        "group by p.name having count(c.id) > 1 order by n desc limit 10;",
        "WITH x AS (SELECT id FROM cards) SELECT * FROM x",
        "WITH c AS (SELECT 1 AS x) SELECT x FROM c",
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3), d AS NOT "
        "MATERIALIZED (SELECT n FROM c) SELECT count(*) FROM d",
        "VALUES (1), (2)",
        "SELECT name FROM patterns WHERE name = 'DELETE; --' OR name IS NULL",
        "SELECT \"unit price\" FROM \"Order\"",
        "SELECT extract(year FROM happened_on) FROM episodes",
        "SELECT CASE WHEN id > 3 THEN 'a' ELSE 'b' END FROM cards",
    };
    static const char *const wrong_reading[] = {
        "",
        "SELECT",
        "DELETE FROM patterns",
        "DROP TABLE patterns",
        "SELECT * FROM customers",
        "SELECT colour FROM patterns",
        "SELECT body FROM patterns",
        "SELECT * FROM patterns; DELETE FROM patterns",
        "SELECT load_extension('x')",
        "SELECT * INTO cards FROM patterns",
        "WITH x AS (DELETE FROM cards RETURNING id) SELECT 1",
        "WITH x AS (UPDATE cards SET title = 'a') SELECT 1",
        "WITH x AS (SELECT 1 AS y) SELECT z FROM x",
        "WITH x(y) AS (SELECT 1) SELECT readfile(y) FROM x",
        "SELECT * FROM patterns -- x",
        "SELECT * FROM patterns /* x */",
        "SELECT 'a",
        "SELECT $1 FROM patterns",
        "PRAGMA table_info(patterns)",
        "ATTACH 'x' AS y",
        "INSERT INTO patterns (name) VALUES ('a')",
        "SELECT pg_sleep(100)",
        "SELECT \"a",
        "SELECT readfile('/etc/passwd') FROM patterns",
        "SELECT name FROM pg_catalog.pg_user",
    };
    static const char *const writing[] = {
        "INSERT INTO patterns (name) VALUES ('a'), ('b')",
        "INSERT INTO patterns (id, name) VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET name = "
        "excluded.name",
        "UPDATE cards SET title = upper(title) WHERE id = 3",
    };
    static const char *const wrong_writing[] = {
        "SELECT * FROM patterns",
        "UPDATE cards SET title = 'x'",
        "DELETE FROM cards",
        "INSERT OR REPLACE INTO patterns (name) VALUES ('a')",
        "REPLACE INTO patterns VALUES (1)",
        "UPDATE OR REPLACE patterns SET id = 1 WHERE id = 2",
        "INSERT INTO customers VALUES (1)",
        "INSERT INTO patterns (colour) VALUES ('red')",
        "UPDATE cards SET colour = 1 WHERE id = 1",
        "INSERT INTO patterns (name) VALUES ('a'); DROP TABLE cards",
    };
#define EACH(list, agent, verb, expected)                                                          \
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {                                      \
        if (passes(agent, verb, list[i]) != (expected))                                            \
            print_message("%s\n", list[i]);                                                        \
        assert_true(passes(agent, verb, list[i]) == (expected));                                   \
    }
    EACH(reading, "model.verifySQL", "RULE", true)
    EACH(wrong_reading, "model.verifySQL", "RULE", strcmp(wrong_reading[i], "SELECT") == 0)
    EACH(writing, "model.verifyUpsert", "CONTENT", true)
    EACH(wrong_writing, "model.verifyUpsert", "CONTENT", false)
}

static void the_fault_of_a_statement_is_named(void **state)
{
    json_t *json =
        ask("model.verifySQL", "RULE", "{\"sql_query\":\"SELECT x FROM customers\"}", "");
    assert_string_equal(decision(json), "no");
    assert_non_null(strstr(reason(json), "\"x\""));
    json_decref(json);
    json = ask("model.verifySQL", "RULE", "{}", "run Show patterns");
    assert_non_null(strstr(reason(json), "no sql_query"));
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_statement_may_only_do_what_its_verb_may),
        cmocka_unit_test(the_fault_of_a_statement_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
