/* SPDX-License-Identifier: MIT
 *
 * docx_equations: an equation of a DOCX or PPTX document (Office Math) as one line: 12/5·10^3,
 * √(a+b), ∑_(i=1)^n x_i. One equation at a time; one thread.
 */
#ifndef PARLEY_EXTRACT_DOCX_EQUATIONS_H
#define PARLEY_EXTRACT_DOCX_EQUATIONS_H

#include "shared/extract/xml_reader.h"

enum { EQUATION_DEPTH_MAX = 32, EQUATION_SIGN_BYTES = 8 };

/* An element that is open. */
struct equation_node {
    size_t from; /* where its text begins */
    unsigned child_n;
    /* Signs of m:d: before, after and between its parts. m:nary and m:acc have theirs in `open`. */
    char open[EQUATION_SIGN_BYTES], close[EQUATION_SIGN_BYTES], separator[EQUATION_SIGN_BYTES];
    char name[12];
};

struct equation {
    struct buf text;
    struct equation_node nodes[EQUATION_DEPTH_MAX];
    unsigned depth; /* what is nested deeper is put as plain text */
    bool is_text;
};

void equation_init(struct equation *equation);
void equation_fini(struct equation *equation);

/* The events of an equation, m:oMath included. */
void equation_start(struct equation *equation, const struct xml_tag *tag);
void equation_text(struct equation *equation, struct str text);
/* Returns true when the equation has ended: its text is `equation->text`, until equation_clear. */
bool equation_end(struct equation *equation, const struct xml_tag *tag);
void equation_clear(struct equation *equation);
/* Puts what begins at `from` in parentheses, unless it is empty, one number, word or sign, or in
 * parentheses already. */
void equation_wrap(struct buf *text, size_t from);
/* Returns whether an equation is open. */
static inline bool equation_is_open(const struct equation *equation)
{
    return equation->depth > 0;
}

#endif
