/* SPDX-License-Identifier: MIT
 * fuzz_base_str.c - the small readers of str: numbers against the C library's, hex there and back,
 * a list cut and put together again. */
#include "shared/base/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { OUT_MAX = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_numbers(struct str text)
{
    uint64_t n;
    double d;
    char copy[64];
    if (str_parse_u64(text, &n)) {
        require(text.n < sizeof copy);
        snprintf(copy, sizeof copy, "%.*s", STR_ARG(text));
        errno = 0;
        require(strtoull(copy, NULL, 10) == n && errno == 0);
    }
    if (str_parse_double(text, &d))
        require(d - d == 0 && str_trim(text).n == text.n);
}

static void check_hex(struct str text)
{
    unsigned char *bytes = malloc(text.n / 2 + 1);
    char *hex = malloc(text.n + 1);
    if (str_unhex(text, bytes)) {
        str_hex(bytes, text.n / 2, hex);
        require(str_eq_nocase(str_of(hex), text));
    }
    free(bytes);
    free(hex);
}

static void check_cut(struct str text)
{
    struct buf b;
    buf_init(&b, OUT_MAX);
    for (struct str rest = text; rest.at != NULL;) {
        buf_put(&b, str_cut(&rest, ','));
        if (rest.at != NULL)
            buf_put_char(&b, ',');
    }
    require(str_eq(buf_str(&b), text));
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {size == 0 ? NULL : (const char *)data, size};
    check_numbers(text);
    check_hex(text);
    check_cut(text);
    struct str trimmed = str_trim(text);
    require(str_eq(str_trim(trimmed), trimmed) && trimmed.n <= text.n);
    return 0;
}
