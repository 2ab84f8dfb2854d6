/* SPDX-License-Identifier: MIT
 *
 * mathml: a formula of a web page or an OpenDocument as one line: it is turned into the events of
 * Office Math (docx_equations.h). One formula at a time; one thread.
 */
#ifndef PARLEY_EXTRACT_MATHML_H
#define PARLEY_EXTRACT_MATHML_H

#include "shared/extract/docx_equations.h"

enum { MATHML_DEPTH_MAX = 64 };

/* An element that is open. */
struct mathml_node {
    const struct mathml_form *form; /* NULL: its content is put as it is */
    const char *part;               /* of the element around it; NULL: none */
    unsigned child_n;
};

struct mathml {
    struct equation equation;
    struct mathml_node nodes[MATHML_DEPTH_MAX];
    unsigned depth; /* what is nested deeper is left out */
    bool is_token, is_words, is_apart;
};

void mathml_init(struct mathml *math);
void mathml_fini(struct mathml *math);

/* The events of a formula, <math> included. Returns false for an element that is left out with all
 * that it contains: it has no other events then. */
bool mathml_start(struct mathml *math, const struct xml_tag *tag);
void mathml_text(struct mathml *math, struct str text);
/* Returns true when the formula has ended: it is `equation.text`, until the next one begins. */
bool mathml_end(struct mathml *math);
/* Returns whether a formula is open. */
static inline bool mathml_is_open(const struct mathml *math)
{
    return math->depth > 0;
}

#endif
