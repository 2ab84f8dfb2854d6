/* SPDX-License-Identifier: MIT
 *
 * pool: keeps texts where they are until all are freed together: names and ids of a document that
 * is being read. Past its maximum, texts become empty. One thread.
 */
#ifndef PARLEY_EXTRACT_POOL_H
#define PARLEY_EXTRACT_POOL_H

#include "shared/base/str.h"

/* Zeroed except for `max_bytes`. */
struct pool {
    size_t max_bytes, used_bytes;
    struct pool_block *newest;
};

/* Keeps a copy. */
struct str pool_keep(struct pool *pool, struct str s);
void pool_fini(struct pool *pool);

#endif
