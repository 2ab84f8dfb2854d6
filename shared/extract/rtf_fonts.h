/* SPDX-License-Identifier: MIT
 *
 * rtf_fonts: the encodings of an RTF document's bytes, by code page and by the character set of its
 * fonts. One document; one thread.
 */
#ifndef PARLEY_EXTRACT_RTF_FONTS_H
#define PARLEY_EXTRACT_RTF_FONTS_H

#include "shared/base/buf.h"

enum { RTF_FONTS_MAX = 1024, RTF_SYMBOLS = 42 }; /* RTF_SYMBOLS: the page of symbol fonts */

struct rtf_fonts {
    unsigned default_page;
    unsigned short pages[RTF_FONTS_MAX]; /* 0: the default */
};

/* The code page of a character set (\fcharset); 0: the document's. */
unsigned rtf_page_of_charset(int charset);
/* Returns whether letters of a page may have two bytes. */
bool rtf_page_is_wide(unsigned page);
/* Puts bytes of a page as UTF-8. */
void rtf_put_bytes(struct buf *b, struct str bytes, unsigned page);

#endif
