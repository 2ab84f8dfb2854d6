/* SPDX-License-Identifier: MIT
 * pdf_characters.c - see pdf_characters.h. */
#include "shared/extract/pdf_characters.h"

#include "shared/text/text.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>

enum { UNITS_MAX = 32 };

static bool is_unseen(uint32_t c)
{
    return c < 0x20 || c == 0xf020 || c == 0xf0a0 || (c >= 0x7f && c <= 0x9f) ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x2069) || c == 0xfeff;
}

static bool is_presentation_form(uint32_t c)
{
    return (c >= 0xfb00 && c <= 0xfdfb) || (c >= 0xfe70 && c <= 0xfefc);
}

static void put_code(struct buf *text, uint32_t c)
{
    char bytes[4];
    buf_put(text, (struct str){bytes, text_put_char(bytes, c)});
}

/* Puts the letters that a ligature or a form of a letter stands for. */
static void put_letters(struct buf *text, uint32_t c)
{
    UErrorCode status = U_ZERO_ERROR;
    UChar units[UNITS_MAX];
    const UNormalizer2 *form = unorm2_getNFKCInstance(&status);
    int32_t n = U_FAILURE(status)
                    ? -1
                    : unorm2_getDecomposition(form, (UChar32)c, units, UNITS_MAX, &status);
    char bytes[3 * UNITS_MAX];
    if (n >= 0)
        u_strToUTF8(bytes, sizeof bytes, &n, units, n, &status);
    if (n < 0 || U_FAILURE(status))
        put_code(text, c);
    else
        buf_put(text, (struct str){bytes, (size_t)n});
}

static void put_character(struct buf *text, uint32_t c, bool is_last)
{
    if (is_unseen(c) || (c == 0xad && !is_last))
        return;
    if (is_presentation_form(c))
        put_letters(text, c);
    else if (c >= 0xf000 && c <= 0xf0ff)
        buf_lit(text, "•");
    else
        put_code(text, c == 0xa0 ? ' ' : c);
}

void pdf_put_characters(struct buf *text, struct str word)
{
    uint32_t c;
    for (size_t step; (step = text_char(word, &c)) > 0;) {
        word = (struct str){word.at + step, word.n - step};
        put_character(text, c, word.n == 0);
    }
}

static bool is_digit_at(struct str word, size_t at)
{
    return at > 0 && word.at[at - 1] >= '0' && word.at[at - 1] <= '9';
}

void pdf_put_turned(struct buf *text, struct str word)
{
    while (word.n > 0) {
        size_t from = text_floor(word, word.n - 1);
        while (from > 0 && is_digit_at(word, word.n) && is_digit_at(word, from))
            from--; /* numbers are read from left to right */
        pdf_put_characters(text, (struct str){word.at + from, word.n - from});
        word.n = from;
    }
}

bool pdf_is_rtl(uint32_t c)
{
    return (c >= 0x590 && c <= 0x8ff) || (c >= 0xfb1d && c <= 0xfdff) ||
           (c >= 0xfe70 && c <= 0xfefc);
}

bool pdf_is_lower(uint32_t c)
{
    return u_islower((UChar32)c);
}

bool pdf_is_ideograph(uint32_t c)
{
    return (c >= 0x3000 && c <= 0x30ff) || (c >= 0x3400 && c <= 0x9fff) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0xff00 && c <= 0xffef) ||
           (c >= 0x20000 && c <= 0x3ffff);
}

uint32_t pdf_first_character(struct str word)
{
    uint32_t c;
    return text_char(word, &c) > 0 ? c : 0;
}

uint32_t pdf_last_character(struct str word)
{
    if (word.n == 0)
        return 0;
    size_t at = text_floor(word, word.n - 1);
    return pdf_first_character((struct str){word.at + at, word.n - at});
}

void pdf_drop_hyphen(struct buf *text)
{
    uint32_t c = pdf_last_character(buf_str(text));
    if (c == '-' || c == 0xad || c == 0x2010)
        text->n = text_floor(buf_str(text), text->n - 1);
}
