/* SPDX-License-Identifier: MIT
 * test_lines.c - shared/queue/lines.h: what the scripts answer, read field by field; and row.h. */
#include "shared/queue/lines.h"
#include "shared/queue/row.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define ROW                                                                                        \
    "1742864523456\nFrontend_1 alice%20b default 2.5\n\"alice b\"\n\"default\"\n{}\n\n\"Why?\""

static void assert_str(struct str s, const char *expected)
{
    assert_int_equal(s.n, strlen(expected));
    if (s.n > 0)
        assert_memory_equal(s.at, expected, s.n);
}

static void lines_end_with_the_text_and_stay_empty_then(void **state)
{
    struct lines lines = lines_of(STR("a\n\nb"));
    assert_str(lines_next(&lines), "a");
    assert_str(lines_next(&lines), "");
    assert_true(lines_are_left(&lines));
    assert_str(lines_next(&lines), "b");
    assert_false(lines_are_left(&lines));
    assert_str(lines_next(&lines), "");
    assert_non_null(lines_next(&lines).at);
    assert_int_equal(lines_next_u64(&lines), 0);
}

static void a_text_without_a_byte_has_no_line(void **state)
{
    struct lines lines = lines_of(STR(""));
    assert_false(lines_are_left(&lines));
    assert_str(lines_next(&lines), "");
    assert_non_null(lines_next(&lines).at);
}

static void numbers_are_whole_lines(void **state)
{
    struct lines lines = lines_of(STR("7\n-7\n18446744073709551615\n18446744073709551616\n7x\n 7"));
    assert_true(lines_next_u64(&lines) == 7);
    assert_true(lines_next_u64(&lines) == 0);
    assert_true(lines_next_u64(&lines) == UINT64_MAX);
    assert_true(lines_next_u64(&lines) == 0);
    assert_true(lines_next_u64(&lines) == 0);
    assert_true(lines_next_u64(&lines) == 0);
}

static void a_row_has_its_fields(void **state)
{
    struct lines lines = lines_of(STR(ROW "\nrest"));
    struct query_row row = lines_next_row(&lines);
    assert_true(row.created_ms == 1742864523456);
    assert_str(row.account, "Frontend_1");
    assert_str(row.user_name, "alice%20b");
    assert_str(row.model_name, "default");
    assert_str(row.user, "\"alice b\"");
    assert_str(row.model, "\"default\"");
    assert_str(row.modifiers, "{}");
    assert_str(row.trace, "");
    assert_null(lines_request_id(&row).at);
    assert_str(row.query, "\"Why?\"");
    assert_str(lines_next(&lines), "rest");
}

static struct query_row written_row(struct buf *b, struct str user, struct str model,
                                    struct str traceparent, struct str request_id)
{
    buf_clear(b);
    buf_lit(b, "1742864523456\nF u m 1\n");
    row_put_who(b, user, model);
    buf_lit(b, "{}");
    row_put_trace(b, traceparent, request_id);
    buf_lit(b, "\"Why?\"");
    struct lines lines = lines_of(buf_str(b));
    struct query_row row = lines_next_row(&lines);
    assert_false(lines_are_left(&lines));
    return row;
}

static void a_row_that_is_written_keeps_its_lines_whatever_its_texts_hold(void **state)
{
    char long_trace[130];
    memset(long_trace, 'a', sizeof long_trace);
    struct buf b;
    buf_init(&b, 4096);
    struct query_row row = written_row(&b, STR("a\n\"b"), STR("m\n"), STR("00-1\n2"), STR(""));
    assert_str(row.user, "\"a\\n\\\"b\"");
    assert_str(row.model, "\"m\\n\"");
    assert_str(row.modifiers, "{}");
    assert_str(row.trace, "\"00-1\\n2\"");
    assert_str(row.query, "\"Why?\"");
    row = written_row(&b, STR("a"), STR(""), (struct str){long_trace, 129}, STR(""));
    assert_str(row.model, "\"default\"");
    assert_str(row.trace, "");
    row = written_row(&b, STR("a"), STR(""), (struct str){long_trace, 128}, STR(""));
    assert_int_equal(row.trace.n, 130);
    row = written_row(&b, STR("a"), STR(""), STR("\xff"), STR("\xff"));
    assert_str(row.trace, "");
    row = written_row(&b, STR("a"), STR(""), (struct str){NULL, 0}, (struct str){NULL, 0});
    assert_str(row.trace, "");
    buf_fini(&b);
}

static void a_row_carries_the_id_of_the_request_that_added_it(void **state)
{
    char long_id[130];
    memset(long_id, 'i', sizeof long_id);
    struct buf b;
    buf_init(&b, 4096);
    struct query_row row = written_row(&b, STR("a"), STR(""), STR("00-1"), STR("n1-7"));
    assert_str(row.trace, "\"00-1\",\"RequestId\":\"n1-7\"");
    assert_str(lines_request_id(&row), "n1-7");
    row = written_row(&b, STR("a"), STR(""), STR(""), STR("n1-7"));
    assert_str(row.trace, "null,\"RequestId\":\"n1-7\"");
    assert_str(lines_request_id(&row), "n1-7");
    row = written_row(&b, STR("a"), STR(""), STR("x\",\"RequestId\":\"no"), STR("n1-7"));
    assert_str(lines_request_id(&row), "n1-7");
    row = written_row(&b, STR("a"), STR(""), STR("x\",\"RequestId\":\"no"), STR(""));
    assert_null(lines_request_id(&row).at);
    row = written_row(&b, STR("a"), STR(""), STR(""), (struct str){long_id, 129});
    assert_str(row.trace, "");
    row = written_row(&b, STR("a"), STR(""), STR(""), (struct str){long_id, 128});
    assert_int_equal(lines_request_id(&row).n, 128);
    row = written_row(&b, STR("a"), STR(""), STR(""), STR("with \"quotes\""));
    assert_null(lines_request_id(&row).at);
    buf_fini(&b);
}

static void an_outcome_says_what_its_status_allows(void **state)
{
    struct lines lines = lines_of(STR("Done\n" ROW "\n[\"42\"]\n[\"hm\"]\nnull\n1500\nE\n3\n7"));
    struct outcome o = lines_next_outcome(&lines);
    assert_str(o.status, "Done");
    assert_str(o.row.query, "\"Why?\"");
    assert_str(o.answer, "[\"42\"]");
    assert_str(o.think, "[\"hm\"]");
    assert_str(o.model, "null");
    assert_true(o.answered_ms == 1500);
    assert_int_equal(o.reason.n, 0);
    assert_str(lines_next(&lines), "3");
    assert_int_equal(o.facts.n, 0);

    lines = lines_of(STR("Done\n" ROW "\n[]\nnull\nnull\n1500\nE \"FinishReason\":\"a b\""));
    o = lines_next_outcome(&lines);
    assert_str(o.facts, "\"FinishReason\":\"a b\"");

    lines = lines_of(STR("Failed\n" ROW "\n\"tired\"\n\n\n\n"));
    o = lines_next_outcome(&lines);
    assert_str(o.reason, "\"tired\"");
    assert_int_equal(o.answer.n, 0);

    lines = lines_of(STR("Open\n" ROW "\n\n\n\n\n\n4\n9"));
    o = lines_next_outcome(&lines);
    assert_int_equal(o.reason.n, 0);
    assert_str(lines_next(&lines), "4");
    assert_str(lines_next(&lines), "9");
}

static void a_claim_keeps_its_queries_to_be_read(void **state)
{
    struct lines lines = lines_of(STR("E|*\nt%2Fx\n17\n2\n2\n3\n" ROW "\n4\n" ROW));
    struct claim claim = lines_next_claim(&lines);
    assert_str(claim.class_name, "E|*");
    assert_str(claim.topic, "t%2Fx");
    assert_str(claim.lease, "17");
    assert_true(claim.attempt == 2);
    assert_int_equal(claim.n, 2);
    for (unsigned seq = 3; seq <= 4; seq++) {
        assert_true(lines_next_u64(&claim.queries) == seq);
        assert_str(lines_next_row(&claim.queries).query, "\"Why?\"");
    }
    assert_false(lines_are_left(&claim.queries));
}

static void a_short_reply_reads_as_empty(void **state)
{
    static const char *const texts[] = {"", "\n", "claim", "E|*\nt", "E|*\nt\n1\n1\n9"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct lines lines = lines_of(str_of(texts[i]));
        struct claim claim = lines_next_claim(&lines);
        struct query_row row = lines_next_row(&claim.queries);
        assert_int_equal(row.query.n, 0);
        lines = lines_of(str_of(texts[i]));
        assert_int_equal(lines_next_outcome(&lines).answer.n, 0);
    }
}

static void names_and_times_become_json(void **state)
{
    static const char *const pairs[][2] = {
        {"alice", "\"alice\""},     {"a%20b", "\"a b\""}, {"%22%5C", "\"\\\"\\\\\""},
        {"%C3%A4", "\"\xc3\xa4\""}, {"%", "\"\""},        {"%2", "\"%2\""},
    };
    struct buf b;
    buf_init(&b, 1000);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        buf_clear(&b);
        buf_put_json_of_name(&b, str_of(pairs[i][0]));
        assert_str(buf_str(&b), pairs[i][1]);
    }
    buf_clear(&b);
    buf_put_json_time(&b, 1742864523456);
    assert_str(buf_str(&b), "\"2025-03-25T01:02:03Z\"");
    buf_clear(&b);
    buf_put_json_zoneless_time(&b, 1742864523456);
    assert_str(buf_str(&b), "\"2025-03-25T01:02:03\"");
    buf_fini(&b);
}

static void parts_hold_any_bytes_and_end_where_they_break(void **state)
{
    struct lines lines = lines_of(STR("5:a\nb:c0:3:x\0y"));
    struct str part;
    assert_true(lines_next_part(&lines, &part));
    assert_str(part, "a\nb:c");
    assert_true(lines_next_part(&lines, &part));
    assert_int_equal(part.n, 0);
    assert_true(lines_next_part(&lines, &part));
    assert_true(str_eq(part, STR("x\0y")));
    assert_false(lines_next_part(&lines, &part));
    static const char *const broken[] = {"",     "lost", "4:abc",
                                         "-1:a", ":a",   "99999999999999999999:a"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        lines = lines_of(str_of(broken[i]));
        assert_false(lines_next_part(&lines, &part));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_with_the_text_and_stay_empty_then),
        cmocka_unit_test(a_text_without_a_byte_has_no_line),
        cmocka_unit_test(numbers_are_whole_lines),
        cmocka_unit_test(a_row_has_its_fields),
        cmocka_unit_test(a_row_that_is_written_keeps_its_lines_whatever_its_texts_hold),
        cmocka_unit_test(a_row_carries_the_id_of_the_request_that_added_it),
        cmocka_unit_test(an_outcome_says_what_its_status_allows),
        cmocka_unit_test(a_claim_keeps_its_queries_to_be_read),
        cmocka_unit_test(a_short_reply_reads_as_empty),
        cmocka_unit_test(names_and_times_become_json),
        cmocka_unit_test(parts_hold_any_bytes_and_end_where_they_break),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
