/* SPDX-License-Identifier: MIT
 * test_extract_hostile.c - texts, data and mail that are made to take long or to fill the memory.
 * They are read in children, whose limits would end them; none comes near. Zip files are in
 * test_extract_bombs.c, web pages in test_extract.c and test_extract_html_tidy.c. */
#include "tests/unit/extract_fixture.h"

static struct buf file;

static int set_up_hostile(void **state)
{
    buf_init(&file, EXTRACT_FILE_MAX_BYTES);
    return set_up(state);
}

static int tear_down_hostile(void **state)
{
    buf_fini(&file);
    return tear_down(state);
}

/* A file that begins with `head`, has `piece` some times, and ends with `tail`. */
static struct str repeat(const char *head, const char *piece, int n, const char *tail)
{
    buf_clear(&file);
    buf_put(&file, str_of(head));
    for (int i = 0; i < n; i++)
        buf_put(&file, str_of(piece));
    buf_put(&file, str_of(tail));
    assert_false(file.is_over);
    return buf_str(&file);
}

/* Expects that a file is read, and ends with some words. */
static void expect_end(enum extract_kind kind, struct str bytes, const char *end)
{
    enum extract_fault fault = extract(kind, bytes);
    size_t n = strlen(end);
    if (fault != EXTRACT_FAULT_NONE)
        fail_msg("%s: %s", extract_kind_name(kind), extract_fault_text(fault));
    if (text.n < n || strcmp(text.at + text.n - n, end) != 0)
        fail_msg("%s: %zu bytes that end with '%s'", extract_kind_name(kind), text.n,
                 text.at + (text.n > 60 ? text.n - 60 : 0));
}

enum { MANY = 200000 };

static void every_kind_is_read_in_a_child(void **state)
{
    expect(EXTRACT_RTF, STR("{\\rtf1 caf\\'e9}"), "café");
    expect(EXTRACT_CSV, STR("a,b\n1,2"), "a | b\na: 1 | b: 2");
    expect(EXTRACT_JSON, STR("{\"a\":1}"), "a: 1");
    expect(EXTRACT_XML, STR("<a>1</a>"), "a: 1");
    expect(EXTRACT_EML, STR("Subject: s\n\nx"), "# s\n\nx");
}

/* ---- RTF ---- */

static void rtf_that_takes_long_is_read(void **state)
{
    expect_end(EXTRACT_RTF, repeat("{\\rtf1 top", "{", MANY, "deep"), "top");
    expect_end(EXTRACT_RTF, repeat("{\\rtf1 x", "}", MANY, ""), "x");
    expect_end(EXTRACT_RTF, repeat("{\\rtf1", "\\b\\i", MANY, " x}"), "x");
    expect_end(EXTRACT_RTF, repeat("{\\rtf1{\\fonttbl", "{\\f7\\fcharset204 A;}", MANY, "}x}"),
               "x");
    expect_end(EXTRACT_RTF, repeat("{\\rtf1{\\stylesheet", "{\\s7 heading 1;}", MANY, "}x}"), "x");
    expect_end(EXTRACT_RTF, repeat("{\\rtf1", "{\\footnote a}", MANY / 10, " x}"), "[20000] a");
    expect_end(EXTRACT_RTF, repeat("{\\rtf1\\trowd", "\\cell", MANY, "\\row\\pard x}"), "x");
    expect_end(EXTRACT_RTF, STR("{\\rtf1 x\\bin2147483647 y}"), "x");
    expect_end(EXTRACT_RTF, STR("{\\rtf1\\uc2147483647 x\\u8364 y z}"), "x€ z");
    expect_end(EXTRACT_RTF, STR("{\\rtf1 x\\u-99999999999999999999 ?\\f-1\\s-1\\'zz}"), "");
}

/* ---- data ---- */

static void data_that_takes_long_is_read(void **state)
{
    expect_end(EXTRACT_CSV, repeat("a", ",b", MANY, "\nx"), "x");
    expect_end(EXTRACT_CSV, repeat("a,b\n\"", "\"\"x\n", MANY, ""), "");
    expect_end(EXTRACT_CSV, repeat("", "\"a\",", MANY, "\nx"), "x");
    expect_end(EXTRACT_CSV, repeat("a;b\n", "1;2\n", MANY / 2, "3;x\n"), "a: 3 | b: x");
    expect_end(EXTRACT_JSON, repeat("", "[", MANY / 10, ""), "[[[");
    expect_end(EXTRACT_JSON, repeat("{\"a\":1", ",\"a\":1", MANY, ",\"b\":\"x\"}"), "b: x");
    expect_end(EXTRACT_JSON, repeat("[", "0,", MANY, "\"x\"]"), "x");
    expect_end(EXTRACT_JSON, repeat("", "{\"a\":1}\n", MANY / 2, "{\"a\":\"x\"}"), "a: x");
    expect_end(EXTRACT_XML, repeat("<a>", "<b>", MANY, ""), "<b>");
    expect_end(EXTRACT_XML, repeat("<a>", "<b/>", MANY, "x</a>"), "x");
    expect_end(EXTRACT_XML, repeat("<a>", "<b>1</b>", MANY, "x</a>"), "x");
    expect_end(EXTRACT_XML, repeat("<a>", "&#120;", MANY, "</a>"), "xxx");
    expect_end(EXTRACT_XML, repeat("<a ", "b", MANY, "='1'>x</a>"), "</a>");
    expect_end(EXTRACT_XML, repeat("<a><!--", "-", MANY, "--><b>x</b></a>"), "");
}

/* The path to a value is on each of its lines. */
static void a_long_path_is_not_on_each_of_many_lines(void **state)
{
    buf_clear(&file);
    for (int i = 0; i < 500; i++)
        buf_printf(&file, "{\"a_name_of_some_length_that_is_the_name_of_an_object_%d\":", i);
    buf_lit(&file, "[0");
    for (int i = 0; i < 200000; i++)
        buf_lit(&file, ",1");
    buf_lit(&file, "]");
    for (int i = 0; i < 500; i++)
        buf_lit(&file, "}");
    enum extract_fault fault = extract(EXTRACT_JSON, buf_str(&file));
    assert_true(fault == EXTRACT_FAULT_NONE || fault == EXTRACT_FAULT_TOO_MUCH_TEXT);
}

/* Each entity is nine times the one before. */
static void entities_of_data_are_not_known(void **state)
{
    expect(EXTRACT_XML,
           STR("<!DOCTYPE a [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;&a;\">"
               "<!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;&b;\">]><a>x &c; y</a>"),
           "a: x y");
    expect(EXTRACT_XML, STR("<!DOCTYPE a [<!ENTITY % a \"<!ENTITY b 'x'>\">%a;]><a>x &b; y</a>"),
           "a: x y");
}

/* ---- mail ---- */

static void mail_that_takes_long_is_read(void **state)
{
    expect_end(EXTRACT_EML, repeat("Subject: s\n\n", "--\n", MANY, "x"), "x");
    expect_end(EXTRACT_EML,
               repeat("Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n", "--b\n\ny\n",
                      MANY / 10, "--b\n\nx\n--b--\n"),
               "");
    expect_end(EXTRACT_EML,
               repeat("Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nx\n",
                      "--bb\n", MANY, "\n--b--\n"),
               "--bb");
    expect_end(EXTRACT_EML, repeat("Subject: s\n", " folded\n", MANY, "\nx"), "x");
    expect_end(EXTRACT_EML, repeat("Subject: ", "=?utf-8?Q?a?= ", MANY / 2, "\n\nx"), "x");
    expect_end(EXTRACT_EML, repeat("Subject: s\n", "X-A: b\n", MANY, "\nx"), "x");
    expect_end(EXTRACT_EML, repeat("Subject: s\nContent-Type: text/plain", "; a=b", MANY, "\n\nx"),
               "x");
    expect_end(
        EXTRACT_EML,
        repeat("Subject: s\nContent-Transfer-Encoding: quoted-printable\n\n", "=41=\n", MANY, "x"),
        "AAAx");
}

static void mail_in_mail_ends_somewhere(void **state)
{
    buf_clear(&file);
    for (int i = 0; i < 100000; i++)
        buf_printf(&file, "Subject: level %d\nContent-Type: message/rfc822\n\n", i);
    assert_int_equal(extract(EXTRACT_EML, buf_str(&file)), EXTRACT_FAULT_NONE);
    assert_non_null(strstr(text.at, "# level 2"));
    assert_null(strstr(text.at, "# level 20"));
}

/* ---- texts ---- */

static void texts_that_take_long_are_read(void **state)
{
    expect_end(EXTRACT_TEXT, repeat("\xe9", "\xff", MANY, "x"), "x");
    expect_end(EXTRACT_TEXT, repeat("\x1b$B", "0l", MANY, "\x1b(Bx"), "x");
    expect_end(EXTRACT_TEXT, repeat("a\xe4", "\x1b$B\x1b(B", MANY / 2, "x"), "x");
    expect_end(EXTRACT_HTML, repeat("<meta charset=iso-2022-jp><p>", "\x1b$B\x1b(B", MANY / 2, "x"),
               "x");
    expect_end(
        EXTRACT_HTML,
        repeat("<table><tr><td colspan=1000 rowspan=1000>y", "<tr><td>", MANY / 10, "x</table>"),
        "");
    expect_end(EXTRACT_HTML, repeat("", "<ol><li>", 20000, "x"), "x");
    expect_end(EXTRACT_HTML, repeat("", "<sup>1</sup>", MANY / 10, " x"), "x");
    expect_end(EXTRACT_HTML, repeat("<math>", "<mfrac><mi>1</mi>", MANY / 10, "</math> x"), "x");
    expect_end(EXTRACT_HTML, repeat("<p>", "<a href=b>c</a>", MANY / 2, "<p>x"), "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_read_in_a_child),
        cmocka_unit_test(rtf_that_takes_long_is_read),
        cmocka_unit_test(data_that_takes_long_is_read),
        cmocka_unit_test(a_long_path_is_not_on_each_of_many_lines),
        cmocka_unit_test(entities_of_data_are_not_known),
        cmocka_unit_test(mail_that_takes_long_is_read),
        cmocka_unit_test(mail_in_mail_ends_somewhere),
        cmocka_unit_test(texts_that_take_long_are_read),
    };
    return cmocka_run_group_tests(tests, set_up_hostile, tear_down_hostile);
}
