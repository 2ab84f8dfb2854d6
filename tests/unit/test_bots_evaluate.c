/* SPDX-License-Identifier: MIT
 * What evaluations compute, against numbers worked out by hand, and how a conversation becomes
 * turns. */
#include "services/bots/evaluate/conversation.h"
#include "services/bots/evaluate/measure.h"
#include "services/bots/evaluate/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_near(double seen, double expected)
{
    if (!(fabs(seen - expected) < 1e-6))
        fail_msg("%.9f is not %.9f", seen, expected);
}

/* --- statistics ------------------------------------------------------------------------------- */

/* 1 to 5: mean 3, s^2 = (4 + 1 + 0 + 1 + 4) / 4 = 2.5, standard error sqrt(2.5 / 5) = 0.70710678;
 * with t(4) = 2.776445 the half width is 1.963243. */
static void test_interval(void **state)
{
    struct statistics s = {.n = 0};
    struct interval interval = {-1, -2};
    (void)state;
    for (int i = 1; i <= 5; i++)
        statistics_add(&s, i);
    assert_int_equal(s.n, 5);
    assert_near(s.mean, 3);
    assert_near(s.m2, 10);
    assert_true(statistics_interval(&s, &interval));
    assert_near(interval.low, 3 - 1.963243);
    assert_near(interval.high, 3 + 1.963243);
}

static void test_no_interval(void **state)
{
    struct statistics s = {.n = 0};
    struct interval interval = {-1, -2};
    (void)state;
    assert_false(statistics_interval(&s, &interval));
    statistics_add(&s, 0.25);
    assert_false(statistics_interval(&s, &interval));
    assert_near(interval.low, -1);
    /* Two equal values: an interval without width. */
    statistics_add(&s, 0.25);
    assert_true(statistics_interval(&s, &interval));
    assert_near(interval.low, 0.25);
    assert_near(interval.high, 0.25);
}

/* Differences 0.2, -0.1 and 0.5 (the third pair has a failed turn, the last one too): mean 0.2,
 * s^2 = (0 + 0.09 + 0.09) / 2 = 0.09, standard error 0.3 / sqrt(3) = 0.17320508; with t(2) =
 * 4.302653 the half width is 0.745241. */
static void test_pairs(void **state)
{
    const double a[] = {0.5, 0.4, NAN, 0.9, 0.1}, b[] = {0.3, 0.5, 0.1, 0.4, NAN};
    struct statistics s = statistics_of_pairs(a, b, 5);
    struct interval interval;
    (void)state;
    assert_int_equal(s.n, 3);
    assert_near(s.mean, 0.2);
    assert_true(statistics_interval(&s, &interval));
    assert_near(interval.low, 0.2 - 0.745241);
    assert_near(interval.high, 0.2 + 0.745241);
}

/* Of tables, and where the table ends and the expansion begins. */
static void test_quantiles(void **state)
{
    (void)state;
    assert_near(statistics_t975(1), 12.706205);
    assert_near(statistics_t975(10), 2.228139);
    assert_near(statistics_t975(30), 2.042272);
    assert_near(statistics_t975(31), 2.039513);
    assert_near(statistics_t975(40), 2.021075);
    assert_near(statistics_t975(99), 1.984217);
    assert_near(statistics_t975(1999), 1.961151);
}

/* Values that differ in the seventh place only: squares of them would lose it. */
static void test_close_values(void **state)
{
    struct statistics s = {.n = 0};
    (void)state;
    for (int i = 0; i < 1000; i++)
        statistics_add(&s, 1e6 + (i % 2 == 0 ? 0.1 : -0.1));
    assert_near(s.mean, 1e6);
    assert_near(s.m2, 10);
}

/* --- measures --------------------------------------------------------------------------------- */

/* (3, 4) and (4, 3): both have length 5, the product is 24. */
static void test_measures(void **state)
{
    const float a[] = {3, 4}, b[] = {4, 3}, c[] = {-3, -4};
    double d;
    (void)state;
    assert_true(measure_distance(MEASURE_COSINE, a, b, 2, &d));
    assert_near(d, 1 - 24.0 / 25);
    assert_true(measure_distance(MEASURE_DOT, a, b, 2, &d));
    assert_near(d, 1 - 24);
    assert_true(measure_distance(MEASURE_EUCLIDEAN, a, b, 2, &d));
    assert_near(d, 1.41421356);
    assert_true(measure_distance(MEASURE_COSINE, a, c, 2, &d));
    assert_near(d, 2);
    assert_true(measure_distance(MEASURE_COSINE, a, a, 2, &d));
    assert_true(d >= 0 && d < 1e-12);
    assert_true(measure_similarity(a, b, 2, &d));
    assert_near(d, 0.96);
}

static void test_unsound(void **state)
{
    const float good[] = {3, 4};
    const float bad[][2] = {{0, 0}, {-0.0F, 0}, {NAN, 1}, {INFINITY, 1}, {1, -INFINITY}};
    double d = 7;
    (void)state;
    assert_true(measure_is_sound(good, 2));
    assert_false(measure_is_sound(good, 0));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(measure_is_sound(bad[i], 2));
        for (unsigned m = 0; m < MEASURE_NR; m++) {
            assert_false(measure_distance(m, good, bad[i], 2, &d));
            assert_false(measure_distance(m, bad[i], good, 2, &d));
        }
        assert_false(measure_similarity(bad[i], good, 2, &d));
    }
    assert_near(d, 7);
}

static void test_names(void **state)
{
    enum measure m;
    (void)state;
    for (unsigned i = 0; i < MEASURE_NR; i++) {
        assert_true(measure_of(measure_name(i), &m));
        assert_int_equal(m, i);
    }
    assert_false(measure_of(STR("Cosine"), &m));
    assert_false(measure_of(STR(""), &m));
}

static void test_points(void **state)
{
    (void)state;
    assert_near(measure_score(0), 100);
    assert_near(measure_score(0.125), 87.5);
    assert_near(measure_score(1.7), 0);
    assert_near(measure_score(-0.1), 100);
    assert_int_equal(measure_points(0.2, 0.2, 0.8), 0);
    assert_int_equal(measure_points(0.5, 0.2, 0.8), 50);
    assert_int_equal(measure_points(0.8, 0.2, 0.8), 100);
    assert_int_equal(measure_points(1, 0, 3), 33);
    assert_int_equal(measure_points(2, 0, 3), 67);
    assert_int_equal(measure_points(0, -1, 1), 50);
    assert_int_equal(measure_points(1, 0, 8), 13);      /* 12.5: away from zero */
    assert_int_equal(measure_points(0.7, 0.7, 0.7), 0); /* all equal */
}

/* --- conversations ---------------------------------------------------------------------------- */

static enum conversation_fault read(const char *body, const char *person, struct conversation *c,
                                    char *reason)
{
    struct json_member member;
    const char *why;
    size_t n, at;
    bool is_object;
    if (!json_scan_object(str_of(body), &member, 1, &n, &why, &at, &is_object))
        fail_msg("%.200s: %s", body, why);
    /* In steps of any size, the smallest ones for what is short. */
    struct conversation_reader reader;
    conversation_begin(&reader, &member.value, str_of(person), reason);
    while (conversation_go_on(&reader, strlen(body) / 100))
        ;
    return conversation_end(&reader, c);
}

/* Ada speaks first, twice in a row after Bob, after nobody else at the end. */
static const char talk[] =
    "{\"c\": [ {\"from\":\"Ada\",\"text\":\"Hello?\"}, {\"from\":\"Bob\",\"text\":\"1\"},"
    "{\"text\":\"2\",\"from\":\"Cy\",\"id\":7,\"tagged\":[ \"Ada\" ],\"more\":{}},"
    "{\"from\":\"\\u0041da\",\"text\":\"a \\u00e9\\n\",\"id\":\"m4\",\"timestamp\":\"2025\"},"
    "{\"from\":\"Ada\",\"text\":\"b\",\"id\":null}, {\"from\":\"Bob\",\"text\":\"3\"},"
    "{\"from\":\"Ada\",\"text\":\"c\"}, {\"from\":\"Bob\",\"text\":\"4\"} ] }";

static void test_turns(void **state)
{
    struct conversation c, twin;
    char reason[CONVERSATION_REASON_BYTES];
    (void)state;
    assert_int_equal(read(talk, "Ada", &c, reason), CONVERSATION_GOOD);
    assert_int_equal(c.message_n, 8);
    assert_int_equal(c.turn_n, 2);
    assert_int_equal(c.turns[0].message, 2);
    assert_int_equal(c.turns[0].original_n, 2);
    assert_int_equal(c.turns[1].message, 5);
    assert_int_equal(c.turns[1].original_n, 1);
    /* As it is stored: canonical, with an id for everybody. */
    assert_true(str_has_prefix(buf_str(&c.text), STR("{\"person\":\"Ada\",\"messages\":[{\"from\":"
                                                     "\"Ada\",\"tagged\":[],\"id\":\"1\",\"text\":"
                                                     "\"Hello?\",\"timestamp\":null},")));
    assert_true(str_eq(c.messages[2].id.raw, STR("7")));
    assert_true(str_eq(c.messages[2].tagged, STR("[\"Ada\"]")));
    assert_true(str_eq(c.messages[3].text.raw, STR("a \xc3\xa9\\n")));
    assert_true(str_eq(c.messages[3].timestamp, STR("\"2025\"")));
    assert_true(str_eq(c.messages[4].timestamp, STR("null")));
    /* What is stored gives the same. */
    assert_true(conversation_load(buf_str(&c.text), &twin));
    assert_int_equal(twin.turn_n, 2);
    assert_int_equal(twin.message_n, 8);
    assert_true(str_eq(buf_str(&twin.text), buf_str(&c.text)));
    conversation_fini(&twin);
    conversation_fini(&c);
}

static void test_refused(void **state)
{
    static const struct {
        const char *body, *why;
    } cases[] = {
        {"{\"c\":null}", "The member 'conversation' must be a list"},
        {"{\"c\":\"x\"}", "The member 'conversation' must be a list"},
        {"{\"c\":[]}", "has no turn"},
        {"{\"c\":[{\"from\":\"Ada\",\"text\":\"x\"}]}", "has no turn"},
        {"{\"c\":[{\"from\":\"Bob\",\"text\":\"x\"},{\"from\":\"ada\",\"text\":\"x\"}]}",
         "one from 'Ada'"},
        {"{\"c\":[1]}", "Message 1 of the conversation: it must be an object."},
        {"{\"c\":[{\"from\":\"Bob\",\"text\":\"x\"},{\"text\":\"x\"}]}", "Message 2"},
        {"{\"c\":[{\"from\":\"\",\"text\":\"x\"}]}", "`from` must be"},
        {"{\"c\":[{\"from\":\"Bob\",\"text\":7}]}", "`text` must be"},
        {"{\"c\":[{\"from\":\"Bob\",\"text\":\"\"}]}", "`text` must be"},
        {"{\"c\":[{\"from\":\"Bob\",\"text\":\"x\",\"id\":\"a\\\"b\"}]}", "`id` must be"},
        {"{\"c\":[{\"from\":\"Bob\",\"text\":\"x\",\"id\":[]}]}", "`id` must be"},
        {"{\"c\":[{\"from\":\"Bob\",\"text\":\"x\",\"tagged\":\"Ada\"}]}", "`tagged` must be"},
        {"{\"c\":[{\"from\":\"Bob\",\"text\":\"x\",\"tagged\":[1]}]}", "`tagged` must be"},
        {"{\"c\":[{\"from\":\"Bob\",\"text\":\"x\",\"timestamp\":1}]}", "`timestamp` must be"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct conversation c;
        char reason[CONVERSATION_REASON_BYTES] = "";
        assert_int_equal(read(cases[i].body, "Ada", &c, reason), CONVERSATION_BAD);
        if (strstr(reason, cases[i].why) == NULL)
            fail_msg("%s: %s", cases[i].body, reason);
    }
}

/* A list of `n` times those messages. */
static char *many(const char *messages, size_t n)
{
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    buf_lit(&b, "{\"c\":[");
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_put_char(&b, ',');
        buf_put(&b, str_of(messages));
    }
    buf_lit(&b, "]}");
    buf_terminate(&b);
    return b.at;
}

static const char bob[] = "{\"from\":\"Bob\",\"text\":\"x\"}",
                  ada[] = "{\"from\":\"Ada\",\"text\":\"x\"}";

static void expect_many(const char *messages, size_t n, enum conversation_fault fault,
                        const char *why)
{
    struct conversation c = {.message_n = 0};
    char reason[CONVERSATION_REASON_BYTES] = "";
    char *body = many(messages, n);
    assert_int_equal(read(body, "Ada", &c, reason), fault);
    if (strstr(reason, why) == NULL)
        fail_msg("%s", reason);
    conversation_fini(&c);
    free(body);
}

static void test_bounds(void **state)
{
    char pair[200], crowd[4096];
    size_t n = 0;
    (void)state;
    snprintf(pair, sizeof pair, "%s,%s", bob, ada);
    expect_many(pair, CONVERSATION_TURNS_MAX, CONVERSATION_GOOD, "");
    expect_many(pair, CONVERSATION_TURNS_MAX + 1, CONVERSATION_BAD, "2001 turns");
    expect_many(bob, CONVERSATION_MESSAGES_MAX, CONVERSATION_BAD, "no turn");
    expect_many(bob, CONVERSATION_MESSAGES_MAX + 1, CONVERSATION_BAD, "at most 20000 messages");
    n = (size_t)snprintf(crowd, sizeof crowd, "%s", bob);
    for (int i = 0; i < CONVERSATION_ORIGINALS_MAX; i++)
        n += (size_t)snprintf(crowd + n, sizeof crowd - n, ",%s", ada);
    expect_many(crowd, 1, CONVERSATION_GOOD, "");
    snprintf(crowd + n, sizeof crowd - n, ",%s", ada);
    expect_many(crowd, 1, CONVERSATION_BAD, "more than 50 originals");
}

static void test_sizes(void **state)
{
    size_t n = CONVERSATION_TEXT_MAX_BYTES;
    char *text = malloc(n + 3), *message = malloc(2 * n);
    (void)state;
    if (text == NULL || message == NULL)
        abort();
    memset(text, 'x', n + 2);
    text[n] = 0;
    snprintf(message, 2 * n, "%s,{\"from\":\"Ada\",\"text\":\"%s\"}", bob, text);
    expect_many(message, 1, CONVERSATION_GOOD, "");
    expect_many(message, 63, CONVERSATION_GOOD, "");
    expect_many(message, 64, CONVERSATION_TOO_LARGE, "larger than 4 MiB");
    text[n] = 'x';
    text[n + 1] = 0;
    snprintf(message, 2 * n, "%s,{\"from\":\"Ada\",\"text\":\"%s\"}", bob, text);
    expect_many(message, 1, CONVERSATION_BAD, "64 KiB");
    free(text);
    free(message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interval),     cmocka_unit_test(test_no_interval),
        cmocka_unit_test(test_pairs),        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_close_values), cmocka_unit_test(test_measures),
        cmocka_unit_test(test_unsound),      cmocka_unit_test(test_names),
        cmocka_unit_test(test_points),       cmocka_unit_test(test_turns),
        cmocka_unit_test(test_refused),      cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
