/* SPDX-License-Identifier: MIT
 * pool.c - see pool.h. */
#include "shared/extract/pool.h"

#include "shared/base/mem.h"

#include <stdlib.h>

enum { BLOCK_BYTES = 32768 };

struct pool_block {
    struct pool_block *next;
    size_t n, cap;
    char at[];
};

static struct pool_block *add_block(struct pool *pool, size_t n)
{
    size_t cap = n > BLOCK_BYTES ? n : BLOCK_BYTES;
    struct pool_block *block = mem_alloc(sizeof *block + cap);
    *block = (struct pool_block){.next = pool->newest, .cap = cap};
    pool->newest = block;
    return block;
}

struct str pool_keep(struct pool *pool, struct str s)
{
    struct pool_block *block = pool->newest;
    if (s.n == 0 || s.n > pool->max_bytes - pool->used_bytes)
        return STR("");
    if (block == NULL || s.n > block->cap - block->n)
        block = add_block(pool, s.n);
    char *at = block->at + block->n;
    memcpy(at, s.at, s.n);
    block->n += s.n;
    pool->used_bytes += s.n;
    return (struct str){at, s.n};
}

void pool_fini(struct pool *pool)
{
    while (pool->newest != NULL) {
        struct pool_block *block = pool->newest;
        pool->newest = block->next;
        free(block);
    }
}
