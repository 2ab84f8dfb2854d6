/* SPDX-License-Identifier: MIT
 *
 * blocks: sends large values to Redis in blocks of at most 1 MiB, pushed onto a list that a verb
 * has created (RPUSHX, so never onto another), over a separate connection, so that no turn waits
 * for them. The connection is opened for the first value and kept. Concurrent values alternate
 * block by block; the connection buffers at most two blocks in total. One per loop, used on its
 * thread only.
 *
 *     blocks_push(blocks, &op->push, key, bytes, on_pushed);
 *     ...
 *     blocks_cancel(&op->push);        in the destructor, in progress or not
 */
#ifndef PARLEY_REDIS_BLOCKS_H
#define PARLEY_REDIS_BLOCKS_H

#include "shared/base/err.h"
#include "shared/op/loop.h"
#include "shared/redis/address.h"

/* Large enough that a value has few blocks, small enough that nobody waits for one: Redis needs 0.2
 * ms. */
enum { BLOCK_BYTES = 1 << 20 };

struct blocks;
struct push;

/* ERR_OK: every block is in the list. Otherwise the list is deleted or expires: ERR_REDIS_LOST
 * (even if the list is not as expected: deleted, or restored without some blocks), ERR_STORE_FULL,
 * ERR_STORE_READONLY, ERR_STORE_BUSY. */
typedef void push_cb(struct push *push, enum err error);

/* A value being sent, part of its owner. Zeroed initially; it must not move while in progress. */
struct push {
    struct blocks *blocks; /* NULL: nothing is under way */
    struct list_link link; /* of those whose turn is to come */
    struct str key, rest;
    size_t sent_bytes; /* of the current block */
    uint64_t in_list;  /* elements of the list after the current block */
    push_cb *on_pushed;
};

/* Number of blocks of a value: at least one, because an empty value has one empty block. */
static inline uint64_t blocks_of(size_t bytes)
{
    return bytes == 0 ? 1 : (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
}

/* Does not connect yet. `address` is borrowed. */
struct blocks *blocks_create(struct loop *loop, const struct redis_address *address) must_check;
/* Unfinished values first end with ERR_REDIS_LOST. Accepts NULL. */
void blocks_destroy(struct blocks *blocks);

/* Pushes `bytes` onto the list `key`, which was created with one element. Both are borrowed until
 * the end. `on_pushed` runs once, never before this returns. */
void blocks_push(struct blocks *blocks, struct push *push, struct str key, struct str bytes,
                 push_cb *on_pushed);
/* Cancels it when its owner ends: no callback runs, and the list is deleted with all blocks. Does
 * nothing if it is not in progress. */
void blocks_cancel(struct push *push);
/* Deletes the list of a pushed value that nobody took over. */
void blocks_drop(struct blocks *blocks, struct str key);

#endif
