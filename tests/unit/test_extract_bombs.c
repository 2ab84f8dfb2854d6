/* SPDX-License-Identifier: MIT
 * test_extract_bombs.c - zip files of XML that are made to cost much or to be misread: each trap in
 * each format that is a zip file. They are read in children, whose limits would end them. */
#include "tests/unit/package_fixture.h"

/* A format: a document whose text is "x", and which part the traps are set in. */
struct form {
    enum extract_kind kind;
    struct entry entries[4];
    size_t n, main; /* entries, and which of them is between `head` and `tail` */
    const char *head, *tail;
    const char *right;
};

#define ODF_HEAD(kind)                                                                             \
    "<office:document-content xmlns:office=\"" ODF "office:1.0\" xmlns:text=\"" ODF                \
    "text:1.0\" xmlns:table=\"" ODF "table:1.0\" xmlns:draw=\"" ODF                                \
    "drawing:1.0\"><office:body><office:" kind ">"
#define ODF_TAIL(kind) "</office:" kind "></office:body></office:document-content>"

static const struct form forms[] = {
    {EXTRACT_DOCX,
     {{"word/document.xml", {0}}},
     1,
     0,
     "<w:document " W "><w:body>",
     P("x") "</w:body></w:document>",
     "x"},
    {EXTRACT_PPTX,
     {OF_PRESENTATION,
      PRESENTATION("<p:sldId r:id=\"a\"/>"),
      {"ppt/_rels/presentation.xml.rels", RELATIONS(RELATION("a", "slide", "a.xml"))},
      {"ppt/a.xml", {0}}},
     4,
     3,
     "<p:sld xmlns:p=\"" P_URI "\" xmlns:a=\"" A_URI "\">",
     "<p:sp><p:txBody><a:p><a:r><a:t>x</a:t></a:r></a:p></p:txBody></p:sp></p:sld>",
     "x"},
    {EXTRACT_XLSX,
     {OF_WORKBOOK,
      WORKBOOK("", "<sheet name=\"\" r:id=\"a\"/>"),
      {"xl/_rels/workbook.xml.rels", RELATIONS(RELATION("a", "worksheet", "a.xml"))},
      {"xl/a.xml", {0}}},
     4,
     3,
     "<worksheet xmlns=\"" S_URI "\">",
     "<sheetData>" ROW("1", TEXT_CELL("A1", "x")) "</sheetData></worksheet>",
     "x"},
    {EXTRACT_ODT,
     {{"content.xml", {0}}},
     1,
     0,
     ODF_HEAD("text"),
     "<text:p>x</text:p>" ODF_TAIL("text"),
     "x"},
    {EXTRACT_ODS,
     {{"content.xml", {0}}},
     1,
     0,
     ODF_HEAD("spreadsheet"),
     "<table:table><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell>"
     "</table:table-row></table:table>" ODF_TAIL("spreadsheet"),
     "x"},
    {EXTRACT_ODP,
     {{"content.xml", {0}}},
     1,
     0,
     ODF_HEAD("presentation"),
     "<draw:page><draw:frame><text:p>x</text:p></draw:frame></draw:page>" ODF_TAIL("presentation"),
     "x"},
    {EXTRACT_EPUB,
     {{"META-INF/container.xml", STR("<container><rootfile full-path=\"book.opf\"/></container>")},
      {"book.opf", {0}},
      {"a.xhtml", STR("<p>x</p>")}},
     3,
     1,
     "<package><manifest><item id=\"a\" href=\"a.xhtml\" media-type=\"text/html\"/></manifest>",
     "<spine><itemref idref=\"a\"/></spine></package>",
     "x"},
};

static struct buf zip, part;

static int set_up_bombs(void **state)
{
    buf_init(&zip, PACKAGE_MAX_BYTES);
    buf_init(&part, 2 * PACKAGE_MAX_BYTES);
    return set_up(state);
}

static int tear_down_bombs(void **state)
{
    buf_fini(&zip);
    buf_fini(&part);
    return tear_down(state);
}

/* Puts the document of a form with `bytes` as its main part into `zip`. */
static void put_form(const struct form *form, struct str bytes)
{
    struct entry entries[COUNT(form->entries)];
    memcpy(entries, form->entries, sizeof entries);
    entries[form->main].bytes = bytes;
    buf_clear(&zip);
    put_zip(&zip, entries, form->n);
}

/* Puts one whose main part begins with `before`, and has `inner` in its root. */
static void put_trap(const struct form *form, const char *before, struct str inner)
{
    buf_clear(&part);
    buf_put(&part, str_of(before));
    buf_put(&part, str_of(form->head));
    buf_put(&part, inner);
    buf_put(&part, str_of(form->tail));
    put_form(form, buf_str(&part));
}

static void expect_form(const struct form *form, enum extract_fault fault)
{
    enum extract_fault found = extract(form->kind, buf_str(&zip));
    if (found != fault)
        fail_msg("%s: '%s' and not '%s'", extract_kind_name(form->kind), extract_fault_text(found),
                 extract_fault_text(fault));
    if (fault == EXTRACT_FAULT_NONE && strcmp(text.at, form->right) != 0)
        fail_msg("%s: '%s'", extract_kind_name(form->kind), text.at);
}

#define FOR_EACH_FORM(item)                                                                        \
    for (const struct form *item = forms; item < forms + COUNT(forms); item++)

static void a_plain_document_of_each_format_is_read(void **state)
{
    FOR_EACH_FORM(form)
    {
        put_trap(form, "<?xml version=\"1.0\"?>", STR(""));
        expect_form(form, EXTRACT_FAULT_NONE);
    }
}

/* ---- XML ---- */

static void broken_xml_is_refused(void **state)
{
    static const char *const parts[] = {"", "no xml", "<a>", "<a>&unknown;</a>", "<a></b>"};
    FOR_EACH_FORM(form)
    {
        for (size_t i = 0; i < COUNT(parts); i++) {
            bool may_have_entities = form->kind == EXTRACT_EPUB && i == 3;
            put_form(form, str_of(parts[i]));
            expect_form(form, may_have_entities ? EXTRACT_FAULT_NO_TEXT : EXTRACT_FAULT_BROKEN);
        }
    }
}

/* A thousand million laughs, and a file of the machine. A book may have a document type, which is
 * passed over. */
static void entities_are_never_declared(void **state)
{
    static const char laughs[] = "<!DOCTYPE d [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b "
                                 "\"&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;\"><!ENTITY c "
                                 "\"&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;\">]>";
    static const char file[] = "<!DOCTYPE d [<!ENTITY c SYSTEM \"file:///etc/passwd\">]>";
    static const char outside[] = "<!DOCTYPE d SYSTEM \"file:///etc/passwd\">";
    FOR_EACH_FORM(form)
    {
        enum extract_fault fault =
            form->kind == EXTRACT_EPUB ? EXTRACT_FAULT_NONE : EXTRACT_FAULT_BROKEN;
        put_trap(form, laughs, STR("<a>&c;</a>"));
        expect_form(form, fault);
        put_trap(form, file, STR("<a>&c;</a>"));
        expect_form(form, fault);
        put_trap(form, outside, STR(""));
        expect_form(form, fault);
    }
}

static void a_deep_document_is_refused(void **state)
{
    struct buf deep;
    buf_init(&deep, 1 << 20);
    for (int i = 0; i < 300; i++)
        buf_lit(&deep, "<a>");
    for (int i = 0; i < 300; i++)
        buf_lit(&deep, "</a>");
    FOR_EACH_FORM(form)
    {
        put_trap(form, "", buf_str(&deep));
        expect_form(form, EXTRACT_FAULT_BROKEN);
    }
    buf_fini(&deep);
}

/* A tag with so many attributes, each with that value. */
static void expect_attributes(int n, const char *value, enum extract_fault fault)
{
    struct buf tag;
    buf_init(&tag, 8 << 20);
    buf_lit(&tag, "<a");
    for (int i = 0; i < n; i++)
        buf_printf(&tag, " a%d=%s", i, value);
    buf_lit(&tag, "/>");
    FOR_EACH_FORM(form)
    {
        put_trap(form, "", buf_str(&tag));
        expect_form(form, fault);
    }
    buf_fini(&tag);
}

static void a_tag_of_many_attributes_is_refused(void **state)
{
    expect_attributes(250, "\"1\"", EXTRACT_FAULT_NONE);
    expect_attributes(250, "'=>\"='", EXTRACT_FAULT_NONE);
    expect_attributes(300, "\"1\"", EXTRACT_FAULT_BROKEN);
    expect_attributes(300000, "\"'>\"", EXTRACT_FAULT_BROKEN);
}

/* ---- zip ---- */

static void a_part_that_inflates_beyond_reason_is_a_bomb(void **state)
{
    enum { BY_SIZE = 65 << 20, BY_RATIO = 4 << 20 };
    char *blanks = malloc(BY_SIZE);
    assert_non_null(blanks);
    memset(blanks, ' ', BY_SIZE);
    put_form(forms, (struct str){blanks, BY_SIZE});
    expect_form(forms, EXTRACT_FAULT_BOMB);
    FOR_EACH_FORM(form)
    {
        put_form(form, (struct str){blanks, BY_RATIO});
        expect_form(form, EXTRACT_FAULT_BOMB);
    }
    free(blanks);
}

static void a_zip_file_of_many_parts_is_a_bomb(void **state)
{
    enum { N = 16400 };
    static char names[N][32];
    static struct entry entries[N];
    put_trap(forms, "", STR(""));
    entries[0] = (struct entry){forms->entries[0].name, buf_str(&part)};
    for (size_t i = 1; i < N; i++) {
        snprintf(names[i], sizeof names[i], "media/%zu", i);
        entries[i] = (struct entry){names[i], STR("x")};
    }
    buf_clear(&zip);
    put_zip(&zip, entries, N);
    expect_form(forms, EXTRACT_FAULT_BOMB);
}

/* Sets bytes of the header of a part: of that in the list at the end, or of the one before it. */
static void change_header(const char *name, bool is_list, size_t at, uint32_t value, size_t bytes)
{
    size_t header_n = is_list ? 46 : 30, n = strlen(name);
    const char *sign = is_list ? "PK\x01\x02" : "PK\x03\x04";
    for (size_t i = header_n; i + n <= zip.n; i++) {
        char *header = zip.at + i - header_n;
        if (memcmp(zip.at + i, name, n) != 0 || memcmp(header, sign, 4) != 0)
            continue;
        for (size_t k = 0; k < bytes; k++)
            header[at + k] = (char)(value >> (8 * k));
        return;
    }
    fail_msg("no part %s", name);
}

static void declare_size(const char *name, uint32_t size)
{
    enum { SIZE_AT = 24 };
    change_header(name, true, SIZE_AT, size, 4);
}

static void a_part_that_lies_about_its_size_is_refused(void **state)
{
    struct buf words;
    buf_init(&words, 4 << 20);
    for (int i = 0; i < 20000; i++)
        buf_printf(&words, "<a>word %d</a>", i * 7919);
    FOR_EACH_FORM(form)
    {
        const char *name = form->entries[form->main].name;
        put_trap(form, "", buf_str(&words));
        expect_form(form, EXTRACT_FAULT_NONE);
        declare_size(name, 1000);
        enum extract_fault fault = extract(form->kind, buf_str(&zip));
        assert_true(fault == EXTRACT_FAULT_BOMB || fault == EXTRACT_FAULT_BROKEN);
        assert_int_equal(text.n, 0);
        declare_size(name, 0xfffffff0u);
        expect_form(form, EXTRACT_FAULT_BOMB);
    }
    buf_fini(&words);
}

/* A part in the middle may claim gigabytes as well, though it is never inflated. */
static void a_file_that_declares_gigabytes_is_a_bomb(void **state)
{
    FOR_EACH_FORM(form)
    {
        struct entry entries[COUNT(form->entries) + 1];
        put_trap(form, "", STR(""));
        memcpy(entries, form->entries, sizeof form->entries);
        entries[form->main].bytes = buf_str(&part);
        entries[form->n] = (struct entry){"media/image1.png", STR("image")};
        buf_clear(&zip);
        put_zip(&zip, entries, form->n + 1);
        expect_form(form, EXTRACT_FAULT_NONE);
        declare_size("media/image1.png", 0x7fffffffu);
        expect_form(form, EXTRACT_FAULT_BOMB);
    }
}

static void a_file_that_is_cut_short_is_refused(void **state)
{
    FOR_EACH_FORM(form)
    {
        put_trap(form, "", STR(""));
        for (size_t n = zip.n, step = 1; step < 20; step++) {
            zip.n = n * step / 20;
            if (extract(form->kind, buf_str(&zip)) == EXTRACT_FAULT_NONE)
                fail_msg("%s: cut to %zu bytes it was read", extract_kind_name(form->kind), zip.n);
        }
    }
}

static void an_encrypted_part_says_so(void **state)
{
    enum { FLAGS_AT = 8, LOCAL_FLAGS_AT = 6 };
    FOR_EACH_FORM(form)
    {
        const char *name = form->entries[form->main].name;
        put_trap(form, "", STR(""));
        change_header(name, true, FLAGS_AT, 1, 1);
        change_header(name, false, LOCAL_FLAGS_AT, 1, 1);
        expect_form(form, EXTRACT_FAULT_ENCRYPTED);
    }
}

static void an_encrypted_opendocument_says_so(void **state)
{
    const struct entry entries[] = {
        {"content.xml", STR("\x01\x02\x03")},
        {"META-INF/manifest.xml", STR("<m><manifest:encryption-data/></m>")}};
    expect_zip_fault(EXTRACT_ODT, entries, COUNT(entries), EXTRACT_FAULT_ENCRYPTED);
}

static void another_format_is_found_out(void **state)
{
    FOR_EACH_FORM(form)
    {
        put_trap(form, "", STR(""));
        FOR_EACH_FORM(other)
        {
            bool is_alike =
                strcmp(form->entries[form->main].name, other->entries[other->main].name) == 0;
            enum extract_fault fault = extract(other->kind, buf_str(&zip));
            if (!is_alike && fault != EXTRACT_FAULT_NOT_KIND && fault != EXTRACT_FAULT_NOT_DOCX)
                fail_msg("%s as %s: '%s'", extract_kind_name(form->kind),
                         extract_kind_name(other->kind), extract_fault_text(fault));
        }
    }
    expect_fault(EXTRACT_XLSX, STR("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), EXTRACT_FAULT_OLD_OFFICE);
    expect_fault(EXTRACT_RTF, STR("plain"), EXTRACT_FAULT_NOT_KIND);
    expect_fault(EXTRACT_JSON, STR("%PDF-1.4"), EXTRACT_FAULT_NOT_KIND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_document_of_each_format_is_read),
        cmocka_unit_test(broken_xml_is_refused),
        cmocka_unit_test(entities_are_never_declared),
        cmocka_unit_test(a_deep_document_is_refused),
        cmocka_unit_test(a_tag_of_many_attributes_is_refused),
        cmocka_unit_test(a_part_that_inflates_beyond_reason_is_a_bomb),
        cmocka_unit_test(a_zip_file_of_many_parts_is_a_bomb),
        cmocka_unit_test(a_part_that_lies_about_its_size_is_refused),
        cmocka_unit_test(a_file_that_declares_gigabytes_is_a_bomb),
        cmocka_unit_test(a_file_that_is_cut_short_is_refused),
        cmocka_unit_test(an_encrypted_part_says_so),
        cmocka_unit_test(an_encrypted_opendocument_says_so),
        cmocka_unit_test(another_format_is_found_out),
    };
    return cmocka_run_group_tests(tests, set_up_bombs, tear_down_bombs);
}
