/* SPDX-License-Identifier: MIT
 * test_extract_sheets.c - XLSX, ODS and CSV: rows with their heads, values in their formats. */
#include "tests/unit/package_fixture.h"

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
         SHEET(ROW("1", TEXT_CELL("A1", "All pumps")) ROW(
             "3", TEXT_CELL("A3", "Type") TEXT_CELL("B3", "Pressure") TEXT_CELL("D3", "Since")
                      TEXT_CELL("E3", "%"))
                   ROW("4", SHARED_CELL("A4", "0") NUMBER_CELL("B4", "2", "40")
                                NUMBER_CELL("D4", "1", "44280") NUMBER_CELL("E4", "3", "0.5"))
                       ROW("5",
                           SHARED_CELL(
                               "A5", "1") "<c r=\"B5\" s=\"2\"><f>SUM(B1:B9)</f><v>1234.55</v></c>"
                                          "<c r=\"C5\" t=\"b\"><v>1</v></c>" SHARED_CELL("Z5", "9"))
                           ROW("1048576", TEXT_CELL("XFD1048576", "far")))},
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

static void a_sheet_of_opendocument_is_read(void **state)
{
    const struct entry sheets[] = {
        {"content.xml",
         CONTENT("", "<office:spreadsheet><table:table table:name=\"S\"><table:table-row>"
                     "<table:table-cell><text:p>Type</text:p></table:table-cell>"
                     "<table:table-cell table:number-columns-repeated=\"1000000000\"/>"
                     "</table:table-row><table:table-row table:number-rows-repeated=\"1048570\">"
                     "<table:table-cell/></table:table-row><table:table-row><table:table-cell>"
                     "<text:p>A</text:p></table:table-cell>"
                     "<table:table-cell office:value-type=\"float\"><text:p>40</text:p>"
                     "</table:table-cell></table:table-row></table:table></office:spreadsheet>")}};
    expect_zip(EXTRACT_ODS, sheets, COUNT(sheets), "## S\n\nType\nA | 40");
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
    expect_fault(EXTRACT_CSV, STR("\xef\xbb\xbf"), EXTRACT_FAULT_NO_TEXT);
}

/* ---- traps ---- */

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
        entries[i + 3] = (struct entry){names[i], SHEET(ROW("1", TEXT_CELL("A1", "x")))};
        buf_printf(&workbook, "<sheet name=\"s%d\" r:id=\"r%d\"/>", i, i);
        buf_printf(&relations, RELATION("r%d", "worksheet", "s%d.xml"), i, i);
    }
    buf_lit(&workbook, "</sheets></workbook>");
    buf_lit(&relations, "</Relationships>");
    entries[0] = (struct entry)OF_WORKBOOK;
    entries[1] = (struct entry){"xl/workbook.xml", buf_str(&workbook)};
    entries[2] = (struct entry){"xl/_rels/workbook.xml.rels", buf_str(&relations)};
    struct buf zip;
    buf_init(&zip, PACKAGE_MAX_BYTES);
    put_zip(&zip, entries, COUNT(entries));
    expect_fault(EXTRACT_XLSX, buf_str(&zip), EXTRACT_FAULT_NONE);
    buf_fini(&zip);
    assert_non_null(strstr(text.at, "## s9999\n\nx"));
    buf_fini(&workbook);
    buf_fini(&relations);
}

/* A cell that says that it is there a million times, in a row that says so, too. */
static void cells_that_are_repeated_are_few(void **state)
{
    const struct entry entries[] = {
        {"content.xml",
         CONTENT("", "<office:spreadsheet><table:table><table:table-row "
                     "table:number-rows-repeated=\"1048576\"><table:table-cell "
                     "table:number-columns-repeated=\"16384\"><text:p>x</text:p>"
                     "</table:table-cell></table:table-row></table:table></office:spreadsheet>")}};
    expect_zip_fault(EXTRACT_ODS, entries, COUNT(entries), EXTRACT_FAULT_NONE);
    assert_in_range(text.n, 1, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_their_heads),
        cmocka_unit_test(days_of_both_calendars_are_dates),
        cmocka_unit_test(a_sheet_of_opendocument_is_read),
        cmocka_unit_test(separators_and_quotes_of_csv_are_found),
        cmocka_unit_test(a_string_in_every_cell_is_too_much_text),
        cmocka_unit_test(ten_thousand_sheets_are_read),
        cmocka_unit_test(cells_that_are_repeated_are_few),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
