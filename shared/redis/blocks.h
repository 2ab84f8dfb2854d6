/* SPDX-License-Identifier: MIT
 *
 * blocks: the way of large values to Redis: blocks of at most 1 MiB, pushed onto a list that a verb
 * has made (RPUSHX: onto none else), over a connection of their own, so that nobody else's turn
 * waits for them. That connection is opened when the first value needs it, and kept. Values under
 * way at once take turns, block by block; what the connection holds of all of them together is two
 * blocks. One per loop, used on its thread only.
 *
 *     blocks_push(blocks, &op->push, key, bytes, on_pushed);
 *     ...
 *     blocks_cancel(&op->push);        in the destructor, whether it is under way or not
 */
#ifndef PARLEY_REDIS_BLOCKS_H
#define PARLEY_REDIS_BLOCKS_H

#include "shared/base/err.h"
#include "shared/op/loop.h"
#include "shared/redis/address.h"

/* So large that a value has few of them, and so small that nobody else waits for one: it takes
 * Redis 0.2 ms. */
enum { BLOCK_BYTES = 1 << 20 };

struct blocks;
struct push;

/* ERR_OK: every block is in the list. Else there is none any more, or the list's time to live ends
 * it: ERR_REDIS_LOST (also when the list is not what was expected: gone, or restored without some
 * of them), ERR_STORE_FULL, ERR_STORE_READONLY, ERR_STORE_BUSY. */
typedef void push_cb(struct push *push, enum err error);

/* A value under way, part of its owner. Zeroed to begin with; it must not move meanwhile. */
struct push {
    struct blocks *blocks; /* NULL: nothing is under way */
    struct push *next;     /* of those whose turn is to come */
    struct str key, rest;
    uint64_t in_list; /* elements that the list has once the block that is under way is in it */
    push_cb *on_pushed;
};

/* How many blocks a value has: one at least, as an empty value has an empty one. */
static inline uint64_t blocks_of(size_t bytes)
{
    return bytes == 0 ? 1 : (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
}

/* Does not connect yet. `address` is borrowed. */
struct blocks *blocks_create(struct loop *loop, const struct redis_address *address) must_check;
/* Values under way end with ERR_REDIS_LOST first. Accepts NULL. */
void blocks_destroy(struct blocks *blocks);

/* Pushes `bytes` onto the list `key`, which has one element, made with it. Both are borrowed until
 * it ends. `on_pushed` runs once, never before this returns. */
void blocks_push(struct blocks *blocks, struct push *push, struct str key, struct str bytes,
                 push_cb *on_pushed);
/* Its owner ends: no callback runs, and the list is deleted with all of its blocks. Nothing happens
 * when it is not under way. */
void blocks_cancel(struct push *push);
/* Deletes the list of a value that was pushed and that nobody took over. */
void blocks_drop(struct blocks *blocks, struct str key);

#endif
