/* SPDX-License-Identifier: MIT
 * test_extract_html_tidy.c - shared/extract/html_tidy.h: what is left of a page before libxml2 gets
 * it. */
#include "shared/extract/html_tidy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct buf page, out;

static int set_up(void **state)
{
    buf_init(&page, 32 << 20);
    buf_init(&out, 160 << 20);
    return 0;
}

static int tear_down(void **state)
{
    buf_fini(&page);
    buf_fini(&out);
    return 0;
}

static void expect(const char *html, const char *expected)
{
    buf_clear(&out);
    html_tidy(&out, str_of(html));
    buf_terminate(&out);
    assert_string_equal(out.at, expected);
}

static void tags_lose_their_attributes_but_those_that_hide(void **state)
{
    expect("<P Class=x id='y' hidden>a</P >", "<p hidden=\"\">a</p>");
    expect("<p ROLE = navigation aria-hidden='true'role=x>a", "<p role=\"navigation\" "
                                                              "aria-hidden=\"true\">a</p>");
    expect("<p a='>' b=\"<i>\" c=d>e", "<p>e</p>");
    expect("<p role='\"><script>'>a", "<p role=\"\">a</p>");
    expect("<a =x =y>b<br/><img src=x>c", "<a>b<br/><img/>c</a>");
}

static void what_is_no_tag_stays_and_what_is_none_for_people_goes(void **state)
{
    expect("a < b &lt; c <3 > d<", "a &lt; b &lt; c &lt;3 > d&lt;");
    expect("a<!-- <p x='>' -->b<!-->c<!--->d<!DOCTYPE x>e<?php f ?>g</>h</ i>j", "abcdeghj");
    expect("a<script>if (b < '</p>') { '<!--' }</SCRIPT >c<style>d", "ac");
    expect("a<scripted>b", "a<scripted>b</scripted>");
    expect("a<!-- never closed <p>b", "a");
    expect("a<p title='never closed>b", "a");
    expect("", "");
}

static void an_end_tag_closes_what_is_open(void **state)
{
    expect("<b><i>a</b>c</i></u>", "<b><i>a</i></b>c");
    expect("<b><table><td>a</b>c</table>d", "<b><table><td>a"
                                            "c</td></table>d</b>");
    expect("<p>a<p>b<li>c<li>d<td>e<th>f<tr>g", "<p>a</p><p>b<li>c</li><li>d<td>e</td><th>f</th>"
                                                "<tr>g</tr></li></p>");
    expect("a</p>b</br>c", "a<p></p>b<br>c");
}

/* How often `piece` is in what comes out of `n` times `before`, a number and `after`. */
static size_t count_in(const char *begin, const char *before, const char *after, int n,
                       const char *piece)
{
    buf_clear(&page);
    buf_clear(&out);
    buf_put(&page, str_of(begin));
    for (int i = 0; i < n; i++)
        buf_printf(&page, "%s%d%s", before, i, after);
    html_tidy(&out, buf_str(&page));
    assert_false(page.is_over || out.is_over);
    assert_true(out.n <= page.n * 5 + 16);
    size_t found = 0;
    for (size_t i = 0; i + strlen(piece) <= out.n; i++)
        found += memcmp(out.at + i, piece, strlen(piece)) == 0;
    return found;
}

static void a_page_has_no_tag_of_many_attributes_whatever_hides_them(void **state)
{
    static const char *const begins[] = {
        "<p ",          "<!-- \" --><p ", "<script>'</script><p a=\">\" ",
        "<p x='<!--' ", "<title><p ",     "<p\n/"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        assert_int_equal(count_in(begins[i], "a", "=1 ", 300000, "="), 0);
    assert_int_equal(count_in("<p ", "hidden=h", " ", 200000, "="), 0); /* it is never closed */
}

static void a_page_has_no_more_open_elements_than_a_browser_would_have(void **state)
{
    assert_int_equal(count_in("", "<i>", "", 100000, "<i>"), 100000);
    size_t depth = 0, deepest = 0;
    for (size_t i = 0; i + 1 < out.n; i++) {
        if (out.at[i] != '<')
            continue;
        depth += out.at[i + 1] == '/' ? (size_t)-1 : 1;
        deepest = depth > deepest ? depth : deepest;
    }
    assert_int_equal(depth, 0);
    assert_int_equal(deepest, HTML_TIDY_DEPTH_MAX);
    assert_int_equal(count_in("<div><div>", "</x", "></b>", 100000, "</x"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_lose_their_attributes_but_those_that_hide),
        cmocka_unit_test(what_is_no_tag_stays_and_what_is_none_for_people_goes),
        cmocka_unit_test(an_end_tag_closes_what_is_open),
        cmocka_unit_test(a_page_has_no_tag_of_many_attributes_whatever_hides_them),
        cmocka_unit_test(a_page_has_no_more_open_elements_than_a_browser_would_have),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
