/* SPDX-License-Identifier: MIT
 * test_extract_office.c - slides, sheets, OpenDocument, books, RTF, data and mail: what is taken of
 * each, and files that are traps. */
#include "shared/extract/extract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/zip_fixture.h"

#define RELATIONSHIPS "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
#define RELATIONS(list)                                                                            \
    STR("<Relationships "                                                                          \
        "xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">" list             \
        "</Relationships>")
#define RELATION(id, type, target)                                                                 \
    "<Relationship Id=\"" id "\" Type=\"" RELATIONSHIPS "/" type "\" Target=\"" target "\"/>"

static struct buf text;

/* The program lies beside its tests. */
static int set_up(void **state)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
    if (n <= 0)
        return -1;
    path[n] = 0;
    strcpy(strrchr(path, '/'), "/parley");
    extract_set_program(path);
    buf_init(&text, EXTRACT_TEXT_MAX_BYTES);
    return access(path, X_OK);
}

static int tear_down(void **state)
{
    buf_fini(&text);
    return 0;
}

static enum extract_fault read_bytes(enum extract_kind kind, struct str bytes)
{
    buf_clear(&text);
    enum extract_fault fault = extract_sniff(kind, bytes);
    if (fault == EXTRACT_FAULT_NONE)
        fault = extract_parse(kind, bytes, &text);
    buf_terminate(&text);
    return fault;
}

static void expect(enum extract_kind kind, struct str bytes, const char *expected)
{
    enum extract_fault fault = read_bytes(kind, bytes);
    if (fault != EXTRACT_FAULT_NONE)
        fail_msg("'%s' instead of:\n%s", extract_fault_text(fault), expected);
    assert_string_equal(text.at, expected);
}

static void expect_zip(enum extract_kind kind, const struct entry *entries, size_t n,
                       const char *expected)
{
    struct buf zip;
    buf_init(&zip, 64 << 20);
    put_zip(&zip, entries, n);
    expect(kind, buf_str(&zip), expected);
    buf_fini(&zip);
}

static void expect_zip_fault(enum extract_kind kind, const struct entry *entries, size_t n,
                             enum extract_fault expected)
{
    struct buf zip;
    buf_init(&zip, 64 << 20);
    put_zip(&zip, entries, n);
    assert_string_equal(extract_fault_text(read_bytes(kind, buf_str(&zip))),
                        extract_fault_text(expected));
    buf_fini(&zip);
}

#define COUNT(entries) (sizeof(entries) / sizeof *(entries))

/* ---- slides ---- */

#define P_URI "http://schemas.openxmlformats.org/presentationml/2006/main"
#define A_URI "http://schemas.openxmlformats.org/drawingml/2006/main"
#define SLIDE(shapes) STR("<p:sld xmlns:p=\"" P_URI "\" xmlns:a=\"" A_URI "\">" shapes "</p:sld>")
#define SHAPE(place, paragraphs)                                                                   \
    "<p:sp><p:nvSpPr><p:cNvPr/><p:nvPr>" place "</p:nvPr></p:nvSpPr><p:txBody>" paragraphs         \
    "</p:txBody></p:sp>"
#define AP(properties, words)                                                                      \
    "<a:p><a:pPr" properties "</a:pPr><a:r><a:t>" words "</a:t></a:r></a:p>"
#define PRESENTATION(slides)                                                                       \
    {                                                                                              \
        "ppt/presentation.xml",                                                                    \
            STR("<p:presentation xmlns:p=\"" P_URI "\" xmlns:r=\"" RELATIONSHIPS                   \
                "\"><p:sldIdLst>" slides "</p:sldIdLst></p:presentation>")                         \
    }
#define OF_PRESENTATION                                                                            \
    {                                                                                              \
        "_rels/.rels", RELATIONS(RELATION("r", "officeDocument", "ppt/presentation.xml"))          \
    }

static void slides_are_pages_in_their_order(void **state)
{
    const struct entry entries[] = {
        OF_PRESENTATION,
        PRESENTATION("<p:sldId id=\"1\" r:id=\"b\"/><p:sldId id=\"2\" r:id=\"none\"/>"
                     "<p:sldId id=\"3\" r:id=\"a\"/>"),
        {"ppt/_rels/presentation.xml.rels",
         RELATIONS(RELATION("a", "slide", "slides/slide1.xml")
                       RELATION("b", "slide", "/ppt/slides/slide2.xml"))},
        {"ppt/slides/slide1.xml",
         SLIDE(SHAPE("<p:ph type=\"ftr\"/>", AP(">", "Footer"))
                   SHAPE("", AP(">", "Second page")) "<p:graphicFrame><a:tbl><a:tr><a:tc "
                                                     "gridSpan=\"2\">" AP(
                                                         ">", "AB") "</a:tc><a:tc "
                                                                    "hMerge=\"1\"/"
                                                                    "><a:tc>" AP(">", "C") "</"
                                                                                           "a:tc><"
                                                                                           "/a:tr>"
                                                                                           "</"
                                                                                           "a:tbl>"
                                                                                           "</"
                                                                                           "p:"
                                                                                           "graphi"
                                                                                           "cFrame"
                                                                                           ">")},
        {"ppt/slides/slide2.xml",
         SLIDE(SHAPE("<p:ph idx=\"1\"/>",
                     AP(">", "one") AP("><a:buNone/>", "none")
                         AP("><a:buAutoNum type=\"alphaLcParenR\"/>", "first")
                             AP("><a:buAutoNum type=\"alphaLcParenR\"/>", "second"))
                   SHAPE("<p:ph type=\"title\"/>", AP(">", "Start")))},
        {"ppt/slides/_rels/slide2.xml.rels",
         RELATIONS(RELATION("n", "notesSlide", "../notesSlides/n.xml"))},
        {"ppt/notesSlides/n.xml", SLIDE(SHAPE("<p:ph type=\"sldNum\"/>", AP(">", "7")) SHAPE(
                                      "<p:ph type=\"body\"/>", AP(">", "Say hello.")))}};
    expect_zip(
        EXTRACT_PPTX, entries, COUNT(entries),
        "## Start\n\n- one\nnone\na) first\nb) second\n\nNotes: Say hello.\f\fSecond page\n\n"
        "AB | AB | C");
}

static void slides_in_a_circle_are_read_once(void **state)
{
    const struct entry entries[] = {
        OF_PRESENTATION,
        PRESENTATION("<p:sldId r:id=\"a\"/><p:sldId r:id=\"a\"/>"),
        {"ppt/_rels/presentation.xml.rels", RELATIONS(RELATION("a", "slide", "s.xml"))},
        {"ppt/s.xml", SLIDE(SHAPE("", AP(">", "Once")))},
        {"ppt/_rels/s.xml.rels", RELATIONS(RELATION("n", "notesSlide", "s.xml"))}};
    expect_zip(EXTRACT_PPTX, entries, COUNT(entries), "Once\f");
}

/* ---- sheets ---- */

#define S_URI "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
#define SHEET(rows)                                                                                \
    STR("<worksheet xmlns=\"" S_URI "\"><sheetData>" rows "</sheetData></worksheet>")
#define TEXT_CELL(at, words) "<c r=\"" at "\" t=\"inlineStr\"><is><t>" words "</t></is></c>"
#define NUMBER_CELL(at, style, value) "<c r=\"" at "\" s=\"" style "\"><v>" value "</v></c>"
#define OF_WORKBOOK                                                                                \
    {                                                                                              \
        "_rels/.rels", RELATIONS(RELATION("r", "officeDocument", "xl/workbook.xml"))               \
    }
#define WORKBOOK(more, sheets)                                                                     \
    {                                                                                              \
        "xl/workbook.xml", STR("<workbook xmlns=\"" S_URI "\" xmlns:r=\"" RELATIONSHIPS "\">" more \
                               "<sheets>" sheets "</sheets></workbook>")                           \
    }

static void rows_have_their_heads(void **state)
{
    const struct entry entries[] = {
        OF_WORKBOOK,
        WORKBOOK("", "<sheet name=\"Pumps\" r:id=\"a\"/><sheet name=\"Old\" state=\"hidden\" "
                     "r:id=\"b\"/>"),
        {"xl/_rels/workbook.xml.rels",
         RELATIONS(RELATION("a", "worksheet", "a.xml") RELATION("b", "worksheet", "b.xml")
                       RELATION("c", "sharedStrings", "s.xml") RELATION("d", "styles", "t.xml"))},
        {"xl/s.xml", STR("<sst xmlns=\"" S_URI "\"><si><t>A</t><rPh><t>no</t></rPh></si>"
                         "<si><r><t>B </t></r><r><t>and C</t></r></si></sst>")},
        {"xl/t.xml",
         STR("<styleSheet xmlns=\"" S_URI "\"><numFmts><numFmt numFmtId=\"200\" "
             "formatCode=\"#,##0.0&quot; bar&quot;;[Red]-0\"/></numFmts><cellXfs><xf/><xf "
             "numFmtId=\"14\"/><xf numFmtId=\"200\"/><xf numFmtId=\"9\"/></cellXfs></styleSheet>")},
        {"xl/a.xml",
         SHEET("<row r=\"1\">" TEXT_CELL("A1", "All pumps") "</row><row r=\"3\">" TEXT_CELL("A3",
                                                                                            "Type")
                   TEXT_CELL("B3", "Pressure") TEXT_CELL("D3", "Since") TEXT_CELL(
                       "E3",
                       "%") "</row><row r=\"4\"><c r=\"A4\" t=\"s\"><v>0</v></c>" NUMBER_CELL("B4",
                                                                                              "2",
                                                                                              "40")
                       NUMBER_CELL("D4", "1", "44280")
                           NUMBER_CELL("E4", "3", "0.5") "</row><row r=\"5\"><c r=\"A5\" "
                                                         "t=\"s\"><v>1</v></c><c r=\"B5\" s=\"2\">"
                                                         "<f>SUM(B1:B9)</f><v>1234.55</v></c><c "
                                                         "r=\"C5\" t=\"b\"><v>1</v></c><c "
                                                         "r=\"Z5\" t=\"s\"><v>9</v></c></row>"
                                                         "<row r=\"1048576\">" TEXT_CELL(
                                                             "XFD1048576", "far") "</row>")},
        {"xl/b.xml", SHEET("<row>" TEXT_CELL("A1", "secret") "</row>")}};
    expect_zip(EXTRACT_XLSX, entries, COUNT(entries),
               "## Pumps\n\nAll pumps\nType | Pressure | Since | %\n"
               "Type: A | Pressure: 40.0 bar | Since: 2021-03-25 | %: 50%\n"
               "Type: B and C | Pressure: 1234.6 bar | TRUE\nfar");
}

static void days_of_both_calendars_are_dates(void **state)
{
    const struct entry entries[] = {
        OF_WORKBOOK,
        WORKBOOK("<workbookPr date1904=\"1\"/>", "<sheet name=\"\" r:id=\"a\"/>"),
        {"xl/_rels/workbook.xml.rels",
         RELATIONS(RELATION("a", "worksheet", "a.xml") RELATION("d", "styles", "t.xml"))},
        {"xl/t.xml", STR("<styleSheet xmlns=\"" S_URI "\"><cellXfs><xf numFmtId=\"22\"/><xf "
                         "numFmtId=\"46\"/></cellXfs></styleSheet>")},
        {"xl/a.xml",
         SHEET("<row>" NUMBER_CELL("A1", "0", "0.5") NUMBER_CELL("B1", "1", "1.25")
                   NUMBER_CELL("C1", "0", "-3") NUMBER_CELL("D1", "7", "1e300") "</row>")}};
    expect_zip(EXTRACT_XLSX, entries, COUNT(entries), "1904-01-01 12:00 | 06:00 | -3 | 1e+300");
}

/* Many cells that show one long string would fill the memory. */
static void a_string_in_every_cell_is_too_much_text(void **state)
{
    struct buf rows, strings;
    buf_init(&rows, 16 << 20);
    buf_init(&strings, 1 << 20);
    buf_lit(&strings, "<sst xmlns=\"" S_URI "\"><si><t>");
    for (int i = 0; i < 3000; i++)
        buf_printf(&strings, "word%d ", i);
    buf_lit(&strings, "</t></si></sst>");
    buf_lit(&rows, "<worksheet xmlns=\"" S_URI "\"><sheetData>");
    for (int i = 0; i < 20000; i++)
        buf_printf(&rows, "<row r=\"%d\"><c t=\"s\"><v>0</v></c></row>", i * 7 % 9999);
    buf_lit(&rows, "</sheetData></worksheet>");
    const struct entry entries[] = {
        OF_WORKBOOK,
        WORKBOOK("", "<sheet name=\"a\" r:id=\"a\"/>"),
        {"xl/_rels/workbook.xml.rels",
         RELATIONS(RELATION("a", "worksheet", "a.xml") RELATION("c", "sharedStrings", "s.xml"))},
        {"xl/s.xml", buf_str(&strings)},
        {"xl/a.xml", buf_str(&rows)}};
    expect_zip_fault(EXTRACT_XLSX, entries, COUNT(entries), EXTRACT_FAULT_TOO_MUCH_TEXT);
    buf_fini(&rows);
    buf_fini(&strings);
}

static void ten_thousand_sheets_are_read(void **state)
{
    enum { N = 10000 };
    static struct entry entries[N + 3];
    static char names[N][32];
    struct buf workbook, relations;
    buf_init(&workbook, 8 << 20);
    buf_init(&relations, 8 << 20);
    buf_lit(&workbook, "<workbook xmlns=\"" S_URI "\" xmlns:r=\"" RELATIONSHIPS "\"><sheets>");
    buf_lit(&relations, "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/"
                        "relationships\">");
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "xl/s%d.xml", i);
        entries[i + 3] = (struct entry){names[i], SHEET("<row>" TEXT_CELL("A1", "x") "</row>")};
        buf_printf(&workbook, "<sheet name=\"s%d\" r:id=\"r%d\"/>", i, i);
        buf_printf(&relations, RELATION("r%d", "worksheet", "s%d.xml"), i, i);
    }
    buf_lit(&workbook, "</sheets></workbook>");
    buf_lit(&relations, "</Relationships>");
    entries[0] = (struct entry)OF_WORKBOOK;
    entries[1] = (struct entry){"xl/workbook.xml", buf_str(&workbook)};
    entries[2] = (struct entry){"xl/_rels/workbook.xml.rels", buf_str(&relations)};
    struct buf zip;
    buf_init(&zip, 64 << 20);
    put_zip(&zip, entries, COUNT(entries));
    assert_int_equal(read_bytes(EXTRACT_XLSX, buf_str(&zip)), EXTRACT_FAULT_NONE);
    assert_non_null(strstr(text.at, "## s9999\n\nx"));
    buf_fini(&zip);
    buf_fini(&workbook);
    buf_fini(&relations);
}

static void another_office_format_is_found_out(void **state)
{
    const struct entry entries[] = {OF_WORKBOOK, WORKBOOK("", "")};
    expect_zip_fault(EXTRACT_PPTX, entries, COUNT(entries), EXTRACT_FAULT_NOT_KIND);
    expect_zip_fault(EXTRACT_ODT, entries, COUNT(entries), EXTRACT_FAULT_NOT_KIND);
    expect_zip_fault(EXTRACT_DOCX, entries, COUNT(entries), EXTRACT_FAULT_NOT_DOCX);
    assert_int_equal(extract_sniff(EXTRACT_XLSX, STR("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")),
                     EXTRACT_FAULT_OLD_OFFICE);
    assert_int_equal(extract_sniff(EXTRACT_RTF, STR("plain")), EXTRACT_FAULT_NOT_KIND);
    assert_int_equal(extract_sniff(EXTRACT_CSV, STR("a\0b\0c\0d\0")), EXTRACT_FAULT_NONE);
    assert_int_equal(extract_sniff(EXTRACT_JSON, STR("%PDF-1.4")), EXTRACT_FAULT_NOT_KIND);
}

static void separators_and_quotes_of_csv_are_found(void **state)
{
    static const char *const files[][2] = {
        {"Type,bar\nA,40\n", "Type | bar\nType: A | bar: 40"},
        {"Type;bar\r\n\"A; \"\"B\"\"\nC\";1,5\r\n;\r\n", "Type | bar\nType: A; \"B\" C | bar: 1,5"},
        {"Type\tbar\tnote\nA\t40\t\n", "Type | bar | note\nType: A | bar: 40"},
        {"1,2\n3,4\n", "1 | 2\n3 | 4"},
        {"Just words.\nMore words.\n", "Just words.\nMore words."},
        {"a,a\nb,c\n", "a | a\nb | c"},
        {"\"never closed\nx", "never closed x"},
    };
    for (size_t i = 0; i < COUNT(files); i++)
        expect(EXTRACT_CSV, str_of(files[i][0]), files[i][1]);
    expect(EXTRACT_CSV,
           STR("Ger\xe4t;Stra\xdf"
               "e\nPr\xfc"
               "fger\xe4t;Gr\xf6\xdf"
               "e\n"),
           "Gerät | Straße\nGerät: Prüfgerät | Straße: Größe");
}

/* ---- OpenDocument ---- */

#define ODF "urn:oasis:names:tc:opendocument:xmlns:"
#define CONTENT(styles, body)                                                                      \
    STR("<office:document-content xmlns:office=\"" ODF "office:1.0\" xmlns:text=\"" ODF            \
        "text:1.0\" xmlns:table=\"" ODF "table:1.0\" xmlns:style=\"" ODF                           \
        "style:1.0\" xmlns:draw=\"" ODF "drawing:1.0\" xmlns:presentation=\"" ODF                  \
        "presentation:1.0\"><office:automatic-styles>" styles                                      \
        "</office:automatic-styles><office:body>" body "</office:body></office:document-content>")
#define TP(words) "<text:p>" words "</text:p>"
#define ITEM(words) "<text:list-item>" words "</text:list-item>"

static void a_text_of_opendocument_is_read(void **state)
{
    const struct entry entries[] = {
        {"content.xml",
         CONTENT(
             "<text:list-style style:name=\"L\"><text:list-level-style-number text:level=\"1\" "
             "style:num-format=\"1\" style:num-suffix=\".\"/><text:list-level-style-number "
             "text:level=\"2\" style:num-format=\"a\" style:num-suffix=\")\" "
             "text:display-levels=\"2\"/></text:list-style><style:style style:name=\"T\">"
             "<style:text-properties style:text-position=\"super 58%\"/></style:style>",
             "<office:text><text:tracked-changes>" TP(
                 "gone") "</text:tracked-changes>"
                         "<text:h text:outline-level=\"2\">Head</text:h><text:list "
                         "text:style-name=\"L\">" ITEM(
                             TP("one") "<text:list>" ITEM(TP("in")) "</text:list>")
                             ITEM(TP("two")) "</text:list>" TP(
                                 "10<text:span text:style-name=\"T\">6</text:span><text:s/>a"
                                 "<text:note><text:note-citation>1</"
                                 "text:note-citation><text:note-body>" TP(
                                     "Note.") "</text:note-body></text:note> "
                                              "b<office:annotation>" TP(
                                                  "comment") "</"
                                                             "office:"
                                                             "annotation"
                                                             ">") "<table"
                                                                  ":table"
                                                                  "><"
                                                                  "table:"
                                                                  "table-"
                                                                  "row><"
                                                                  "table:"
                                                                  "table-"
                                                                  "cell "
                                                                  "table:"
                                                                  "number"
                                                                  "-rows-"
                                                                  "spanne"
                                                                  "d="
                                                                  "\"2\""
                                                                  ">" TP(
                                                                      "A") "</"
                                                                           "table:table-cell><"
                                                                           "table:table-"
                                                                           "cell>" TP(
                                                                               "1") "</"
                                                                                    "table:"
                                                                                    "table-cell>"
                                                                                    "</"
                                                                                    "table:"
                                                                                    "table-row><"
                                                                                    "table:"
                                                                                    "table-row>"
                                                                                    "<table:"
                                                                                    "covered-"
                                                                                    "table-cell/"
                                                                                    "><table:"
                                                                                    "table-"
                                                                                    "cell>" TP(
                                                                                        "2") "</"
                                                                                             "ta"
                                                                                             "bl"
                                                                                             "e:"
                                                                                             "ta"
                                                                                             "bl"
                                                                                             "e-"
                                                                                             "ce"
                                                                                             "ll"
                                                                                             ">"
                                                                                             "</"
                                                                                             "ta"
                                                                                             "bl"
                                                                                             "e:"
                                                                                             "ta"
                                                                                             "bl"
                                                                                             "e-"
                                                                                             "ro"
                                                                                             "w>"
                                                                                             "</"
                                                                                             "ta"
                                                                                             "bl"
                                                                                             "e:"
                                                                                             "ta"
                                                                                             "bl"
                                                                                             "e>"
                                                                                             "</"
                                                                                             "of"
                                                                                             "fi"
                                                                                             "ce"
                                                                                             ":t"
                                                                                             "ex"
                                                                                             "t"
                                                                                             ">")}};
    expect_zip(EXTRACT_ODT, entries, COUNT(entries),
               "## Head\n\n1. one\n1.a) in\n2. two\n\n10^6 a[1] b\n\nA | 1\nA | 2\n\n[1] Note.");
}

static void sheets_and_slides_of_opendocument_are_read(void **state)
{
    const struct entry sheets[] = {
        {"content.xml",
         CONTENT("", "<office:spreadsheet><table:table table:name=\"S\"><table:table-row>"
                     "<table:table-cell>" TP(
                         "Type") "</table:table-cell><table:table-cell "
                                 "table:number-columns-repeated=\"1000000000\"/></table:table-row>"
                                 "<table:table-row "
                                 "table:number-rows-repeated=\"1048570\"><table:table-cell/>"
                                 "</table:table-row><table:table-row><table:table-cell>" TP(
                                     "A") "</table:table-cell><table:table-cell "
                                          "office:value-type=\"float\">" TP(
                                              "40") "</table:table-cell></"
                                                    "table:table-row></"
                                                    "table:table></"
                                                    "office:spreadsheet>")}};
    const struct entry slides[] = {
        {"content.xml",
         CONTENT("", "<office:presentation><draw:page><draw:frame "
                     "presentation:class=\"title\">" TP("Start") "</draw:frame><draw:frame>" TP(
                         "Text") "</draw:frame>"
                                 "</draw:page><draw:page><draw:frame>" TP(
                                     "Two") "</draw:frame></draw:page>"
                                            "</office:presentation>")}};
    expect_zip(EXTRACT_ODS, sheets, 1, "## S\n\nType\nA | 40");
    expect_zip(EXTRACT_ODP, slides, 1, "## Start\n\nText\fTwo");
}

static void an_encrypted_opendocument_says_so(void **state)
{
    const struct entry entries[] = {
        {"content.xml", STR("\x01\x02\x03")},
        {"META-INF/manifest.xml", STR("<m><manifest:encryption-data/></m>")}};
    expect_zip_fault(EXTRACT_ODT, entries, COUNT(entries), EXTRACT_FAULT_ENCRYPTED);
}

/* ---- books ---- */

static void chapters_come_in_the_order_of_reading(void **state)
{
    const struct entry entries[] = {
        {"META-INF/container.xml", STR("<container><rootfiles><rootfile "
                                       "full-path=\"OPS/book.opf\"/></rootfiles></container>")},
        {"OPS/book.opf",
         STR("<package><manifest><item id=\"b\" href=\"text/b%20c.xhtml\" "
             "media-type=\"application/xhtml+xml\"/><item id=\"a\" href=\"a.xhtml\" "
             "media-type=\"application/xhtml+xml\"/><item id=\"p\" href=\"p.png\" "
             "media-type=\"image/png\"/></manifest><spine><itemref idref=\"b\"/><itemref "
             "idref=\"p\"/><itemref idref=\"a\"/><itemref idref=\"b\"/></spine></package>")},
        {"OPS/a.xhtml", STR("<html><body><p>Last words.</p></body></html>")},
        {"OPS/text/b c.xhtml", STR("<html><head><title>b c.xhtml</title></head><body><h1>First</h1>"
                                   "<p>Words.</p></body></html>")}};
    expect_zip(EXTRACT_EPUB, entries, COUNT(entries), "# First\n\nWords.\n\nLast words.");
}

/* ---- RTF ---- */

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

static void deep_rtf_is_no_danger(void **state)
{
    struct buf rtf;
    buf_init(&rtf, 8 << 20);
    buf_lit(&rtf, "{\\rtf1 top");
    for (int i = 0; i < 1000000; i++)
        buf_lit(&rtf, "{");
    buf_lit(&rtf, "deep");
    expect(EXTRACT_RTF, buf_str(&rtf), "top");
    buf_fini(&rtf);
}

/* ---- data ---- */

static void json_is_named_values(void **state)
{
    static const char *const files[][2] = {
        {"{\"a\":1,\"b\":[1,\"x\"],\"c\":{\"d\":true,\"e\":{\"f\":null,\"g\":1.5}},\"h\":[]}",
         "a: 1 | b: 1, x | h: \nc: d: true\nc.e: g: 1.5"},
        {"[{\"n\":\"A\"},{\"n\":\"B\"},3]", "n: A\nn: B\n3"},
        {"{\"a\":1}\n{\"a\":2}", "a: 1\na: 2"},
        {"not json", "not json"},
        {"{\"a\":1} rest", "{\"a\":1} rest"},
    };
    for (size_t i = 0; i < COUNT(files); i++)
        expect(EXTRACT_JSON, str_of(files[i][0]), files[i][1]);
}

static void deep_json_is_read_as_text(void **state)
{
    struct buf json;
    buf_init(&json, 1 << 20);
    for (int i = 0; i < 100000; i++)
        buf_lit(&json, "[");
    assert_int_equal(read_bytes(EXTRACT_JSON, buf_str(&json)), EXTRACT_FAULT_NONE);
    assert_int_equal(text.n, json.n);
    buf_fini(&json);
}

static void xml_is_named_values_and_text(void **state)
{
    static const char *const files[][2] = {
        {"<?xml version=\"1.0\"?><p><pump name=\"A\" id=\"7\"><bar>40</bar></pump></p>",
         "name: A\nbar: 40"},
        {"<d><para>Some <b>bold</b> text that is longer than the name of its element can help "
         "&amp; "
         "more.</para></d>",
         "Some bold text that is longer than the name of its element can help & more."},
        {"<!DOCTYPE a [<!ENTITY b \"bomb\"><!ENTITY c \"&b;&b;\">]><a>x &c; y</a>", "a: x y"},
        {"<a>no end", "<a>no end"},
        {"<?xml version=\"1.0\" encoding=\"windows-1251\"?><a>\xcd\xe0\xf1\xee\xf1</a>",
         "a: Насос"},
    };
    for (size_t i = 0; i < COUNT(files); i++)
        expect(EXTRACT_XML, str_of(files[i][0]), files[i][1]);
}

/* ---- mail ---- */

static void mail_is_read_with_its_attachments(void **state)
{
    expect(
        EXTRACT_EML,
        STR("From: =?utf-8?Q?J=C3=B6rg?= <j@x>\r\nTo: a@x,\r\n b@x\r\nSubject: =?utf-8?B?UHVtcGVu?="
            " =?utf-8?Q?_pr=C3=BCfen?= now\r\nContent-Type: multipart/mixed; "
            "boundary=\"x;y\"\r\n\r\n"
            "preamble\r\n--x;y\r\nContent-Type: multipart/alternative; boundary=z\r\n\r\n--z\r\n"
            "Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: "
            "quoted-printable\r\n\r\nSie l=E4uft mit 40=\r\n bar.\r\n--z\r\nContent-Type: "
            "text/html\r\n\r\n<p>html</p>\r\n--z--\r\n--x;y\r\nContent-Disposition: attachment; "
            "filename*=utf-8''d%C3%A4ta.csv\r\nContent-Transfer-Encoding: base64\r\n\r\n"
            "VHlwZSxiYXIKQSw0MAo=\r\n--x;y\r\nContent-Type: application/pdf; "
            "name=a.pdf\r\n\r\n%PDF\r\n"
            "--x;y\r\nContent-Type: message/rfc822\r\n\r\nSubject: "
            "inner\r\n\r\nInner\r\n--x;y--\r\n"),
        "# Pumpen prüfen now\n\nFrom: Jörg <j@x>\nTo: a@x, b@x\n\nSie läuft mit 40 bar.\n\n"
        "## Attachment: däta.csv\n\nType | bar\nType: A | bar: 40\n\n## Attachment: a.pdf\f"
        "# inner\n\nInner");
    expect(EXTRACT_EML, STR("Subject: s\nContent-Type: text/html\n\n<p>only html</p>"),
           "# s\n\nonly html");
    expect(EXTRACT_EML, STR("Subject: s\r\n \r\nThe pump\r\nruns.\r\n\r\nIt leaks."),
           "# s\n\nThe pump\nruns.\n\nIt leaks.");
    expect(EXTRACT_EML, STR("Content-Type: text/plain\n\nOnly a text"), "Only a text");
    assert_int_equal(read_bytes(EXTRACT_EML, STR("no mail at all")), EXTRACT_FAULT_NOT_KIND);
}

/* Form feeds of other origin, in a subject, a name or between the slides of an attachment, are no
 * PDF. */
static void pdf_attached_to_mail_is_handed_out_by_its_number(void **state)
{
    static const char mail[] =
        "Subject: =?utf-8?Q?a=0Cb?=\nContent-Type: multipart/mixed; boundary=x\n\n"
        "--x\n\na\fb\n--x\nContent-Type: application/pdf; name=\"a\f.pdf\"\n\n%PDF-1\n"
        "--x\nContent-Type: message/rfc822\n\nContent-Disposition: attachment; "
        "filename=b.PDF\nContent-Transfer-Encoding: base64\n\nJVBERi0y\n--x--\n";
    static const char *const expected[] = {NULL, "%PDF-1", "%PDF-2"};
    size_t feed_n = 0;
    assert_int_equal(read_bytes(EXTRACT_EML, str_of(mail)), EXTRACT_FAULT_NONE);
    for (size_t i = 0; i < text.n; i++)
        feed_n += text.at[i] == '\f';
    assert_int_equal(feed_n, 2);
    for (unsigned i = 1; i <= 2; i++) {
        buf_clear(&text);
        assert_int_equal(extract_put_mail_pdf(&text, str_of(mail), i), EXTRACT_FAULT_NONE);
        assert_true(str_eq(str_trim(buf_str(&text)), str_of(expected[i])));
    }
    buf_clear(&text);
    assert_int_equal(extract_put_mail_pdf(&text, str_of(mail), 3), EXTRACT_FAULT_EMPTY);
}

static void of_a_mail_ten_pdf_are_read(void **state)
{
    struct buf mail;
    size_t feed_n = 0;
    buf_init(&mail, 1 << 20);
    buf_lit(&mail, "Subject: s\nContent-Type: multipart/mixed; boundary=x\n\n");
    for (int i = 0; i < 12; i++)
        buf_lit(&mail, "--x\nContent-Type: application/pdf; name=a.pdf\n\n%PDF\n");
    assert_int_equal(read_bytes(EXTRACT_EML, buf_str(&mail)), EXTRACT_FAULT_NONE);
    for (size_t i = 0; i < text.n; i++)
        feed_n += text.at[i] == '\f';
    assert_int_equal(feed_n, EXTRACT_MAIL_PDFS_MAX);
    assert_non_null(strstr(text.at, "Only ten PDF files of a mail are read"));
    buf_fini(&mail);
}

static void mail_in_mail_ends_somewhere(void **state)
{
    struct buf mail;
    buf_init(&mail, 32 << 20);
    for (int i = 0; i < 100000; i++)
        buf_printf(&mail, "Subject: level %d\nContent-Type: message/rfc822\n\n", i);
    assert_int_equal(read_bytes(EXTRACT_EML, buf_str(&mail)), EXTRACT_FAULT_NONE);
    assert_non_null(strstr(text.at, "# level 2"));
    assert_null(strstr(text.at, "# level 20"));
    buf_fini(&mail);
}

/* ---- in a child ---- */

static void every_kind_is_read_in_a_child(void **state)
{
    static const struct {
        enum extract_kind kind;
        const char *bytes, *expected;
    } files[] = {{EXTRACT_RTF, "{\\rtf1 caf\\'e9}", "café"},
                 {EXTRACT_CSV, "a,b\n1,2", "a | b\na: 1 | b: 2"},
                 {EXTRACT_JSON, "{\"a\":1}", "a: 1"},
                 {EXTRACT_XML, "<a>1</a>", "a: 1"},
                 {EXTRACT_EML, "Subject: s\n\nx", "# s\n\nx"}};
    for (size_t i = 0; i < COUNT(files); i++) {
        buf_clear(&text);
        struct text_pages pages = {0};
        enum extract_fault fault =
            extract_text(files[i].kind, str_of(files[i].bytes), NULL, &text, &pages);
        text_pages_fini(&pages);
        buf_terminate(&text);
        assert_string_equal(extract_fault_text(fault), "");
        assert_string_equal(text.at, files[i].expected);
    }
}

static void slides_have_the_numbers_of_pages(void **state)
{
    const struct entry entries[] = {
        OF_PRESENTATION,
        PRESENTATION("<p:sldId r:id=\"a\"/><p:sldId r:id=\"b\"/>"),
        {"ppt/_rels/presentation.xml.rels",
         RELATIONS(RELATION("a", "slide", "a.xml") RELATION("b", "slide", "b.xml"))},
        {"ppt/a.xml", SLIDE(SHAPE("", AP(">", "One")))},
        {"ppt/b.xml", SLIDE(SHAPE("", AP(">", "Two")))}};
    struct text_pages pages = {0};
    struct buf zip;
    buf_init(&zip, 1 << 20);
    put_zip(&zip, entries, COUNT(entries));
    buf_clear(&text);
    assert_int_equal(extract_text(EXTRACT_PPTX, buf_str(&zip), NULL, &text, &pages),
                     EXTRACT_FAULT_NONE);
    buf_terminate(&text);
    assert_string_equal(text.at, "One\n\nTwo");
    assert_int_equal(text_pages_find(&pages, 0), 1);
    assert_int_equal(text_pages_find(&pages, 5), 2);
    text_pages_fini(&pages);
    buf_fini(&zip);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slides_are_pages_in_their_order),
        cmocka_unit_test(slides_in_a_circle_are_read_once),
        cmocka_unit_test(rows_have_their_heads),
        cmocka_unit_test(days_of_both_calendars_are_dates),
        cmocka_unit_test(a_string_in_every_cell_is_too_much_text),
        cmocka_unit_test(ten_thousand_sheets_are_read),
        cmocka_unit_test(another_office_format_is_found_out),
        cmocka_unit_test(separators_and_quotes_of_csv_are_found),
        cmocka_unit_test(a_text_of_opendocument_is_read),
        cmocka_unit_test(sheets_and_slides_of_opendocument_are_read),
        cmocka_unit_test(an_encrypted_opendocument_says_so),
        cmocka_unit_test(chapters_come_in_the_order_of_reading),
        cmocka_unit_test(rtf_is_read),
        cmocka_unit_test(deep_rtf_is_no_danger),
        cmocka_unit_test(json_is_named_values),
        cmocka_unit_test(deep_json_is_read_as_text),
        cmocka_unit_test(xml_is_named_values_and_text),
        cmocka_unit_test(mail_is_read_with_its_attachments),
        cmocka_unit_test(pdf_attached_to_mail_is_handed_out_by_its_number),
        cmocka_unit_test(of_a_mail_ten_pdf_are_read),
        cmocka_unit_test(mail_in_mail_ends_somewhere),
        cmocka_unit_test(every_kind_is_read_in_a_child),
        cmocka_unit_test(slides_have_the_numbers_of_pages),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
