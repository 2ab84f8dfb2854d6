/* SPDX-License-Identifier: MIT
 * test_workflow_sqlite.c - services/workflow/sql on SQLite: what a statement may do, what happens
 * once, and what ends badly. */
#include "sql_attacks.h"
#include "sql_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>

static char url[256];

/* Takes minutes, in one call of one function: no progress handler runs in it. */
#define ENDLESS                                                                                    \
    "WITH RECURSIVE t(x, n) AS (SELECT 'aaaaaaaaaaaaaaaa', 1 UNION ALL SELECT x || x, n + 1 FROM " \
    "t WHERE n < 19) SELECT replace(x, substr(x, 1, 2000000) || 'b', '') FROM t WHERE n = 19"

static int set_up(void **state)
{
    set_up_fixture();
    snprintf(url, sizeof url, "sqlite:%s/var/workflow.db", folder);
    open_store(url, NULL);
    return 0;
}

static int tear_down(void **state)
{
    tear_down_fixture();
    return 0;
}

/* With a connection of its own, as another program would. */
static int64_t ask_file(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    char path[128];
    snprintf(path, sizeof path, "%s/var/workflow.db", folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    int status = sqlite3_step(statement);
    assert_true(status == SQLITE_ROW || status == SQLITE_DONE);
    int64_t value = status == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
}

static void an_empty_database_gets_the_sample(void **state)
{
    expect_rows("SELECT count(*) FROM patterns", "[[10]]");
    expect_rows("SELECT id, name FROM patterns ORDER BY id LIMIT 2",
                "[[1,\"retry with backoff\"],[2,\"circuit breaker\"]]");
    assert_string_equal(got.columns, "[\"id\",\"name\"]");
    assert_int_equal(got.row_n, 2);
    expect_rows("SELECT e.title FROM episodes e JOIN cards c ON c.id = card_id WHERE c.id = 99",
                "[]");
}

static void values_are_json(void **state)
{
    expect_rows("SELECT 1, 2.5, NULL, 'é\"', x'00ff', 1e999, 9223372036854775807",
                "[[1,2.5,null,\"é\\\"\",\"(2 bytes)\",null,9223372036854775807]]");
}

/* SQLite asks for the right to read these as if they were tables. */
static void a_statement_reads_queries_of_its_own(void **state)
{
    expect_rows("WITH c AS (SELECT 1 AS x) SELECT x FROM c", "[[1]]");
    expect_rows("WITH c AS (SELECT 1 AS x) SELECT 2 FROM c", "[[2]]");
    expect_rows("WITH c AS (SELECT 1 AS x) SELECT count(*) FROM c", "[[1]]");
    expect_rows("with C as materialized (values (1), (2)) select count(*) from c;", "[[2]]");
    expect_rows(
        "WITH a AS (SELECT 1), \"b c\"(n) AS (SELECT 2 FROM a) SELECT count(*) FROM \"b c\"",
        "[[1]]");
    expect_rows("WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 4) "
                "SELECT count(*) FROM t",
                "[[4]]");
    expect_rows("SELECT (WITH c AS (SELECT 7 AS x) SELECT count(*) FROM c), count(*) FROM patterns",
                "[[1,10]]");
    expect_rows(
        "/* first */ -- second\n WITH c AS (SELECT id FROM cards) SELECT count(*) > 0 FROM c",
        "[[1]]");
    expect_rows("VALUES (1), (2)", "[[1],[2]]");
    expect_change("WITH c AS (SELECT 1 AS x) INSERT INTO patterns (name, description, kind) SELECT "
                  "'with', 'b', 'c' FROM c",
                  1);
    expect_change("WITH c AS (SELECT 1 AS x) UPDATE patterns SET kind = (SELECT count(*) FROM c) "
                  "WHERE name = 'with'",
                  1);
}

/* In another place of the statement, the name would be that of the table. */
static void a_query_may_not_stand_for_a_hidden_table(void **state)
{
    static const char *const names[] = {"sqlite_master", "SQLITE_SCHEMA",     "parley_ledger",
                                        "json_each",     "pragma_table_list", NULL};
    char text[256];
    for (const char *const *name = names; *name != NULL; name++) {
        snprintf(text, sizeof text,
                 "SELECT (WITH %s AS (SELECT 1) SELECT 1 FROM %s), count(*) FROM %s%s", *name,
                 *name, *name, strcmp(*name, "json_each") == 0 ? "('[1]')" : "");
        expect_refused(SQL_READ, text);
    }
    expect_refused(SQL_READ, "SELECT count(*) FROM sqlite_master");
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
    expect_refused(SQL_READ, "SELECT * FROM sqlite_master");
    expect_refused(SQL_READ, "SELECT * FROM pragma_table_info('patterns')");
    expect_refused(SQL_READ, "SELECT * FROM json_each('[1]')");
    expect_refused(SQL_READ, "SELECT * FROM dbstat");
    run_sql(SQL_WRITE, "UPDATE sqlite_schema SET sql = ''");
    assert_int_not_equal(got.outcome, SQL_DONE);
    expect_refused(SQL_WRITE, "UPDATE [parley_ledger] SET rowcount = 7");
    expect_refused(SQL_WRITE, "UPDATE cards SET title = (SELECT max(run) FROM `parley_ledger`)");
    expect_refused(SQL_WRITE, "UPDATE cards SET title = load_extension('x')");
    expect_refused(SQL_WRITE, "UPDATE cards SET title = hex(randomblob(4))");
    expect_rows("SELECT count(*) FROM patterns", "[[10]]");
    assert_int_equal(ask_file("SELECT count(*) FROM sqlite_schema WHERE type = 'table'"), 4);
    assert_int_equal(ask_file("SELECT count(*) FROM parley_ledger"), 0);
    assert_int_equal(access(ATTACK_FILE, F_OK), -1);
}

static void content_inserts_and_updates(void **state)
{
    expect_change("INSERT INTO patterns (name, description, kind) VALUES ('a', 'b', 'c'), "
                  "('d', 'e', 'f')",
                  2);
    expect_change("UPDATE patterns SET kind = 'x' WHERE name IN ('a', 'd');", 2);
    expect_change("INSERT INTO patterns (name, description, kind) VALUES ('a', 'b2', 'c') "
                  "ON CONFLICT (name) DO UPDATE SET description = excluded.description",
                  1);
    expect_change("INSERT OR IGNORE INTO patterns (name, description, kind) VALUES ('a', '', '')",
                  0);
    expect_change("WITH n(x) AS (SELECT 'new' UNION VALUES ('newer')) INSERT INTO patterns (name, "
                  "description, kind) SELECT x, replace(x, 'n', 'm'), 'y' FROM n",
                  2);
    expect_rows("SELECT name, description, kind FROM patterns WHERE id > 10 ORDER BY id",
                "[[\"a\",\"b2\",\"x\"],[\"d\",\"e\",\"x\"],[\"new\",\"mew\",\"y\"],"
                "[\"newer\",\"mewer\",\"y\"]]");
    run_sql(SQL_WRITE, "INSERT INTO patterns (name, description, kind) VALUES ('a', 'b', 'c')");
    expect_outcome("a name twice", SQL_FAILED);
    assert_non_null(strstr(got.reason, "UNIQUE constraint failed"));
}

/* Its words are innocent; the table is not. */
static void a_table_that_replaces_loses_no_row(void **state)
{
    expect_rows("SELECT 1", "[[1]]");
    ask_file("CREATE TABLE odd (id INTEGER PRIMARY KEY ON CONFLICT REPLACE, x TEXT)");
    ask_file("INSERT INTO odd VALUES (1, 'first')");
    expect_refused(SQL_WRITE, "INSERT INTO odd (id, x) VALUES (1, 'second')");
    expect_rows("SELECT x FROM odd", "[[\"first\"]]");
    ask_file("CREATE TRIGGER clean AFTER INSERT ON odd BEGIN DELETE FROM episodes; END");
    expect_refused(SQL_WRITE, "INSERT INTO odd (id, x) VALUES (2, 'second')");
    expect_rows("SELECT count(*) FROM episodes", "[[10]]");
}

static void a_result_is_cut(void **state)
{
    run_sql(SQL_READ, "SELECT a.id FROM patterns a, patterns b, patterns c");
    expect_outcome("a thousand rows", SQL_DONE);
    assert_int_equal(got.row_n, SQL_ROWS_MAX);
    assert_true(got.is_cut);
    run_sql(SQL_READ, "WITH RECURSIVE t(x, n) AS (SELECT 'xxxxxxxxxx', 1 UNION ALL SELECT x || x, "
                      "n + 1 FROM t WHERE n < 15) SELECT x FROM t WHERE n = 15");
    expect_outcome("a long value", SQL_DONE);
    assert_true(got.is_cut);
    assert_int_equal(got.row_n, 1);
    run_sql(SQL_READ, "WITH RECURSIVE t(x, n) AS (SELECT 'xxxxxxxxxx', 1 UNION ALL SELECT x || x, "
                      "n + 1 FROM t) SELECT x FROM t WHERE n = 99");
    expect_outcome("a value past the limit", SQL_FAILED);
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
    /* One that failed has not happened. */
    run_step(5001, SQL_WRITE, "INSERT INTO cards (pattern_id, title, body) VALUES (99, 'c', 'd')");
    expect_outcome("a foreign key", SQL_FAILED);
    run_step(5001, SQL_WRITE, "INSERT INTO cards (pattern_id, title, body) VALUES (9, 'c', 'd')");
    expect_outcome("the same step", SQL_DONE);
    assert_false(got.had_happened);
}

/* Two nodes have the same step. */
static void of_two_stores_one_does_it(void **state)
{
    struct sql_store *other = sql_store_create(&loop, settings);
    static const char text[] = "UPDATE episodes SET title = title || '!' WHERE id = 1";
    for (uint64_t number = 6000; number < 6020; number++) {
        struct got second = {0};
        struct sql_statement statement = {SESSION, 1, number, SQL_WRITE, STR("")};
        statement.text = str_of(text);
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

/* The loop finds the child's reply in the same turn as the end of the write it replies to. */
static void a_child_may_be_faster_than_its_node(void **state)
{
    got.n = 0;
    (void)!start_step(step++, SQL_READ, "SELECT 1");
    sleep(1); /* the child opens the database meanwhile */
    wait_for(&got, 1);
    assert_int_equal(got.outcome, SQL_DONE);
    assert_string_equal(got.rows, "[[1]]");
}

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

static void a_runaway_statement_is_cut(void **state)
{
    static const char *const texts[] = {
        ENDLESS,
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t",
        NULL};
    for (const char *const *at = texts; *at != NULL; at++) {
        run_sql(SQL_READ, *at);
        expect_outcome(*at, SQL_TIMED_OUT);
        expect_rows("SELECT 1", "[[1]]");
    }
    run_step(7000, SQL_WRITE, "UPDATE patterns SET kind = (" ENDLESS ")");
    expect_outcome("a runaway update", SQL_TIMED_OUT);
    expect_rows("SELECT count(*) FROM patterns WHERE kind = 'resilience'", "[[3]]");
    assert_int_equal(ask_file("SELECT count(*) FROM parley_ledger WHERE step = 7000"), 0);
}

/* The only child, or the first of two. */
static pid_t wait_for_child(void)
{
    pid_t pid;
    while (list_children(&pid, 1) == 0)
        turn_a_moment();
    return pid;
}

static void a_child_that_is_killed_leaves_all_or_nothing(void **state)
{
    char text[256];
    expect_rows("SELECT 1", "[[1]]");
    for (unsigned i = 0; i < 30; i++) {
        struct deadline pause = {.on_expire = on_pause_over};
        got.n = 0;
        snprintf(text, sizeof text,
                 "INSERT INTO cards (pattern_id, title, body) SELECT 1, 'kill %u', a.name FROM "
                 "patterns a, patterns b, patterns c, patterns d",
                 i);
        struct sql_call *call = start_step(8000 + i, SQL_WRITE, text);
        (void)call;
        loop_set_deadline(&loop, &pause, i);
        loop.is_done = false;
        loop_run(&loop);
        loop_cancel_deadline(&loop, &pause);
        kill(wait_for_child(), SIGKILL);
        wait_for(&got, 1);
        expect_outcome(text, SQL_DONE);
        assert_int_equal(got.row_n, 10000);
    }
    expect_rows("SELECT count(*), count(DISTINCT title) FROM cards WHERE title LIKE 'kill%'",
                "[[300000,30]]");
    assert_int_equal(ask_file("SELECT count(*) FROM parley_ledger WHERE step >= 8000"), 30);
}

/* Cancelling is what a node does that gives a run up; dying does the same to its children. */
static void a_cancelled_statement_can_be_started_again(void **state)
{
    static const char text[] = "UPDATE episodes SET title = title || '!' WHERE id = 2";
    for (uint64_t number = 9000; number < 9020; number++) {
        got.n = 0;
        struct sql_call *call = start_step(number, SQL_WRITE, text);
        if (number % 2 == 0)
            turn_a_moment();
        if (got.n == 0)
            sql_cancel(call);
        run_step(number, SQL_WRITE, text);
        expect_outcome(text, SQL_DONE);
    }
    expect_rows("SELECT length(title) - length(rtrim(title, '!')) FROM episodes WHERE id = 2",
                "[[20]]");
}

static void many_statements_wait_their_turn(void **state)
{
    got.n = 0;
    for (unsigned i = 0; i < SQL_WAITING_MAX; i++)
        (void)!start_step(step++, SQL_READ, "SELECT 1");
    (void)!start_step(step++, SQL_READ, "SELECT 1");
    wait_for(&got, 1);
    assert_int_equal(got.outcome, SQL_UNREACHABLE);
    assert_non_null(strstr(got.reason, "Too many"));
    wait_for(&got, SQL_WAITING_MAX + 1);
    assert_int_equal(got.outcome, SQL_DONE);
    pid_t pids[16];
    assert_true(list_children(pids, 16) <= 2);
}

/* Its statements fill all children until their limit. */
static void one_account_does_not_keep_the_others_waiting(void **state)
{
    struct got others = {0}, tables = {0};
    struct sql_statement endless = {SESSION, 1, 0, SQL_READ, STR(ENDLESS), STR("greedy"), STR("u")};
    struct sql_statement quick = {SESSION, 2, 1, SQL_READ, STR("SELECT 1"), STR("other"), STR("u")};
    got.n = 0;
    for (unsigned i = 0; i < 2; i++) /* the children have the database open */
        (void)!start_step(step++, SQL_READ, "SELECT 1");
    wait_for(&got, 2);
    got.n = 0;
    for (unsigned i = 0; i < 5; i++) {
        endless.step = step++;
        (void)!sql_start(store, &endless, on_end, &got);
    }
    (void)!sql_start(store, &quick, on_end, &others);
    (void)!sql_describe(store, on_tables, &tables);
    (void)!sql_describe(store, on_tables, &tables);
    wait_for(&others, 1);
    wait_for(&tables, 2);
    assert_string_equal(others.rows, "[[1]]");
    assert_non_null(strstr(tables.tables, "patterns"));
    assert_in_range(got.n, 0, 2); /* of the greedy one's: those that ran first */
}

static void tables_are_described(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        got.n = 0;
        (void)!sql_describe(store, on_tables, &got);
        wait_for(&got, 1);
        assert_string_equal(got.tables,
                            "{\"cards\":[\"id\",\"pattern_id\",\"title\",\"body\"],"
                            "\"episodes\":[\"id\",\"card_id\",\"title\",\"happened_on\"],"
                            "\"patterns\":[\"id\",\"name\",\"description\",\"kind\"]}");
    }
    sql_cancel(sql_describe(store, on_tables, &got));
}

static void another_program_holds_the_lock(void **state)
{
    sqlite3 *db;
    char path[128];
    expect_rows("SELECT 1", "[[1]]");
    snprintf(path, sizeof path, "%s/var/workflow.db", folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    expect_rows("SELECT count(*) FROM patterns", "[[10]]");
    run_step(9500, SQL_WRITE, "UPDATE patterns SET kind = 'locked'");
    expect_outcome("a locked database", SQL_UNREACHABLE);
    assert_non_null(strstr(got.reason, "locked"));
    assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    run_step(9500, SQL_WRITE, "UPDATE patterns SET kind = 'locked'");
    expect_outcome("the same step", SQL_DONE);
    assert_false(got.had_happened);
}

static void a_file_that_is_no_database(void **state)
{
    close_store();
    run_command("mkdir -p %s/var; head -c 8192 /dev/zero | tr '\\0' x > %s/var/workflow.db", folder,
                folder);
    open_store(url, NULL);
    run_sql(SQL_READ, "SELECT 1");
    expect_outcome("no database", SQL_UNREACHABLE);
    assert_string_equal(got.reason, "SQLite: file is not a database.");
    close_store();
    snprintf(url, sizeof url, "sqlite:%s/no/such/folder/x.db", folder);
    open_store(url, NULL);
    run_sql(SQL_READ, "SELECT 1");
    expect_outcome("no folder", SQL_UNREACHABLE);
    assert_string_equal(got.reason, "SQLite: unable to open database file.");
}

/* A file system of 400 KiB, which only a mount namespace of our own has. */
static void a_full_disk_changes_nothing(void **state)
{
    expect_rows("SELECT 1", "[[1]]");
    close_store();
    uid_t uid = getuid();
    char map[64], small[128];
    snprintf(small, sizeof small, "%s/small", folder);
    mkdir(small, 0755);
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0)
            _exit(77);
        if (uid != 0) {
            int fd = open("/proc/self/uid_map", O_WRONLY);
            snprintf(map, sizeof map, "0 %d 1", (int)uid);
            if (write(fd, map, strlen(map)) < 0)
                _exit(77);
            close(fd);
        }
        if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("small", small, "tmpfs", 0, "size=400k") != 0)
            _exit(77);
        snprintf(url, sizeof url, "sqlite:%s/x.db", small);
        loop_init(&loop);
        open_store(url, NULL);
        run_sql(SQL_WRITE,
                "INSERT INTO cards (pattern_id, title, body) SELECT 1, 'full', a.name || b.name || "
                "c.name FROM patterns a, patterns b, patterns c, patterns d");
        bool is_good = got.outcome == SQL_FAILED && strstr(got.reason, "full") != NULL;
        if (!is_good)
            fprintf(stderr, "%d %s\n", (int)got.outcome, got.reason);
        run_sql(SQL_READ, "SELECT count(*) FROM cards");
        is_good = is_good && strcmp(got.rows, "[[11]]") == 0;
        close_store();
        _exit(is_good ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("SKIPPED: this kernel allows no mount namespace\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* What SQLite itself would still allow, the kernel does not: it cannot be asked from here, so look
 * at what the kernel says of the child. */
static void the_child_is_confined(void **state)
{
    char path[64], line[256];
    unsigned found = 0;
    expect_rows("SELECT 1", "[[1]]");
    snprintf(path, sizeof path, "/proc/%d/status", (int)wait_for_child());
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL)
        found += strcmp(line, "NoNewPrivs:\t1\n") == 0 || strcmp(line, "Seccomp:\t2\n") == 0;
    fclose(file);
    assert_int_equal(found, 2);
}

static void bad_settings_are_one_line(void **state)
{
    static const char *const urls[] = {
        "", "x", "sqlite:", "sqlite::memory:", "sqlite:x/", "sqlite://h/x", "mysql://x", NULL};
    for (const char *const *at = urls; *at != NULL; at++)
        if (read_settings(*at, NULL) != NULL)
            fail_msg("%s", *at);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_empty_database_gets_the_sample),
        TEST(values_are_json),
        TEST(a_statement_reads_queries_of_its_own),
        TEST(a_query_may_not_stand_for_a_hidden_table),
        TEST(a_rule_changes_nothing),
        TEST(each_attack_is_refused),
        TEST(content_inserts_and_updates),
        TEST(a_table_that_replaces_loses_no_row),
        TEST(a_result_is_cut),
        TEST(a_statement_happens_once),
        TEST(of_two_stores_one_does_it),
        TEST(a_child_may_be_faster_than_its_node),
        TEST(several_children_make_one_sample),
        TEST(a_runaway_statement_is_cut),
        TEST(a_child_that_is_killed_leaves_all_or_nothing),
        TEST(a_cancelled_statement_can_be_started_again),
        TEST(many_statements_wait_their_turn),
        TEST(one_account_does_not_keep_the_others_waiting),
        TEST(tables_are_described),
        TEST(another_program_holds_the_lock),
        TEST(a_file_that_is_no_database),
        TEST(a_full_disk_changes_nothing),
        TEST(the_child_is_confined),
        TEST(bad_settings_are_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
