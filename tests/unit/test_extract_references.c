/* SPDX-License-Identifier: MIT
 * test_extract_references.c - documents that refer to what is outside of them, or to themselves:
 * formulas that call out, pictures of other servers, parts of other files, parts in a circle. The
 * readers run in this process, which may do what their child may not: they do not try. */
#include "tests/unit/package_fixture.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

/* What stands for an address in the documents below, of which there are two: of a server that is
 * here, and of a file that is here. */
#define ADDRESS "@@"
#define SECRET "the words of another file"

static struct buf filled[4], zip;
static char urls[2][128], secret_path[] = "/tmp/parley-secret-XXXXXX";
static int listener = -1;

static int set_up_outside(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof address;
    int file = mkstemp(secret_path);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0 || write(file, SECRET, strlen(SECRET)) != (ssize_t)strlen(SECRET) ||
        bind(listener, (struct sockaddr *)&address, n) != 0 || listen(listener, 8) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &n) != 0)
        return -1;
    close(file);
    snprintf(urls[0], sizeof urls[0], "http://127.0.0.1:%d/x", ntohs(address.sin_port));
    snprintf(urls[1], sizeof urls[1], "file://%s", secret_path);
    for (size_t i = 0; i < COUNT(filled); i++)
        buf_init(&filled[i], 1 << 16);
    buf_init(&zip, 1 << 20);
    return set_up_alone(state);
}

static int tear_down_outside(void **state)
{
    close(listener);
    unlink(secret_path);
    for (size_t i = 0; i < COUNT(filled); i++)
        buf_fini(&filled[i]);
    buf_fini(&zip);
    return tear_down(state);
}

static struct str fill(struct buf *out, struct str with_address, const char *url)
{
    struct str rest = with_address;
    buf_clear(out);
    while (rest.n > 0) {
        const char *found = memmem(rest.at, rest.n, ADDRESS, 2);
        size_t n = found == NULL ? rest.n : (size_t)(found - rest.at);
        buf_put(out, (struct str){rest.at, n});
        if (found != NULL)
            buf_put(out, str_of(url));
        n += found == NULL ? 0 : 2;
        rest = (struct str){rest.at + n, rest.n - n};
    }
    return buf_str(out);
}

static void expect_nobody_called(const char *what)
{
    struct pollfd entry = {.fd = listener, .events = POLLIN};
    if (poll(&entry, 1, 0) != 0)
        fail_msg("%s: a reader called a server", what);
    if (strstr(text.at, SECRET) != NULL)
        fail_msg("%s: a reader opened a file: %s", what, text.at);
}

/* ---- formulas, pictures, parts of other files ---- */

static void a_text_fetches_nothing(void **state)
{
    static const struct {
        enum extract_kind kind;
        const char *bytes, *right;
    } files[] = {
        {EXTRACT_HTML,
         "<!DOCTYPE html SYSTEM \"" ADDRESS "\"><base href=\"" ADDRESS "\"><link rel=stylesheet "
         "href=\"" ADDRESS "\"><script src=\"" ADDRESS "\"></script><p>x<img src=\"" ADDRESS "\">"
         "<iframe src=\"" ADDRESS "\"></iframe><object data=\"" ADDRESS "\"></object><svg><use "
         "href=\"" ADDRESS "\"/></svg><video src=\"" ADDRESS "\"></video>",
         "x"},
        {EXTRACT_XML,
         "<?xml-stylesheet href=\"" ADDRESS "\"?><!DOCTYPE a SYSTEM \"" ADDRESS "\" [<!ENTITY e "
         "SYSTEM \"" ADDRESS "\"><!ENTITY % p SYSTEM \"" ADDRESS "\">%p;]><a xmlns:xi=\""
         "http://www.w3.org/2001/XInclude\"><b>x</b><b>&e;</b><xi:include href=\"" ADDRESS "\" "
         "parse=\"text\"/></a>",
         NULL},
        {EXTRACT_RTF,
         "{\\rtf1{\\*\\template " ADDRESS "}{\\field{\\*\\fldinst INCLUDETEXT \"" ADDRESS "\"}"
         "{\\fldrslt x}}{\\object\\objautlink{\\*\\objclass Word}{\\*\\objdata 00}{\\result }}}",
         "x"},
        {EXTRACT_JSON, "{\"a\":\"x\"}", "a: x"},
        {EXTRACT_EML,
         "Subject: s\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: "
         "message/external-body; access-type=URL; URL=\"" ADDRESS "\"\n\nContent-Type: "
         "text/plain\n\n--b\nContent-Type: text/html\n\n<p>x<img src=\"" ADDRESS "\">\n--b--\n",
         NULL},
        {EXTRACT_CSV, "a,b\n\"=WEBSERVICE(\"\"" ADDRESS "\"\")\",\"=cmd|' /C calc'!A0\"\n", NULL},
    };
    for (size_t i = 0; i < COUNT(files); i++)
        for (size_t k = 0; k < COUNT(urls); k++) {
            enum extract_fault fault =
                extract(files[i].kind, fill(&filled[0], str_of(files[i].bytes), urls[k]));
            const char *name = extract_kind_name(files[i].kind);
            assert_string_equal(extract_fault_text(fault), "");
            if (files[i].right != NULL && strcmp(text.at, files[i].right) != 0)
                fail_msg("%s: '%s'", name, text.at);
            expect_nobody_called(name);
        }
}

#define OUTSIDE(id, type)                                                                          \
    "<Relationship Id=\"" id "\" Type=\"" RELATIONSHIPS "/" type "\" Target=\"" ADDRESS            \
    "\" TargetMode=\"External\"/>"
#define FIELD(code, shown)                                                                         \
    "<w:p><w:r><w:fldChar w:fldCharType=\"begin\"/></w:r><w:r><w:instrText>" code                  \
    "</w:instrText></w:r><w:r><w:fldChar w:fldCharType=\"separate\"/></w:r>" R(                    \
        shown) "<w:r><w:fldChar w:fldCharType=\"end\"/></w:r></w:p>"

static void an_office_document_fetches_nothing(void **state)
{
    static const struct {
        enum extract_kind kind;
        struct entry entries[4];
        size_t n;
        const char *right;
    } files[] = {
        {EXTRACT_DOCX,
         {{"word/document.xml",
           STR(DOCUMENT(FIELD("INCLUDETEXT \"" ADDRESS "\"", "x") FIELD(
               "DDEAUTO c:\\\\Windows\\\\cmd.exe \"" ADDRESS "\"", "y") FIELD("INCLUDEPICTURE "
                                                                              "\"" ADDRESS "\"",
                                                                              "z")))},
          {"word/_rels/document.xml.rels",
           RELATIONS(OUTSIDE("a", "header") OUTSIDE("b", "footnotes") OUTSIDE("c", "image")
                         OUTSIDE("d", "attachedTemplate") OUTSIDE("e", "styles"))}},
         2,
         "x\n\ny\n\nz"},
        {EXTRACT_XLSX,
         {OF_WORKBOOK,
          WORKBOOK("", "<sheet name=\"\" r:id=\"a\"/><sheet name=\"\" r:id=\"b\"/>"),
          {"xl/_rels/workbook.xml.rels",
           RELATIONS(RELATION("a", "worksheet", "a.xml") OUTSIDE("b", "worksheet")
                         OUTSIDE("c", "externalLink") OUTSIDE("d", "sharedStrings"))},
          {"xl/a.xml",
           SHEET("<row><c r=\"A1\" t=\"str\"><f>WEBSERVICE(\"" ADDRESS "\")</f><v>x</v></c>"
                 "<c r=\"B1\"><f>cmd|' /C calc'!A0</f><v>2</v></c>"
                 "<c r=\"C1\"><f>[1]Sheet1!A1+HYPERLINK(\"" ADDRESS "\")</f></c></row>")}},
         4,
         "x | 2"},
        {EXTRACT_PPTX,
         {OF_PRESENTATION,
          PRESENTATION("<p:sldId r:id=\"a\"/><p:sldId r:id=\"b\"/>"),
          {"ppt/_rels/presentation.xml.rels",
           RELATIONS(RELATION("a", "slide", "a.xml") OUTSIDE("b", "slide"))},
          {"ppt/a.xml", SLIDE(SHAPE("", AP(">", "x")))}},
         4,
         NULL},
        {EXTRACT_ODS,
         {{"content.xml",
           CONTENT("",
                   "<office:spreadsheet><table:table><table:table-source "
                   "xlink:href=\"" ADDRESS "\" xmlns:xlink=\"http://www.w3.org/1999/xlink\"/>"
                   "<table:table-row><table:table-cell "
                   "table:formula=\"of:=WEBSERVICE(&quot;" ADDRESS "&quot;)\"><text:p>x</text:p>"
                   "</table:table-cell><table:table-cell table:formula=\"of:=DDE(&quot;soffice"
                   "&quot;;&quot;" ADDRESS "&quot;;&quot;a&quot;)\"/></table:table-row>"
                   "</table:table></office:spreadsheet>")}},
         1,
         "x"},
        {EXTRACT_ODT,
         {{"content.xml",
           CONTENT("", "<office:text><text:section><text:section-source xlink:href=\"" ADDRESS "\" "
                       "xmlns:xlink=\"http://www.w3.org/1999/xlink\"/><text:p>x</text:p>"
                       "</text:section><draw:frame><draw:image xlink:href=\"" ADDRESS "\" "
                       "xmlns:xlink=\"http://www.w3.org/1999/xlink\"/></draw:frame>"
                       "</office:text>")}},
         1,
         "x"},
        {EXTRACT_EPUB,
         {{"META-INF/container.xml", STR("<container><rootfile full-path=\"b.opf\"/></container>")},
          {"b.opf", STR("<package><item id=\"a\" href=\"a.html\" media-type=\"text/html\"/>"
                        "<item id=\"b\" href=\"" ADDRESS "\" media-type=\"text/html\"/>"
                        "<itemref idref=\"a\"/><itemref idref=\"b\"/></package>")},
          {"a.html", STR("<p>x<img src=\"" ADDRESS "\">")}},
         3,
         "x"},
    };
    for (size_t i = 0; i < COUNT(files); i++)
        for (size_t k = 0; k < COUNT(urls); k++) {
            struct entry entries[COUNT(files[i].entries)];
            const char *name = extract_kind_name(files[i].kind);
            for (size_t part = 0; part < files[i].n; part++)
                entries[part] =
                    (struct entry){files[i].entries[part].name,
                                   fill(&filled[part], files[i].entries[part].bytes, urls[k])};
            buf_clear(&zip);
            put_zip(&zip, entries, files[i].n);
            enum extract_fault fault = extract(files[i].kind, buf_str(&zip));
            if (fault != EXTRACT_FAULT_NONE)
                fail_msg("%s: %s", name, extract_fault_text(fault));
            if (files[i].right != NULL && strcmp(text.at, files[i].right) != 0)
                fail_msg("%s: '%s'", name, text.at);
            expect_nobody_called(name);
        }
}

/* ---- circles ---- */

static void a_document_in_a_circle_is_read_once(void **state)
{
    const struct entry entries[] = {
        {"_rels/.rels", RELATIONS(RELATION("a", "officeDocument", "word/document.xml")
                                      RELATION("b", "officeDocument", "_rels/.rels"))},
        {"word/document.xml", STR(DOCUMENT(P("x")))},
        {"word/_rels/document.xml.rels",
         RELATIONS(RELATION("a", "header", "document.xml") RELATION("b", "footer", "document.xml")
                       RELATION("c", "footnotes", "document.xml")
                           RELATION("d", "endnotes", "../word/./document.xml")
                               RELATION("g", "chart", "../../../../word/document.xml"))}};
    expect_zip(EXTRACT_DOCX, entries, COUNT(entries), "x");
}

static void sheets_in_a_circle_are_read_once(void **state)
{
    const struct entry entries[] = {
        OF_WORKBOOK,
        WORKBOOK("", "<sheet name=\"\" r:id=\"a\"/><sheet name=\"\" r:id=\"a\"/>"
                     "<sheet name=\"\" r:id=\"b\"/><sheet name=\"\" r:id=\"c\"/>"),
        {"xl/_rels/workbook.xml.rels",
         RELATIONS(RELATION("a", "worksheet", "a.xml") RELATION("b", "worksheet", "workbook.xml")
                       RELATION("c", "worksheet", "_rels/workbook.xml.rels")
                           RELATION("d", "styles", "workbook.xml") "<Relationship Id=\"a\"/>")},
        {"xl/a.xml", SHEET(ROW("1", TEXT_CELL("A1", "x")))}};
    expect_zip(EXTRACT_XLSX, entries, COUNT(entries), "x");
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

static void a_book_in_a_circle_is_read_once(void **state)
{
    const struct entry entries[] = {
        {"META-INF/container.xml", STR("<container><rootfile full-path=\"b.opf\"/><rootfile "
                                       "full-path=\"META-INF/container.xml\"/></container>")},
        {"b.opf", STR("<package><item id=\"a\" href=\"a.html\" media-type=\"text/html\"/>"
                      "<item id=\"b\" href=\"b.opf\" media-type=\"text/html\"/>"
                      "<item id=\"c\" href=\"./a.html\" media-type=\"text/html\"/>"
                      "<itemref idref=\"a\"/><itemref idref=\"b\"/><itemref idref=\"c\"/>"
                      "<itemref idref=\"a\"/></package>")},
        {"a.html", STR("<p>x")}};
    expect_zip(EXTRACT_EPUB, entries, COUNT(entries), "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_fetches_nothing),
        cmocka_unit_test(an_office_document_fetches_nothing),
        cmocka_unit_test(a_document_in_a_circle_is_read_once),
        cmocka_unit_test(sheets_in_a_circle_are_read_once),
        cmocka_unit_test(slides_in_a_circle_are_read_once),
        cmocka_unit_test(a_book_in_a_circle_is_read_once),
    };
    return cmocka_run_group_tests(tests, set_up_outside, tear_down_outside);
}
