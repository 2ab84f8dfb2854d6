/* SPDX-License-Identifier: MIT
 *
 * searched: visits every document that searches find, of all owners and collections or of one
 * owner, shard after shard. Only names are kept between steps, and each document is read when its
 * turn comes, so what is stored may change meanwhile. Blocking; one per process, main thread.
 */
#ifndef PARLEY_INDEXER_SEARCHED_H
#define PARLEY_INDEXER_SEARCHED_H

#include "services/indexer/outdated.h"
#include "shared/redis/blocking.h"

/* Borrowed: space and id until the visit returns, the rest until its first call to Redis. */
struct searched_document {
    struct str space, id, status, filename_json;
    struct indexed_by by;
    bool is_file; /* of a collection: parley ingest has stored it */
};

struct searched {
    /* set by the caller */
    const struct shard_map *map;
    const char *owner, *namespace; /* NULL: all; no namespace */
    enum err (*visit)(void *arg, const struct searched_document *document);
    void *arg;
    struct blocking *connections[SHARDS_MAX]; /* one for each server */
    /* of the shard in use, for calls of the visit */
    struct blocking *blocking;
    const char *prefix;
};

/* Goes through all of them; ends early when the process is interrupted, or with the first error of
 * a visit. ERR_OK, ERR_REDIS_LOST, ERR_INTERNAL or that error. */
enum err searched_visit_all(struct searched *searched) must_check;

#endif
