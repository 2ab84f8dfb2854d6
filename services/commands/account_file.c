/* SPDX-License-Identifier: MIT
 * account_file.c - see account_file.h.
 *
 * The lock is on the file itself (flock), so that it needs no second file. Once a run has replaced
 * the file, others hold the lock of one that has no name any more: they open it again. */
#include "services/commands/account_file.h"

#include "shared/auth/accounts.h"
#include "shared/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

enum { LOCK_WAIT_MS = 10000, LOCK_RETRY_NS = 10000000 };

static bool complain(const char *path, const char *why)
{
    fprintf(stderr, "parley: %s: %s\n", path, why);
    return false;
}

static bool complain_errno(const char *path, const char *what)
{
    fprintf(stderr, "parley: %s: %s: %s\n", path, what, strerror(errno));
    return false;
}

static bool lock(struct account_file *file)
{
    const struct timespec pause = {.tv_nsec = LOCK_RETRY_NS};
    uint64_t end_ms = clock_mono_ms() + LOCK_WAIT_MS;
    while (flock(file->fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return complain_errno(file->given, "the file cannot be locked");
        if (clock_mono_ms() >= end_ms)
            return complain(file->given, "another parley account has kept the file locked for 10 "
                                         "seconds: try again when it has ended");
        nanosleep(&pause, NULL);
    }
    return true;
}

static bool is_dangling(const char *path)
{
    struct stat link, file;
    return lstat(path, &link) == 0 && S_ISLNK(link.st_mode) && stat(path, &file) != 0;
}

/* Opens and locks; *ret_is_current: that file is still the one of this name. */
static bool open_once(struct account_file *file, bool may_make, bool *ret_is_current)
{
    struct stat named;
    free(file->path);
    file->path = realpath(file->given, NULL);
    if (file->path == NULL && errno == ENOENT && may_make)
        file->path = str_copy(str_of(file->given));
    if (file->path == NULL)
        return complain_errno(file->given, "the file cannot be read");
    file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->fd < 0 && errno == ENOENT && may_make) {
        file->fd = open(file->path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        file->is_made = file->fd >= 0;
        if (file->fd < 0 && errno != EEXIST)
            return complain_errno(file->given, "the file cannot be made");
        if (file->fd < 0 && is_dangling(file->path))
            return complain(file->given, "this is a symbolic link to a file that does not exist: "
                                         "make that file, or remove the link");
    }
    if (file->fd < 0 && (errno == ENOENT || errno == EEXIST))
        return true;
    if (file->fd < 0)
        return complain_errno(file->given, "the file cannot be read");
    if (fstat(file->fd, &file->state) != 0 || !S_ISREG(file->state.st_mode))
        return complain(file->given, "this is not a regular file");
    if (!lock(file))
        return false;
    *ret_is_current = stat(file->path, &named) == 0 && named.st_dev == file->state.st_dev &&
                      named.st_ino == file->state.st_ino;
    return true;
}

static bool read_text(struct account_file *file)
{
    buf_init(&file->text, ACCOUNTS_FILE_MAX_BYTES + 1);
    for (;;) {
        char *at = buf_reserve(&file->text, 4096);
        ssize_t n = at == NULL ? -1 : read(file->fd, at, 4096);
        if (at == NULL)
            return complain(file->given, "the file is larger than an accounts file may be");
        if (n < 0 && errno != EINTR)
            return complain_errno(file->given, "the file cannot be read");
        if (n == 0)
            return true;
        if (n > 0)
            file->text.n += (size_t)n;
    }
}

bool account_file_open(struct account_file *file, const char *path, bool may_make)
{
    bool is_current = false;
    *file = (struct account_file){.given = path, .fd = -1};
    while (!is_current) {
        if (file->fd >= 0)
            close(file->fd);
        file->fd = -1;
        file->is_made = false;
        if (!open_once(file, may_make, &is_current))
            return false;
    }
    return read_text(file);
}

static bool keep_owner(struct account_file *file, int fd)
{
    struct stat new;
    if (fstat(fd, &new) != 0)
        return complain_errno(file->given, "the new file cannot be written");
    if ((new.st_uid != file->state.st_uid || new.st_gid != file->state.st_gid) &&
        fchown(fd, file->state.st_uid, file->state.st_gid) != 0)
        return complain(file->given, "the file belongs to another user or group, and its owner "
                                     "would change: run this as that user");
    return fchmod(fd, file->state.st_mode & 07777) == 0 ||
           complain_errno(file->given, "the new file cannot be written");
}

/* Its folder may allow to replace what its owner wrote-protected. */
bool account_file_write(struct account_file *file, struct str text, struct whole_file *ret_new)
{
    *ret_new = (struct whole_file){.fd = -1};
    if ((file->state.st_mode & 0222) == 0 || access(file->path, W_OK) != 0)
        return complain(file->given, "the file is read-only: change it where it comes from");
    if (!whole_file_open(ret_new, file->path, true)) {
        bool is_read_only = errno == EROFS || errno == EACCES || errno == EPERM;
        return is_read_only ? complain(file->given, "the folder of the file is read-only: change "
                                                    "the file where it comes from")
                            : complain_errno(file->given, "a file beside it cannot be made");
    }
    if (!whole_file_write(ret_new, text))
        return complain_errno(file->given, "the new file cannot be written");
    return keep_owner(file, ret_new->fd);
}

bool account_file_commit(struct account_file *file, struct whole_file *new_file)
{
    if (whole_file_commit(new_file)) {
        file->is_made = false;
        return true;
    }
    if (errno == EBUSY)
        return complain(file->given, "the file is a mount of its own, which cannot be replaced: "
                                     "mount its folder instead");
    return complain_errno(file->given, "the file cannot be replaced");
}

void account_file_close(struct account_file *file)
{
    if (file->is_made) /* and stayed empty */
        unlink(file->path);
    if (file->fd >= 0)
        close(file->fd);
    buf_fini(&file->text);
    free(file->path);
}

bool secret_file_write(struct whole_file *ret_file, const char *path, bool may_replace,
                       const char *secret)
{
    if (!whole_file_open(ret_file, path, may_replace)) {
        if (errno == EEXIST)
            return complain(path, "the secret would replace this file: name another one, or remove "
                                  "it first");
        return complain_errno(path, "the secret cannot be written");
    }
    if (whole_file_write(ret_file, str_of(secret)) && whole_file_write(ret_file, STR("\n")))
        return true;
    return complain_errno(path, "the secret cannot be written");
}
