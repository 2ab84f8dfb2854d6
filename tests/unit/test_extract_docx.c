/* SPDX-License-Identifier: MIT
 * test_extract_docx.c - DOCX: what is taken of a document. The files are written here; those of
 * other programs are in test_extract_cases.c, and traps in test_extract_hostile.c. */
#include "tests/unit/package_fixture.h"

static void expect_document(struct str xml, const char *expected)
{
    const struct entry entries[] = {{"[Content_Types].xml", STR("<Types/>")},
                                    {"word/document.xml", xml}};
    expect_zip(EXTRACT_DOCX, entries, COUNT(entries), expected);
}

/* ---- documents ---- */

static void paragraphs_lists_and_headings_become_lines(void **state)
{
    expect_document(
        STR(DOCUMENT(
            "<w:p><w:pPr><w:pStyle w:val=\"Heading1\"/><w:tabs><w:tab w:pos=\"1\"/></w:tabs>"
            "</w:pPr>" R("A head") "</w:p>" P(
                "One &amp; ") "<w:p/>"
                              "<w:p><w:pPr><w:numPr/></w:pPr>" R(
                                  "first") "</w:p>"
                                           "<w:p><w:pPr><w:numPr/></w:pPr>" R("second") "</w:p>" P(
                                               "After"))),
        "# A head\n\nOne &\n\n- first\n- second\n\nAfter");
}

static void runs_are_put_together(void **state)
{
    expect_document(
        STR(DOCUMENT("<w:p>" R("Par") R(
            "ley") "<w:r><w:tab/><w:t xml:space=\"preserve\"> is  "
                   "</w:t></w:r><w:hyperlink>" R(
                       "here") "</w:hyperlink><w:r><w:br/>"
                               "<w:t>well</w:t><w:noBreakHyphen/><w:t>known</w:t></w:r></w:p>")),
        "Parley is here\nwell-known");
}

static void tables_keep_their_rows_and_cells(void **state)
{
    expect_document(
        STR(DOCUMENT(
            P("Before") "<w:tbl><w:tr><w:tc>" P("a")
                P("b") "</w:tc><w:tc>" P("c") "</w:tc></w:tr><w:tr><w:tc>" P(
                    "d") "</w:tc><w:tc><w:tbl><w:tr><w:tc>" P("e") "</w:tc><w:tc>" P("f") "</"
                                                                                          "w:tc></"
                                                                                          "w:tr></"
                                                                                          "w:tbl></"
                                                                                          "w:tc></"
                                                                                          "w:tr></"
                                                                                          "w:"
                                                                                          "tbl>" P(
                                                                                              "Afte"
                                                                                              "r"))),
        "Before\n\na b | c\nd | e | f\n\nAfter");
}

static void what_is_deleted_moved_or_hidden_is_left_out(void **state)
{
    expect_document(
        STR(DOCUMENT("<w:p><w:ins>" R(
            "new") "</w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
                   "<w:moveFrom>" R(
                       "gone") "</w:moveFrom>"
                               "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>"
                               "<w:r><w:rPr><w:vanish w:val=\"0\"/></w:rPr><w:t> shown</w:t></w:r>"
                               "<w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
                               "<mc:AlternateContent><mc:Choice>" P(
                                   "choice") "</mc:Choice><mc:Fallback>" P("fallback") "</"
                                                                                       "mc:"
                                                                                       "Fallback></"
                                                                                       "mc:"
                                                                                       "AlternateCo"
                                                                                       "ntent>")),
        "new shown\n\nchoice");
}

static void other_spellings_of_the_format_are_read(void **state)
{
    expect_document(
        STR("<document xmlns=\"http://purl.oclc.org/ooxml/wordprocessingml/main\"><body><p><r>"
            "<t>strict</t></r></p></body></document>"),
        "strict");
    expect_document(
        STR("\xff\xfe<\0d\0 \0x\0m\0l\0n\0s\0=\0'\0h\0t\0t\0p\0:\0/\0/\0p\0u\0r\0l\0.\0o\0c\0l\0c\0"
            ".\0o\0r\0g\0/\0o\0o\0x\0m\0l\0/\0w\0o\0r\0d\0p\0r\0o\0c\0e\0s\0s\0i\0n\0g\0m\0l\0/\0"
            "m\0a\0i\0n\0'\0>\0<\0r\0>\0<\0t\0>\0u\0<\0/\0t\0>\0<\0/\0r\0>\0<\0/\0d\0>\0"),
        "u");
}

static void notes_follow_the_text(void **state)
{
    const struct entry entries[] = {
        {"word/footnotes.xml",
         STR("<w:footnotes " W "><w:footnote>" P("A note.") "</w:footnote></w:footnotes>")},
        {"word/document2.xml", STR(DOCUMENT(P("The text.")))}};
    expect_zip(EXTRACT_DOCX, entries, COUNT(entries), "The text.\n\nA note.");
}

/* ---- parts ---- */

/* A document of a body and other parts, which have their usual names. */
static void expect_parts(const char *body, const struct entry *others, size_t other_n,
                         const char *expected)
{
    struct entry entries[8] = {{"word/document.xml", str_of(body)}};
    assert_in_range(other_n, 0, 7);
    memcpy(entries + 1, others, other_n * sizeof *others);
    expect_zip(EXTRACT_DOCX, entries, other_n + 1, expected);
}

#define LEVEL(number, form, sign)                                                                  \
    "<w:lvl w:ilvl=\"" number "\"><w:start w:val=\"1\"/><w:numFmt w:val=\"" form                   \
    "\"/><w:lvlText w:val=\"" sign "\"/></w:lvl>"
#define SCHEME(id, levels) "<w:abstractNum w:abstractNumId=\"" id "\">" levels "</w:abstractNum>"
#define LIST(id, scheme, more)                                                                     \
    "<w:num w:numId=\"" id "\"><w:abstractNumId w:val=\"" scheme "\"/>" more "</w:num>"
#define NUMBERING(schemes) STR("<w:numbering " W ">" schemes "</w:numbering>")
#define ITEM(list, level, words)                                                                   \
    "<w:p><w:pPr><w:numPr><w:ilvl w:val=\"" level "\"/><w:numId w:val=\"" list                     \
    "\"/></w:numPr></w:pPr>" R(words) "</w:p>"
#define STYLED(style, words) "<w:p><w:pPr><w:pStyle w:val=\"" style "\"/></w:pPr>" R(words) "</w:p>"

static void lists_are_numbered_as_printed(void **state)
{
    struct entry numbering = {
        "word/numbering.xml",
        NUMBERING(
            SCHEME("7", LEVEL("0", "upperRoman", "%1.") LEVEL("1", "lowerLetter", "%2)")
                            LEVEL("2", "decimalZero", "%1-%3") LEVEL("3", "bullet", "\xef\x82\xb7"))
                LIST("1", "7", "") LIST("2", "7",
                                        "<w:lvlOverride w:ilvl=\"0\"><w:startOverride w:val=\"4\"/>"
                                        "</w:lvlOverride>"))};
    expect_parts(DOCUMENT(ITEM("1", "0", "a") ITEM("1", "1", "b") ITEM("1", "1", "c") ITEM(
                     "1", "2", "d") ITEM("1", "3", "e") ITEM("1", "0", "f") ITEM("1", "1", "g")
                              ITEM("2", "0", "h") ITEM("2", "0", "i") ITEM("9", "0", "j")),
                 &numbering, 1, "I. a\na) b\nb) c\nI-01 d\n- e\nII. f\na) g\nIV. h\nV. i\n- j");
}

static void legal_numbers_keep_zeros_and_begin_where_they_are_told(void **state)
{
    struct entry numbering = {
        "word/numbering.xml",
        NUMBERING(SCHEME(
            "1",
            LEVEL("0", "upperRoman",
                  "Article %1.") "<w:lvl w:ilvl=\"1\"><w:start w:val=\"1\"/><w:numFmt "
                                 "w:val=\"decimalZero\"/><w:isLgl/><w:lvlText w:val=\"%1.%2\"/>"
                                 "</w:lvl>") SCHEME("2", "<w:lvl w:ilvl=\"0\"><w:numFmt "
                                                         "w:val=\"ordinal\"/><w:lvlText "
                                                         "w:val=\"%1\"/></w:lvl>")
                      LIST("1", "1", "") LIST("2", "2", ""))};
    expect_parts(DOCUMENT(ITEM("1", "0", "a") ITEM("1", "0", "b") ITEM("1", "1", "c")
                              ITEM("2", "0", "d") ITEM("2", "0", "e")),
                 &numbering, 1, "Article I. a\nArticle II. b\n2.01 c\n0th d\n1st e");
}

static void letters_and_numerals_count_on(void **state)
{
    struct buf body, expected;
    struct entry numbering = {
        "word/numbering.xml",
        NUMBERING(SCHEME("1", LEVEL("0", "lowerLetter", "%1.")) LIST("1", "1", ""))};
    buf_init(&body, 1 << 20);
    buf_init(&expected, 1 << 16);
    buf_lit(&body, "<w:document " W "><w:body>");
    for (int i = 0; i < 28; i++) {
        buf_lit(&body, ITEM("1", "0", "x"));
        buf_printf(&expected, "%s%c%s. x", i == 0 ? "" : "\n", 'a' + i % 26,
                   i == 26   ? "a"
                   : i == 27 ? "b"
                             : "");
    }
    buf_lit(&body, "</w:body></w:document>");
    buf_terminate(&body);
    buf_terminate(&expected);
    expect_parts(body.at, &numbering, 1, expected.at);
    buf_fini(&body);
    buf_fini(&expected);
}

static void styles_number_and_head_their_paragraphs(void **state)
{
    struct entry parts[] = {
        {"word/styles.xml",
         STR("<w:styles " W "><w:style w:styleId=\"berschrift1\"><w:name w:val=\"heading 1\"/>"
             "<w:pPr><w:numPr><w:numId w:val=\"1\"/></w:numPr></w:pPr></w:style>"
             "<w:style w:styleId=\"Clause\"><w:name w:val=\"Clause\"/>"
             "<w:basedOn w:val=\"berschrift1\"/></w:style>"
             "<w:style w:styleId=\"Body\"><w:name w:val=\"Body\"/><w:basedOn "
             "w:val=\"berschrift1\"/><w:pPr><w:outlineLvl w:val=\"9\"/><w:numPr><w:numId "
             "w:val=\"0\"/></w:numPr></w:pPr></w:style>"
             "<w:style w:styleId=\"Loop\"><w:name w:val=\"Loop\"/><w:basedOn w:val=\"Pool\"/>"
             "</w:style><w:style w:styleId=\"Pool\"><w:name w:val=\"Pool\"/><w:basedOn "
             "w:val=\"Loop\"/></w:style></w:styles>")},
        {"word/numbering.xml",
         NUMBERING(SCHEME("1", LEVEL("0", "decimal", "§ %1")) LIST("1", "1", ""))}};
    expect_parts(DOCUMENT(STYLED("berschrift1", "One") STYLED("Clause", "Two") STYLED(
                     "Body", "Text") STYLED("Loop", "Round") STYLED("Unknown", "End")),
                 parts, 2, "# § 1 One\n\n# § 2 Two\n\nText\n\nRound\n\nEnd");
}

static void cells_span_rows_and_columns(void **state)
{
#define CELL(properties, words) "<w:tc><w:tcPr>" properties "</w:tcPr>" P(words) "</w:tc>"
    expect_document(
        STR(DOCUMENT("<w:tbl><w:tr>" CELL("", "Type")
                         CELL("<w:gridSpan w:val=\"2\"/>",
                              "bar") "</w:tr><w:tr>" CELL("<w:vMerge w:val=\"restart\"/>", "A")
                             CELL("", "min") CELL("", "10") "</w:tr><w:tr>" CELL("<w:vMerge/>", "")
                                 CELL("", "max") CELL("", "20") "</w:tr><w:tr>" CELL(
                                     "<w:gridSpan w:val=\"3\"/>", "All three") "</w:tr></w:tbl>")),
        "Type | bar | bar\nA | min | 10\nA | max | 20\nAll three");
    /* Below the heads: a row that is divided otherwise, a wide cell, and one cell after a gap. */
    expect_document(
        STR(DOCUMENT("<w:tbl><w:tr>" CELL("<w:gridSpan w:val=\"4\"/>", "2026") CELL(
            "", "Sum") "</w:tr><w:tr>" CELL("<w:gridSpan w:val=\"2\"/>",
                                            "Q1") CELL("<w:gridSpan w:val=\"2\"/>", "Q2")
                         CELL("", "all") "</w:tr><w:tr>" CELL("<w:gridSpan w:val=\"2\"/>", "Place:")
                             CELL("<w:gridSpan w:val=\"3\"/>", "Date:") "</w:tr><w:tr>" CELL(
                                 "<w:gridSpan w:val=\"4\"/>", "estimated")
                                 CELL("", "20") "</w:tr><w:tr>"
                                                "<w:trPr><w:gridBefore w:val=\"1\"/></w:trPr>" CELL(
                                                    "<w:gridSpan w:val=\"4\"/>",
                                                    "A note") "</w:tr></w:tbl>")),
        "2026 | 2026 | 2026 | 2026 | Sum\nQ1 | Q1 | Q2 | Q2 | all\nPlace: | Date:\n"
        "estimated | | | | 20\nA note");
#undef CELL
}

#define M "xmlns:m=\"http://schemas.openxmlformats.org/officeDocument/2006/math\""
#define MR(words) "<m:r><m:t>" words "</m:t></m:r>"

static void a_cell_may_hold_nothing_but_its_number(void **state)
{
    struct entry parts[] = {
        {"word/numbering.xml",
         NUMBERING(SCHEME("1", LEVEL("0", "decimal", "%1.")) LIST("1", "1", ""))}};
#define NUMBERED "<w:tc><w:p><w:pPr><w:numPr><w:numId w:val=\"1\"/></w:numPr></w:pPr></w:p></w:tc>"
    expect_parts(DOCUMENT("<w:tbl><w:tr>" NUMBERED
                          "<w:tc>" P("Oil") "</w:tc></w:tr><w:tr>" NUMBERED
                                            "<w:tc>" P("Filter") "</w:tc></w:tr></w:tbl>"),
                 parts, 1, "1. | Oil\n2. | Filter");
#undef NUMBERED
}

static void equations_are_one_line(void **state)
{
    static const char *const equations[][2] = {
        {"<m:f><m:num>" MR("a+b") "</m:num><m:den>" MR("2c") "</m:den></m:f>", "(a+b)/2c"},
        {"<m:sSup><m:e>" MR("e") "</m:e><m:sup>" MR("-x") "</m:sup></m:sSup>", "e^-x"},
        {"<m:sSubSup><m:e>" MR("x") "</m:e><m:sub>" MR("i") "</m:sub><m:sup>" MR(
             "n+1") "</m:sup></m:sSubSup>",
         "x_i^(n+1)"},
        {"<m:rad><m:radPr/><m:deg/><m:e>" MR("x+1") "</m:e></m:rad>", "√(x+1)"},
        {"<m:rad><m:deg>" MR("3") "</m:deg><m:e>" MR("8") "</m:e></m:rad>", "√[3]8"},
        {"<m:nary><m:naryPr><m:chr m:val=\"∑\"/></m:naryPr><m:sub>" MR("i=1") "</m:sub><m:sup>" MR(
             "n") "</m:sup><m:e>" MR("i") "</m:e></m:nary>",
         "∑_(i=1)^n i"},
        {"<m:d><m:dPr><m:begChr m:val=\"[\"/><m:endChr m:val=\"]\"/></m:dPr><m:e>" MR(
             "a") "</m:e><m:e>" MR("b") "</m:e></m:d>",
         "[a,b]"},
        {"<m:m><m:mr><m:e>" MR("1") "</m:e><m:e>" MR("2") "</m:e></m:mr><m:mr><m:e>" MR(
             "3") "</m:e><m:e>" MR("4") "</m:e></m:mr></m:m>",
         "[1, 2; 3, 4]"},
        {"<m:func><m:fName>" MR("sin") "</m:fName><m:e>" MR("x") "</m:e></m:func>", "sin x"},
    };
    for (size_t i = 0; i < sizeof equations / sizeof *equations; i++) {
        struct buf xml;
        buf_init(&xml, 1 << 16);
        buf_printf(&xml,
                   "<w:document " W " " M "><w:body><w:p><m:oMath>%s</m:oMath></w:p>"
                   "</w:body></w:document>",
                   equations[i][0]);
        expect_document(buf_str(&xml), equations[i][1]);
        buf_fini(&xml);
    }
}

static void a_picture_is_described_unless_by_the_name_of_its_file(void **state)
{
#define PICTURE(description)                                                                       \
    "<w:r><w:drawing><x:inline xmlns:x=\"http://schemas.openxmlformats.org/drawingml/2006/"        \
    "wordprocessingDrawing\"><x:docPr descr=\"" description "\"/></x:inline></w:drawing></w:r>"
    expect_document(STR(DOCUMENT("<w:p>" R("Set it to") PICTURE(
                        "position 3&#10;&#10;Description automatically "
                        "generated") R(".") "</w:p><w:p>" R("End") PICTURE("logo 2.PNG") "</w:p>")),
                    "Set it to position 3.\n\nEnd");
#undef PICTURE
}

static void signs_of_symbol_fonts_are_characters(void **state)
{
    expect_document(
        STR(DOCUMENT("<w:p><w:r><w:sym w:font=\"Symbol\" w:char=\"F061\"/><w:t> </w:t>"
                     "<w:sym w:font=\"Wingdings\" w:char=\"F0FC\"/><w:sym "
                     "w:font=\"Wingdings\" w:char=\"F000\"/><w:sym w:font=\"Arial\" "
                     "w:char=\"00B5\"/><w:sym w:font=\"Arial\" w:char=\"x\"/></w:r></w:p>")),
        "α ✓µ");
}

static void a_power_is_no_ordinal(void **state)
{
#define RAISED(words)                                                                              \
    "<w:r><w:rPr><w:vertAlign w:val=\"superscript\"/></w:rPr><w:t>" words "</w:t></w:r>"
    expect_document(STR(DOCUMENT("<w:p>" R("The 1") RAISED("st") R(" of 10") RAISED("-") RAISED("6")
                                     R(" parts, ") RAISED("x") "</w:p>")),
                    "The 1st of 10^-6 parts, x");
#undef RAISED
}

static void headers_are_read_once_and_page_numbers_never(void **state)
{
#define FIELD(code)                                                                                \
    "<w:r><w:fldChar w:fldCharType=\"begin\"/></w:r><w:r><w:instrText> " code                      \
    " </w:instrText></w:r><w:r><w:fldChar w:fldCharType=\"separate\"/></w:r>" R(                   \
        "7") "<w:r><w:fldChar w:fldCharType=\"end\"/></w:r>"
#define HEADER(body) STR("<w:hdr " W ">" body "</w:hdr>")
    struct entry parts[] = {
        {"word/_rels/document.xml.rels",
         RELATIONS(RELATION("a", "header", "h1.xml") RELATION("b", "header", "../word/h2.xml")
                       RELATION("c", "header", "h1.xml") RELATION("d", "footer", "/word/f.xml")
                           RELATION("e", "header", "document.xml"))},
        {"word/h1.xml", HEADER(P("Contract 4711"))},
        {"word/h2.xml", HEADER(P("Contract 4711"))},
        {"word/f.xml",
         HEADER("<w:p>" R("Page ") FIELD("PAGE") R(" of ") FIELD("NUMPAGES \\* "
                                                                 "ARABIC") "</w:p>" P("ACME"))}};
    expect_parts(DOCUMENT(P("Text")), parts, 4, "Contract 4711\n\nText\n\nACME");
#undef FIELD
#undef HEADER
}

static void a_document_without_words_says_so(void **state)
{
    const struct entry entries[] = {{"word/document.xml", STR(DOCUMENT("<w:p/>"))}};
    expect_zip_fault(EXTRACT_DOCX, entries, COUNT(entries), EXTRACT_FAULT_NO_TEXT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paragraphs_lists_and_headings_become_lines),
        cmocka_unit_test(runs_are_put_together),
        cmocka_unit_test(tables_keep_their_rows_and_cells),
        cmocka_unit_test(what_is_deleted_moved_or_hidden_is_left_out),
        cmocka_unit_test(other_spellings_of_the_format_are_read),
        cmocka_unit_test(notes_follow_the_text),
        cmocka_unit_test(lists_are_numbered_as_printed),
        cmocka_unit_test(legal_numbers_keep_zeros_and_begin_where_they_are_told),
        cmocka_unit_test(letters_and_numerals_count_on),
        cmocka_unit_test(styles_number_and_head_their_paragraphs),
        cmocka_unit_test(cells_span_rows_and_columns),
        cmocka_unit_test(a_cell_may_hold_nothing_but_its_number),
        cmocka_unit_test(equations_are_one_line),
        cmocka_unit_test(a_picture_is_described_unless_by_the_name_of_its_file),
        cmocka_unit_test(signs_of_symbol_fonts_are_characters),
        cmocka_unit_test(a_power_is_no_ordinal),
        cmocka_unit_test(headers_are_read_once_and_page_numbers_never),
        cmocka_unit_test(a_document_without_words_says_so),
    };
    return cmocka_run_group_tests(tests, set_up_alone, tear_down);
}
