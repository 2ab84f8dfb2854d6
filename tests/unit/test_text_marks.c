/* SPDX-License-Identifier: MIT
 * test_text_marks.c - answers as people quote them, and answers as lists of paragraphs. */
#include "services/engine/slots/paragraphs.h"
#include "shared/text/marks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void check(void (*put)(struct buf *b, struct str text), const char *text,
                  const char *expected)
{
    struct buf b;
    buf_init(&b, 65536);
    put(&b, str_of(text));
    buf_put_char(&b, 0);
    assert_string_equal(b.at, expected);
    buf_fini(&b);
}

static void marks_and_sources_are_taken_out(void **state)
{
    check(marks_put_without, "It lasts 150 s. [1] It ends. [2, 3]\n\nSources:\n[1] a.md\n[2] b.md",
          "It lasts 150 s. It ends.");
    check(marks_put_without, "It lasts 150 s [1][2]. Sources: [1] a.md", "It lasts 150 s.");
    check(marks_put_without, " It lasts. [1-3] \n\nSources:", "It lasts.");
    check(marks_put_without, "Sources: of income are listed [a].",
          "Sources: of income are listed [a].");
    check(marks_put_without, "Resources:\n[x] [ ] [", "Resources:\n[x] [ ] [");
    check(marks_put_without, "你好 [1]。", "你好。");
    check(marks_put_without, "你好【1】。 Two ［2］ [^3] and【4†source】.", "你好。 Two and.");
    check(marks_put_without, "【注】 at [10:30] 【", "【注】 at [10:30] 【");
    check(marks_put_without, "It lasts. Sources: 【1】 a.md", "It lasts.");
    check(marks_put_without, "[1]", "");
    check(marks_put_without, "", "");
}

static void marks_of_a_quoted_text_are_no_marks(void **state)
{
    check(marks_put_quoted, "It is called a worker.[3][4] Bees[5]",
          "It is called a worker.(3)(4) Bees(5)");
    check(marks_put_quoted, "[1] 你好【2】 [^3]", "(1) 你好(2) (^3)");
    check(marks_put_quoted, "a[1][2] my_list[3] x.y[4] `args[5]` args[6] = 1 v2[7]",
          "a[1][2] my_list[3] x.y[4] `args[5]` args[6] = 1 v2[7]");
    check(marks_put_quoted, "[x] [ ] [", "[x] [ ] [");
    check(marks_put_quoted, "", "");
}

static void an_answer_is_a_list_of_paragraphs(void **state)
{
    check(paragraphs_put_json, "One. [1]\n\nSources:\n[1] a.md",
          "[\"One. [1]\",\"Sources:\\n[1] a.md\"]");
    check(paragraphs_put_json, "One\nstill one\n\n\n \nTwo\n", "[\"One\\nstill one\",\"Two\"]");
    check(paragraphs_put_json, "Code:\n\n```\na\n\nb\n```\n\nEnd",
          "[\"Code:\",\"```\\na\\n\\nb\\n```\",\"End\"]");
    check(paragraphs_put_json, "One.\r\n\r\nTwo.", "[\"One.\",\"Two.\"]");
    check(paragraphs_put_json, "one line", "[\"one line\"]");
    check(paragraphs_put_json, " \n\n ", "[\" \\n\\n \"]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_and_sources_are_taken_out),
        cmocka_unit_test(marks_of_a_quoted_text_are_no_marks),
        cmocka_unit_test(an_answer_is_a_list_of_paragraphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
