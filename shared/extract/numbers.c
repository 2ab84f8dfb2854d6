/* SPDX-License-Identifier: MIT
 * numbers.c - see numbers.h. */
#include "shared/extract/numbers.h"

#include "shared/text/text.h"

enum {
    ROMAN_MAX = 3999,
    LETTERS_MAX = 26 * 30,
    CHINESE_MAX = 99,
    CIRCLED_MAX = 20,
    PAGE_LABEL_CHARS_MAX = 24
};

static void put_doubled(struct buf *b, char first, unsigned n)
{
    for (unsigned i = 0; i <= (n - 1) / 26; i++)
        buf_put_char(b, (char)(first + (int)((n - 1) % 26)));
}

static void put_letters(struct buf *b, char first, unsigned n)
{
    char letters[8]; /* 32 bits are seven letters */
    size_t i = sizeof letters;
    for (; n > 0; n = (n - 1) / 26)
        letters[--i] = (char)(first + (int)((n - 1) % 26));
    buf_put(b, (struct str){letters + i, sizeof letters - i});
}

static void put_roman(struct buf *b, bool is_upper, unsigned n)
{
    static const struct {
        unsigned value;
        const char *letters;
    } steps[] = {{1000, "m"}, {900, "cm"}, {500, "d"}, {400, "cd"}, {100, "c"},
                 {90, "xc"},  {50, "l"},   {40, "xl"}, {10, "x"},   {9, "ix"},
                 {5, "v"},    {4, "iv"},   {1, "i"}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (; n >= steps[i].value; n -= steps[i].value)
            for (const char *c = steps[i].letters; *c != 0; c++)
                buf_put_char(b, is_upper ? (char)(*c - 0x20) : *c);
}

/* Two digits: 三, 十, 十二, 二十, 二十一. */
static void put_chinese(struct buf *b, unsigned n)
{
    static const char *const digits[] = {"", "一", "二", "三", "四", "五", "六", "七", "八", "九"};
    if (n >= 20)
        buf_put(b, str_of(digits[n / 10]));
    if (n >= 10)
        buf_lit(b, "十");
    buf_put(b, str_of(digits[n % 10]));
}

static void put_ordinal(struct buf *b, unsigned n)
{
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    unsigned last = n / 10 % 10 == 1 || n % 10 > 3 ? 0 : n % 10;
    buf_put_u64(b, n);
    buf_put(b, str_of(ends[last]));
}

void numbers_put(struct buf *b, enum number_form form, unsigned n)
{
    bool is_letter = form == NUMBER_LOWER_LETTER || form == NUMBER_UPPER_LETTER;
    bool is_alpha = form == NUMBER_LOWER_ALPHA || form == NUMBER_UPPER_ALPHA;
    bool is_roman = form == NUMBER_LOWER_ROMAN || form == NUMBER_UPPER_ROMAN;
    if (form == NUMBER_NONE || form == NUMBER_BULLET)
        return;
    if (is_letter && n > 0 && n <= LETTERS_MAX)
        put_doubled(b, form == NUMBER_LOWER_LETTER ? 'a' : 'A', n);
    else if (is_alpha && n > 0)
        put_letters(b, form == NUMBER_LOWER_ALPHA ? 'a' : 'A', n);
    else if (is_roman && n > 0 && n <= ROMAN_MAX)
        put_roman(b, form == NUMBER_UPPER_ROMAN, n);
    else if (form == NUMBER_CHINESE && n > 0 && n <= CHINESE_MAX)
        put_chinese(b, n);
    else if (form == NUMBER_CIRCLED && n > 0 && n <= CIRCLED_MAX)
        buf_put(b, (struct str){(char[]){'\xe2', '\x91', (char)(0x9f + (int)n)}, 3});
    else if (form == NUMBER_ZERO && n < 10)
        buf_printf(b, "0%u", n);
    else if (form == NUMBER_ORDINAL)
        put_ordinal(b, n);
    else
        buf_put_u64(b, n);
}

bool numbers_is_page_label(struct str text)
{
    text = str_trim(text);
    if (text_length(text) > PAGE_LABEL_CHARS_MAX)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (text.at[i] >= '0' && text.at[i] <= '9')
            return false;
    return true;
}
