/* SPDX-License-Identifier: MIT
 *
 * memory_file: bytes in a file without a name, put there piece by piece and then read only: a child
 * reads it as its standard input (sandbox.h), and this process as `bytes`, without a copy. If no
 * descriptor is available, the bytes are only in this process's memory: formats that need no child
 * can still be read. Owned by its holder; any thread, one at a time.
 */
#ifndef PARLEY_EXTRACT_MEMORY_FILE_H
#define PARLEY_EXTRACT_MEMORY_FILE_H

#include "shared/base/buf.h"

enum { MEMORY_FILE_MAX_BYTES = 64 << 20 };

struct memory_file {
    int fd; /* -1: there is none */
    size_t n;
    struct str bytes; /* all of it, once it is sealed */
    struct buf heap;  /* without a descriptor */
};

void memory_file_init(struct memory_file *file);
/* Returns false if memory is exhausted or MEMORY_FILE_MAX_BYTES is exceeded. */
bool memory_file_put(struct memory_file *file, struct str piece) must_check;
/* Ends writing. Returns false as above. */
bool memory_file_seal(struct memory_file *file) must_check;
void memory_file_fini(struct memory_file *file);

#endif
