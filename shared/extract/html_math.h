/* SPDX-License-Identifier: MIT
 *
 * html_math: a formula in MathML on one line: (a+b)/2, x^2, a_n, sqrt(x). One thread.
 */
#ifndef PARLEY_EXTRACT_HTML_MATH_H
#define PARLEY_EXTRACT_HTML_MATH_H

#include "shared/base/buf.h"
#include "shared/extract/html_tree.h"

void html_math_put(struct buf *out, const struct html_tree *tree, uint32_t math);

#endif
