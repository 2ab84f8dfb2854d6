/* SPDX-License-Identifier: MIT
 * mem.c - see mem.h. */
#include "shared/base/mem.h"

#include <stdbool.h>
#include <stdint.h>

enum { GROW_FROM = 8 };

static void *or_abort(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

void *mem_alloc(size_t bytes)
{
    return or_abort(malloc(bytes == 0 ? 1 : bytes));
}

void *mem_zeroed(size_t bytes)
{
    return or_abort(calloc(1, bytes == 0 ? 1 : bytes));
}

void *mem_zeroed_n(size_t n, size_t bytes)
{
    return or_abort(n == 0 || bytes == 0 ? calloc(1, 1) : calloc(n, bytes));
}

void *mem_resize(void *old, size_t bytes)
{
    return or_abort(realloc(old, bytes == 0 ? 1 : bytes));
}

/* Room for 8, 16, 32, ... items, made when the first and the 9th, 17th, 33rd, ... comes. */
void *mem_grow(void *items, size_t n, size_t item_bytes)
{
    bool is_full = n == 0 || (n >= GROW_FROM && (n & (n - 1)) == 0);
    size_t room = n == 0 ? GROW_FROM : 2 * n;
    if (!is_full)
        return or_abort(items);
    if (room > SIZE_MAX / item_bytes)
        abort();
    return mem_resize(items, room * item_bytes);
}
