/* SPDX-License-Identifier: MIT
 * fuzz_extract_encoding.c - texts of any encoding: the first byte says which one they are said to
 * have, or that nobody says it; and what a page of those bytes names. What comes out is UTF-8, and
 * not much longer than what came in. */
#include "shared/extract/encoding.h"
#include "shared/extract/html_charset.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const labels[] = {"",       "utf-8",       "utf-16le",      "utf-16be",
                                         "koi8-r", "shift_jis",   "iso-2022-jp",   "euc-jp",
                                         "gb2312", "gb18030",     "big5",          "euc-kr",
                                         "latin1", "windows-874", "x-user-defined"};
    struct buf text;
    if (n == 0)
        return 0;
    struct str bytes = {(const char *)data + 1, n - 1},
               label = str_of(labels[data[0] % (sizeof labels / sizeof *labels)]);
    struct str named = html_charset_find(bytes);
    buf_init(&text, bytes.n * 4 + 16);
    (void)!encoding_is_plain(bytes);
    (void)!encoding_is_known(named);
    if (encoding_put_utf8(&text, bytes, label) && (text.is_over || !str_is_utf8(buf_str(&text))))
        abort();
    buf_fini(&text);
    return 0;
}
