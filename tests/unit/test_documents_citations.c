/* SPDX-License-Identifier: MIT
 * test_documents_citations.c - the marks of answers. */
#include "services/documents/ask/citations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* `used`: the given numbers in their new order, as "3,1". */
static void check_numbers(const char *answer, unsigned given_n, enum citations_numbers numbers,
                          const char *expected, const char *used)
{
    struct buf out, list;
    struct citations found;
    buf_init(&out, 65536);
    buf_init(&list, 1024);
    citations_check(str_of(answer), given_n, numbers, &out, &found);
    for (unsigned i = 0; i < found.used_n; i++)
        buf_printf(&list, i > 0 ? ",%u" : "%u", found.used[i]);
    buf_terminate(&out);
    buf_terminate(&list);
    assert_string_equal(out.at, expected);
    assert_string_equal(list.at, used);
    buf_fini(&out);
    buf_fini(&list);
}

static void check(const char *answer, unsigned given_n, const char *expected, const char *used)
{
    check_numbers(answer, given_n, CITATIONS_BY_USE, expected, used);
}

static void marks_keep_their_numbers_where_all_passages_are_listed(void **state)
{
    check_numbers("A [3]. B [1], C [3].", 3, CITATIONS_AS_GIVEN, "A [3]. B [1], C [3].", "3,1");
    check_numbers("A [2-4] b [9,2].", 3, CITATIONS_AS_GIVEN, "A [2][3] b [2].", "2,3");
    check_numbers("A [[9]2] b", 3, CITATIONS_AS_GIVEN, "A [2] b", "2");
}

static void marks_are_renumbered_in_the_order_of_first_use(void **state)
{
    check("A [3]. B [1], C [3].", 3, "A [1]. B [2], C [1].", "3,1");
    check("A [2][1]", 2, "A [1][2]", "2,1");
    check("", 3, "", "");
    check("No mark at all.", 3, "No mark at all.", "");
}

static void groups_and_ranges_become_single_marks(void **state)
{
    check("A [1,2] B [2, 3].", 3, "A [1][2] B [2][3].", "1,2,3");
    check("A [2-4].", 5, "A [1][2][3].", "2,3,4");
    check("A [4-2].", 5, "A [1][2][3].", "2,3,4");
    check("A [1\xe2\x80\x93"
          "3].",
          3, "A [1][2][3].", "1,2,3");
    check("A [ 2 ; 1 ].", 3, "A [1][2].", "1,2");
    check("A [1-999999999999999999999].", 2, "A [1][2].", "1,2");
    check("A [2,2].", 2, "A [1].", "2");
}

static void what_names_no_passage_goes_with_its_space(void **state)
{
    check("A [9]. B [1]", 2, "A. B [1]", "1");
    check("A [0] b [2024], c [9][8].", 2, "A b, c.", "");
    check("A [1,9] b [2-9]", 3, "A [1] b [2][3]", "1,2,3");
    check("A [9]", 0, "A", "");
    check("A [1]", 0, "A", "");
    check("x[9]y", 2, "xy", "");
}

static void a_mark_that_comes_about_when_another_goes_is_checked_too(void **state)
{
    check("A [[9]7] b", 3, "A b", "");
    check("A [[9]2] b", 3, "A [1] b", "2");
    check("A [[1]9] b", 3, "A [[1]9] b", "1");
    check("[[[[9]9]9]9]", 3, "", "");
}

static void brackets_that_are_no_marks_stay(void **state)
{
    check("a [b] [1, see] [] [ ] [,] [10:30] [v1.2] ]", 3,
          "a [b] [1, see] [] [ ] [,] [10:30] [v1.2] ]", "");
    check("open [1", 3, "open [1", "");
    check("[\xc3\xa9] [1\xe2\x82\xac]", 3, "[\xc3\xa9] [1\xe2\x82\xac]", "");
}

static void what_looks_like_a_mark_and_names_nothing_goes(void **state)
{
    static const char *const marks[] = {
        "[-1]",
        "[+1]",
        "[1.5]",
        "[1-]",
        "[1 2]",
        "[0]",
        "[00]",
        "[1,]",
        "[,1]",
        "[1--2]",
        "[1, -1]",
        "[1-2-3]",
        "[.1]",
        "[1..3]",
        "[ -1 ]",
        "[\n-1]",
        "[4]",
        "[\xe2\x88\x92"
        "1]",
        "[99999999999999999999]",
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        char answer[64];
        snprintf(answer, sizeof answer, "A %s, b [2].", marks[i]);
        check(answer, 3, "A, b [1].", "2");
    }
    check("A [1-3] [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,9].", 2,
          "A [1][2] [1].", "1,2");
}

static void a_mark_in_other_digits_or_spaces_is_read(void **state)
{
    check("A [\xef\xbc\x92] b [\xef\xbc\x99].", 3, "A [1] b.", "2");
    check("A [ 1 ] b [\t2\xc2\xa0] c [\n3].", 3, "A [1] b [2] c [3].", "1,2,3");
    check("A [01].", 1, "A [1].", "1");
}

/* As models write them that learned to in another way. */
static void a_mark_in_other_brackets_is_read(void **state)
{
    static const char *const forms[] = {
        "【2】",    "［2］",    "[^2]",      "【2†source】", "[2†L1-L5]",
        "【 ２ 】", "[【9】2]", "【2、 2】", "[2†a, b: c]",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char answer[64];
        snprintf(answer, sizeof answer, "A %s, b [2].", forms[i]);
        check_numbers(answer, 3, CITATIONS_AS_GIVEN, "A [2], b [2].", "2");
    }
    check("A【1〜3】。B【1，3】", 3, "A[1][2][3]。B[1][3]", "1,2,3");
    check("A 【9】, b［9］ [^9]. c 【4:0†source】, d†9】", 3, "A, b. c, d†9】", "");
    check("【注】 [10:30] [see †] [9†two\nlines]", 3, "【注】 [10:30] [see †] [9†two\nlines]", "");
    check("`【9】` 【1】", 3, "`【9】` [1]", "1");
}

static void code_is_left_alone(void **state)
{
    check("Use `a[9]` [2].", 2, "Use `a[9]` [1].", "2");
    check("```\nx[7] = `y[8]`\n``` [9] [1]", 1, "```\nx[7] = `y[8]`\n``` [1]", "1");
    check("A tick ` alone [9]", 2, "A tick ` alone", "");
    check("`[1`]", 2, "`[1`]", "");
    check("`` two [9] ` one [9] ``", 2, "`` two [9] ` one [9] ``", "");
}

static void a_very_long_answer_is_checked_in_one_pass(void **state)
{
    struct buf answer, out;
    struct citations found;
    buf_init(&answer, 4 << 20);
    buf_init(&out, 4 << 20);
    for (int i = 0; i < 100000; i++)
        buf_put_char(&answer, '[');
    for (int i = 0; i < 100000; i++)
        buf_lit(&answer, "9]");
    for (int i = 1; i < 1000; i++)
        for (int k = 0; k < (i % 40) + 1; k++)
            buf_put_char(&answer, k == 0 ? ' ' : '`');
    for (int i = 0; i < 200000; i++)
        buf_put(&answer, STR("1 [9]"));
    for (int i = 0; i < 200000; i++)
        buf_lit(&answer, "1]");
    citations_check(buf_str(&answer), 3, CITATIONS_BY_USE, &out, &found);
    assert_int_equal(found.used_n, 0);
    buf_fini(&answer);
    buf_fini(&out);
}

static void the_sentence_that_nothing_was_found_is_known(void **state)
{
    assert_true(citations_says_nothing(STR(" " CITATIONS_NOTHING "\n")));
    assert_false(citations_says_nothing(STR(CITATIONS_NOTHING " But [1] says more.")));
    assert_false(citations_says_nothing(STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_keep_their_numbers_where_all_passages_are_listed),
        cmocka_unit_test(marks_are_renumbered_in_the_order_of_first_use),
        cmocka_unit_test(groups_and_ranges_become_single_marks),
        cmocka_unit_test(what_names_no_passage_goes_with_its_space),
        cmocka_unit_test(a_mark_that_comes_about_when_another_goes_is_checked_too),
        cmocka_unit_test(brackets_that_are_no_marks_stay),
        cmocka_unit_test(what_looks_like_a_mark_and_names_nothing_goes),
        cmocka_unit_test(a_mark_in_other_digits_or_spaces_is_read),
        cmocka_unit_test(a_mark_in_other_brackets_is_read),
        cmocka_unit_test(code_is_left_alone),
        cmocka_unit_test(a_very_long_answer_is_checked_in_one_pass),
        cmocka_unit_test(the_sentence_that_nothing_was_found_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
