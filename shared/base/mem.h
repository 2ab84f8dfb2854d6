/* SPDX-License-Identifier: MIT
 *
 * mem: memory for as long as its owner wants, released with free(). When there is none left the
 * process aborts: nobody checks for NULL. Data whose size a client decides passes a buf with a
 * maximum (buf.h), or is counted before it is allocated. Any thread.
 */
#ifndef PARLEY_BASE_MEM_H
#define PARLEY_BASE_MEM_H

#include <stddef.h>
#include <stdlib.h>

/* Memory with any content; never NULL, even for 0 bytes. */
void *mem_alloc(size_t bytes) __attribute__((malloc, returns_nonnull, warn_unused_result));
/* Zeroed memory for one item, or for `n` items of `bytes` each. */
void *mem_zeroed(size_t bytes) __attribute__((malloc, returns_nonnull, warn_unused_result));
void *mem_zeroed_n(size_t n, size_t bytes)
    __attribute__((malloc, returns_nonnull, warn_unused_result));
/* Like realloc(3): takes `old` (NULL: nothing yet), what is new has any content. */
void *mem_resize(void *old, size_t bytes) __attribute__((returns_nonnull, warn_unused_result));

/* An array that grows by one item at a time: returns it with room for item number `n`. How much
 * room it has follows from `n`, so `items` (NULL at first) must be an array that only this function
 * has allocated.
 *
 *     list->items = mem_grow(list->items, list->n, sizeof *list->items);
 *     list->items[list->n++] = item; */
void *mem_grow(void *items, size_t n, size_t item_bytes)
    __attribute__((returns_nonnull, warn_unused_result));

#endif
