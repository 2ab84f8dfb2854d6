/* SPDX-License-Identifier: MIT
 * extract_docx.c - DOCX (ECMA-376, WordprocessingML), by its parts:
 *
 *   headers, each text once
 *   the main part: paragraphs, tables, text boxes, equations
 *   foot- and endnotes, with the numbers of their marks
 *   charts and SmartArt
 *   footers, each text once
 *
 * Comments are left out, and so are the numbers of pages. Neither a part nor a tree is ever in
 * memory whole. */
#include "shared/extract/docx_body.h"
#include "shared/extract/drawing_texts.h"
#include "shared/extract/office_finish.h"

enum { HEADERS_MAX = 64 };

/* The parts of a document that is being read. */
struct parts {
    struct package package;
    struct relations relations;
    struct str main;
    struct docx docx;
};

/* Some programs put a number into the name of the main part. */
static struct str find_main(const struct package *package, const struct relations *relations)
{
    struct str named = relations_target(relations, "officeDocument");
    if (package_find(package, named) != NULL)
        return named;
    for (size_t i = 0; i < package->part_n; i++) {
        struct str name = package->parts[i].name;
        if (name.n >= 17 && name.n < 24 &&
            str_eq_nocase((struct str){name.at, 13}, STR("word/document")) &&
            str_eq_nocase((struct str){name.at + name.n - 4, 4}, STR(".xml")))
            return name;
    }
    return STR("");
}

/* Puts the name of the main part's part of a type: by its relationships, or else beside it. */
static void put_part_name(struct buf *name, const struct parts *parts, const char *type)
{
    struct str target = relations_target(&parts->relations, type);
    buf_clear(name);
    if (target.n > 0) {
        buf_put(name, target);
        return;
    }
    package_put_target(name, parts->main, str_of(type));
    buf_lit(name, ".xml");
}

/* Puts headers or footers, but a text that was there before only once. */
static enum extract_fault put_headers(struct parts *parts, const char *type, struct buf *rough)
{
    struct buf texts[HEADERS_MAX];
    size_t n = 0;
    enum extract_fault fault = EXTRACT_FAULT_NONE;
    for (size_t i = 0; fault == EXTRACT_FAULT_NONE && i < parts->relations.n && n < HEADERS_MAX;
         i++) {
        const struct relation *relation = &parts->relations.at[i];
        if (!str_eq(relation->type, str_of(type)))
            continue;
        buf_init(&texts[n], EXTRACT_TEXT_MAX_BYTES);
        fault = docx_body_read(&parts->package, relation->target, &parts->docx, true, &texts[n]);
        bool is_new = texts[n].n > 0;
        for (size_t k = 0; is_new && k < n; k++)
            is_new = !str_eq(buf_str(&texts[k]), buf_str(&texts[n]));
        if (is_new && rough->n > 0)
            buf_lit(rough, "\n\n");
        if (is_new)
            buf_put(rough, buf_str(&texts[n]));
        n++;
    }
    while (n > 0)
        buf_fini(&texts[--n]);
    return fault;
}

static enum extract_fault put_drawings(struct parts *parts, struct buf *rough)
{
    struct flow flow = {.out = rough, .has_begun = rough->n > 0};
    struct buf folder;
    buf_init(&folder, 4096);
    package_put_target(&folder, parts->main, STR(""));
    if (folder.n > 0)
        buf_put_char(&folder, '/');
    enum extract_fault fault = drawing_texts_read_all(&parts->package, buf_str(&folder), &flow);
    buf_fini(&folder);
    return fault;
}

static enum extract_fault read_lists(struct parts *parts, struct buf *name)
{
    put_part_name(name, parts, "styles");
    enum extract_fault fault =
        docx_styles_read(&parts->package, buf_str(name), &parts->docx.styles);
    if (fault != EXTRACT_FAULT_NONE)
        return fault;
    put_part_name(name, parts, "numbering");
    return docx_numbering_read(&parts->package, buf_str(name), &parts->docx.numbering);
}

static enum extract_fault read_texts(struct parts *parts, struct buf *name, struct buf *rough)
{
    static const char *const notes[] = {"footnotes", "endnotes"};
    enum extract_fault fault = put_headers(parts, "header", rough);
    if (fault == EXTRACT_FAULT_NONE)
        fault = docx_body_read(&parts->package, parts->main, &parts->docx, false, rough);
    if (fault == EXTRACT_FAULT_NONE && !parts->docx.is_document)
        return EXTRACT_FAULT_NOT_DOCX;
    for (size_t i = 0; fault == EXTRACT_FAULT_NONE && i < sizeof notes / sizeof *notes; i++) {
        put_part_name(name, parts, notes[i]);
        fault = docx_body_read(&parts->package, buf_str(name), &parts->docx, false, rough);
    }
    if (fault == EXTRACT_FAULT_NONE)
        fault = put_drawings(parts, rough);
    return fault == EXTRACT_FAULT_NONE ? put_headers(parts, "footer", rough) : fault;
}

static enum extract_fault read_parts(struct parts *parts, struct buf *rough)
{
    struct relations package_relations;
    struct buf name;
    buf_init(&name, 4096);
    enum extract_fault fault = relations_read(&parts->package, STR(""), &package_relations);
    parts->main = find_main(&parts->package, &package_relations);
    if (fault == EXTRACT_FAULT_NONE && parts->main.n == 0)
        fault = EXTRACT_FAULT_NOT_DOCX;
    if (fault == EXTRACT_FAULT_NONE)
        fault = relations_read(&parts->package, parts->main, &parts->relations);
    if (fault == EXTRACT_FAULT_NONE)
        fault = read_lists(parts, &name);
    if (fault == EXTRACT_FAULT_NONE)
        fault = read_texts(parts, &name, rough);
    relations_fini(&package_relations);
    buf_fini(&name);
    return fault;
}

static void docx_fini(struct docx *docx)
{
    docx_styles_fini(&docx->styles);
    docx_numbering_fini(&docx->numbering);
    docx_notes_fini(&docx->notes);
}

enum extract_fault extract_put_docx(struct buf *text, struct str bytes)
{
    struct parts parts = {0};
    struct buf rough;
    enum extract_fault fault = package_open(&parts.package, bytes);
    if (fault != EXTRACT_FAULT_NONE)
        return fault;
    buf_init(&rough, EXTRACT_TEXT_MAX_BYTES);
    fault = office_finish(text, &rough, read_parts(&parts, &rough));
    docx_fini(&parts.docx);
    relations_fini(&parts.relations);
    package_close(&parts.package);
    buf_fini(&rough);
    return fault;
}

enum extract_fault extract_put_docx_xml(struct buf *text, struct str xml)
{
    struct docx docx = {0};
    struct buf rough;
    buf_init(&rough, EXTRACT_TEXT_MAX_BYTES);
    bool is_good = docx_body_read_xml(xml, &docx, &rough);
    enum extract_fault fault =
        office_finish(text, &rough, is_good ? EXTRACT_FAULT_NONE : EXTRACT_FAULT_BROKEN);
    docx_fini(&docx);
    buf_fini(&rough);
    return fault;
}
