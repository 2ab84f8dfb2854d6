/* SPDX-License-Identifier: MIT
 *
 * docx_body: the text of a part of a DOCX document: paragraphs with their marks and numbers,
 * tables, text boxes, equations, and the marks of notes. The parts of a document are read one
 * after the other, so that lists and notes are counted through. One thread.
 */
#ifndef PARLEY_EXTRACT_DOCX_BODY_H
#define PARLEY_EXTRACT_DOCX_BODY_H

#include "shared/extract/docx_notes.h"
#include "shared/extract/docx_numbering.h"
#include "shared/extract/docx_styles.h"

/* Shared by all parts of a document. */
struct docx {
    struct docx_styles styles;
    struct docx_numbering numbering;
    struct docx_notes notes;
    bool is_document; /* the main part began as one */
};

/* Reads a part and puts its text. NONE, BROKEN, BOMB or ENCRYPTED, as package_read_xml. With
 * `drops_page_numbers`, paragraphs with the number of a page are left out (headers, footers). */
enum extract_fault docx_body_read(struct package *package, struct str part, struct docx *docx,
                                  bool drops_page_numbers, struct buf *rough) must_check;
/* The same for XML. */
bool docx_body_read_xml(struct str xml, struct docx *docx, struct buf *rough) must_check;

#endif
