/* SPDX-License-Identifier: MIT
 * memory_file.c - see memory_file.h. */
#include "shared/extract/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

void memory_file_init(struct memory_file *file)
{
    *file = (struct memory_file){.fd = memfd_create("document", MFD_CLOEXEC | MFD_ALLOW_SEALING),
                                 .bytes = STR("")};
    buf_init(&file->heap, MEMORY_FILE_MAX_BYTES);
}

static bool put_on_heap(struct memory_file *file, struct str piece)
{
    buf_put(&file->heap, piece);
    file->n = file->heap.n;
    return !file->heap.is_over;
}

bool memory_file_put(struct memory_file *file, struct str piece)
{
    if (piece.n > MEMORY_FILE_MAX_BYTES - file->n)
        return false;
    if (file->fd < 0)
        return put_on_heap(file, piece);
    while (piece.n > 0) {
        ssize_t n = write(file->fd, piece.at, piece.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        piece = (struct str){piece.at + n, piece.n - (size_t)n};
        file->n += (size_t)n;
    }
    return true;
}

bool memory_file_seal(struct memory_file *file)
{
    if (file->fd < 0) {
        file->bytes = file->n == 0 ? STR("") : buf_str(&file->heap);
        return true;
    }
    if (fcntl(file->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
        return false;
    if (file->n == 0)
        return true;
    void *at = mmap(NULL, file->n, PROT_READ, MAP_PRIVATE, file->fd, 0);
    if (at == MAP_FAILED)
        return false;
    file->bytes = (struct str){at, file->n};
    return true;
}

void memory_file_fini(struct memory_file *file)
{
    if (file->fd >= 0 && file->bytes.n > 0)
        munmap((void *)(uintptr_t)file->bytes.at, file->bytes.n);
    if (file->fd >= 0)
        close(file->fd);
    buf_fini(&file->heap);
    *file = (struct memory_file){.fd = -1, .bytes = STR("")};
}
