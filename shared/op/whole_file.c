/* SPDX-License-Identifier: MIT
 * whole_file.c - see whole_file.h. */
#include "shared/op/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MARK_BYTES = 8 };

bool whole_file_open(struct whole_file *ret_file, const char *path, bool may_replace)
{
    struct stat found;
    char hex[2 * MARK_BYTES + 1];
    *ret_file = (struct whole_file){.path = path, .fd = -1, .may_replace = may_replace};
    if (lstat(path, &found) == 0 && (!may_replace || !S_ISREG(found.st_mode))) {
        errno = S_ISREG(found.st_mode) ? EEXIST : ENOTSUP;
        return false;
    }
    str_random_hex(MARK_BYTES, hex);
    char *temporary;
    if (asprintf(&temporary, "%s.part-%s", path, hex) < 0)
        abort();
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        int saved = errno;
        free(temporary);
        errno = saved;
        return false;
    }
    ret_file->fd = fd;
    ret_file->temporary = temporary;
    return true;
}

bool whole_file_write(struct whole_file *file, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = write(file->fd, bytes.at, bytes.n);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0)
            bytes = (struct str){bytes.at + n, bytes.n - (size_t)n};
    }
    return true;
}

/* The folder too: else a power failure may lose the name. A failure of that is none of the file. */
static void sync_folder(const char *path)
{
    char *folder = str_copy(str_of(path)), *slash = strrchr(folder, '/');
    if (slash != NULL)
        slash[slash == folder] = 0;
    int fd = open(slash == NULL ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(folder);
}

/* NFS reports with close() what it could not write. */
static bool close_fd(struct whole_file *file)
{
    int fd = file->fd;
    file->fd = -1;
    return close(fd) == 0;
}

bool whole_file_commit(struct whole_file *file)
{
    if (fsync(file->fd) != 0 || !close_fd(file) ||
        renameat2(AT_FDCWD, file->temporary, AT_FDCWD, file->path,
                  file->may_replace ? 0 : RENAME_NOREPLACE) != 0)
        return false;
    sync_folder(file->path);
    free(file->temporary);
    file->temporary = NULL;
    return true;
}

void whole_file_leave(struct whole_file *file)
{
    int saved = errno;
    if (file->temporary != NULL) {
        if (file->fd >= 0)
            close(file->fd);
        unlink(file->temporary);
        free(file->temporary);
        file->temporary = NULL;
    }
    errno = saved;
}

void whole_file_make_folders(const char *path)
{
    char *folder = str_copy(str_of(path));
    for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        (void)!mkdir(folder, 0700);
        *slash = '/';
    }
    free(folder);
}
