/* SPDX-License-Identifier: MIT
 *
 * restore: shared by the parts of `parley restore`: the command (restore.c), one record of the file
 * (restore_records.c), the servers that are filled (restore_target.c), how many queries need each
 * lookup (restore_lookups.c). One per process, main thread. All false after one line on standard
 * error.
 */
#ifndef PARLEY_SERVICES_BACKUP_RESTORE_H
#define PARLEY_SERVICES_BACKUP_RESTORE_H

#include "generated/verbs.h"
#include "services/backup/archive.h"
#include "services/backup/doc_homes.h"
#include "services/backup/tool.h"

enum { RUN_ID_BYTES = 64, RESTORE_KEY_MAX_BYTES = 4096 };

struct restore {
    struct tool tool;
    FILE *file;
    struct archive archive;
    uint64_t lease;
    unsigned from_n, from;      /* shards of the backup; on which of them what comes now was */
    struct doc_homes doc_homes; /* after the first reading */
    bool is_in_unit;            /* from `blobs` or `parts` to `document`, `run` or `forget` */
    bool is_skipping; /* what comes is of a document or run that is there, or will not come */
    bool has_begun;
    bool has_sets[SHARDS_MAX]; /* by server */
    char run_ids[SHARDS_MAX][RUN_ID_BYTES];
    uint64_t unknown_n, without_vectors_n;
    char id[17];
};

/* Returns a call of a verb on the shard in use, which does nothing once the restore was
 * interrupted. */
struct blocking_call restore_call(const struct restore *x);
bool restore_has_reply(struct restore *x, const struct blocking_call *call) must_check;
/* A key of the shard in use, in `key`, which it initializes. */
struct str restore_put_key(struct buf *key, const struct restore *x, const char *kind,
                           struct str name);
/* A plain command about one such key; the answer is a number. */
bool restore_ask_key(struct restore *x, const char *command, const char *kind, struct str name,
                     bool *ret_is_one) must_check;

/* --- restore_records.c --- */

/* restore_note_record is for the first reading: is the record of a known kind? It notes what must
 * be known before anything is written. */
bool restore_note_record(struct restore *x, const struct str *parts, size_t n) must_check;
bool restore_put_record(struct restore *x, const struct str *parts, size_t n) must_check;

/* --- restore_target.c --- */

/* Chooses the number of shards, checks that the servers are empty, writes the cluster's record
 * and marks all shards as being restored. */
bool restore_begin(struct restore *x) must_check;
/* Checks that everything written is there, then removes the marks. */
bool restore_end(struct restore *x) must_check;

/* --- restore_lookups.c --- */

/* After all topics: counts the needs of each lookup; deletes lookups that nothing needs, and needs
 * of missing lookups. */
bool restore_count_lookups(struct restore *x) must_check;

#endif
