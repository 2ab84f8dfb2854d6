/* SPDX-License-Identifier: MIT
 * fuzz_extract_docx.c - DOCX: the input as the XML of a main part and, when it looks like one, as
 * the zip file itself. What comes out is UTF-8 without control characters but newline and tab. */
#include "shared/extract/extract.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(const struct buf *text, enum extract_fault fault)
{
    if (fault >= EXTRACT_FAULT_STOPPED || (!text->is_over && !str_is_utf8(buf_str(text))))
        abort();
    for (size_t i = 0; i < text->n; i++)
        if ((unsigned char)text->at[i] < 0x20 && text->at[i] != '\n' && text->at[i] != '\t')
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str bytes = {(const char *)data, n};
    struct buf text;
    buf_init(&text, 1 << 20);
    if (str_has_prefix(bytes, STR("PK"))) {
        (void)!extract_sniff(EXTRACT_DOCX, bytes);
        check(&text, extract_put_docx(&text, bytes));
    } else {
        check(&text, extract_put_docx_xml(&text, bytes));
    }
    buf_fini(&text);
    return 0;
}
