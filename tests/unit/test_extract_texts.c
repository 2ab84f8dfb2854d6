/* SPDX-License-Identifier: MIT
 * test_extract_texts.c - ODT, EPUB and RTF: what is taken of a text. */
#include "tests/unit/package_fixture.h"

static void a_text_of_opendocument_is_read(void **state)
{
    const struct entry entries[] = {
        {"content.xml",
         CONTENT("<text:list-style style:name=\"L\"><text:list-level-style-number "
                 "text:level=\"1\" style:num-format=\"1\" style:num-suffix=\".\"/>"
                 "<text:list-level-style-number text:level=\"2\" style:num-format=\"a\" "
                 "style:num-suffix=\")\" text:display-levels=\"2\"/></text:list-style>"
                 "<style:style style:name=\"T\"><style:text-properties "
                 "style:text-position=\"super 58%\"/></style:style>",
                 "<office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
                 "<text:h text:outline-level=\"2\">Head</text:h>"
                 "<text:list text:style-name=\"L\"><text:list-item><text:p>one</text:p>"
                 "<text:list><text:list-item><text:p>in</text:p></text:list-item></text:list>"
                 "</text:list-item><text:list-item><text:p>two</text:p></text:list-item>"
                 "</text:list><text:p>10<text:span text:style-name=\"T\">6</text:span><text:s/>a"
                 "<text:note><text:note-citation>1</text:note-citation><text:note-body>"
                 "<text:p>Note.</text:p></text:note-body></text:note> "
                 "b<office:annotation><text:p>comment</text:p></office:annotation></text:p>"
                 "<table:table><table:table-row>"
                 "<table:table-cell table:number-rows-spanned=\"2\"><text:p>A</text:p>"
                 "</table:table-cell><table:table-cell><text:p>1</text:p></table:table-cell>"
                 "</table:table-row><table:table-row><table:covered-table-cell/>"
                 "<table:table-cell><text:p>2</text:p></table:table-cell></table:table-row>"
                 "</table:table></office:text>")}};
    expect_zip(EXTRACT_ODT, entries, COUNT(entries),
               "## Head\n\n1. one\n1.a) in\n2. two\n\n10^6 a[1] b\n\nA | 1\nA | 2\n\n[1] Note.");
}

/* After z comes aa; what comes then depends on a switch that Office does not have. */
static void letters_of_opendocument_count_on(void **state)
{
    static const char *const switches[][2] = {{"", "ab. x"},
                                              {" style:num-letter-sync=\"true\"", "bb. x"}};
    for (size_t i = 0; i < COUNT(switches); i++) {
        struct buf content;
        buf_init(&content, 1 << 16);
        buf_printf(&content,
                   "<office:document-content xmlns:office=\"" ODF "office:1.0\" xmlns:text=\"" ODF
                   "text:1.0\" xmlns:style=\"" ODF "style:1.0\"><office:automatic-styles>"
                   "<text:list-style style:name=\"L\"><text:list-level-style-number "
                   "text:level=\"1\" style:num-format=\"a\" style:num-suffix=\".\" "
                   "text:start-value=\"28\"%s/></text:list-style></office:automatic-styles>"
                   "<office:body><office:text><text:list text:style-name=\"L\"><text:list-item>"
                   "<text:p>x</text:p></text:list-item></text:list></office:text></office:body>"
                   "</office:document-content>",
                   switches[i][0]);
        const struct entry entries[] = {{"content.xml", buf_str(&content)}};
        expect_zip(EXTRACT_ODT, entries, COUNT(entries), switches[i][1]);
        buf_fini(&content);
    }
}

/* A formula is a part of its own, or in the text; what else is embedded is no formula. */
static void formulas_of_opendocument_are_on_one_line(void **state)
{
#define MATHML(inside) "<math xmlns=\"http://www.w3.org/1998/Math/MathML\">" inside "</math>"
#define OBJECT(href) "<draw:frame><draw:object xlink:href=\"" href "\"/></draw:frame>"
    const struct entry entries[] = {
        {"content.xml",
         STR("<office:document-content xmlns:office=\"" ODF "office:1.0\" xmlns:text=\"" ODF
             "text:1.0\" xmlns:draw=\"" ODF "drawing:1.0\" xmlns:svg=\"" ODF
             "svg-compatible:1.0\" xmlns:xlink=\"http://www.w3.org/1999/xlink\"><office:body>"
             "<office:text><text:p>Power <draw:frame><draw:object xlink:href=\"./Object 1\"/>"
             "<svg:desc>formula</svg:desc></draw:frame> in watts, <draw:frame><draw:object>" MATHML(
                 "<msqrt><mi>a</mi><mo>+</mo><mi>b</mi></msqrt>") "</draw:object></draw:frame>.</"
                                                                  "text:p>"
                                                                  "<text:p>" OBJECT("Object 2/")
                                                                      OBJECT("../../x") OBJECT(
                                                                          "Object 1") "End</text:p>"
                                                                                      "</"
                                                                                      "office:text>"
                                                                                      "</"
                                                                                      "office:body>"
                                                                                      "</"
                                                                                      "office:"
                                                                                      "document-"
                                                                                      "content>")},
        {"Object 1/content.xml",
         STR("<!DOCTYPE math>" MATHML(
             "<semantics><mrow><mi>P</mi><mo>=</mo><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo>"
             "<mn>1</mn></mrow><mi>n</mi></munderover><msub><mi>h</mi><mi>i</mi></msub><mo>·</mo>"
             "<mfrac><mrow><mi>a</mi><mo>-</mo><mi>b</mi></mrow><mn>2</mn></mfrac></mrow>"
             "<annotation>{a-b} over 2</annotation></semantics>"))},
        {"Object 2/content.xml", STR("<chart><title>no formula</title></chart>")}};
    expect_zip(EXTRACT_ODT, entries, COUNT(entries),
               "Power P=∑_(i=1)^n h_i·(a-b)/2 in watts, √(a+b).\n\nEnd");
}

static void chapters_come_whole_in_the_order_of_reading(void **state)
{
#define LONG "A note explains the title, the plan, and much of what the poem says. "
    const struct entry entries[] = {
        {"META-INF/container.xml", STR("<container><rootfiles><rootfile "
                                       "full-path=\"OPS/book.opf\"/></rootfiles></container>")},
        {"OPS/book.opf",
         STR("<package><manifest><item id=\"b\" href=\"text/b%20c.xhtml\" "
             "media-type=\"application/xhtml+xml\"/><item id=\"a\" href=\"a.xhtml\" "
             "media-type=\"application/xhtml+xml\"/><item id=\"p\" href=\"p.png\" "
             "media-type=\"image/png\"/></manifest><spine><itemref idref=\"b\"/><itemref "
             "idref=\"p\"/><itemref idref=\"a\"/><itemref idref=\"b\"/></spine></package>")},
        {"OPS/a.xhtml",
         STR("<html><body><section><div>April is</div><div>the cruellest month</div></section>"
             "<section><p>" LONG LONG LONG LONG LONG LONG "</p></section></body></html>")},
        {"OPS/text/b c.xhtml", STR("<html><head><title>b c.xhtml</title></head><body><h1>First</h1>"
                                   "<p>Words.</p></body></html>")}};
    expect_zip(EXTRACT_EPUB, entries, COUNT(entries),
               "# First\n\nWords.\n\nApril is\nthe cruellest month\n\n" LONG LONG LONG LONG LONG
               "A note explains the title, the plan, and much of what the poem says.");
#undef LONG
}

#define CHAPTER(name, title, body)                                                                 \
    {                                                                                              \
        name, STR("<html><head><title>" title "</title></head><body>" body "</body></html>")       \
    }

static void titles_and_anchors_that_no_reader_of_a_book_sees_are_left_out(void **state)
{
    const struct entry entries[] = {
        {"META-INF/container.xml", STR("<container><rootfiles><rootfile "
                                       "full-path=\"book.opf\"/></rootfiles></container>")},
        {"book.opf",
         STR("<package><manifest><item id=\"a\" href=\"a.html\" media-type=\"text/html\"/>"
             "<item id=\"b\" href=\"b.html\" media-type=\"text/html\"/><item id=\"c\" "
             "href=\"c.html\" media-type=\"text/html\"/><item id=\"d\" href=\"d.html\" "
             "media-type=\"text/html\"/></manifest><spine><itemref idref=\"a\"/><itemref "
             "idref=\"b\"/><itemref idref=\"c\"/><itemref idref=\"d\"/></spine></package>")},
        CHAPTER("a.html", "The Pump, a book", "<h1 id=\"toc_1\">Oil</h1><p>90 hours."),
        CHAPTER("b.html", "The Pump, a book", "<p>No heading."),
        CHAPTER("c.html", "Filter", "<p>40 hours."),
        CHAPTER("d.html", "The Pump, a book", "<h2 id=\"x\">Oil</h2><p>Again.")};
    expect_zip(EXTRACT_EPUB, entries, COUNT(entries),
               "# Oil\n\n90 hours.\n\nNo heading.\n\n# Filter\n\n40 hours.\n\n## Oil\n\nAgain.");
}

static void rtf_is_read(void **state)
{
    static const char *const files[][2] = {
        {"{\\rtf1\\ansi{\\fonttbl{\\f0 Arial;}}{\\info{\\title no}}Hello\\par World\\line here}",
         "Hello\n\nWorld\nhere"},
        {"{\\rtf1\\ansi\\ansicpg1252 caf\\'e9 \\u8364? \\u-10179?\\u-8704? \\emdash\\~x}",
         "café € 😀 — x"},
        {"{\\rtf1{\\fonttbl{\\f1\\fcharset204 A;}{\\f2\\fcharset128 B;}}\\f1 \\'cd\\'e0\\f2 "
         "\\'93\\'fa\\'96\\'7b}",
         "На日本"},
        {"{\\rtf1 a{\\v hidden}b{\\deleted x}{\\*\\unknown y}{\\pict 0102}c 10{\\super 6}}",
         "abc 10^6"},
        {"{\\rtf1{\\stylesheet{\\s1 heading 2;}{\\s2 Body;}}\\pard\\s1 Head\\par\\pard "
         "{\\listtext\\'b7\\tab}one\\par{\\listtext 2.\\tab}two\\par\\pard End}",
         "## Head\n\n- one\n2. two\n\nEnd"},
        {"{\\rtf1 a{\\field{\\*\\fldinst{EQ \\\\* jc2 \\\\o\\\\ad(\\\\s\\\\up "
         "9(\\u12415?\\u12378?),\\u27700?)}}"
         "{\\fldrslt}}b {\\field{\\*\\fldinst{EQ \\\\f(3;4)}}{\\fldrslt}} l "
         "{\\field{\\*\\fldinst{PAGEREF x}}{\\fldrslt 7}}}",
         "a水(みず)b 3/4 l 7"},
        {"{\\rtf1\\trowd\\cellx1\\clmgf\\cellx2\\clmrg\\cellx3\\pard\\intbl Typ\\cell "
         "bar\\cell\\cell\\row"
         "\\trowd\\clvmgf\\cellx1\\cellx2\\cellx3 A\\cell 1\\cell 2\\cell\\row"
         "\\trowd\\clvmrg\\cellx1\\cellx2\\cellx3\\cell 3\\cell 4\\cell\\row\\pard}",
         "Typ | bar | bar\nA | 1 | 2\nA | 3 | 4"},
        {"{\\rtf1{\\stylesheet{\\s1 heading 1;}}\\pard\\s1{\\listtext\\pard\\plain "
         "\\tab}Head\\par}",
         "# Head"},
        {"{\\rtf1 Before\\par\\trowd\\intbl A\\cell 1\\cell\\row\\intbl B\\cell\\cell\\row\\pard "
         "After}",
         "Before\n\nA | 1\nB | \n\nAfter"},
        {"{\\rtf1 Text{\\super 1}{\\footnote Note {\\b here}.} more.\\par}",
         "Text^1[1] more.\n\n[1] Note here."},
        {"{\\rtf1 \\bin3 {{{x\\{\\}\\\\", "x{}\\"},
    };
    for (size_t i = 0; i < COUNT(files); i++)
        expect(EXTRACT_RTF, str_of(files[i][0]), files[i][1]);
}

/* A cell that spans all columns and many rows, over and over. */
static void cells_that_span_much_are_repeated_little(void **state)
{
    struct buf content;
    buf_init(&content, 16 << 20);
    buf_lit(&content,
            "<office:document-content xmlns:office=\"" ODF "office:1.0\" xmlns:text=\"" ODF
            "text:1.0\" xmlns:table=\"" ODF "table:1.0\"><office:body><office:text><table:table>");
    for (int i = 0; i < 20; i++) {
        buf_lit(&content, "<table:table-row><table:table-cell table:number-columns-spanned=\"256\" "
                          "table:number-rows-spanned=\"10000\"><text:p>a text of some length that "
                          "is in all cells below it and beside it</text:p></table:table-cell>"
                          "</table:table-row>");
        for (int row = 0; row < 10000; row++)
            buf_printf(&content, "<table:table-row a=\"%d\"/>", i * 7919 + row * 104729);
    }
    buf_lit(&content, "</table:table></office:text></office:body></office:document-content>");
    const struct entry entries[] = {{"content.xml", buf_str(&content)}};
    expect_zip_fault(EXTRACT_ODT, entries, COUNT(entries), EXTRACT_FAULT_NONE);
    assert_in_range(text.n, 0, 100000);
    buf_fini(&content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_of_opendocument_is_read),
        cmocka_unit_test(letters_of_opendocument_count_on),
        cmocka_unit_test(formulas_of_opendocument_are_on_one_line),
        cmocka_unit_test(chapters_come_whole_in_the_order_of_reading),
        cmocka_unit_test(titles_and_anchors_that_no_reader_of_a_book_sees_are_left_out),
        cmocka_unit_test(rtf_is_read),
        cmocka_unit_test(cells_that_span_much_are_repeated_little),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
