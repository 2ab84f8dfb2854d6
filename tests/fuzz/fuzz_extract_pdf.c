/* SPDX-License-Identifier: MIT
 * fuzz_extract_pdf.c - the text of a PDF from any bytes in place of words and places: it ends, has
 * no control characters except line ends and form feeds, and is about as long as what came in. */
#include "shared/extract/pdf_text.h"

#include <stdlib.h>

enum { TEXT_MAX_FACTOR = 64, TEXT_MIN_BYTES = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf text;
    buf_init(&text, size * TEXT_MAX_FACTOR + TEXT_MIN_BYTES);
    pdf_put_text(&text, (struct str){(const char *)data, size});
    if (text.is_over)
        abort();
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c < 0x20 && c != '\n' && c != '\f')
            abort();
    }
    buf_fini(&text);
    return 0;
}
