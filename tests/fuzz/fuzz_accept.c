/* SPDX-License-Identifier: MIT
 * fuzz_accept.c - Accept. The first line is the type that is looked for, the rest the header: a
 * quality is never above the best, a type that the list names at its end with the best quality has
 * it, and a range that covers nothing changes nothing. */
#include "shared/base/buf.h"
#include "shared/http/request/accept.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str list = {size == 0 ? "" : (const char *)data, size}, name = str_cut(&list, '\n');
    struct buf longer;
    if (list.at == NULL)
        return 0;
    unsigned quality = accept_quality(list, name);
    if (quality > ACCEPT_BEST)
        abort();
    if (name.n == 0 || memchr(name.at, ',', name.n) != NULL ||
        memchr(name.at, ';', name.n) != NULL || str_trim(name).n < name.n)
        return 0;
    buf_init(&longer, size + 64);
    buf_put(&longer, list);
    buf_lit(&longer, ",\x01/\x01;q=0.7");
    if (!str_eq(name, STR("\x01/\x01")) && accept_quality(buf_str(&longer), name) != quality)
        abort();
    buf_lit(&longer, ", ");
    buf_put(&longer, name);
    buf_lit(&longer, " ;q=1.000");
    if (accept_quality(buf_str(&longer), name) != ACCEPT_BEST)
        abort();
    buf_fini(&longer);
    return 0;
}
