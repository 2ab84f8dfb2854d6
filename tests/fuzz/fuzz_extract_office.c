/* SPDX-License-Identifier: MIT
 * fuzz_extract_office.c - the readers of shared/extract/office.h: the first byte of the input says
 * which, the rest is the file. What comes out is UTF-8 without control characters but newline, tab
 * and, between pages, form feed. */
#include "shared/extract/extract.h"
#include "shared/extract/office.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(const struct buf *text)
{
    if (!text->is_over && !str_is_utf8(buf_str(text)))
        abort();
    for (size_t i = 0; i < text->n; i++)
        if ((unsigned char)text->at[i] < 0x20 && strchr("\n\t\f", text->at[i]) == NULL)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    enum { FIRST = EXTRACT_PDF + 1, KINDS = EXTRACT_KIND_NR - FIRST };
    struct buf text;
    if (n == 0)
        return 0;
    struct str bytes = {(const char *)data + 1, n - 1};
    enum extract_kind kind = (enum extract_kind)(FIRST + data[0] % KINDS);
    buf_init(&text, 1 << 20);
    (void)!office_sniff(kind, bytes, false);
    if (office_put(kind, &text, bytes) >= EXTRACT_FAULT_STOPPED)
        abort();
    check(&text);
    if (kind == EXTRACT_EML) {
        buf_clear(&text);
        (void)!extract_put_mail_pdf(&text, bytes, 1);
    }
    buf_fini(&text);
    return 0;
}
