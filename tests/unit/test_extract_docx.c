/* SPDX-License-Identifier: MIT
 * test_extract_docx.c - DOCX: what is taken of a document, and files that are traps. The files
 * are written here with libzip, some bytes are then changed. */
#include "shared/extract/extract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zip.h>

#include <cmocka.h>

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

struct entry {
    const char *name;
    struct str bytes;
};

static void put_zip(struct buf *docx, const struct entry *entries, size_t n)
{
    zip_error_t error;
    zip_stat_t info;
    zip_error_init(&error);
    zip_source_t *target = zip_source_buffer_create(NULL, 0, 0, &error);
    assert_non_null(target);
    zip_t *zip = zip_open_from_source(target, ZIP_TRUNCATE, &error);
    assert_non_null(zip);
    zip_source_keep(target);
    for (size_t i = 0; i < n; i++) {
        zip_source_t *source = zip_source_buffer(zip, entries[i].bytes.at, entries[i].bytes.n, 0);
        assert_non_null(source);
        assert_true(zip_file_add(zip, entries[i].name, source, ZIP_FL_ENC_UTF_8) >= 0);
    }
    assert_int_equal(zip_close(zip), 0);
    assert_int_equal(zip_source_open(target), 0);
    assert_int_equal(zip_source_stat(target, &info), 0);
    char *at = buf_reserve(docx, (size_t)info.size);
    assert_non_null(at);
    assert_int_equal(zip_source_read(target, at, info.size), (zip_int64_t)info.size);
    docx->n += (size_t)info.size;
    zip_source_close(target);
    zip_source_free(target);
    zip_error_fini(&error);
}

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
        "Before\n\na b | c\nd | e f\n\nAfter");
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
    enum { N = 4100 };
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
