/* SPDX-License-Identifier: MIT
 * fuzz_etag.c - If-None-Match. The first line is the tag that is looked for, the rest the header:
 * it is found when the header names it in whatever company, and never when it is nowhere in there.
 */
#include "shared/base/buf.h"
#include "shared/http/request/respond.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str list = {size == 0 ? "" : (const char *)data, size}, tag = str_cut(&list, '\n');
    struct buf longer;
    if (list.at == NULL || tag.n == 0)
        return 0;
    bool is_in = respond_etag_is_in(list, tag);
    bool is_there = memmem(list.at, list.n, tag.at, tag.n) != NULL;
    if (is_in && !is_there && !str_eq(str_trim(list), STR("*")))
        abort();
    if (memchr(tag.at, ',', tag.n) != NULL || str_trim(tag).n < tag.n ||
        str_has_prefix(tag, STR("W/")))
        return 0;
    buf_init(&longer, size + 16);
    buf_put(&longer, list);
    buf_lit(&longer, " , W/");
    buf_put(&longer, tag);
    buf_lit(&longer, " ,");
    if (!respond_etag_is_in(buf_str(&longer), tag))
        abort();
    buf_fini(&longer);
    return 0;
}
