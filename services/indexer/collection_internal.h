/* SPDX-License-Identifier: MIT
 *
 * collection_internal: shared by collection.c and collection_upload.c only. Blocking, on the
 * pipeline's thread.
 */
#ifndef PARLEY_INDEXER_COLLECTION_INTERNAL_H
#define PARLEY_INDEXER_COLLECTION_INTERNAL_H

#include "services/indexer/collection.h"
#include "shared/queue/lines.h"

enum { COLLECTION_JSON_MAX_BYTES = 8192 };

struct collection_uploaded {
    char doc[DOC_ID_BYTES + 1], job[DOC_ID_BYTES + 1];
    bool is_full, is_many;
};

/* --- collection.c --- */

/* A key of the cluster in `key`, which it initializes. */
struct str collection_put_key(struct buf *key, const struct collection *c, const char *kind,
                              struct str of);

/* --- collection_upload.c --- */

/* As it is stored: JSON, or nothing where there is no page. */
void collection_put_url(struct buf *json, struct str url);
bool collection_read_id(struct lines *lines, char id[DOC_ID_BYTES + 1]) must_check;
/* Sends a file's bytes, block by block, and makes a document of them with its job, or finds the one
 * that is there. ERR_OK (see `ret_uploaded`: full, many, or both ids), ERR_TOO_LARGE (its name),
 * ERR_REDIS_LOST, ERR_INTERNAL. */
enum err collection_upload(struct collection *c, const struct file *file, struct str bytes,
                           struct str sha, struct str url,
                           struct collection_uploaded *ret_uploaded) must_check;

#endif
