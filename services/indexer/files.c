/* SPDX-License-Identifier: MIT
 * files.c - see files.h. Normalisation is purely textual: a name must not depend on the target of a
 * link. */
#include "services/indexer/files.h"

#include "shared/extract/extract.h"

#include "shared/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 32, PATH_MAX_BYTES = 8192 };
static const char excluded[] = "Excluded by --exclude.";

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

static void skip(struct files *files, const char *name, const char *reason)
{
    files->skipped = mem_grow(files->skipped, files->skipped_n, sizeof *files->skipped);
    files->skipped[files->skipped_n++] =
        (struct skipped_file){.name = strdup(name), .reason = reason};
}

static bool matches(const char *patterns, const char *name)
{
    const char *slash = strrchr(name, '/');
    struct str rest = str_of(patterns == NULL ? "" : patterns);
    bool is_match = false;
    while (rest.n > 0 && !is_match) {
        struct str line = str_cut(&rest, '\n');
        if (line.n > 1 && line.at[line.n - 1] == '/')
            line.n--; /* "build/" is the folder */
        char *pattern = str_copy(line);
        bool is_path = strchr(pattern, '/') != NULL;
        is_match = fnmatch(pattern, is_path || slash == NULL ? name : slash + 1, 0) == 0;
        free(pattern);
    }
    return is_match;
}

/* A sentence, or NULL for a file that is taken. */
static const char *why_skipped(const struct files *files, const char *name)
{
    const struct file_filter *filter = &files->filter;
    if (matches(filter->exclude, name))
        return excluded;
    if (filter->include != NULL && !matches(filter->include, name))
        return "Not included by --include.";
    if (extract_kind_of(str_of(name)) == EXTRACT_NONE)
        return extract_fault_text(extract_refusal(str_of(name)));
    if (filter->is_code_out && extract_is_code(str_of(name)))
        return "Source code, left out by --exclude-code.";
    return strlen(name) > FILE_NAME_MAX_BYTES ? "Its name is longer than 1,024 bytes." : NULL;
}

static void put_file(struct files *files, const char *path, const char *name, const char *page,
                     uint64_t size_bytes)
{
    const char *reason = why_skipped(files, name);
    if (reason != NULL) {
        skip(files, name, reason);
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

/* An entry of a folder, and where to say what cannot be read. */
struct inner {
    char *path, *name, *page;
    int depth;
    char *reason; /* for people */
    size_t reason_size;
};

static bool add_folder(struct files *files, const struct inner *folder);

static bool add_inner(struct files *files, const struct inner *inner)
{
    struct stat link, info;
    const char *slash = strrchr(inner->name, '/');
    if ((slash == NULL ? inner->name : slash + 1)[0] == '.')
        skip(files, inner->name, "Hidden files and folders are not read.");
    else if (lstat(inner->path, &link) != 0 || stat(inner->path, &info) != 0)
        skip(files, inner->name, "It is gone, or a link that leads nowhere.");
    else if (S_ISREG(info.st_mode))
        put_file(files, inner->path, inner->name, inner->page, (uint64_t)info.st_size);
    else if (!S_ISDIR(info.st_mode))
        skip(files, inner->name, "It is neither a file nor a folder.");
    else if (!S_ISDIR(link.st_mode))
        skip(files, inner->name, "Links to folders are not followed.");
    else if (matches(files->filter.exclude, inner->name))
        skip(files, inner->name, excluded);
    else if (inner->depth > DEPTH_MAX)
        skip(files, inner->name, "Folders are read to a depth of 32.");
    else
        return add_folder(files, inner);
    return true;
}

static bool add_folder(struct files *files, const struct inner *folder)
{
    DIR *dir = opendir(folder->path);
    bool is_good = dir != NULL;
    if (dir == NULL)
        snprintf(folder->reason, folder->reason_size, "%s: %s", folder->path, strerror(errno));
    for (struct dirent *entry; is_good && (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        struct inner inner = {.path = join(folder->path, entry->d_name),
                              .name = join(folder->name, entry->d_name),
                              .page = join(folder->page, entry->d_name),
                              .depth = folder->depth + 1,
                              .reason = folder->reason,
                              .reason_size = folder->reason_size};
        is_good = add_inner(files, &inner);
        free(inner.path);
        free(inner.name);
        free(inner.page);
    }
    if (dir != NULL)
        closedir(dir);
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
    bool is_good = root.at != NULL && !root.is_over;
    if (!is_good)
        snprintf(reason, reason_size, "%.80s...: the path is too long", path);
    if (is_good && S_ISDIR(info.st_mode)) {
        is_good = add_folder(files, &(struct inner){.path = (char *)(uintptr_t)path,
                                                    .name = root.at,
                                                    .page = (char[]){""},
                                                    .reason = reason,
                                                    .reason_size = reason_size});
    } else if (is_good) {
        const char *slash = strrchr(root.at, '/');
        is_good = extract_kind_of(str_of(root.at)) != EXTRACT_NONE;
        if (!is_good)
            snprintf(reason, reason_size, "%s: unsupported file type", path);
        else
            put_file(files, path, root.at, slash == NULL ? root.at : slash + 1,
                     (uint64_t)info.st_size);
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

static int compare_skipped(const void *a, const void *b)
{
    return strcmp(((const struct skipped_file *)a)->name, ((const struct skipped_file *)b)->name);
}

static void drop_repeated_skips(struct files *files)
{
    size_t n = 0;
    if (files->skipped_n > 1)
        qsort(files->skipped, files->skipped_n, sizeof *files->skipped, compare_skipped);
    for (size_t i = 0; i < files->skipped_n; i++) {
        if (n > 0 && compare_skipped(&files->skipped[n - 1], &files->skipped[i]) == 0)
            free(files->skipped[i].name);
        else
            files->skipped[n++] = files->skipped[i];
    }
    files->skipped_n = n;
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
    drop_repeated_skips(files);
}

void files_fini(struct files *files)
{
    for (size_t i = 0; i < files->n; i++)
        free_file(&files->at[i]);
    for (size_t i = 0; i < files->root_n; i++)
        free(files->roots[i]);
    for (size_t i = 0; i < files->skipped_n; i++)
        free(files->skipped[i].name);
    free(files->skipped);
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
