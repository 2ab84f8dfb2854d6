/* SPDX-License-Identifier: MIT
 *
 * odf_math: a formula of an OpenDocument, which is MathML, as one line: it is turned into the
 * events of Office Math (docx_equations.h). One formula at a time; one thread.
 */
#ifndef PARLEY_EXTRACT_ODF_MATH_H
#define PARLEY_EXTRACT_ODF_MATH_H

#include "shared/extract/docx_equations.h"
#include "shared/extract/package.h"

enum { ODF_MATH_DEPTH_MAX = 64 };

/* An element that is open. */
struct odf_math_node {
    const struct odf_math_form *form; /* NULL: its content is put as it is */
    const char *part;                 /* of the element around it; NULL: none */
    unsigned child_n;
};

struct odf_math {
    struct equation equation;
    struct odf_math_node nodes[ODF_MATH_DEPTH_MAX];
    unsigned depth; /* what is nested deeper is left out */
    bool is_token, is_words, is_apart;
};

void odf_math_init(struct odf_math *math);
void odf_math_fini(struct odf_math *math);

/* The events of a formula, <math> included. */
void odf_math_start(struct odf_math *math, struct xml_reader *reader, const struct xml_tag *tag);
void odf_math_text(struct odf_math *math, struct str text);
/* Returns true when the formula has ended: it is `equation.text`, until the next one begins. */
bool odf_math_end(struct odf_math *math);
/* Reads the formula that is a part of its own, in the folder `href`. Returns whether it is one: a
 * chart or a sheet is none, and a part that cannot be read neither. */
bool odf_math_read(struct odf_math *math, struct package *package, struct str href);
/* Returns whether a formula is open. */
static inline bool odf_math_is_open(const struct odf_math *math)
{
    return math->depth > 0;
}

#endif
