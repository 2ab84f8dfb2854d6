/* SPDX-License-Identifier: MIT
 * test_base_log.c - shared/base/log.h: one event is one line, whatever the values hold. The lines
 * are read back from a file that stands in for standard error while they are written. */
#include "shared/base/json.h"
#include "shared/base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { OUT_MAX = 65536 };

static char out[OUT_MAX];
static FILE *stand_in;
static int true_stderr;

static int begin(void **state)
{
    stand_in = tmpfile();
    true_stderr = dup(STDERR_FILENO);
    dup2(fileno(stand_in), STDERR_FILENO);
    log_setup(LOG_DEBUG, true);
    return 0;
}

static int end(void **state)
{
    dup2(true_stderr, STDERR_FILENO);
    close(true_stderr);
    fclose(stand_in);
    log_setup(LOG_INFO, false);
    return 0;
}

/* What was written since begin(). */
static struct str written(void)
{
    rewind(stand_in);
    size_t n = fread(out, 1, sizeof out - 1, stand_in);
    out[n] = 0;
    return (struct str){out, n};
}

/* Checks that exactly one line was written and parses it. The caller decrefs. */
static json_t *written_json(void)
{
    struct str text = written();
    char reason[200];
    json_t *value = NULL;
    assert_true(text.n > 0);
    assert_ptr_equal(memchr(text.at, '\n', text.n), text.at + text.n - 1);
    text.n--;
    assert_true(json_parse(text, reason, sizeof reason, &value));
    return value;
}

static void a_json_line_has_time_level_message_and_fields(void **state)
{
    log_write(LOG_WARN, "redis lost", LOG_S("reason", "refused"), LOG_U("retry_ms", 250));
    json_t *line = written_json();
    assert_int_equal(json_member_str(line, "time").n, strlen("2025-03-25T01:02:03.456Z"));
    assert_true(str_eq(json_member_str(line, "level"), STR("warn")));
    assert_true(str_eq(json_member_str(line, "message"), STR("redis lost")));
    assert_true(str_eq(json_member_str(line, "reason"), STR("refused")));
    assert_int_equal(json_integer_value(json_object_get(line, "retry_ms")), 250);
    json_decref(line);
}

static void a_value_cannot_forge_a_line_or_a_field(void **state)
{
    log_write(LOG_INFO, "x",
              LOG_STR("user", STR("a\n{\"level\":\"error\"}\x1b[31m\",\"admin\":1")));
    json_t *line = written_json();
    assert_null(json_object_get(line, "admin"));
    assert_null(memchr(out, 0x1b, strlen(out)));
    json_decref(line);
}

static void text_lines_escape_values_too(void **state)
{
    log_setup(LOG_DEBUG, false);
    log_write(LOG_ERROR, "broken", LOG_STR("path", STR("a b\nc\x1b")), LOG_U("n", 1));
    struct str text = written();
    assert_non_null(strstr(text.at, " error broken path=\"a b\\nc\\u001b\" n=1\n"));
    assert_ptr_equal(memchr(text.at, '\n', text.n), text.at + text.n - 1);
}

static void bytes_that_are_no_utf8_are_not_shown(void **state)
{
    log_write(LOG_INFO, "x", LOG_STR("user", STR("a\xff\xfe")), LOG_S("none", NULL));
    json_t *line = written_json();
    assert_true(str_eq(json_member_str(line, "user"), STR("(not UTF-8)")));
    assert_true(str_eq(json_member_str(line, "none"), STR("")));
    json_decref(line);
}

static void a_line_that_would_be_too_long_stays_json(void **state)
{
    static char large[30000];
    memset(large, 'x', sizeof large);
    log_write(LOG_INFO, "large", LOG_STR("before", STR("kept")),
              LOG_STR("body", ((struct str){large, sizeof large})), LOG_STR("after", STR("kept")));
    json_t *line = written_json();
    assert_true(str_eq(json_member_str(line, "before"), STR("kept")));
    assert_true(str_eq(json_member_str(line, "after"), STR("kept")));
    assert_null(json_object_get(line, "body"));
    assert_true(json_is_true(json_object_get(line, "cut")));
    json_decref(line);
}

static void lines_below_the_minimum_are_dropped(void **state)
{
    log_setup(LOG_WARN, true);
    assert_false(log_is_on(LOG_INFO));
    assert_true(log_is_on(LOG_ERROR));
    log_write(LOG_INFO, "quiet");
    assert_int_equal(written().n, 0);
}

static void level_names(void **state)
{
    enum log_level level = LOG_LEVEL_NR;
    assert_true(log_parse_level(STR("debug"), &level));
    assert_int_equal(level, LOG_DEBUG);
    assert_true(log_parse_level(STR("error"), &level));
    assert_int_equal(level, LOG_ERROR);
    assert_false(log_parse_level(STR("loud"), &level));
    assert_int_equal(level, LOG_ERROR);
}

static void a_trouble_that_lasts_is_logged_once_with_how_often_it_came(void **state)
{
    struct log_limit limit = {0};
    uint64_t times = 0;
    assert_true(log_limit_passes(&limit, "away", &times));
    assert_int_equal(times, 1);
    for (int i = 0; i < 100; i++)
        assert_false(log_limit_passes(&limit, i % 2 ? "away" : "another", &times));
    limit.said_ms -= 1001; /* a second ago: another reason may be said */
    assert_false(log_limit_passes(&limit, "away", &times));
    assert_true(log_limit_passes(&limit, "another", &times));
    assert_int_equal(times, 102);
    limit.said_ms -= 60001;
    assert_true(log_limit_passes(&limit, "another", &times));
    assert_int_equal(times, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_json_line_has_time_level_message_and_fields),
        TEST(a_value_cannot_forge_a_line_or_a_field),
        TEST(text_lines_escape_values_too),
        TEST(bytes_that_are_no_utf8_are_not_shown),
        TEST(a_line_that_would_be_too_long_stays_json),
        TEST(lines_below_the_minimum_are_dropped),
        TEST(level_names),
        TEST(a_trouble_that_lasts_is_logged_once_with_how_often_it_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
