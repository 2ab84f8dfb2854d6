/* SPDX-License-Identifier: MIT
 * fuzz_extract_parts.c - the parts of documents that are zip files (DOCX, PPTX, XLSX, OpenDocument,
 * EPUB). The first byte says which format, the rest are the insides of its parts, with "~" between
 * them; what is around them (the roots with their namespaces, the relationships, the zip file) is
 * made here, since no mutation would find it. What comes out is UTF-8 without control characters
 * but newline, tab and form feed. */
#include "shared/extract/extract.h"
#include "shared/extract/office.h"
#include "tests/unit/zip_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { PARTS_MAX = 8, ZIP_MAX_BYTES = 1 << 20, TEXT_MAX_BYTES = 1 << 20 };

#define OFFICE "http://schemas.openxmlformats.org/"
#define RELATIONS_HEAD "<Relationships xmlns=\"" OFFICE "package/2006/relationships\">"
#define RELATION(id, type, target)                                                                 \
    "<Relationship Id=\"" id "\" Type=\"" OFFICE "officeDocument/2006/relationships/" type         \
    "\" Target=\"" target "\"/>"
#define RELATIONS(list) RELATIONS_HEAD list "</Relationships>"
#define W                                                                                          \
    " xmlns:w=\"" OFFICE "wordprocessingml/2006/main\" xmlns:a=\"" OFFICE                          \
    "drawingml/2006/main\" xmlns:m=\"" OFFICE "officeDocument/2006/math\" "                        \
    "xmlns:mc=\"" OFFICE "markup-compatibility/2006\" xmlns:r=\"" OFFICE                           \
    "officeDocument/2006/relationships\">"
#define P                                                                                          \
    " xmlns:p=\"" OFFICE "presentationml/2006/main\" xmlns:a=\"" OFFICE                            \
    "drawingml/2006/main\" xmlns:r=\"" OFFICE "officeDocument/2006/relationships\">"
#define S                                                                                          \
    " xmlns=\"" OFFICE "spreadsheetml/2006/main\" xmlns:r=\"" OFFICE                               \
    "officeDocument/2006/relationships\">"
#define ODF "urn:oasis:names:tc:opendocument:xmlns:"
#define O                                                                                          \
    " xmlns:office=\"" ODF "office:1.0\" xmlns:text=\"" ODF "text:1.0\" xmlns:table=\"" ODF        \
    "table:1.0\" xmlns:style=\"" ODF "style:1.0\" xmlns:draw=\"" ODF "drawing:1.0\" "              \
    "xmlns:presentation=\"" ODF "presentation:1.0\">"
#define ODF_PARTS                                                                                  \
    {                                                                                              \
        {"content.xml", "<office:document-content" O, "</office:document-content>"},               \
            {"styles.xml", "<office:document-styles" O, "</office:document-styles>"},              \
    }

/* A part without a tail is the same in each file. */
struct part {
    const char *name, *head, *tail;
};

static const struct form {
    enum extract_kind kind;
    struct part parts[PARTS_MAX];
} forms[] = {
    {EXTRACT_DOCX,
     {{"word/document.xml", "<w:document" W "<w:body>", "</w:body></w:document>"},
      {"word/styles.xml", "<w:styles" W, "</w:styles>"},
      {"word/numbering.xml", "<w:numbering" W, "</w:numbering>"},
      {"word/footnotes.xml", "<w:footnotes" W, "</w:footnotes>"},
      {"word/_rels/document.xml.rels", RELATIONS_HEAD RELATION("n", "numbering", "numbering.xml"),
       "</Relationships>"}}},
    {EXTRACT_PPTX,
     {{"ppt/s.xml", "<p:sld" P, "</p:sld>"},
      {"ppt/n.xml", "<p:notes" P, "</p:notes>"},
      {"ppt/_rels/s.xml.rels", RELATIONS_HEAD RELATION("n", "notesSlide", "n.xml"),
       "</Relationships>"},
      {"ppt/presentation.xml", "<p:presentation" P "<p:sldId r:id=\"s\"/>", "</p:presentation>"},
      {"ppt/_rels/presentation.xml.rels", RELATIONS(RELATION("s", "slide", "s.xml")), NULL},
      {"_rels/.rels", RELATIONS(RELATION("r", "officeDocument", "ppt/presentation.xml")), NULL}}},
    {EXTRACT_XLSX,
     {{"xl/a.xml", "<worksheet" S, "</worksheet>"},
      {"xl/s.xml", "<sst" S, "</sst>"},
      {"xl/t.xml", "<styleSheet" S, "</styleSheet>"},
      {"xl/workbook.xml", "<workbook" S "<sheet name=\"a\" r:id=\"a\"/>", "</workbook>"},
      {"xl/_rels/workbook.xml.rels",
       RELATIONS(RELATION("a", "worksheet", "a.xml") RELATION("s", "sharedStrings", "s.xml")
                     RELATION("t", "styles", "t.xml")),
       NULL},
      {"_rels/.rels", RELATIONS(RELATION("r", "officeDocument", "xl/workbook.xml")), NULL}}},
    {EXTRACT_ODT, ODF_PARTS},
    {EXTRACT_ODS, ODF_PARTS},
    {EXTRACT_ODP, ODF_PARTS},
    {EXTRACT_EPUB,
     {{"a.xhtml", "", ""},
      {"b.opf", "<package><item id=\"a\" href=\"a.xhtml\" media-type=\"text/html\"/>",
       "<itemref idref=\"a\"/></package>"},
      {"META-INF/encryption.xml", "<encryption>", "</encryption>"},
      {"META-INF/container.xml", "<container><rootfile full-path=\"b.opf\"/></container>", NULL}}},
};

/* Puts the zip file of a form; `rest` is what its parts have inside. */
static void put_document(struct buf *zip, const struct form *form, struct str rest)
{
    struct buf bytes[PARTS_MAX];
    struct entry entries[PARTS_MAX];
    size_t n = 0;
    for (; n < PARTS_MAX && form->parts[n].name != NULL; n++) {
        const struct part *part = &form->parts[n];
        buf_init(&bytes[n], ZIP_MAX_BYTES);
        buf_put(&bytes[n], str_of(part->head));
        if (part->tail != NULL) {
            buf_put(&bytes[n], str_cut(&rest, '~'));
            buf_put(&bytes[n], str_of(part->tail));
        }
        entries[n] = (struct entry){part->name, buf_str(&bytes[n])};
    }
    put_zip(zip, entries, n);
    for (size_t i = 0; i < n; i++)
        buf_fini(&bytes[i]);
}

static void check(const struct buf *text)
{
    if (!text->is_over && !str_is_utf8(buf_str(text)))
        abort();
    for (size_t i = 0; i < text->n; i++)
        if ((unsigned char)text->at[i] < 0x20 && strchr("\n\t\f", text->at[i]) == NULL)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf zip, text;
    if (n == 0 || n > ZIP_MAX_BYTES / 4)
        return 0;
    const struct form *form = &forms[data[0] % (sizeof forms / sizeof *forms)];
    buf_init(&zip, ZIP_MAX_BYTES * 2);
    buf_init(&text, TEXT_MAX_BYTES);
    put_document(&zip, form, (struct str){(const char *)data + 1, n - 1});
    if (extract_parse(form->kind, buf_str(&zip), &text) >= EXTRACT_FAULT_STOPPED)
        abort();
    check(&text);
    buf_fini(&text);
    buf_fini(&zip);
    return 0;
}
