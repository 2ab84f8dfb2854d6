/* SPDX-License-Identifier: MIT
 *
 * whole_file: writes a file that appears under its name only when it is complete. Until then the
 * data is in a temporary file in the same folder, with mode 0600, which is removed if the caller
 * gives up. A killed process leaves `<path>.part-<hex>` behind. One writer at a time, any thread;
 * the caller writes the content.
 */
#ifndef PARLEY_OP_WHOLE_FILE_H
#define PARLEY_OP_WHOLE_FILE_H

#include "shared/base/str.h"

struct whole_file {
    const char *path; /* borrowed until the end */
    char *temporary;  /* NULL: not open */
    int fd;           /* the caller writes to it and must not close it */
    bool may_replace;
};

/* Opens a temporary file for `path`. Without `may_replace`, `path` must not exist; anything but a
 * regular file is never replaced. On failure returns false with errno: EEXIST (`path` exists),
 * ENOTSUP (it is not a regular file), or the error for the folder of `ret_file->temporary`. */
bool whole_file_open(struct whole_file *ret_file, const char *path, bool may_replace)
    __attribute__((warn_unused_result));
/* Writes all of `bytes`. On failure returns false with errno. */
bool whole_file_write(struct whole_file *file, struct str bytes)
    __attribute__((warn_unused_result));
/* Syncs the file to disk and renames it to `path`; without `may_replace` only if `path` still does
 * not exist (EEXIST). On failure returns false with errno; nothing has changed, and the caller
 * calls whole_file_leave. */
bool whole_file_commit(struct whole_file *file) __attribute__((warn_unused_result));
/* Removes a file that was not committed. Accepts a zeroed, committed or unopened one.
 * Preserves errno. */
void whole_file_leave(struct whole_file *file);

/* Makes the folders of `path` that are missing, as `mkdir -p` does, with mode 0700. What fails is
 * found out by whole_file_open. */
void whole_file_make_folders(const char *path);

#endif
