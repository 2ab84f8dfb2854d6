/* SPDX-License-Identifier: MIT
 *
 * package_fixture: office documents and books for tests, written part by part, and the pieces that
 * many of them are made of.
 */
#ifndef PARLEY_TESTS_PACKAGE_FIXTURE_H
#define PARLEY_TESTS_PACKAGE_FIXTURE_H

#include "tests/unit/extract_fixture.h"
#include "tests/unit/zip_fixture.h"

enum { PACKAGE_MAX_BYTES = 64 << 20 };

#define RELATIONSHIPS "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
#define RELATIONS(list)                                                                            \
    STR("<Relationships "                                                                          \
        "xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">" list             \
        "</Relationships>")
#define RELATION(id, type, target)                                                                 \
    "<Relationship Id=\"" id "\" Type=\"" RELATIONSHIPS "/" type "\" Target=\"" target "\"/>"

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

/* ---- sheets ---- */

#define S_URI "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
#define SHEET(rows)                                                                                \
    STR("<worksheet xmlns=\"" S_URI "\"><sheetData>" rows "</sheetData></worksheet>")
#define TEXT_CELL(at, words) "<c r=\"" at "\" t=\"inlineStr\"><is><t>" words "</t></is></c>"
#define SHARED_CELL(at, number) "<c r=\"" at "\" t=\"s\"><v>" number "</v></c>"
#define ROW(number, cells) "<row r=\"" number "\">" cells "</row>"
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

/* ---- OpenDocument ---- */

#define ODF "urn:oasis:names:tc:opendocument:xmlns:"
#define CONTENT(styles, body)                                                                      \
    STR("<office:document-content xmlns:office=\"" ODF "office:1.0\" xmlns:text=\"" ODF            \
        "text:1.0\" xmlns:table=\"" ODF "table:1.0\" xmlns:style=\"" ODF                           \
        "style:1.0\" xmlns:draw=\"" ODF "drawing:1.0\" xmlns:presentation=\"" ODF                  \
        "presentation:1.0\"><office:automatic-styles>" styles                                      \
        "</office:automatic-styles><office:body>" body "</office:body></office:document-content>")

/* ---- documents of Word ---- */

#define W "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\""
#define MC "xmlns:mc=\"http://schemas.openxmlformats.org/markup-compatibility/2006\""
#define DOCUMENT(body)                                                                             \
    "<?xml version=\"1.0\"?><w:document " W " " MC "><w:body>" body "</w:body></w:document>"
#define R(words) "<w:r><w:t>" words "</w:t></w:r>"
#define P(words) "<w:p>" R(words) "</w:p>"

/* ---- checks ---- */

static inline void expect_zip(enum extract_kind kind, const struct entry *entries, size_t n,
                              const char *expected)
{
    struct buf zip;
    buf_init(&zip, PACKAGE_MAX_BYTES);
    put_zip(&zip, entries, n);
    expect(kind, buf_str(&zip), expected);
    buf_fini(&zip);
}

static inline void expect_zip_fault(enum extract_kind kind, const struct entry *entries, size_t n,
                                    enum extract_fault expected)
{
    struct buf zip;
    buf_init(&zip, PACKAGE_MAX_BYTES);
    put_zip(&zip, entries, n);
    expect_fault(kind, buf_str(&zip), expected);
    buf_fini(&zip);
}

#endif
