/* SPDX-License-Identifier: MIT
 *
 * zip: writes a zip file in pieces into a buffer that the owner empties. Uses libarchive: sizes
 * follow each file, so they need not be known in advance, and a file may exceed 4 GiB. In its
 * owner's memory; one thread at a time.
 */
#ifndef PARLEY_SERVICES_USERS_ZIP_H
#define PARLEY_SERVICES_USERS_ZIP_H

#include "shared/base/buf.h"

struct archive;
struct archive_entry;

struct zip {
    struct archive *archive;
    struct archive_entry *entry;
    struct buf *out;
    bool is_closed; /* what libarchive still writes is dropped */
    bool is_broken;
};

/* `out` is borrowed. */
void zip_init(struct zip *zip, struct buf *out);
/* Accepts a zeroed one; what was not finished stays so. */
void zip_fini(struct zip *zip);
/* Ends the file before, and begins one. `path`: UTF-8, with '/' between folders. */
void zip_begin(struct zip *zip, struct str path, uint64_t time_s);
/* Puts bytes of the file. */
void zip_put(struct zip *zip, struct str bytes);
/* Ends the last file, and the zip file. */
void zip_finish(struct zip *zip);

#endif
