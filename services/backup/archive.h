/* SPDX-License-Identifier: MIT
 *
 * archive: writes and reads a backup file sequentially. It knows records and parts, not their
 * meaning (kinds.h). One thread, owned by its holder; the FILE is the caller's.
 *
 *   "parley backup, data version 1\n"
 *                                    the version of this format and of all that the records hold
 *                                    (shared/redis/data_version.h)
 *   record, record, ...              each: u32 bytes of its parts; then per part u32 length, bytes
 *   the end                          a record: "end", lease, how many records before it, SHA-256
 *                                    (32 bytes) of all bytes of the file before it
 *
 * Numbers are little-endian. Nothing follows the end, so a truncated or modified file is refused.
 * The checksum detects accidental damage; it is not a signature.
 */
#ifndef PARLEY_SERVICES_BACKUP_ARCHIVE_H
#define PARLEY_SERVICES_BACKUP_ARCHIVE_H

#include "shared/base/buf.h"
#include "shared/redis/data_version.h"

#include <stdio.h>

enum {
    ARCHIVE_RECORD_MAX_BYTES = 128 << 20, /* as much as one call of Redis takes */
    ARCHIVE_PARTS_MAX = 1 << 20,
    ARCHIVE_SUM_BYTES = 32,
};

struct archive {
    FILE *file;
    void *sum; /* EVP_MD_CTX */
    struct buf record;
    struct str *parts; /* of the record read last */
    uint64_t record_n, bytes;
    const char *problem;                        /* what is wrong with the file; NULL: nothing */
    char version_text[DATA_VERSION_TEXT_BYTES]; /* `problem`, if it is the data version */
};

/* Starts at the front of `file`. */
void archive_init(struct archive *archive, FILE *file);
/* Does not close the file. Accepts one that was zeroed. */
void archive_fini(struct archive *archive);

/* Both false, with errno, when the file cannot be written; archive_begin writes the first line. */
bool archive_begin(struct archive *archive) must_check;
bool archive_put(struct archive *archive, const struct str *parts, size_t n) must_check;
/* Writes the end; `lease`: the cluster's last number. The caller connections and closes. */
bool archive_end(struct archive *archive, struct str lease) must_check;

enum archive_found { ARCHIVE_RECORD, ARCHIVE_END, ARCHIVE_BROKEN };

/* Reads the first line. Returns false and sets `problem` if it is wrong or of another data version.
 */
bool archive_open(struct archive *archive) must_check;
/* The next record: its parts are valid until the next call. ARCHIVE_END: the file is whole, the
 * parts are those of the end. ARCHIVE_BROKEN: see `problem`, and use nothing of it. */
enum archive_found archive_next(struct archive *archive, const struct str **ret_parts,
                                size_t *ret_n) must_check;

/* The layout of parts, for lists of names in memory too. */
void archive_put_part(struct buf *b, struct str part);
/* False at the end, and where what is left is no part: then `rest->n` is not 0. */
bool archive_cut_part(struct str *rest, struct str *ret_part) must_check;

#endif
