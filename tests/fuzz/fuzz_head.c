/* SPDX-License-Identifier: MIT
 * fuzz_head.c - heads of requests: whatever is read lies inside of the input, a head that is good
 * is unfinished up to its end, and hiding fields keeps it good. */
#include "shared/http/wire/head.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_inside(struct str part, const char *at, size_t n)
{
    require(part.at == NULL || (part.at >= at && part.at + part.n <= at + n));
}

static void check_hiding(const char *at, struct head head)
{
    struct head plain;
    char *copy = malloc(head.n);
    memcpy(copy, at, head.n);
    head_hide(copy, head.n, HEAD_BODY | HEAD_EXPECT | HEAD_H2C);
    require(head_read(copy, head.n, &plain) == HEAD_GOOD && plain.n == head.n);
    require(plain.length_n == 0 && !plain.has_length && !plain.is_chunked);
    require(!plain.expects && !plain.wants_h2c);
    require(plain.host_n == head.host_n && plain.target.n == head.target.n);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data;
    struct head head, part;
    if (size == 0 || size > 4096 || head_read(at, size, &head) != HEAD_GOOD)
        return 0;
    require(head.n <= size && head.method.n > 0 && head.target.n > 0);
    check_inside(head.method, at, head.n);
    check_inside(head.target, at, head.n);
    check_inside(head.authorization, at, head.n);
    for (size_t i = 1; i < head.n; i++)
        require(head_read(at, i, &part) == HEAD_UNFINISHED);
    check_hiding(at, head);
    return 0;
}
