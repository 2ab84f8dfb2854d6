/* SPDX-License-Identifier: MIT
 *
 * docx_symbols: letters of the fonts Symbol and Wingdings (w:sym) as characters. Pure; any thread.
 */
#ifndef PARLEY_EXTRACT_DOCX_SYMBOLS_H
#define PARLEY_EXTRACT_DOCX_SYMBOLS_H

#include "shared/base/buf.h"

/* Puts the character that `code` (hex digits, as in F0FC) is in a font; nothing if it is a drawing
 * that no character stands for. */
void docx_put_symbol(struct buf *b, struct str font, struct str code);

#endif
