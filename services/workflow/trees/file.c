/* SPDX-License-Identifier: MIT
 * file.c - trees_file of trees.h. A lock, not an atomic pointer: a reader must count its reference
 * before a reload gives the old version back. It is held for a few instructions. */
#include "services/workflow/trees/trees.h"

#include "shared/base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

/* cmake/embed.pl makes them of shipped.yaml. */
extern const char shipped_workflows[];
extern const size_t shipped_workflows_bytes;

struct str trees_shipped(void)
{
    return (struct str){shipped_workflows, shipped_workflows_bytes};
}

static struct trees *shipped;

static void read_shipped(void)
{
    static struct trees_faults faults;
    shipped = trees_read(trees_shipped(), &faults);
    if (shipped == NULL)
        abort();
}

const struct trees *trees_shipped_read(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (pthread_once(&once, read_shipped) != 0)
        abort();
    return shipped;
}

struct trees_file {
    char *path; /* NULL: the shipped trees */
    pthread_mutex_t lock;
    struct trees *current;
};

static struct trees *read_trees_text(struct str text, const char *name, char *reason,
                                     size_t reason_size)
{
    struct trees_faults *faults = mem_alloc(sizeof *faults);
    struct trees *trees = trees_read(text, faults);
    if (trees == NULL && faults->list[0].line == 0)
        snprintf(reason, reason_size, "%s: %s", name, faults->list[0].reason);
    else if (trees == NULL && faults->n > 1)
        snprintf(reason, reason_size,
                 "%s line %zu: %s (and %u more: `parley workflow check` shows all)", name,
                 faults->list[0].line, faults->list[0].reason, faults->n - 1);
    else if (trees == NULL)
        snprintf(reason, reason_size, "%s line %zu: %s", name, faults->list[0].line,
                 faults->list[0].reason);
    free(faults);
    return trees;
}

bool trees_file_text(const char *path, char *reason, size_t reason_size, struct buf *ret_text)
{
    FILE *file = fopen(path, "re");
    char *room = buf_reserve(ret_text, TREES_FILE_MAX_BYTES + 1);
    if (room == NULL)
        abort();
    size_t n = file == NULL ? 0 : fread(room, 1, TREES_FILE_MAX_BYTES + 1, file);
    bool ok = file != NULL && !ferror(file);
    if (!ok)
        snprintf(reason, reason_size, "%s: the file cannot be read: %s", path, strerror(errno));
    ret_text->n += n;
    if (file != NULL)
        fclose(file);
    return ok;
}

static struct trees *load(const char *path, char *reason, size_t reason_size)
{
    struct buf text;
    struct trees *trees = NULL;
    if (path == NULL)
        return read_trees_text(trees_shipped(), "the shipped workflows", reason, reason_size);
    buf_init(&text, TREES_FILE_MAX_BYTES + 1);
    if (trees_file_text(path, reason, reason_size, &text))
        trees = read_trees_text(buf_str(&text), path, reason, reason_size);
    buf_fini(&text);
    return trees;
}

struct trees_file *trees_file_open(const char *path, char *reason, size_t reason_size)
{
    struct trees *trees = load(path, reason, reason_size);
    if (trees == NULL)
        return NULL;
    struct trees_file *file = mem_zeroed(sizeof *file);
    if (pthread_mutex_init(&file->lock, NULL) != 0)
        abort();
    file->path = path == NULL ? NULL : str_copy(str_of(path));
    file->current = trees;
    return file;
}

bool trees_file_reload(struct trees_file *file, char *reason, size_t reason_size)
{
    struct trees *newest = load(file->path, reason, reason_size);
    if (newest == NULL)
        return false;
    pthread_mutex_lock(&file->lock);
    struct trees *older = file->current;
    file->current = newest;
    pthread_mutex_unlock(&file->lock);
    trees_unref(older);
    return true;
}

struct trees *trees_file_current(struct trees_file *file)
{
    pthread_mutex_lock(&file->lock);
    struct trees *trees = trees_ref(file->current);
    pthread_mutex_unlock(&file->lock);
    return trees;
}

void trees_file_close(struct trees_file *file)
{
    if (file == NULL)
        return;
    trees_unref(file->current);
    pthread_mutex_destroy(&file->lock);
    free(file->path);
    free(file);
}
