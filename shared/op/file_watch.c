/* SPDX-License-Identifier: MIT
 * file_watch.c - see file_watch.h. */
#include "shared/op/file_watch.h"

#include <string.h>
#include <sys/stat.h>

static uint64_t to_ns(struct timespec time)
{
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static struct file_state read_state(const char *path)
{
    struct stat found;
    if (stat(path, &found) != 0)
        return (struct file_state){0};
    return (struct file_state){.device = found.st_dev,
                               .inode = found.st_ino,
                               .size = (uint64_t)found.st_size,
                               .changed_ns = to_ns(found.st_ctim),
                               .modified_ns = to_ns(found.st_mtim)};
}

static bool is_same(const struct file_state *one, const struct file_state *other)
{
    return memcmp(one, other, sizeof *one) == 0;
}

void file_watch_init(struct file_watch *watch, const char *path)
{
    *watch = (struct file_watch){.path = path};
}

bool file_watch_has_changed(struct file_watch *watch)
{
    struct file_state now = read_state(watch->path);
    bool is_stable = is_same(&now, &watch->last);
    watch->last = now;
    if (!is_stable || is_same(&now, &watch->known))
        return false;
    watch->known = now;
    return true;
}
