/* SPDX-License-Identifier: MIT
 *
 * pdf_box: a place on a page, in points from its upper left corner. Pure functions, any thread.
 */
#ifndef PARLEY_EXTRACT_PDF_BOX_H
#define PARLEY_EXTRACT_PDF_BOX_H

struct pdf_box {
    float x0, y0, x1, y1;
};

static inline float pdf_width(const struct pdf_box *box)
{
    return box->x1 - box->x0;
}
static inline float pdf_middle(const struct pdf_box *box)
{
    return (box->y0 + box->y1) / 2;
}

#endif
