/* SPDX-License-Identifier: MIT
 * files.c - see files.h. Normalisation is purely textual: a name must not depend on the target of a
 * link. */
#include "services/indexer/files.h"

#include "shared/extract/extract.h"

#include "shared/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 32, PATH_MAX_BYTES = 8192 };

/* --- names ---------------------------------------------------------------------------------- */

/* Takes the last segment off, unless there is none to take: then false. */
static bool take_last(struct buf *b, size_t root_n)
{
    struct str tidy = {b->at + root_n, b->n - root_n};
    const char *slash = tidy.n == 0 ? NULL : memrchr(tidy.at, '/', tidy.n);
    struct str last =
        slash == NULL ? tidy : (struct str){slash + 1, tidy.n - (size_t)(slash + 1 - tidy.at)};
    if (last.n == 0 || str_eq(last, STR("..")))
        return false;
    b->n = slash == NULL ? root_n : (size_t)(slash - b->at);
    return true;
}

void file_put_tidy(struct buf *b, struct str path)
{
    struct str rest = path;
    bool is_absolute = str_has_prefix(path, STR("/"));
    if (is_absolute)
        buf_put_char(b, '/');
    size_t root_n = b->n;
    while (rest.at != NULL) {
        struct str segment = str_cut(&rest, '/');
        if (segment.n == 0 || str_eq(segment, STR(".")))
            continue;
        if (str_eq(segment, STR("..")) && (take_last(b, root_n) || is_absolute))
            continue;
        if (b->n > root_n)
            buf_put_char(b, '/');
        buf_put(b, segment);
    }
}

/* Cuts an ending off that pages have no use for. */
static bool cut_ending(struct str *name)
{
    static const char *const endings[] = {".md", ".markdown", ".html", ".htm", ".xhtml"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        struct str ending = str_of(endings[i]);
        if (name->n > ending.n &&
            str_eq_nocase((struct str){name->at + name->n - ending.n, ending.n}, ending)) {
            name->n -= ending.n;
            return true;
        }
    }
    return false;
}

void file_put_url(struct buf *url, struct str base, struct str page)
{
    while (base.n > 0 && base.at[base.n - 1] == '/')
        base.n--;
    buf_put(url, base);
    buf_put_char(url, '/');
    for (struct str rest = page; rest.at != NULL;) {
        struct str segment = str_cut(&rest, '/');
        if (rest.at != NULL) {
            buf_put_url_encoded(url, segment);
            buf_put_char(url, '/');
        } else if (!cut_ending(&segment) || !(str_eq_nocase(segment, STR("index")) ||
                                              str_eq_nocase(segment, STR("readme")))) {
            buf_put_url_encoded(url, segment);
        }
    }
}

static char *join(const char *folder, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%s%s%s", folder, *folder == 0 || strcmp(folder, "/") == 0 ? "" : "/",
                 name) < 0)
        abort();
    return path;
}

/* --- finding -------------------------------------------------------------------------------- */

static void put_file(struct files *files, const char *path, const char *name, const char *page,
                     uint64_t size_bytes)
{
    if (extract_kind_of(str_of(name)) == EXTRACT_NONE || strlen(name) > FILE_NAME_MAX_BYTES) {
        files->passed_over_n++;
        return;
    }
    if (files->n == FILES_MAX) {
        files->is_over = true;
        return;
    }
    files->at = mem_grow(files->at, files->n, sizeof *files->at);
    files->at[files->n++] = (struct file){
        .path = strdup(path), .name = strdup(name), .page = strdup(page), .size_bytes = size_bytes};
}

static bool add_folder(struct files *files, const char *path, const char *name, const char *page,
                       int depth, char *reason, size_t reason_size)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        snprintf(reason, reason_size, "%s: %s", path, strerror(errno));
        return false;
    }
    bool is_good = true;
    for (struct dirent *entry; is_good && (entry = readdir(folder)) != NULL;) {
        struct stat link, info;
        if (entry->d_name[0] == '.')
            continue;
        char *inner_path = join(path, entry->d_name), *inner_name = join(name, entry->d_name),
             *inner_page = join(page, entry->d_name);
        bool is_there = lstat(inner_path, &link) == 0 && stat(inner_path, &info) == 0;
        if (is_there && S_ISDIR(link.st_mode) && depth < DEPTH_MAX)
            is_good = add_folder(files, inner_path, inner_name, inner_page, depth + 1, reason,
                                 reason_size);
        else if (is_there && S_ISREG(info.st_mode))
            put_file(files, inner_path, inner_name, inner_page, (uint64_t)info.st_size);
        free(inner_path);
        free(inner_name);
        free(inner_page);
    }
    closedir(folder);
    return is_good;
}

bool files_add(struct files *files, const char *path, char *reason, size_t reason_size)
{
    struct stat info;
    struct buf root;
    if (stat(path, &info) != 0) {
        snprintf(reason, reason_size, "%s: %s", path, strerror(errno));
        return false;
    }
    buf_init(&root, PATH_MAX_BYTES);
    file_put_tidy(&root, str_of(path));
    buf_put_char(&root, 0);
    bool is_good = !root.is_over;
    if (!is_good)
        snprintf(reason, reason_size, "%.80s...: the path is too long", path);
    if (is_good && S_ISDIR(info.st_mode)) {
        is_good = add_folder(files, path, root.at, "", 0, reason, reason_size);
    } else if (is_good) {
        const char *slash = strrchr(root.at, '/');
        size_t before = files->n;
        put_file(files, path, root.at, slash == NULL ? root.at : slash + 1, (uint64_t)info.st_size);
        is_good = files->n > before || files->is_over;
        if (!is_good)
            snprintf(reason, reason_size, "%s: unsupported file type", path);
    }
    files->roots = mem_grow(files->roots, files->root_n, sizeof *files->roots);
    files->roots[files->root_n++] = strdup(is_good ? root.at : "");
    buf_fini(&root);
    return is_good;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

static void free_file(struct file *file)
{
    free(file->path);
    free(file->name);
    free(file->page);
}

void files_finish(struct files *files)
{
    size_t n = 0;
    if (files->n > 1)
        qsort(files->at, files->n, sizeof *files->at, compare);
    for (size_t i = 0; i < files->n; i++) {
        if (n > 0 && compare(&files->at[n - 1], &files->at[i]) == 0) {
            free_file(&files->at[i]);
            continue;
        }
        files->bytes += files->at[i].size_bytes;
        files->at[n++] = files->at[i];
    }
    files->n = n;
}

void files_fini(struct files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free_file(&files->at[i]);
    for (size_t i = 0; i < files->root_n; i++)
        free(files->roots[i]);
    free(files->at);
    free(files->roots);
    *files = (struct files){0};
}

bool files_have(const struct files *files, const char *name)
{
    struct file wanted = {.name = (char *)(uintptr_t)name};
    return files->n > 0 && bsearch(&wanted, files->at, files->n, sizeof wanted, compare) != NULL;
}

bool files_cover(const struct files *files, const char *name)
{
    for (size_t i = 0; i < files->root_n; i++) {
        const char *root = files->roots[i];
        size_t n = strlen(root);
        if (n == 0 && *name != '/' && strncmp(name, "../", 3) != 0)
            return true;
        if (n > 0 && strncmp(name, root, n) == 0 &&
            (name[n] == 0 || name[n] == '/' || strcmp(root, "/") == 0))
            return true;
    }
    return false;
}
