/* SPDX-License-Identifier: MIT
 *
 * collection: the documents of one collection for `parley ingest`: listing its files, and storing,
 * indexing and removing one. Blocking; one thread. All of it is safe to repeat.
 */
#ifndef PARLEY_INDEXER_COLLECTION_H
#define PARLEY_INDEXER_COLLECTION_H

#include "services/indexer/files.h"
#include "services/indexer/pipeline.h"

enum { COLLECTION_NAME_MAX_BYTES = 64, DOC_ID_BYTES = STR_UUID_BYTES };

struct collection_entry {
    char *name; /* of the file */
    char doc[DOC_ID_BYTES + 1];
};

struct collection {
    struct pipeline *pipeline;
    /* Documents may go over to the pipeline's embedding model; set by its owner. */
    bool is_reindex;
    uint32_t dimension; /* of that model's vectors, with is_reindex */
    char space[COLLECTION_NAME_MAX_BYTES * 3 + 8];
    struct collection_entry *entries; /* by name */
    size_t n;
};

enum file_change {
    FILE_NEW,
    FILE_CHANGED,
    FILE_SAME,
    FILE_OLD, /* the same, but its vectors are of another embedding model than the pipeline's */
    FILE_READ_BEFORE,   /* the same, but by now more is read of its kind */
    FILE_PACKED_BEFORE, /* the same, but by now the same text gives another pack */
    FILE_CHANGE_NR
};

enum put_outcome {
    PUT_INDEXED,
    PUT_FAILED,  /* `reason` says why */
    PUT_STOPPED, /* asked to stop, or Redis was gone for too long */
    PUT_NR
};

/* `pipeline` is borrowed, and goes to the collection's shard. */
void collection_init(struct collection *collection, struct pipeline *pipeline, struct str name);
void collection_fini(struct collection *collection);
/* Reads which files it has. ERR_OK, ERR_REDIS_LOST, ERR_INTERNAL. */
enum err collection_load(struct collection *collection) must_check;
/* Returns the entry of a file, or NULL. Call it after collection_load. */
const struct collection_entry *collection_find(const struct collection *collection,
                                               const char *name);
/* Compares what is stored for a file with what it is now: its bytes (by their SHA-256) and its
 * page; then how it was read and indexed. FILE_CHANGED is also one that is not indexed yet, or
 * whose indexing failed. Another dimension is seen with is_reindex only: without one nothing was
 * embedded, so it is not known. */
enum err collection_compare(struct collection *collection, const struct collection_entry *entry,
                            struct str sha, struct str url,
                            enum file_change *ret_change) must_check;

/* Stores the file's bytes and indexes them, or waits until an indexer that was quicker has. `url`
 * is its page, empty for none. `reason` gets a sentence for people with PUT_FAILED. */
enum put_outcome collection_put(struct collection *collection, const struct file *file,
                                struct str bytes, struct str sha, struct str url,
                                struct buf *reason) must_check;
/* The same for a FILE_OLD or FILE_PACKED_BEFORE: indexes it again, from the text that is stored. */
enum put_outcome collection_reindex(struct collection *collection,
                                    const struct collection_entry *entry,
                                    struct buf *reason) must_check;
enum err collection_remove(struct collection *collection,
                           const struct collection_entry *entry) must_check;

#endif
