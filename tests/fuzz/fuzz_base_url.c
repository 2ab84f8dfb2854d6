/* SPDX-License-Identifier: MIT
 * fuzz_base_url.c - the percent encodings: whatever is encoded decodes to itself, names are one to
 * one with what they stand for, and nothing else is read as a name. */
#include "shared/base/buf.h"

#include <stdlib.h>

enum { OUT_MAX = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {size == 0 ? NULL : (const char *)data, size};
    struct buf encoded, decoded;
    buf_init(&encoded, OUT_MAX);
    buf_init(&decoded, OUT_MAX);

    buf_put_url_encoded(&encoded, text);
    require(buf_put_url_decoded(&decoded, buf_str(&encoded), true));
    require(str_eq(buf_str(&decoded), text));

    buf_clear(&encoded);
    buf_clear(&decoded);
    buf_put_name(&encoded, text);
    require(encoded.n > 0 && memchr(encoded.at, '\n', encoded.n) == NULL);
    require(buf_put_unnamed(&decoded, buf_str(&encoded)));
    require(str_eq(buf_str(&decoded), text));

    buf_clear(&encoded);
    buf_clear(&decoded);
    if (buf_put_unnamed(&decoded, text)) {
        buf_put_name(&encoded, buf_str(&decoded));
        require(str_eq(buf_str(&encoded), text));
    }

    buf_clear(&decoded);
    if (buf_put_url_decoded(&decoded, text, true))
        require(decoded.n <= text.n);
    buf_fini(&encoded);
    buf_fini(&decoded);
    return 0;
}
