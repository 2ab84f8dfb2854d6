/* SPDX-License-Identifier: MIT
 * fuzz_multipart.c - forms of any bytes: the input is a media type, a NUL, and the body. What is
 * found lies within the body, and a file name is clean UTF-8 of bounded length. */
#include "shared/http/request/multipart.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_within(struct str inner, struct str outer)
{
    return inner.n == 0 || (inner.at >= outer.at && inner.at + inner.n <= outer.at + outer.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str body = {(const char *)data, size};
    struct str type = str_cut(&body, 0);
    struct multipart_part part;
    const char *reason = NULL;
    struct buf name;
    if (!multipart_find(type, body, "file", &part, &reason)) {
        if (reason == NULL)
            abort();
        return 0;
    }
    if (!is_within(part.bytes, body) || !is_within(part.filename, body) ||
        !is_within(part.content_type, body))
        abort();
    buf_init(&name, MULTIPART_FILENAME_MAX_BYTES);
    multipart_put_filename(&name, &part);
    if (name.is_over || !str_is_utf8(buf_str(&name)))
        abort();
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)name.at[i] < 0x20 || name.at[i] == '/' || name.at[i] == 0x7f)
            abort();
    buf_fini(&name);
    return 0;
}
