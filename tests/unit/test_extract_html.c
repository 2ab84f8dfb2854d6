/* SPDX-License-Identifier: MIT
 * test_extract_html.c - shared/extract/html_*.h: what a page says, as people read it. Files that
 * were read wrongly once are in fixtures/html; pages of other encodings in
 * test_extract_encoding.c. */
#include "tests/unit/extract_fixture.h"

struct page {
    const char *html, *text;
};
#define EXPECT_ALL(pages)                                                                          \
    for (size_t i = 0; i < COUNT(pages); i++)                                                      \
    expect_of((pages)[i].html, EXTRACT_HTML, str_of((pages)[i].html), (pages)[i].text)

static void a_file_says_what_people_read(void **state)
{
    static const struct page files[] = {
        {"definition-list", "# T\n\nBlack-box test: Looks at what a user sees.\n"
                            "White-box test: Looks at the insides."},
        {"details", "# Pump\n\nPressure: 40 bar\nOil: 90 hours\n\nMore\nHidden until clicked."},
        {"display-none", "# Pump\n\nThe pump runs at 40 bar."},
        {"entity-html5", "# Pump\n\nPay 40$ at 5%, see a_b."},
        {"entity-no-semicolon", "# Pump\n\nIt is © 2020, 5 ± 1 bar."},
        {"image-alt", "# Pump\n\nSet the switch to position 3 and wait."},
        {"input-closes-select", "# Pump\n\nManual.\n\nThe pump runs at 40 bar."},
        {"input-value", "# Pump\n\nSerial ZX-81 large Leaks at 40 bar"},
        {"link-list-first", "# Pump\n\nThe pump runs at 40 bar."},
        {"main-first-of-two",
         "# Pump\n\nLogo\n\nThe pump runs at 40 bar.\n\n- News\n\nIt is checked each March."},
        {"mathml", "# Pump\n\nPressure is p=F/A here."},
        {"nested-list-in-cell", "# T\n\nTools | Saw Awl"},
        {"ordered-list",
         "# Pump\n\n1. Open the lid\n2. Drain the oil\n   a. Left valve\n   b. Right valve"},
        {"power-of-ten", "# Pump\n\nThe tank holds 10^6 cells per cm^3, x_12 of them dead.^7"},
        {"ruby", "# Pump\n\n東京(とうきょう)の水(みず)"},
        {"shy", "# T\n\nThe maintenance costs 41 coins, the catalogue 42."},
        {"strike", "# T\n\nPrice: 70 coins, new."},
        {"svg-left-by-div", "# Pump\n\nManual.\n\nThe pump runs at 40 bar."},
        {"table-spans",
         "# Pump\n\n | Pressure | Pressure\nType | min | max\nA | 10 | 20\nA | 30 | "},
        {"title-is-prefix", "# Cat\n\nCategories of pumps."},
        {"unclosed-div-in-aside", "# Pump\n\nManual.\n\nThe pump runs at 40 bar."},
        {"unclosed-div-in-banner", "# Pump\n\nManual.\n\nThe pump runs at 40 bar."},
        {"unclosed-div-in-nav", "# Pump\n\nManual.\n\nThe pump runs at 40 bar."},
        {"unclosed-div-in-noscript", "# Pump\n\nThe pump runs at 40 bar."},
    };
    for (size_t i = 0; i < COUNT(files); i++) {
        char path[256];
        snprintf(path, sizeof path, "html/%s.html", files[i].html);
        expect_of(path, EXTRACT_HTML, read_fixture(path), files[i].text);
    }
}

/* ---- the tree ---- */

static void elements_end_where_the_standard_ends_them(void **state)
{
    static const struct page pages[] = {
        {"<nav><ul><li>Menu</nav><p>a", "a"},
        {"<button>Copy<p>b</button><p>a", "a"},
        {"<p>a<aside><section><div>Advert</aside>b", "a\n\nb"},
        {"<svg><title>Logo</title><path/></svg>a<svg><g><p>b", "a\n\nb"},
        {"<table><tr><td>a<td>b<p>c</table>d", "a | b c\n\nd"},
        {"<table>a<tr><td>b<td>c</table>", "a\n\nb | c"},
        {"<select><option selected>a<div>b</select>c", "ab c"},
        {"<p>a<b><p>b</b>c<i>d", "a\n\nbcd"},
        {"<dl><dt>a<dd>b<dt>c<dd>d</dl>", "a: b\nc: d"},
        {"a</p>b</br>c", "a\n\nb\nc"},
        {"<title>a<b></title>c", "# a<b>\n\nc"},
        {"<textarea><p>a</textarea>b", "<p>a b"},
        {"<xmp><p>a</xmp>b", "<p>a\n\nb"},
        {"a<!-- <p>x --!>b<!--->c", "abc"},
        {"a<script><!-- </script>b", "ab"},
        {"a<template>b</template>c<iframe><p>d</iframe>", "ac"},
        {"<frameset><noframes><p>a</noframes></frameset>", "a"},
    };
    EXPECT_ALL(pages);
}

static void what_is_hidden_is_not_there(void **state)
{
    static const struct page pages[] = {
        {"a<p hidden>b<p hidden=until-found>c", "a\n\nc"},
        {"a<p style='color: red; DISPLAY : none !important'>b</p>c", "ac"},
        {"a<p style='visibility:hidden'>b</p><p style='display: block'>c", "a\n\nc"},
        {"longer text<span aria-hidden=true>b</span>", "longer text"},
        {"<div aria-hidden=true><p>Behind a dialog there is all the text.</div>x",
         "Behind a dialog there is all the text.\n\nx"},
        {"a<dialog>b</dialog><dialog open>c</dialog>", "ac"},
        {"a<input type=hidden value=b><input type=password value=c><input value=d>", "a d"},
        {"a<datalist><option>b</datalist><select><option>c</select>", "a"},
        {"a<del>b</del><s>c</s><strike>d</strike><ins>e</ins>", "ae"},
        {"<span style='display:none'><math><mi>x</mi></math></span> is unknown", "x is unknown"},
        {"<div style='display:none'>\n <math><mi>x</mi></math>\n</div>", "x"},
    };
    EXPECT_ALL(pages);
}

/* ---- lists ---- */

static void items_are_numbered_as_they_count(void **state)
{
    static const struct page pages[] = {
        {"<ol start=3><li>a<li value=7>b<li>c</ol>", "3. a\n7. b\n8. c"},
        {"<ol reversed><li>a<li>b<li>c</ol>", "3. a\n2. b\n1. c"},
        {"<ol reversed start=1><li>a<li>b</ol>", "1. a\n0. b"},
        {"<ol type=i start=3><li>a<li>b</ol>", "iii. a\niv. b"},
        {"<ol type=I start=1999><li>a</ol>", "MCMXCIX. a"},
        {"<ol type=A start=26><li>a<li>b<li type=1>c</ol>", "Z. a\nAA. b\n28. c"},
        {"<ol type=a start=0><li>a</ol><ol type=x><li>b</ol>", "0. a\n\n1. b"},
        {"<ol start=99999999999999999999><li>a</ol>", "1000000. a"},
        {"<ul><li>a<ul><li>b<ol><li>c</ol></ul><li>d</ul>", "- a\n  - b\n    1. c\n- d"},
        {"<ol><li>a<li hidden>b<li>c</ol>", "1. a\n2. c"},
        {"<ol><li><p>a</p><p>b</p><li><p>c</ol>", "1. a\n\nb\n\n2. c"},
        {"<ul><li>a</li><ul><li>b</li></ul></ul>", "- a\n- b"},
    };
    EXPECT_ALL(pages);
}

static void a_term_is_on_the_line_of_its_description(void **state)
{
    static const struct page pages[] = {
        {"<dl><dt>a</dt><dd><p>b</p><p>c</p></dd></dl>", "a: b\n\nc"},
        {"<dl><dt>a</dt><dt>b</dt><dd>c</dd><dd>d</dd></dl>", "a\nb: c\nd"},
        {"<dl><div><dt>a</dt><dd>b</dd></div><div><dt>c:</dt><dd>d</dd></div></dl>", "a: b\nc: d"},
        {"<dl><dt></dt><dd>b</dd></dl>", "b"},
        {"<dl><dt>Why?</dt><dd>So.</dd></dl>", "Why? So."},
        {"<dl><dt>a</dt><dd><ul><li>b</ul></dd></dl>", "a\n\n- b"},
    };
    EXPECT_ALL(pages);
}

/* ---- tables ---- */

static void cells_stand_in_their_columns(void **state)
{
    static const struct page pages[] = {
        {"<table><tr><th rowspan=3>a<td>b<tr><td>c<tr><td>d</table>", "a | b\na | c\na | d"},
        {"<table><tr><td>a<td rowspan=2>b<td>c<tr><td>d<td>e</table>", "a | b | c\nd | b | e"},
        {"<table><tr><td rowspan=2 colspan=2>a<td>b<tr><td>c</table>", "a | a | b\na | a | c"},
        {"<table><caption>t</caption><tr><th>a<th>b<tr><th colspan=2>c<tr><td>d<td>e</table>",
         "t\na | b\nc\nd | e"},
        {"<table><thead><tr><th>a<th>b</thead><tfoot><tr><td>c<td>d</tfoot></table>",
         "a | b\nc | d"},
        {"<table><tr><td>a<td><tr><td><td>b<tr><td><td></table>", "a | \n | b"},
        {"<table><tr><td>a<table><tr><td>b<td>c</table><td>d</table>", "a\n\nb | c\n\nd"},
        {"<table role=presentation><tr><td>a<td>b</table>", "a\nb"},
        {"<table><tr><td>a<tr><td>b</table>", "a\nb"},
        {"<table><tr><td><h2>a</h2>b<td>c</table>", "## a\n\nb\nc"},
        {"<table><tr><td hidden>a<td>b<td>c</table>", "b | c"},
        {"<table><tr><td>10<sup>6</sup><td><ol><li>a<li>b</ol></table>", "10^6 | a b"},
    };
    EXPECT_ALL(pages);
}

/* ---- letters ---- */

static void raised_and_lowered_letters_stay_distinct(void **state)
{
    static const struct page pages[] = {
        {"10<sup>-3</sup> m<sup>2</sup>", "10^-3 m^2"},
        {"x<sup>n+1</sup>, x<sup>n</sup>", "x^(n+1), x^n"},
        {"the 4<sup>th</sup> of May", "the 4th of May"},
        {"Parley<sup>&reg;</sup> and Pump<sup>TM</sup>", "Parley® and PumpTM"},
        {"so.<sup><a href=#1>[1]</a></sup>", "so.[1]"},
        {"T<sub>max</sub> of H<sub>2</sub>O", "T_max of H_2O"},
        {"a<sup></sup>b<sub> </sub>c", "ab c"},
        {"pump<a role=doc-noteref href=#f>1</a> runs", "pump^1 runs"},
        {"pump<a class=footnote-ref href=#f>1</a> runs", "pump^1 runs"},
        {"pump<a role=doc-noteref href=#f><sup>1</sup></a> runs", "pump^1 runs"},
        {"pump<sup><a role=doc-noteref href=#f>1</a></sup> runs", "pump^1 runs"},
    };
    EXPECT_ALL(pages);
}

static void a_formula_is_one_line(void **state)
{
    static const struct page pages[] = {
        {"<math><msup><mi>x</mi><mn>2</mn></msup></math>", "x^2"},
        {"<math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac></math>",
         "(a+b)/2"},
        {"<math><msqrt><mi>a</mi><mo>+</mo><mn>1</mn></msqrt></math>", "sqrt(a+1)"},
        {"<math><msup><mi>e</mi><mrow><mi>n</mi><mo>&minus;</mo><mi>k</mi></mrow></msup></math>",
         "e^(n−k)"},
        {"<math><mo>(</mo><mn>1</mn><mo>+</mo><mi>x</mi><msup><mo>)</mo><mn>2</mn></msup></math>",
         "(1+x)^2"},
        {"<math><msup><mrow><mo>(</mo><mi>a</mi><mo>+</mo><mi>b</mi><mo>)</mo></mrow><mn>2</mn>"
         "</msup></math>",
         "(a+b)^2"},
        {"<math><mroot><mi>a</mi><mn>3</mn></mroot></math>", "root(a,3)"},
        {"<math><munderover><mo>&sum;</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi>"
         "</munderover><msub><mi>x</mi><mi>i</mi></msub></math>",
         "∑_(i=1)^n x_i"},
        {"<math><semantics><mi>x</mi><annotation>\\x</annotation></semantics></math>", "x"},
        {"<math>\n <mi>f</mi>\n <mo>&ApplyFunction;</mo>\n <mi>x</mi>\n</math>", "fx"},
        {"<math><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn>"
         "</mtd></mtr></mtable></math>",
         "1, 2; 3"},
        {"<math><mi>x</mi><mtext>if</mtext><mi>y</mi></math>", "x if y"},
        {"<span><math><mi>x</mi></math></span><span aria-hidden=true>x</span>, a variable that has "
         "no "
         "value yet",
         "x, a variable that has no value yet"},
    };
    EXPECT_ALL(pages);
}

static void pictures_and_readings_are_in_the_text(void **state)
{
    static const struct page pages[] = {
        {"Press <img alt=OK>.", "Press OK."},
        {"Press<img alt=OK>twice", "Press OK twice"},
        {"a<img alt=''>b<img src=x>c", "abc"},
        {"<img alt='Photo of a pump'>a<img alt='Photo of a pump'>b", "Photo of a pump ab"},
        {"<table><tr><td><img alt=yes><td>a<tr><td><img alt=yes><td>b</table>", "yes | a\nyes | b"},
        {"<figure><img alt='A pump'><figcaption>Fig. 1</figcaption></figure>", "A pump\n\nFig. 1"},
        {"<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp>字<rt>ji</rt></ruby>", "漢(kan)字(ji)"},
        {"He said <q>no</q>.", "He said “no”."},
        {"a&shy;b<wbr>c&ZeroWidthSpace;", "abc\xe2\x80\x8b"},
    };
    EXPECT_ALL(pages);
}

/* ---- titles and articles ---- */

static void a_title_is_put_unless_the_page_begins_with_it(void **state)
{
    static const struct page pages[] = {
        {"<title>Pump</title><h1 id=pump>Pump</h1>a", "# Pump {#pump}\n\na"},
        {"<title>Pump</title><h1>pump</h1>a", "# pump\n\na"},
        {"<title>Pump</title><h1>Pumps</h1>a", "# Pump\n\n# Pumps\n\na"},
        {"<title>Pump</title>Pump up", "# Pump\n\nPump up"},
        {"<svg><title>Logo</title></svg><title>Pump</title>a", "# Pump\n\na"},
        {"<title></title>a", "a"},
    };
    EXPECT_ALL(pages);
}

#define SENTENCE "The pump runs at 40 bar, and it is checked by two people in March of each year."
#define SENTENCES                                                                                  \
    SENTENCE "\n\n" SENTENCE "\n\n" SENTENCE "\n\n" SENTENCE "\n\n" SENTENCE "\n\n" SENTENCE       \
             "\n\n" SENTENCE "\n\n" SENTENCE

/* A page of a site: an article of some length with links around it, of which `kept` stays. */
static void expect_site(const char *before, const char *after, const char *kept)
{
    char expected[1024];
    snprintf(expected, sizeof expected, "# Pump\n\n" SENTENCES "%s", kept);
    buf_clear(&fixture);
    buf_put(&fixture, str_of(before));
    for (int i = 0; i < 8; i++)
        buf_lit(&fixture, "<p>" SENTENCE "</p>");
    buf_put(&fixture, str_of(after));
    expect_of(before, EXTRACT_HTML, buf_str(&fixture), expected);
}

static void put_site(const char *before, const char *after)
{
    expect_site(before, after, "");
}

#define LINKS                                                                                      \
    "<ul><li><a href=1>About the company</a><li><a href=2>Careers</a><li><a href=3>Press</a></ul>"

static void an_article_is_found_among_links(void **state)
{
    put_site("<h1>Pump</h1>", "<div>" LINKS "</div>");
    put_site("<div>" LINKS "</div><div><h1>Pump</h1>", "</div><div>Imprint</div>");
    put_site("<div class=menu>Home</div><h1>Pump</h1><article>", "</article><div>Next</div>");
    put_site("<main>Skip</main><div><h1>Pump</h1>", "</div>");
    put_site("<table><tr><td>" LINKS "<td><h1>Pump</h1>", "</table>");
    put_site("<h1>Pump</h1><div id=content>",
             "</div><div id=comments><p>I had a pump like that once, and it never gave me any "
             "trouble at all.</div>");
    put_site("<div role=banner>Logo</div><h1>Pump</h1>", "<footer>Imprint</footer>");
    put_site("<h1>Pump</h1>", "<div class='related-posts'><p>Other pumps that you may like to read "
                              "about, as many others did.</div>");
    put_site("<h1>Pump<span class=mw-editsection>[edit]</span></h1>",
             "<div class='x ad-unit'>Advertisement</div>");
}

static void links_to_one_place_are_a_part_of_the_article(void **state)
{
    expect_site("<h1>Pump</h1>",
                "<div><a href=1>ZX-81</a> <a href=1>41 coins</a> <a href=1>Buy</a></div>",
                "\n\nZX-81 41 coins Buy");
    put_site("<h1>Pump</h1>",
             "<div><a href=1>ZX-81</a> <a href=2>ZX-82</a> <a href=3>ZX-83</a></div>");
}

static void a_dialog_may_hold_the_article(void **state)
{
    static const char before[] =
        "<div aria-hidden=true>" LINKS "<p>" SENTENCES "<p>" SENTENCES "<p>" SENTENCES
        "<p>" SENTENCES "</div><div><article><h1>Pump</h1>";
    put_site(before, "</article></div>");
    expect_site("<div aria-hidden=true><h1>Pump</h1>", "</div><div>Cookies?</div>", "");
}

static void a_page_of_links_is_read_whole(void **state)
{
    static const struct page pages[] = {
        {LINKS, "- About the company\n- Careers\n- Press"},
        {"<nav>" LINKS "</nav>", "- About the company\n- Careers\n- Press"},
        {"<h1>Pump</h1><p>All parts of the pump are listed here, each with a page of its own that "
         "tells what it is.</p><div><h2>A</h2>" LINKS "</div><div><h2>B</h2>" LINKS
         "</div><div><h2>C</h2>" LINKS "</div><div><h2>D</h2>" LINKS "</div><div><h2>E</h2>" LINKS
         "</div>",
         "# Pump\n\nAll parts of the pump are listed here, each with a page of its own that tells "
         "what it is.\n\n## A\n\n- About the company\n- Careers\n- Press\n\n"
         "## B\n\n- About the company\n- Careers\n- Press\n\n"
         "## C\n\n- About the company\n- Careers\n- Press\n\n"
         "## D\n\n- About the company\n- Careers\n- Press\n\n"
         "## E\n\n- About the company\n- Careers\n- Press"},
    };
    EXPECT_ALL(pages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_says_what_people_read),
        cmocka_unit_test(elements_end_where_the_standard_ends_them),
        cmocka_unit_test(what_is_hidden_is_not_there),
        cmocka_unit_test(items_are_numbered_as_they_count),
        cmocka_unit_test(a_term_is_on_the_line_of_its_description),
        cmocka_unit_test(cells_stand_in_their_columns),
        cmocka_unit_test(raised_and_lowered_letters_stay_distinct),
        cmocka_unit_test(a_formula_is_one_line),
        cmocka_unit_test(pictures_and_readings_are_in_the_text),
        cmocka_unit_test(a_title_is_put_unless_the_page_begins_with_it),
        cmocka_unit_test(an_article_is_found_among_links),
        cmocka_unit_test(links_to_one_place_are_a_part_of_the_article),
        cmocka_unit_test(a_dialog_may_hold_the_article),
        cmocka_unit_test(a_page_of_links_is_read_whole),
    };
    return cmocka_run_group_tests(tests, set_up_alone, tear_down);
}
