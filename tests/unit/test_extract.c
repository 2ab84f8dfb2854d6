/* SPDX-License-Identifier: MIT
 * test_extract.c - shared/extract/extract.h: text, web pages and PDF files, good and bad. The
 * documents are written here; only an encrypted PDF comes from a file. DOCX is in
 * test_extract_docx.c. */
#include "shared/extract/sandbox.h"
#include "tests/unit/extract_fixture.h"

/* ---- names and signatures ---- */

static void a_kind_is_known_by_the_ending_of_a_name(void **state)
{
    static const struct {
        const char *name;
        enum extract_kind kind;
    } names[] = {{"a.txt", EXTRACT_TEXT},    {"a.MD", EXTRACT_TEXT},   {"a.b.Html", EXTRACT_HTML},
                 {"a.htm", EXTRACT_HTML},    {"a.DOCX", EXTRACT_DOCX}, {"a.pdf", EXTRACT_PDF},
                 {"a.doc", EXTRACT_NONE},    {".pdf", EXTRACT_NONE},   {"pdf", EXTRACT_NONE},
                 {"a.pdf.exe", EXTRACT_NONE}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(extract_kind_of(str_of(names[i].name)), names[i].kind);
    for (int kind = 1; kind < EXTRACT_KIND_NR; kind++)
        assert_int_equal(extract_kind_named(str_of(extract_kind_name((enum extract_kind)kind))),
                         kind);
    assert_int_equal(extract_kind_named(STR("none")), EXTRACT_NONE);
    assert_int_equal(extract_kind_named(STR("exe")), EXTRACT_NONE);
    assert_string_equal(extract_content_type(STR("a.TEXT")), "text/plain");
    assert_string_equal(extract_content_type(STR("a.markdown")), "text/markdown");
    assert_string_equal(extract_content_type(STR("a.xhtml")), "text/html");
    assert_null(extract_content_type(STR("a.doc")));
}

static void a_file_that_is_not_read_says_what_to_send_instead(void **state)
{
    static const struct {
        const char *name;
        enum extract_fault fault;
    } names[] = {{"a.doc", EXTRACT_FAULT_OLD_OFFICE},
                 {"a.b.XLS", EXTRACT_FAULT_OLD_OFFICE},
                 {"scan.JPEG", EXTRACT_FAULT_KIND_IMAGE},
                 {"a.tar.gz", EXTRACT_FAULT_KIND_ARCHIVE},
                 {"a.pages", EXTRACT_FAULT_KIND_OFFICE},
                 {"a.mp4", EXTRACT_FAULT_KIND_MEDIA},
                 {"a.exe", EXTRACT_FAULT_KIND},
                 {"zip", EXTRACT_FAULT_KIND},
                 {"", EXTRACT_FAULT_KIND},
                 {".", EXTRACT_FAULT_KIND},
                 {"a.", EXTRACT_FAULT_KIND},
                 {"a.z,7z", EXTRACT_FAULT_KIND}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(extract_refusal(str_of(names[i].name)), names[i].fault);
}

static void a_file_with_a_lying_ending_is_found_out(void **state)
{
    static const struct {
        enum extract_kind kind;
        struct str bytes;
        enum extract_fault fault;
    } files[] = {
        {EXTRACT_TEXT, {"plain", 5}, EXTRACT_FAULT_NONE},
        {EXTRACT_TEXT, {"\xff\xfe\x61\0", 4}, EXTRACT_FAULT_NONE},
        {EXTRACT_TEXT, {"caf\xe9", 4}, EXTRACT_FAULT_NONE},
        {EXTRACT_TEXT, {"%PDF-1.4 x", 10}, EXTRACT_FAULT_NOT_TEXT},
        {EXTRACT_TEXT, {"PK\x03\x04rest", 8}, EXTRACT_FAULT_NOT_TEXT},
        {EXTRACT_TEXT, {"a\0b", 3}, EXTRACT_FAULT_NONE},
        {EXTRACT_TEXT, {"a\0\0\0b", 5}, EXTRACT_FAULT_NOT_TEXT},
        {EXTRACT_TEXT, {"\xff\xfe\x61", 3}, EXTRACT_FAULT_NOT_TEXT},
        {EXTRACT_TEXT,
         {"\x7f"
          "ELF\x02\x01\x01",
          7},
         EXTRACT_FAULT_NOT_TEXT},
        {EXTRACT_TEXT, {"", 0}, EXTRACT_FAULT_EMPTY},
        {EXTRACT_HTML, {"<p>x", 4}, EXTRACT_FAULT_NONE},
        {EXTRACT_HTML, {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16}, EXTRACT_FAULT_NOT_HTML},
        {EXTRACT_PDF, {"%PDF-1.7\n", 9}, EXTRACT_FAULT_NONE},
        {EXTRACT_PDF, {"\n junk %PDF-1.7\n", 16}, EXTRACT_FAULT_NONE},
        {EXTRACT_PDF, {"hello", 5}, EXTRACT_FAULT_NOT_PDF},
        {EXTRACT_PDF, {"", 0}, EXTRACT_FAULT_EMPTY},
        {EXTRACT_DOCX, {"PK\x03\x04 word/document.xml", 22}, EXTRACT_FAULT_NONE},
        {EXTRACT_DOCX, {"PK\x03\x04 xl/workbook.xml", 20}, EXTRACT_FAULT_NOT_DOCX},
        {EXTRACT_DOCX, {"%PDF-1.7\n", 9}, EXTRACT_FAULT_NOT_DOCX},
        {EXTRACT_DOCX, {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8}, EXTRACT_FAULT_OLD_OFFICE},
        {EXTRACT_NONE, {"x", 1}, EXTRACT_FAULT_KIND},
        {EXTRACT_NONE, {"", 0}, EXTRACT_FAULT_KIND},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (extract_sniff(files[i].kind, files[i].bytes) != files[i].fault)
            fail_msg("file %zu: '%s'", i,
                     extract_fault_text(extract_sniff(files[i].kind, files[i].bytes)));
}

static void every_fault_has_a_sentence_for_people(void **state)
{
    for (int fault = 1; fault < EXTRACT_FAULT_NR; fault++) {
        const char *sentence = extract_fault_text((enum extract_fault)fault);
        assert_true(strlen(sentence) > 10);
        assert_int_equal(sentence[strlen(sentence) - 1], '.');
        assert_in_range(extract_fault_status((enum extract_fault)fault), 65, 125);
    }
}

/* ---- text ---- */

static void text_becomes_clean_utf8(void **state)
{
    expect(EXTRACT_TEXT, STR("# A\r\nb\rc\fd\te\x01\n"), "# A\nb\nc\n\nd\te\n");
    expect(EXTRACT_TEXT, STR("\xef\xbb\xbfna\xc3\xafve \xe9 \xf0\x9f\x98\x80 \xed\xa0\x80"),
           "na\xc3\xafve \xef\xbf\xbd \xf0\x9f\x98\x80 \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_int_equal(extract(EXTRACT_TEXT, STR("")), EXTRACT_FAULT_EMPTY);
    assert_int_equal(extract(EXTRACT_TEXT, STR(" \r\n\t")), EXTRACT_FAULT_NO_TEXT);
}

static void utf16_with_a_byte_order_mark_is_converted(void **state)
{
    expect(EXTRACT_TEXT,
           STR("\xff\xfe"
               "A\0\xef\0\x0d\0\x0a\0\x3d\xd8\x00\xde\xac\x20"),
           "A\xc3\xaf\n\xf0\x9f\x98\x80\xe2\x82\xac");
    expect(EXTRACT_TEXT, STR("\xfe\xff\0A\0\xef\xd8\x3d\xde\x00\x20\xac"),
           "A\xc3\xaf\xf0\x9f\x98\x80\xe2\x82\xac");
    /* Halves of pairs, and half of a unit. */
    buf_clear(&text);
    assert_int_equal(extract_put_text(&text, STR("\xfe\xff\xd8\x3d\0x\xde\x00\xd8\x3d\0")),
                     EXTRACT_FAULT_NONE);
    buf_terminate(&text);
    assert_string_equal(text.at, "\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd");
    expect(EXTRACT_HTML, STR("\xff\xfe<\0p\0>\0h\0i\0"), "hi");
}

/* ---- web pages ---- */

static void a_page_leaves_what_people_read(void **state)
{
    static const char *const pages[][2] = {
        {"a &lt; b < c", "a < b < c"},
        {"<p>one</p><p>two</p>", "one\n\ntwo"},
        {"<p>one<p>two <b>three</b>\n four", "one\n\ntwo three four"},
        {"x<br>y<!-- z -->", "x\ny"},
        {"<ul><li>a</li><li>b</li></ul>c", "- a\n- b\n\nc"},
        {"<ul><li></li><li><p>b</p></li></ul><h3></h3>c", "- b\n\nc"},
        {"<h1>A</h1><h2 id=brakes>B b</h2><p>c</p><h2 id='a b'>D</h2>",
         "# A\n\n## B b {#brakes}\n\nc\n\n## D"},
        {"<SCRIPT>x</SCRIPT >after", "after"},
        {"<p>a<style>p { color: red }</style>b<noscript>no</noscript></p>", "ab"},
        {"&#x41;&#66;&bogus;&amp;&eacute;&euro;&nbsp;x", "AB&bogus;&\xc3\xa9\xe2\x82\xac x"},
        {"<title>The &lt;page&gt;</title><h1>Head</h1>text", "# The <page>\n\n# Head\n\ntext"},
        {"<title> Head </title><h1>Head</h1>text", "# Head\n\ntext"},
        {"<pre>if (a)\n    b();\n\n\n\nc\n</pre>d", "if (a)\n    b();\n\nc\n\nd"},
        {"<table><tr><th>a</th><th>b</th></tr><tr><td><p>1</p></td><td>2<br>3</td></tr></table>z",
         "a | b\n1 | 2 3\n\nz"},
        {"<table><tr><td>a<td><td>c<tr><td>d</table>", "a | | c\nd"},
        {"<div>a</div><div hidden>b</div><div aria-hidden=true>c</div>d", "a\nd"},
    };
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        expect(EXTRACT_HTML, str_of(pages[i][0]), pages[i][1]);
}

static void a_page_loses_the_clutter_of_its_site(void **state)
{
    expect(
        EXTRACT_HTML,
        STR("<body><nav><ul><li>Home</li><li>About</li></ul></nav><div role=navigation>Menu</div>"
            "<h1>Leases</h1><article><p>A lease ends.</p><footer>By A. Uthor</footer></article>"
            "<aside>Advert</aside><button>Copy</button><footer>Imprint</footer></body>"),
        "# Leases\n\nA lease ends.\n\nBy A. Uthor");
    expect(EXTRACT_HTML,
           STR("<body><div>Sidebar</div><main><h1>Leases</h1><p>text</main><div>Next</div></body>"),
           "# Leases\n\ntext");
    /* Two of them, or an empty one: then the page is taken whole. */
    expect(EXTRACT_HTML, STR("<main>a</main><main>b</main>"), "a\nb");
    expect(EXTRACT_HTML, STR("<main> </main><p>b"), "b");
    /* Nothing but clutter: better than nothing. */
    expect(EXTRACT_HTML, STR("<nav>All there is</nav><script>x</script>"), "All there is");
    assert_int_equal(extract(EXTRACT_HTML, STR("<title></title><p> </p><script>x</script>")),
                     EXTRACT_FAULT_NO_TEXT);
    assert_int_equal(extract(EXTRACT_HTML, STR("<script>never closed")), EXTRACT_FAULT_NO_TEXT);
}

/* More of them are in test_extract_encoding.c. */
static void a_page_of_another_encoding_is_read(void **state)
{
    expect(EXTRACT_HTML, STR("<meta charset=\"iso-8859-1\"><p>caf\xe9"), "caf\xc3\xa9");
    expect(EXTRACT_HTML, STR("<p>caf\xe9"), "caf\xc3\xa9");
    expect(EXTRACT_HTML, STR("<meta charset=utf-8><p>caf\xe9 \xc3\xa9"),
           "caf\xef\xbf\xbd \xc3\xa9");
    expect(EXTRACT_HTML, STR("<meta charset=iso-8859-1><p>\xc3\xa9"), "\xc3\xa9");
    expect(
        EXTRACT_HTML,
        STR("<meta http-equiv=Content-Type content='text/html; charset=windows-1251'><p>\xcf\xf0"),
        "\xd0\x9f\xd1\x80");
}

static void put_times(struct buf *b, const char *s, int n)
{
    for (int i = 0; i < n; i++)
        buf_put(b, str_of(s));
}

/* Each of them took libxml2 20 to 50 seconds. */
static void a_page_that_is_made_to_take_long_is_read_in_the_time_of_its_size(void **state)
{
    struct buf page;
    buf_init(&page, 4 << 20);
    buf_lit(&page, "<p ");
    for (int i = 0; i < 220000; i++)
        buf_printf(&page, "a%d=1 ", i);
    buf_lit(&page, ">text");
    expect(EXTRACT_HTML, buf_str(&page), "text");
    buf_clear(&page);
    put_times(&page, "<div>", 20000);
    put_times(&page, "</p></x></b>", 190000);
    buf_lit(&page, "text");
    expect(EXTRACT_HTML, buf_str(&page), "text");
    buf_fini(&page);
}

static void a_page_loads_nothing_and_knows_no_entities_of_its_own(void **state)
{
    expect(EXTRACT_HTML,
           STR("<!DOCTYPE html SYSTEM \"file:///etc/passwd\" [<!ENTITY x SYSTEM "
               "\"file:///etc/passwd\">]><p>a&x;b"),
           "]>\n\na&x;b");
}

static void a_deep_page_is_no_danger(void **state)
{
    struct buf page;
    buf_init(&page, 4 << 20);
    for (int i = 0; i < 100000; i++)
        buf_lit(&page, "<div>");
    buf_lit(&page, "deep");
    assert_int_equal(extract(EXTRACT_HTML, buf_str(&page)), EXTRACT_FAULT_NONE);
    assert_string_equal(text.at, "deep");
    buf_fini(&page);
}

/* ---- PDF ---- */

/* A PDF of `page_n` pages, each with a line of its own; without words when `word` is NULL. */
static void put_pdf(struct buf *pdf, unsigned page_n, const char *word)
{
    size_t *offsets = calloc(page_n * 2 + 4, sizeof *offsets);
    unsigned n = 0, object_n = 3 + page_n * 2;
    assert_non_null(offsets);
    buf_lit(pdf, "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n");
    offsets[++n] = pdf->n;
    buf_lit(pdf, "1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n");
    offsets[++n] = pdf->n;
    buf_lit(pdf, "2 0 obj<</Type/Pages/Kids[");
    for (unsigned i = 0; i < page_n; i++)
        buf_printf(pdf, "%u 0 R ", 4 + i * 2);
    buf_printf(pdf, "]/Count %u>>endobj\n", page_n);
    offsets[++n] = pdf->n;
    buf_lit(pdf, "3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n");
    for (unsigned i = 0; i < page_n; i++) {
        char content[200] = "0 0 10 10 re f";
        if (word != NULL)
            snprintf(content, sizeof content, "BT /F1 12 Tf 50 700 Td (%s %u.) Tj ET", word, i + 1);
        offsets[++n] = pdf->n;
        buf_printf(pdf,
                   "%u 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents %u 0 R"
                   "/Resources<</Font<</F1 3 0 R>>>>>>endobj\n",
                   4 + i * 2, 5 + i * 2);
        offsets[++n] = pdf->n;
        buf_printf(pdf, "%u 0 obj<</Length %zu>>stream\n%s\nendstream endobj\n", 5 + i * 2,
                   strlen(content) + 1, content);
    }
    size_t table = pdf->n;
    buf_printf(pdf, "xref\n0 %u\n0000000000 65535 f \n", object_n + 1);
    for (unsigned i = 1; i <= object_n; i++)
        buf_printf(pdf, "%010zu 00000 n \n", offsets[i]);
    buf_printf(pdf, "trailer<</Size %u/Root 1 0 R>>\nstartxref\n%zu\n%%%%EOF\n", object_n + 1,
               table);
    free(offsets);
}

static void has_pdftotext(void)
{
    char *program = sandbox_find_program("pdftotext");
    if (program == NULL)
        skip();
    free(program);
}

static void a_pdf_of_300_pages_is_read_whole(void **state)
{
    struct buf pdf;
    has_pdftotext();
    buf_init(&pdf, 1 << 20);
    put_pdf(&pdf, 300, "This is page");
    assert_int_equal(extract(EXTRACT_PDF, buf_str(&pdf)), EXTRACT_FAULT_NONE);
    const char *at = text.at;
    for (unsigned i = 1; i <= 300; i++) {
        char line[32];
        snprintf(line, sizeof line, "This is page %u.\n", i);
        at = strstr(at, line);
        if (at == NULL)
            fail_msg("page %u is missing or misplaced", i);
        assert_int_equal(text_pages_find(&paged, (size_t)(at - text.at)), i);
    }
    assert_int_equal(paged.n, 300);
    buf_fini(&pdf);
}

static void a_pdf_without_words_is_called_a_scan(void **state)
{
    struct buf pdf;
    has_pdftotext();
    buf_init(&pdf, 1 << 16);
    put_pdf(&pdf, 2, NULL);
    assert_int_equal(extract(EXTRACT_PDF, buf_str(&pdf)), EXTRACT_FAULT_SCANNED);
    buf_fini(&pdf);
}

static void a_broken_pdf_is_called_broken(void **state)
{
    struct buf pdf;
    has_pdftotext();
    assert_int_equal(extract(EXTRACT_PDF, STR("")), EXTRACT_FAULT_EMPTY);
    assert_int_equal(extract(EXTRACT_PDF, STR("%PDF-1.4 and then nothing that makes sense")),
                     EXTRACT_FAULT_PDF_BROKEN);
    buf_init(&pdf, 1 << 16);
    put_pdf(&pdf, 3, "This is page");
    memset(pdf.at + 20, 'x', pdf.n / 2);
    assert_int_equal(extract(EXTRACT_PDF, buf_str(&pdf)), EXTRACT_FAULT_PDF_BROKEN);
    buf_fini(&pdf);
}

static void an_encrypted_pdf_is_called_encrypted(void **state)
{
    struct buf pdf;
    has_pdftotext();
    buf_init(&pdf, 1 << 16);
    FILE *file = fopen("tests/unit/fixtures/encrypted.pdf", "r");
    assert_non_null(file);
    char *at = buf_reserve(&pdf, 8192);
    pdf.n = fread(at, 1, 8192, file);
    fclose(file);
    assert_in_range(pdf.n, 100, 8191);
    assert_int_equal(extract_sniff(EXTRACT_PDF, buf_str(&pdf)), EXTRACT_FAULT_NONE);
    assert_int_equal(extract(EXTRACT_PDF, buf_str(&pdf)), EXTRACT_FAULT_PDF_ENCRYPTED);
    buf_fini(&pdf);
}

/* ---- waiting ---- */

static void form_feeds_of_a_reader_are_pages(void **state)
{
    static const struct {
        const char *printed, *text;
        uint32_t starts[4], n;
    } cases[] = {
        {"", "", {0}, 1},
        {"One", "One", {0}, 1},
        {"One\f", "One", {0}, 1},
        {"One\fTwo", "One\n\nTwo", {0, 5}, 2},
        {"One\n\n\fTwo\n\n\f", "One\n\nTwo\n\n", {0, 5}, 2},
        {"half a \fsentence", "half a sentence", {0, 7}, 2},
        {"\f\fThree\f", "Three", {0, 0, 0}, 3},
        {"\x01\r\n\fTwo\x02", "\nTwo", {0, 1}, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buf_clear(&text);
        text_pages_fini(&paged);
        extract_put_paged(&text, str_of(cases[i].printed), &paged);
        assert_true(str_eq(text.n == 0 ? STR("") : buf_str(&text), str_of(cases[i].text)));
        assert_int_equal(paged.n, cases[i].n);
        assert_memory_equal(paged.starts, cases[i].starts, paged.n * sizeof *paged.starts);
    }
}

static void formats_without_pages_have_none(void **state)
{
    expect(EXTRACT_TEXT, STR("One\fTwo"), "One\n\nTwo");
    assert_int_equal(paged.n, 0);
    expect(EXTRACT_HTML, STR("<p>One"), "One");
    assert_int_equal(paged.n, 0);
}

static void reading_stops_on_request(void **state)
{
    atomic_bool is_stopping = true;
    buf_clear(&text);
    assert_int_equal(extract_text(EXTRACT_HTML, STR("<p>x"), &is_stopping, &text, &paged),
                     EXTRACT_FAULT_STOPPED);
    assert_int_equal(text.n, 0);
}

static void a_program_that_cannot_parse_is_no_success(void **state)
{
    char *program = sandbox_find_program("false");
    assert_non_null(program);
    extract_set_program(program);
    assert_int_equal(extract(EXTRACT_HTML, STR("<p>x")), EXTRACT_FAULT_CRASHED);
    free(program);
    assert_true(use_program());
}

static void more_text_than_there_is_room_for_is_refused(void **state)
{
    struct buf small;
    buf_init(&small, 5);
    assert_int_equal(extract_text(EXTRACT_TEXT, STR("123456"), NULL, &small, &paged),
                     EXTRACT_FAULT_TOO_MUCH_TEXT);
    buf_fini(&small);
    buf_init(&small, 5);
    assert_int_equal(extract_text(EXTRACT_HTML, STR("<p>123456"), NULL, &small, &paged),
                     EXTRACT_FAULT_TOO_MUCH_TEXT);
    buf_fini(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kind_is_known_by_the_ending_of_a_name),
        cmocka_unit_test(a_file_that_is_not_read_says_what_to_send_instead),
        cmocka_unit_test(a_file_with_a_lying_ending_is_found_out),
        cmocka_unit_test(every_fault_has_a_sentence_for_people),
        cmocka_unit_test(text_becomes_clean_utf8),
        cmocka_unit_test(utf16_with_a_byte_order_mark_is_converted),
        cmocka_unit_test(a_page_leaves_what_people_read),
        cmocka_unit_test(a_page_loses_the_clutter_of_its_site),
        cmocka_unit_test(a_page_of_another_encoding_is_read),
        cmocka_unit_test(a_page_that_is_made_to_take_long_is_read_in_the_time_of_its_size),
        cmocka_unit_test(a_page_loads_nothing_and_knows_no_entities_of_its_own),
        cmocka_unit_test(a_deep_page_is_no_danger),
        cmocka_unit_test(a_pdf_of_300_pages_is_read_whole),
        cmocka_unit_test(a_pdf_without_words_is_called_a_scan),
        cmocka_unit_test(a_broken_pdf_is_called_broken),
        cmocka_unit_test(an_encrypted_pdf_is_called_encrypted),
        cmocka_unit_test(form_feeds_of_a_reader_are_pages),
        cmocka_unit_test(formats_without_pages_have_none),
        cmocka_unit_test(reading_stops_on_request),
        cmocka_unit_test(a_program_that_cannot_parse_is_no_success),
        cmocka_unit_test(more_text_than_there_is_room_for_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
