/* SPDX-License-Identifier: MIT
 *
 * files: the common part of the routes of /v1/files (lua/files/). A file is its account's and its
 * person's; all others get 404. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_FILES_H
#define PARLEY_SERVICES_OPENAI_FILES_H

#include "services/openai/openai.h"
#include "shared/ask/on_behalf.h"
#include "shared/queue/lines.h"

#define FILE_PREFIX "file-"

enum {
    FILE_MOST_BYTES = 25 << 20,
    FILE_BODY_BYTES = FILE_MOST_BYTES + (64 << 10), /* a form has more than its file */
    FILE_ID_CHARS = 24,                             /* after the prefix, hex digits */
    FILE_OWNER_CHARS = 24,
    FILE_KEPT_S = 30 * 86400,
    FILE_EXPIRES_MIN_S = 3600, /* what a client may ask for */
    FILE_EXPIRES_MAX_S = 30 * 86400,
};

/* Whose files a request is about. In the request's pool. */
struct file_owner {
    struct on_behalf person;
    struct str owner; /* FILE_OWNER_CHARS hex digits of account and person: their shard */
};

/* The ways of uploads to the servers of the shards; one per node. `map` is borrowed. */
struct file_ways;
struct file_ways *file_ways_create(struct loop *loop, const struct shard_map *map) must_check;
/* Accepts NULL. */
void file_ways_destroy(struct file_ways *ways);
struct blocks *file_ways_blocks(const struct file_ways *ways, struct str owner);
/* The prefix of the keys of an owner. */
const char *file_ways_prefix(const struct file_ways *ways, struct str owner);

/* Puts FILE_OWNER_CHARS hex digits and NUL into `ret_owner`. */
void file_owner_digest(struct str account, struct str user_name, char *ret_owner);
/* Answers 400 and returns false if the request names no person. */
bool file_owner_of(struct request *r, struct file_owner *ret_owner) must_check;
/* Reads an id as clients have it. Returns false if it is none. Borrows from `text`. */
bool file_id_read(struct str text, struct str *ret_id) must_check;
/* Is it of lower-case hex digits alone, as ids of files and batches are? */
bool file_is_hex(struct str text) must_check;
/* Takes 6 lines and puts the file as OpenAI has it. `ret_id`: without prefix, borrowed; may be
 * NULL. */
void file_put(struct buf *b, struct lines *lines, struct str *ret_id);
/* Answers what is refused, and returns true. */
bool file_refuse(struct request *r, enum err error, struct str tag, struct lines *lines) must_check;

#endif
