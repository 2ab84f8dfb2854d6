/* SPDX-License-Identifier: MIT
 * fuzz_extract_html.c - web pages of any bytes. What comes out is UTF-8 without control characters
 * but newline and tab. */
#include "shared/extract/extract.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str html = {(const char *)data, n};
    struct buf text;
    (void)!extract_sniff(EXTRACT_HTML, html);
    buf_init(&text, 1 << 20);
    (void)!extract_put_html(&text, html);
    if (!text.is_over && !str_is_utf8(buf_str(&text)))
        abort();
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.at[i] < 0x20 && text.at[i] != '\n' && text.at[i] != '\t')
            abort();
    buf_fini(&text);
    return 0;
}
