/* SPDX-License-Identifier: MIT
 *
 * pdf_characters: the characters of a PDF's words as people write them. Pure, any thread.
 */
#ifndef PARLEY_EXTRACT_PDF_CHARACTERS_H
#define PARLEY_EXTRACT_PDF_CHARACTERS_H

#include "shared/base/buf.h"

/* Puts the characters of a word without those that nobody sees: control characters, marks of width
 * 0, soft hyphens except at its end. Ligatures and Arabic presentation forms become the letters
 * that they are made of, and bullets of symbol fonts "•". */
void pdf_put_characters(struct buf *text, struct str word);
/* Puts a word that is written from right to left, whose characters come from left to right, in the
 * order in which they are read. */
void pdf_put_turned(struct buf *text, struct str word);

/* A letter that is written from right to left. */
bool pdf_is_rtl(uint32_t c);
bool pdf_is_lower(uint32_t c);
/* Chinese and Japanese characters, which are written without spaces. */
bool pdf_is_ideograph(uint32_t c);
/* The first and the last character; 0 of an empty word. */
uint32_t pdf_first_character(struct str word);
uint32_t pdf_last_character(struct str word);
/* Removes the hyphen that the text ends with, if it does. */
void pdf_drop_hyphen(struct buf *text);

#endif
