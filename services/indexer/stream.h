/* SPDX-License-Identifier: MIT
 *
 * stream: the stream of jobs of one shard, that of the pipeline's (pipeline_use), as an indexer
 * reads it: the group `indexers`, which its first reader makes, and one entry after the other.
 * Blocking, on the pipeline's thread.
 */
#ifndef PARLEY_INDEXER_STREAM_H
#define PARLEY_INDEXER_STREAM_H

#include "services/indexer/pipeline.h"

enum { STREAM_ID_BYTES = 64 };

/* A job as in the stream; each text is NUL-terminated. */
struct stream_entry {
    char entry[STREAM_ID_BYTES], job[STREAM_ID_BYTES];
};

/* Creates the group if it is missing; logs other errors. */
void stream_make_group(struct pipeline *p);
/* Every former process has a consumer in the group. Deletes those without pending entries that were
 * not seen for a day. */
void stream_drop_old_consumers(struct pipeline *p);
/* The next entry that nobody has, which is this indexer's then; waits for one so long (0: not at
 * all). ERR_OK; ERR_NOT_FOUND: none came. ERR_CONFLICT: there was no group, so at the very first
 * start, and after Redis lost its data; one was made. ERR_REDIS_LOST. */
enum err stream_read(struct pipeline *p, unsigned block_ms,
                     struct stream_entry *ret_entry) must_check;

#endif
