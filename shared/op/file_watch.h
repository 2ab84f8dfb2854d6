/* SPDX-License-Identifier: MIT
 *
 * file_watch: notices that a file was changed or replaced, by looking at it now and then (stat).
 * That also works where no notification comes: on network file systems, for a bind mount, for a
 * secret of Kubernetes, which is a symbolic link into a folder that is swapped. It reads nothing
 * and does not block longer than stat(). One owner, any thread.
 */
#ifndef PARLEY_OP_FILE_WATCH_H
#define PARLEY_OP_FILE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* The file as stat() shows it; all 0 while there is no file. */
struct file_state {
    uint64_t device, inode, size, changed_ns, modified_ns;
};

struct file_watch {
    const char *path; /* borrowed */
    struct file_state known, last;
};

/* Nothing is known yet: a file that exists counts as changed once, because it may have changed
 * since the caller read it. */
void file_watch_init(struct file_watch *watch, const char *path);

/* Looks at the file. True once for each change, when the file has looked the same twice in a row:
 * a file that is being written in place is not read half-written as long as calls are no further
 * apart than its writes. Call it about once a second. */
bool file_watch_has_changed(struct file_watch *watch);

#endif
