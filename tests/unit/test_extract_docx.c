/* SPDX-License-Identifier: MIT
 * test_extract_docx.c - DOCX: what is taken of a document, and files that are traps. The files
 * are written here with libzip, some bytes are then changed. */
#include "shared/extract/extract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/zip_fixture.h"

#define W "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\""
#define MC "xmlns:mc=\"http://schemas.openxmlformats.org/markup-compatibility/2006\""
#define DOCUMENT(body)                                                                             \
    "<?xml version=\"1.0\"?><w:document " W " " MC "><w:body>" body "</w:body></w:document>"
#define R(words) "<w:r><w:t>" words "</w:t></w:r>"
#define P(words) "<w:p>" R(words) "</w:p>"

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

static enum extract_fault extract(const struct buf *docx)
{
    buf_clear(&text);
    struct text_pages pages = {0};
    enum extract_fault fault = extract_text(EXTRACT_DOCX, buf_str(docx), NULL, &text, &pages);
    buf_terminate(&text);
    assert_int_equal(pages.n, 0);
    return fault;
}

/* ---- writing ---- */

static void put_document(struct buf *docx, struct str xml)
{
    struct entry entries[] = {
        {"[Content_Types].xml", STR("<Types/>")},
        {"word/document.xml", xml},
    };
    buf_init(docx, 64 << 20);
    put_zip(docx, entries, sizeof entries / sizeof *entries);
}

static void expect(struct str xml, const char *expected)
{
    struct buf docx;
    put_document(&docx, xml);
    assert_int_equal(extract_sniff(EXTRACT_DOCX, buf_str(&docx)), EXTRACT_FAULT_NONE);
    enum extract_fault fault = extract(&docx);
    if (fault != EXTRACT_FAULT_NONE)
        fail_msg("%.*s: %s", STR_ARG(xml), extract_fault_text(fault));
    assert_string_equal(text.at, expected);
    buf_fini(&docx);
}

static void expect_fault(struct str xml, enum extract_fault expected)
{
    struct buf docx;
    put_document(&docx, xml);
    assert_string_equal(extract_fault_text(extract(&docx)), extract_fault_text(expected));
    buf_fini(&docx);
}

/* ---- documents ---- */

static void paragraphs_lists_and_headings_become_lines(void **state)
{
    expect(STR(DOCUMENT(
               "<w:p><w:pPr><w:pStyle w:val=\"Heading1\"/><w:tabs><w:tab w:pos=\"1\"/></w:tabs>"
               "</w:pPr>" R("A head") "</w:p>" P(
                   "One &amp; ") "<w:p/>"
                                 "<w:p><w:pPr><w:numPr/></w:pPr>" R(
                                     "first") "</w:p>"
                                              "<w:p><w:pPr><w:numPr/></w:pPr>" R(
                                                  "second") "</w:p>" P("After"))),
           "# A head\n\nOne &\n\n- first\n- second\n\nAfter");
}

static void runs_are_put_together(void **state)
{
    expect(STR(DOCUMENT("<w:p>" R("Par") R(
               "ley") "<w:r><w:tab/><w:t xml:space=\"preserve\"> is  "
                      "</w:t></w:r><w:hyperlink>" R(
                          "here") "</w:hyperlink><w:r><w:br/>"
                                  "<w:t>well</w:t><w:noBreakHyphen/><w:t>known</w:t></w:r></w:p>")),
           "Parley is here\nwell-known");
}

static void tables_keep_their_rows_and_cells(void **state)
{
    expect(
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
    expect(
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
    expect(STR("<document xmlns=\"http://purl.oclc.org/ooxml/wordprocessingml/main\"><body><p><r>"
               "<t>strict</t></r></p></body></document>"),
           "strict");
    expect(
        STR("\xff\xfe<\0d\0 \0x\0m\0l\0n\0s\0=\0'\0h\0t\0t\0p\0:\0/\0/\0p\0u\0r\0l\0.\0o\0c\0l\0c\0"
            ".\0o\0r\0g\0/\0o\0o\0x\0m\0l\0/\0w\0o\0r\0d\0p\0r\0o\0c\0e\0s\0s\0i\0n\0g\0m\0l\0/\0"
            "m\0a\0i\0n\0'\0>\0<\0r\0>\0<\0t\0>\0u\0<\0/\0t\0>\0<\0/\0r\0>\0<\0/\0d\0>\0"),
        "u");
}

static void notes_follow_the_text(void **state)
{
    struct buf docx;
    struct entry entries[] = {
        {"word/footnotes.xml",
         STR("<w:footnotes " W "><w:footnote>" P("A note.") "</w:footnote></w:footnotes>")},
        {"word/document2.xml", STR(DOCUMENT(P("The text.")))},
    };
    buf_init(&docx, 1 << 20);
    put_zip(&docx, entries, 2);
    assert_int_equal(extract(&docx), EXTRACT_FAULT_NONE);
    assert_string_equal(text.at, "The text.\n\nA note.");
    buf_fini(&docx);
}

/* ---- parts ---- */

/* A document of a body and other parts, which have their usual names. */
static void expect_parts(const char *body, struct entry *others, size_t other_n,
                         const char *expected)
{
    struct entry entries[8] = {{"word/document.xml", str_of(body)}};
    struct buf docx;
    assert_in_range(other_n, 0, 7);
    memcpy(entries + 1, others, other_n * sizeof *others);
    buf_init(&docx, 8 << 20);
    put_zip(&docx, entries, other_n + 1);
    enum extract_fault fault = extract(&docx);
    if (fault != EXTRACT_FAULT_NONE)
        fail_msg("%s: %s", body, extract_fault_text(fault));
    assert_string_equal(text.at, expected);
    buf_fini(&docx);
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
    expect(STR(DOCUMENT("<w:tbl><w:tr>" CELL("", "Type") CELL(
               "<w:gridSpan w:val=\"2\"/>",
               "bar") "</w:tr><w:tr>" CELL("<w:vMerge w:val=\"restart\"/>", "A") CELL("", "min")
                            CELL("", "10") "</w:tr><w:tr>" CELL("<w:vMerge/>", "") CELL("", "max")
                                CELL("", "20") "</w:tr><w:tr>" CELL(
                                    "<w:gridSpan w:val=\"3\"/>", "All three") "</w:tr></w:tbl>")),
           "Type | bar | bar\nA | min | 10\nA | max | 20\nAll three");
    /* Below the heads: a row that is divided otherwise, a wide cell, and one cell after a gap. */
    expect(STR(DOCUMENT(
               "<w:tbl><w:tr>" CELL("<w:gridSpan w:val=\"4\"/>", "2026")
                   CELL("", "Sum") "</w:tr><w:tr>" CELL("<w:gridSpan w:val=\"2\"/>", "Q1")
                       CELL("<w:gridSpan w:val=\"2\"/>", "Q2") CELL("", "all") "</w:tr><w:tr>" CELL(
                           "<w:gridSpan w:val=\"2\"/>", "Place:")
                           CELL("<w:gridSpan w:val=\"3\"/>", "Date:") "</w:tr><w:tr>" CELL(
                               "<w:gridSpan w:val=\"4\"/>", "estimated")
                               CELL("", "20") "</w:tr><w:tr>"
                                              "<w:trPr><w:gridBefore w:val=\"1\"/></w:trPr>" CELL(
                                                  "<w:gridSpan w:val=\"4\"/>",
                                                  "A note") "</w:tr></w:tbl>")),
           "2026 | 2026 | 2026 | 2026 | Sum\nQ1 | Q1 | Q2 | Q2 | all\nPlace: | Date:\n"
           "estimated |  |  |  | 20\nA note");
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
        expect(buf_str(&xml), equations[i][1]);
        buf_fini(&xml);
    }
}

static void a_picture_is_described_unless_by_the_name_of_its_file(void **state)
{
#define PICTURE(description)                                                                       \
    "<w:r><w:drawing><x:inline xmlns:x=\"http://schemas.openxmlformats.org/drawingml/2006/"        \
    "wordprocessingDrawing\"><x:docPr descr=\"" description "\"/></x:inline></w:drawing></w:r>"
    expect(STR(DOCUMENT("<w:p>" R("Set it to") PICTURE(
               "position 3&#10;&#10;Description automatically "
               "generated") R(".") "</w:p><w:p>" R("End") PICTURE("logo 2.PNG") "</w:p>")),
           "Set it to position 3.\n\nEnd");
#undef PICTURE
}

static void signs_of_symbol_fonts_are_characters(void **state)
{
    expect(STR(DOCUMENT("<w:p><w:r><w:sym w:font=\"Symbol\" w:char=\"F061\"/><w:t> </w:t>"
                        "<w:sym w:font=\"Wingdings\" w:char=\"F0FC\"/><w:sym "
                        "w:font=\"Wingdings\" w:char=\"F000\"/><w:sym w:font=\"Arial\" "
                        "w:char=\"00B5\"/><w:sym w:font=\"Arial\" w:char=\"x\"/></w:r></w:p>")),
           "α ✓µ");
}

static void a_power_is_no_ordinal(void **state)
{
#define RAISED(words)                                                                              \
    "<w:r><w:rPr><w:vertAlign w:val=\"superscript\"/></w:rPr><w:t>" words "</w:t></w:r>"
    expect(STR(DOCUMENT("<w:p>" R("The 1") RAISED("st") R(" of 10") RAISED("-") RAISED("6")
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
#define RELATION(id, type, target)                                                                 \
    "<Relationship Id=\"" id "\" Type=\"http://x/relationships/" type "\" Target=\"" target "\"/>"
    struct entry parts[] = {
        {"word/_rels/document.xml.rels",
         STR("<Relationships "
             "xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">" RELATION(
                 "a", "header", "h1.xml") RELATION("b", "header", "../word/h2.xml")
                 RELATION("c", "header", "h1.xml") RELATION("d", "footer", "/word/f.xml")
                     RELATION("e", "header", "document.xml") "</Relationships>")},
        {"word/h1.xml", HEADER(P("Contract 4711"))},
        {"word/h2.xml", HEADER(P("Contract 4711"))},
        {"word/f.xml",
         HEADER("<w:p>" R("Page ") FIELD("PAGE") R(" of ") FIELD("NUMPAGES \\* "
                                                                 "ARABIC") "</w:p>" P("ACME"))}};
    expect_parts(DOCUMENT(P("Text")), parts, 4, "Contract 4711\n\nText\n\nACME");
#undef FIELD
#undef HEADER
#undef RELATION
}

/* ---- traps ---- */

static void a_document_without_words_says_so(void **state)
{
    expect_fault(STR(DOCUMENT("<w:p/>")), EXTRACT_FAULT_NO_TEXT);
}

static void broken_xml_is_refused(void **state)
{
    expect_fault(STR(""), EXTRACT_FAULT_BROKEN);
    expect_fault(STR("no xml"), EXTRACT_FAULT_BROKEN);
    expect_fault(STR("<w:document " W "><w:body>" P("x")), EXTRACT_FAULT_BROKEN);
    expect_fault(STR("<document>&unknown;</document>"), EXTRACT_FAULT_BROKEN);
}

static void entities_are_never_declared(void **state)
{
    expect_fault(STR("<!DOCTYPE d [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;\">]>"
                     "<w:document " W "><w:r><w:t>&b;</w:t></w:r></w:document>"),
                 EXTRACT_FAULT_BROKEN);
    expect_fault(STR("<!DOCTYPE d SYSTEM \"file:///etc/passwd\"><w:document " W "/>"),
                 EXTRACT_FAULT_BROKEN);
}

static void a_deep_document_is_refused(void **state)
{
    struct buf xml;
    buf_init(&xml, 1 << 20);
    for (int i = 0; i < 300; i++)
        buf_lit(&xml, "<a>");
    for (int i = 0; i < 300; i++)
        buf_lit(&xml, "</a>");
    expect_fault(buf_str(&xml), EXTRACT_FAULT_BROKEN);
    buf_fini(&xml);
}

/* A tag with so many attributes, each value as given, in the middle of a document. */
static void expect_attributes(int n, const char *value, enum extract_fault fault)
{
    struct buf xml;
    buf_init(&xml, 8 << 20);
    buf_lit(&xml, "<w:document " W "><w:body><w:p");
    for (int i = 0; i < n; i++)
        buf_printf(&xml, " a%d=%s", i, value);
    buf_lit(&xml, "><w:r><w:t>x = '&lt;'</w:t></w:r></w:p></w:body></w:document>");
    expect_fault(buf_str(&xml), fault);
    buf_fini(&xml);
}

static void a_tag_of_many_attributes_is_refused(void **state)
{
    expect_attributes(250, "\"1\"", EXTRACT_FAULT_NONE);
    expect_attributes(250, "'=>\"='", EXTRACT_FAULT_NONE);
    expect_attributes(300, "\"1\"", EXTRACT_FAULT_BROKEN);
    expect_attributes(300000, "\"'>\"", EXTRACT_FAULT_BROKEN);
}

static char *make_blanks(size_t n)
{
    char *blanks = malloc(n);
    assert_non_null(blanks);
    memset(blanks, ' ', n);
    return blanks;
}

static void a_part_that_inflates_beyond_reason_is_a_bomb(void **state)
{
    size_t n = 65 << 20;
    char *blanks = make_blanks(n);
    expect_fault((struct str){blanks, n}, EXTRACT_FAULT_BOMB);       /* by its size */
    expect_fault((struct str){blanks, 4 << 20}, EXTRACT_FAULT_BOMB); /* by its ratio */
    free(blanks);
}

static void many_parts_are_a_bomb(void **state)
{
    struct buf docx;
    enum { N = 16400 };
    static char names[N][32];
    static struct entry entries[N];
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], i == 0 ? "word/document.xml" : "word/media/%d", i);
        entries[i] = (struct entry){names[i], STR(DOCUMENT(P("x")))};
    }
    buf_init(&docx, 8 << 20);
    put_zip(&docx, entries, N);
    assert_int_equal(extract(&docx), EXTRACT_FAULT_BOMB);
    buf_fini(&docx);
}

/* Sets the size of the entry `name` in the central directory. */
static void declare_size(struct buf *docx, const char *name, uint32_t size)
{
    enum { HEADER_BYTES = 46, SIZE_AT = 24 };
    size_t n = strlen(name);
    for (size_t i = HEADER_BYTES; i + n <= docx->n; i++) {
        char *header = docx->at + i - HEADER_BYTES;
        if (memcmp(docx->at + i, name, n) != 0 || memcmp(header, "PK\x01\x02", 4) != 0)
            continue;
        for (int k = 0; k < 4; k++)
            header[SIZE_AT + k] = (char)(size >> (8 * k));
        return;
    }
    fail_msg("no entry %s", name);
}

static void a_part_that_lies_about_its_size_is_refused(void **state)
{
    struct buf docx, xml;
    buf_init(&xml, 4 << 20);
    buf_lit(&xml, "<w:document " W "><w:body>");
    for (int i = 0; i < 20000; i++)
        buf_printf(&xml, "<w:p><w:r><w:t>word %d</w:t></w:r></w:p>", i * 7919);
    buf_lit(&xml, "</w:body></w:document>");
    put_document(&docx, buf_str(&xml));
    assert_int_equal(extract(&docx), EXTRACT_FAULT_NONE);
    declare_size(&docx, "word/document.xml", 1000);
    enum extract_fault fault = extract(&docx);
    assert_true(fault == EXTRACT_FAULT_BOMB || fault == EXTRACT_FAULT_BROKEN);
    assert_int_equal(text.n, 0);
    declare_size(&docx, "word/document.xml", 0xfffffff0u);
    assert_int_equal(extract(&docx), EXTRACT_FAULT_BOMB);
    buf_fini(&docx);
    buf_fini(&xml);
}

/* A part in the middle may claim gigabytes as well, though it is never inflated. */
static void a_file_that_declares_gigabytes_is_a_bomb(void **state)
{
    struct buf docx;
    struct entry entries[] = {
        {"word/document.xml", STR(DOCUMENT(P("x")))},
        {"word/media/image1.png", STR("image")},
    };
    buf_init(&docx, 1 << 20);
    put_zip(&docx, entries, 2);
    assert_int_equal(extract(&docx), EXTRACT_FAULT_NONE);
    declare_size(&docx, "word/media/image1.png", 0x7fffffffu);
    assert_int_equal(extract(&docx), EXTRACT_FAULT_BOMB);
    buf_fini(&docx);
}

static void a_file_that_is_cut_short_is_broken(void **state)
{
    struct buf docx;
    put_document(&docx, STR(DOCUMENT(P("x"))));
    size_t n = docx.n;
    for (size_t cut = 1; cut < n; cut += 7) {
        struct buf shorter = docx;
        shorter.n = n - cut;
        if (extract(&shorter) == EXTRACT_FAULT_NONE)
            fail_msg("cut by %zu bytes it was read", cut);
    }
    buf_fini(&docx);
}

static void another_zip_file_is_no_document(void **state)
{
    struct buf docx;
    struct entry entries[] = {{"xl/workbook.xml", STR("<workbook/>")}};
    buf_init(&docx, 1 << 20);
    put_zip(&docx, entries, 1);
    assert_int_equal(extract_sniff(EXTRACT_DOCX, buf_str(&docx)), EXTRACT_FAULT_NOT_DOCX);
    assert_int_equal(extract(&docx), EXTRACT_FAULT_NOT_DOCX);
    buf_fini(&docx);
}

static void an_encrypted_document_says_so(void **state)
{
    enum { FLAGS_AT = 8, LOCAL_FLAGS_AT = 6 };
    struct buf docx;
    put_document(&docx, STR(DOCUMENT(P("x"))));
    for (size_t i = 0; i + 46 < docx.n; i++) {
        if (memcmp(docx.at + i, "PK\x01\x02", 4) == 0)
            docx.at[i + FLAGS_AT] |= 1;
        if (memcmp(docx.at + i, "PK\x03\x04", 4) == 0)
            docx.at[i + LOCAL_FLAGS_AT] |= 1;
    }
    assert_string_equal(extract_fault_text(extract(&docx)),
                        extract_fault_text(EXTRACT_FAULT_ENCRYPTED));
    buf_fini(&docx);
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
        cmocka_unit_test(broken_xml_is_refused),
        cmocka_unit_test(entities_are_never_declared),
        cmocka_unit_test(a_deep_document_is_refused),
        cmocka_unit_test(a_tag_of_many_attributes_is_refused),
        cmocka_unit_test(a_part_that_inflates_beyond_reason_is_a_bomb),
        cmocka_unit_test(many_parts_are_a_bomb),
        cmocka_unit_test(a_part_that_lies_about_its_size_is_refused),
        cmocka_unit_test(a_file_that_declares_gigabytes_is_a_bomb),
        cmocka_unit_test(a_file_that_is_cut_short_is_broken),
        cmocka_unit_test(another_zip_file_is_no_document),
        cmocka_unit_test(an_encrypted_document_says_so),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
