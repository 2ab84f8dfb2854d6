/* SPDX-License-Identifier: MIT
 * test_text_cite.c - shared/text/cite.h: marks that name no passage are removed from a text,
 * however it is cut. */
#include "shared/text/cite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void run(struct cite_filter *filter, struct str in, size_t step, struct buf *out)
{
    for (size_t at = 0; at < in.n; at += step)
        cite_feed(filter, (struct str){in.at + at, in.n - at < step ? in.n - at : step}, out);
    cite_finish(filter, out);
    buf_terminate(out);
}

static void check(const char *in, const char *expected)
{
    for (size_t step = 1; step <= strlen(in) + 1; step++) {
        struct cite_filter filter = {.source_n = 3};
        struct buf out;
        buf_init(&out, 4096);
        run(&filter, str_of(in), step, &out);
        assert_string_equal(out.at, expected);
        buf_fini(&out);
    }
}

#define DIGITS "12345678901234567890123456789012345678901234567890"

static void marks_in_other_brackets_are_marks(void **state)
{
    check("a【2】 b 【9】, c ［1, 3］。", "a[2] b, c [1][3]。");
    check("a【2†source】 b [3†x] c【4:0†y】 d [^1] e", "a[2] b [3] c d [1] e");
    check("【注】 [10:30] [【1】 【 [2] ［", "【注】 [10:30] [[1] 【 [2] ［");
    check("`【9】` 、。【", "`【9】` 、。【");
}

static void marks_without_a_passage_are_stripped(void **state)
{
    check("One [1]. Two [9]. Three [2, 7][3].", "One [1]. Two. Three [2][3].");
    check("Code `a[9]` and ```\nb[8]\n``` but [8]", "Code `a[9]` and ```\nb[8]\n``` but");
    check("- [ ] box, [] and [x] and [1", "- [ ] box, [] and [x] and [1");
    check("a  [4]  b [12345678901234567890123456789012345678901234567890]", "a   b");
    check("b [1" DIGITS DIGITS DIGITS "]", "b [1" DIGITS DIGITS DIGITS "]");
    check("a [-1] b [1.5] c [0] d [+2] e [1 2], f", "a b c d e, f");
    check("a [1-3] b [2-9] c [3;1] [;]", "a [1][2][3] b [2][3] c [1][3] [;]");
    check("lone ` tick [9]\nnext [9]", "lone ` tick [9]\nnext");
}

/* The marks that were put, as "number@byte ". */
static char noted[100];

static void note(struct cite_filter *filter, unsigned number, const struct buf *out, size_t at)
{
    size_t n = strlen(noted);
    assert_true(at < out->n && out->at[at] == '[');
    snprintf(noted + n, sizeof noted - n, "%u@%zu ", number, at);
}

static void marks_that_are_put_are_reported(void **state)
{
    struct str in = STR("A [2, 3], `[1]`, [9] \xc3\xa4\xe3\x80\x90\x31\xe3\x80\x91.");
    for (size_t step = 1; step <= in.n + 1; step++) {
        struct cite_filter filter = {.source_n = 3, .on_mark = note};
        struct buf out;
        buf_init(&out, 4096);
        noted[0] = 0;
        run(&filter, in, step, &out);
        assert_string_equal(out.at, "A [2][3], `[1]`, \xc3\xa4[1].");
        assert_string_equal(noted, "2@2 3@5 1@19 ");
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_in_other_brackets_are_marks),
        cmocka_unit_test(marks_without_a_passage_are_stripped),
        cmocka_unit_test(marks_that_are_put_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
