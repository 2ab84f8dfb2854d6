/* SPDX-License-Identifier: MIT
 * rtf_fonts.c - see rtf_fonts.h (Rich Text Format 1.9.1). */
#include "shared/extract/rtf_fonts.h"

#include "shared/extract/docx_symbols.h"
#include "shared/extract/encoding.h"

#include <stdio.h>

enum { LABEL_MAX_BYTES = 24 };

unsigned rtf_page_of_charset(int charset)
{
    static const struct {
        int charset;
        unsigned page;
    } charsets[] = {{2, RTF_SYMBOLS}, {77, 10000}, {128, 932},  {129, 949},  {134, 936},
                    {136, 950},       {161, 1253}, {162, 1254}, {163, 1258}, {177, 1255},
                    {178, 1256},      {186, 1257}, {204, 1251}, {222, 874},  {238, 1250}};
    for (size_t i = 0; i < sizeof charsets / sizeof *charsets; i++)
        if (charsets[i].charset == charset)
            return charsets[i].page;
    return 0;
}

bool rtf_page_is_wide(unsigned page)
{
    return page == 932 || page == 936 || page == 949 || page == 950;
}

/* The label that the WHATWG standard has for a page. */
static void write_label(char label[LABEL_MAX_BYTES], unsigned page)
{
    static const struct {
        unsigned page;
        const char *label;
    } labels[] = {{932, "shift_jis"}, {936, "gbk"},         {949, "euc-kr"},      {950, "big5"},
                  {866, "ibm866"},    {10000, "macintosh"}, {874, "windows-874"}, {65001, "utf-8"}};
    snprintf(label, LABEL_MAX_BYTES, "windows-%u", page >= 1250 && page <= 1258 ? page : 1252);
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (labels[i].page == page)
            snprintf(label, LABEL_MAX_BYTES, "%s", labels[i].label);
}

static void put_symbols(struct buf *b, struct str bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        char code[5];
        snprintf(code, sizeof code, "F0%02X", (unsigned)(unsigned char)bytes.at[i]);
        docx_put_symbol(b, STR("Symbol"), str_of(code));
    }
}

void rtf_put_bytes(struct buf *b, struct str bytes, unsigned page)
{
    char label[LABEL_MAX_BYTES];
    struct buf utf8;
    if (bytes.n == 0)
        return;
    if (page == RTF_SYMBOLS) {
        put_symbols(b, bytes);
        return;
    }
    write_label(label, page);
    buf_init(&utf8, bytes.n * 4 + 16);
    if (encoding_put_utf8(&utf8, bytes, str_of(label)))
        buf_put(b, buf_str(&utf8));
    buf_fini(&utf8);
}
