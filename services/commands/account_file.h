/* SPDX-License-Identifier: MIT
 *
 * account_file: an accounts file while `parley account` changes it: locked against other runs of
 * the command, read once, replaced as a whole, with its owner and mode. Secrets that are shown once
 * are written to files of their own here, too. One per process, main thread. Failures are one line
 * on standard error.
 */
#ifndef PARLEY_SERVICES_COMMANDS_ACCOUNT_FILE_H
#define PARLEY_SERVICES_COMMANDS_ACCOUNT_FILE_H

#include "shared/base/buf.h"
#include "shared/op/whole_file.h"

#include <sys/stat.h>

struct account_file {
    const char *given; /* as the caller wrote it, for lines */
    char *path;        /* without symbolic links, so that a link stays one */
    int fd;            /* holds the lock */
    struct stat state;
    bool is_made; /* by account_file_open */
    struct buf text;
};

/* Locks and reads the file, waiting for another run for 10 s at most. With `may_make` a file that
 * does not exist is made, empty and with mode 0600. Returns false after a line; close it either
 * way. */
bool account_file_open(struct account_file *file, const char *path, bool may_make) must_check;
/* Prepares `text` beside the file: all that can fail is likely to fail here. */
bool account_file_write(struct account_file *file, struct str text,
                        struct whole_file *ret_new) must_check;
/* Puts it in the file's place. */
bool account_file_commit(struct account_file *file, struct whole_file *new_file) must_check;
void account_file_close(struct account_file *file);

/* Writes a secret and a newline beside `path`, mode 0600. whole_file_commit puts it in place. */
bool secret_file_write(struct whole_file *ret_file, const char *path, bool may_replace,
                       const char *secret) must_check;

#endif
