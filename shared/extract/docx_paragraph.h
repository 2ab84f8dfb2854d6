/* SPDX-License-Identifier: MIT
 *
 * docx_paragraph: the properties of a paragraph of DOCX, which come before its text, and the mark
 * that they give it: "## ", "1.2 ", "- ". One thread.
 */
#ifndef PARLEY_EXTRACT_DOCX_PARAGRAPH_H
#define PARLEY_EXTRACT_DOCX_PARAGRAPH_H

#include "shared/extract/docx_numbering.h"
#include "shared/extract/docx_styles.h"

enum { DOCX_STYLE_MAX_BYTES = 256, DOCX_MARK_MAX_BYTES = 128 };

struct docx_paragraph {
    char style[DOCX_STYLE_MAX_BYTES];
    unsigned list, level; /* of its own w:numPr, or DOCX_UNSET */
    unsigned heading;     /* the same; 1 to 6, 0: none */
    bool is_numbered, is_resolved;
    bool joins_next; /* a drop cap, or its end is deleted */
    enum docx_mark mark;
    char number[DOCX_MARK_MAX_BYTES]; /* "1.2 ", with DOCX_NUMBER */
};

void docx_paragraph_init(struct docx_paragraph *paragraph);
/* Takes an element of w:pPr. */
void docx_paragraph_read(struct docx_paragraph *paragraph, const struct xml_tag *tag);
/* Finds out its heading and its mark, once: that counts it in its list. */
void docx_paragraph_resolve(struct docx_paragraph *paragraph, const struct docx_styles *styles,
                            struct docx_numbering *numbering);
/* Returns whether it is an item of a list. */
static inline bool docx_paragraph_is_item(const struct docx_paragraph *paragraph)
{
    return paragraph->mark != DOCX_NO_MARK && paragraph->heading == 0;
}
/* Writes its mark, which may be empty; `note` is the number of the note that it begins, or 0. */
void docx_paragraph_mark(const struct docx_paragraph *paragraph, unsigned note,
                         char mark[DOCX_MARK_MAX_BYTES]);

#endif
