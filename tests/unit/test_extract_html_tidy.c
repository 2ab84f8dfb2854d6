/* SPDX-License-Identifier: MIT
 * test_extract_html_tidy.c - shared/extract/html_tidy.h: what is left of a page before gumbo gets
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
    assert_memory_equal(out.at, "<!DOCTYPE html>", 15);
    assert_string_equal(out.at + 15, expected);
}

static void tags_lose_their_attributes_but_those_that_people_see(void **state)
{
    expect("<P onClick=x id='y' hidden>a</P >", "<p id=\"y\" hidden>a</p>");
    expect("<p ROLE = navigation aria-hidden='true'role=x>a",
           "<p role=\"navigation\" aria-hidden=\"true\">a");
    expect("<p a='>' b=\"<i>\" c=d>e", "<p>e");
    expect("<p id='\"><script>'>a", "<p id=\"&quot;><script>\">a");
    expect("<a =x =y href=z>b<br/><img src=x alt='1 &amp; 2'>c",
           "<a href=\"ff0c53ad\">b<br/><img alt=\"1 &amp; 2\">c");
    expect("<p style='display:none'>a<p style='display:block'>b<p style='x:display:none'>c",
           "<p hidden>a<p>b<p>c");
}

static void what_is_no_tag_stays_and_what_is_none_for_people_goes(void **state)
{
    expect("a < b &lt; c <3 > d<", "a &lt; b &lt; c &lt;3 > d&lt;");
    expect("a<!-- <p x='>' -->b<!-->c<!--->d<!DOCTYPE x>e<?php f ?>g</>h</ i>j", "abcdeghj");
    expect("a<script>if (b < '</p>') { '<!--' }</SCRIPT >c<style>d", "ac");
    expect("a<scripted>b", "a<scripted>b");
    expect("a<b><em>c</em></b><noscript><p></noscript>d", "acd");
    expect("a<s>b</s><strike>c</strike>", "a<del>b</del><del>c</del>");
    expect("a<title><p>b</TITLE>c", "a<title>&lt;p>b</title>c");
    expect("a<xmp><p>b</xmp><plaintext></p>", "a<pre>&lt;p>b</pre><pre>&lt;/p></pre>");
    expect("a<svg><title><g/></title><script/>b</svg>c", "a<svg><title><g/></title>b</svg>c");
    expect("a<!-- never closed <p>b", "a");
    expect("a<p title='never closed>b", "a");
    expect("", "");
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
    assert_true(out.n <= page.n * 6 + 16);
    size_t found = 0;
    for (size_t i = 0; i + strlen(piece) <= out.n; i++)
        found += memcmp(out.at + i, piece, strlen(piece)) == 0;
    return found;
}

static void a_page_has_no_tag_of_many_attributes_whatever_hides_them(void **state)
{
    static const char *const begins[] = {
        "<p ",          "<!-- \" --><p ",     "<script>'</script><p a=\">\" ",
        "<p x='<!--' ", "<title></title><p ", "<p\n/"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        assert_int_equal(count_in(begins[i], "a", "=1 ", 300000, "="), 0);
    assert_int_equal(count_in("<p ", "hidden=h", " ", 200000, "="), 0); /* it is never closed */
}

static void a_page_has_no_more_open_elements_than_a_browser_would_have(void **state)
{
    assert_int_equal(count_in("", "<q>", "", 100000, "<q>"), 100000);
    size_t depth = 0, deepest = 0;
    for (size_t i = sizeof "<!DOCTYPE html>"; i + 1 < out.n; i++) {
        if (out.at[i] != '<')
            continue;
        depth += out.at[i + 1] == '/' ? (size_t)-1 : 1;
        deepest = depth > deepest ? depth : deepest;
    }
    assert_in_range(deepest, HTML_TIDY_DEPTH_MAX - 1, HTML_TIDY_DEPTH_MAX);
    /* Elements that an end tag does not close: it stays within a cell, and within a block. */
    assert_in_range(count_in("", "<div><table><td></div>", "", 10000, "</table>"), 9000, 10000);
    assert_in_range(count_in("", "<span><div></span>", "", 10000, "</div>"), 4000, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_lose_their_attributes_but_those_that_people_see),
        cmocka_unit_test(what_is_no_tag_stays_and_what_is_none_for_people_goes),
        cmocka_unit_test(a_page_has_no_tag_of_many_attributes_whatever_hides_them),
        cmocka_unit_test(a_page_has_no_more_open_elements_than_a_browser_would_have),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
