/* SPDX-License-Identifier: MIT
 *
 * whole_file: a file that appears when it is whole. Until then it has a name of its own beside the
 * one it is for, with mode 0600; who gives up removes it. A process that is killed leaves
 * `<path>.part-<hex>`. One writer at a time, any thread; what is put into it is the caller's.
 */
#ifndef PARLEY_OP_WHOLE_FILE_H
#define PARLEY_OP_WHOLE_FILE_H

#include <stdbool.h>

struct whole_file {
    const char *path; /* borrowed until the end */
    char *temporary;  /* NULL: not open */
    int fd;           /* to write to; not to be closed by the caller */
    bool may_replace;
};

/* Opens a new file for `path`. Without `may_replace` nothing may be there yet; what is no file is
 * never replaced. False, with errno: EEXIST (something is there), ENOTSUP (it is no file), or what
 * the system said of `ret_file->temporary`'s folder. */
bool whole_file_open(struct whole_file *ret_file, const char *path, bool may_replace)
    __attribute__((warn_unused_result));
/* Writes it to the disk and gives it its name, without `may_replace` only if nobody took that
 * meanwhile (EEXIST). False, with errno: it is as before, and is left by whole_file_leave. */
bool whole_file_settle(struct whole_file *file) __attribute__((warn_unused_result));
/* Removes what was not settled. Accepts one that is zeroed, settled or was not opened. Keeps
 * errno. */
void whole_file_leave(struct whole_file *file);

#endif
