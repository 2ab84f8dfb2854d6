/* SPDX-License-Identifier: MIT
 *
 * docx_styles: the styles of a DOCX document: which ones are headings, and which ones number their
 * paragraphs. A style inherits from the one it is based on. Owned by its holder; one thread.
 */
#ifndef PARLEY_EXTRACT_DOCX_STYLES_H
#define PARLEY_EXTRACT_DOCX_STYLES_H

#include "shared/extract/package.h"

enum { DOCX_UNSET = 0xffffffff };

struct docx_style {
    struct str id, based_on;
    unsigned heading;          /* 1 to 6; 0: none, by an outline level; DOCX_UNSET */
    unsigned numbering, level; /* a list and its level, or DOCX_UNSET; list 0: none */
    bool is_bullet;            /* it is called List Bullet */
};

struct docx_styles {
    struct pool texts;
    struct docx_style *at; /* by id */
    size_t n;
};

/* Reads the part; a document may be without one. For docx_styles_fini, whatever it returns. */
enum extract_fault docx_styles_read(struct package *package, struct str part,
                                    struct docx_styles *styles) must_check;
void docx_styles_fini(struct docx_styles *styles);

/* The style of that id, with what it inherits. Of an unknown id only the heading is found, by
 * the id itself: "Heading1", "berschrift1", "Titre1". */
struct docx_style docx_styles_find(const struct docx_styles *styles, struct str id);
/* The heading of an outline level ("0" to "9"). */
unsigned docx_heading_of_level(struct str level);

#endif
