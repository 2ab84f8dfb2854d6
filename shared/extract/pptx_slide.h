/* SPDX-License-Identifier: MIT
 *
 * pptx_slide: the text of a slide of a PPTX presentation: its title as a heading, lists, tables,
 * charts, and the notes below it. One thread.
 */
#ifndef PARLEY_EXTRACT_PPTX_SLIDE_H
#define PARLEY_EXTRACT_PPTX_SLIDE_H

#include "shared/extract/package.h"

/* Reads a slide and puts its text. NONE, BROKEN, BOMB or ENCRYPTED. */
enum extract_fault pptx_slide_read(struct package *package, struct str part,
                                   struct buf *rough) must_check;

#endif
