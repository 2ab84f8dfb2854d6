/* SPDX-License-Identifier: MIT
 *
 * marks: strips from an answer's text what is valid only in that answer: marks like [1], and the
 * list of sources at the end. People copy both when they quote an answer. Pure, any thread.
 */
#ifndef PARLEY_TEXT_MARKS_H
#define PARLEY_TEXT_MARKS_H

#include "shared/base/buf.h"

/* Puts `text`, trimmed, without marks ([1], [1, 2], [1-3]) and the spaces before them, and without
 * "Sources:" and the text after it if that is a list of sources. Linear in its bytes. */
void marks_put_without(struct buf *b, struct str text);

#endif
