/* SPDX-License-Identifier: MIT
 * test_answer_text.c - texts in Markdown as HTML, on pages without scripts. */
#include "services/web/answer_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RUNS = 500 };

static void assert_html(const char *text, const char *html)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    answer_text_put(&b, str_of(text), 2);
    struct str got = buf_str(&b);
    if (!str_eq(got, str_of(html)))
        fail_msg("%s: got %.*s, not %s", text, (int)got.n, got.at, html);
    buf_fini(&b);
}

static void code_and_heads_are_formatted_and_all_else_is_as_it_was_written(void **state)
{
    assert_html("", "");
    assert_html("a\n\nb *c* & <d>", "a\n\nb *c* &amp; &lt;d&gt;");
    assert_html("# A & `b`\ntext\n#no\n####### seven\n#",
                "<strong>A &amp; <code>b</code></strong>\ntext\n#no\n####### seven\n#");
    assert_html("send `POST /a`, ``a ` b``, `open",
                "send <code>POST /a</code>, <code>a ` b</code>, `open");
    assert_html("do:\n```sh\nrm <x>\n\nls\n```\n\nThen `b`.",
                "do:<pre><code>rm &lt;x&gt;\n\nls</code></pre>Then <code>b</code>.");
    assert_html("  ~~~\ncut", "<pre><code>cut</code></pre>");
    assert_html("```", "<pre><code></code></pre>");
    assert_html("a ``` b", "a ``` b");
}

static void marks_outside_of_code_lead_to_their_sources(void **state)
{
    assert_html("a [1] [2][3] [0] [x] [1",
                "a <a href=\"#source-1\">[1]</a> <a href=\"#source-2\">[2]</a>[3] [0] [x] [1");
    assert_html("`a[1]` [1]\n```\nb[1]\n```\n[2]",
                "<code>a[1]</code> <a href=\"#source-1\">[1]</a><pre><code>b[1]</code></pre><a "
                "href=\"#source-2\">[2]</a>");
    assert_html("[99999999999999999999999]", "[99999999999999999999999]");
}

/* Each backtick alone could begin a code that ends nowhere. */
static void a_line_of_open_code_costs_as_much_as_it_is_long(void **state)
{
    enum { PAIRS = 100000 };
    struct buf text, html;
    buf_init(&text, 8 << 20);
    buf_init(&html, 16 << 20);
    for (unsigned i = 1; i <= RUNS; i++) {
        for (unsigned j = 0; j < i; j++)
            buf_put_char(&text, '`');
        buf_put_char(&text, 'a');
    }
    answer_text_put(&html, buf_str(&text), 0);
    assert_true(str_eq(buf_str(&html), buf_str(&text)));
    buf_fini(&html);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_and_heads_are_formatted_and_all_else_is_as_it_was_written),
        cmocka_unit_test(marks_outside_of_code_lead_to_their_sources),
        cmocka_unit_test(a_line_of_open_code_costs_as_much_as_it_is_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
