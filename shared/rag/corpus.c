/* SPDX-License-Identifier: MIT
 * corpus.c - see corpus.h. A build makes a new set: first the documents that the old index still
 * has right (copied with their vectors), then the new and changed ones, which are embedded. */
#include "shared/rag/corpus.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/rag/extract.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 100000, DEPTH_MAX = 32, PROGRESS_MS = 5000 };

struct file {
    char *path, *name; /* where it lies; as seen from the folder */
    uint64_t mtime_ns, size_bytes;
};

struct build {
    const struct corpus_settings *settings;
    struct file *files;
    size_t file_n, file_cap;
    struct passages *old, *set; /* old may be NULL */
    struct passage_document **old_by_name;
    struct passage_document *changed;
    size_t changed_n, kept_n, touched_n, skipped_n;
    uint64_t progress_ms;
};

static bool is_stopping(const struct build *build)
{
    return build->settings->is_stopping != NULL && atomic_load(build->settings->is_stopping);
}

/* ---- the folder ---- */

static char *join(const char *folder, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%s%s%s", folder, *folder == 0 ? "" : "/", name) < 0)
        abort();
    return path;
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

static void put_file(struct build *build, char *path, const char *name, const struct stat *info)
{
    if (build->file_n == build->file_cap) {
        build->file_cap = build->file_cap == 0 ? 64 : build->file_cap * 2;
        build->files = reallocarray(build->files, build->file_cap, sizeof *build->files);
        if (build->files == NULL)
            abort();
    }
    struct buf clean;
    buf_init(&clean, SIZE_MAX / 2);
    extract_put_clean(&clean, str_of(name));
    buf_put_char(&clean, 0);
    build->files[build->file_n++] = (struct file){
        .path = path,
        .name = clean.at, /* taken over */
        .mtime_ns = (uint64_t)info->st_mtim.tv_sec * 1000000000u + (uint64_t)info->st_mtim.tv_nsec,
        .size_bytes = (uint64_t)info->st_size};
}

static bool list_folder(struct build *build, const char *path, const char *name, int depth)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        log_write(depth == 0 ? LOG_ERROR : LOG_WARN, "cannot read a folder of the corpus",
                  LOG_S("folder", path), LOG_S("reason", strerror(errno)));
        return false;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL && build->file_n < FILES_MAX;) {
        struct stat link, info;
        if (entry->d_name[0] == '.')
            continue;
        char *inner_path = join(path, entry->d_name), *inner_name = join(name, entry->d_name);
        bool is_there = lstat(inner_path, &link) == 0 && stat(inner_path, &info) == 0;
        if (is_there && S_ISDIR(link.st_mode) && depth < DEPTH_MAX)
            (void)list_folder(build, inner_path, inner_name, depth + 1);
        if (is_there && S_ISREG(info.st_mode) &&
            extract_kind_of(str_of(entry->d_name)) != EXTRACT_NONE) {
            put_file(build, inner_path, inner_name, &info);
            inner_path = NULL;
        }
        free(inner_path);
        free(inner_name);
    }
    closedir(folder);
    return true;
}

/* ---- one file ---- */

static bool read_file(const char *path, struct buf *bytes, const char **ret_reason)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0) {
        char *at = buf_reserve(bytes, 65536);
        n = at == NULL ? 0 : read(fd, at, 65536);
        if (n > 0)
            bytes->n += (size_t)n;
    }
    *ret_reason = n < 0 ? strerror(errno) : "it is too large";
    if (fd >= 0)
        close(fd);
    return n == 0 && !bytes->is_over;
}

static int compare_documents(const void *a, const void *b)
{
    const struct passage_document *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static const struct passage_document *find_old(const struct build *build, const char *name)
{
    struct passage_document key = {.name = (char *)name}, *wanted = &key, **found;
    if (build->old == NULL)
        return NULL;
    found = bsearch(&wanted, build->old_by_name, build->old->document_n, sizeof wanted,
                    compare_documents);
    return found == NULL ? NULL : *found;
}

static bool keep(struct build *build, const struct passage_document *old, const struct file *file)
{
    if (!passages_add_copy(build->set, build->old, (uint32_t)(old - build->old->documents)))
        return false;
    build->set->documents[build->set->document_n - 1].mtime_ns = file->mtime_ns;
    build->set->documents[build->set->document_n - 1].size_bytes = file->size_bytes;
    build->kept_n++;
    build->touched_n += old->mtime_ns != file->mtime_ns;
    return true;
}

static void skip(struct build *build, const struct file *file, const char *reason)
{
    log_write(LOG_WARN, "a file of the corpus is left out", LOG_S("file", file->name),
              LOG_S("reason", reason));
    build->skipped_n++;
}

/* Reads a file that is new or has another time. False only when the set is full. */
static bool read_changed(struct build *build, const struct file *file,
                         const struct passage_document *old)
{
    struct passage_document document = {
        .name = file->name, .mtime_ns = file->mtime_ns, .size_bytes = file->size_bytes};
    struct buf bytes, text;
    const char *reason;
    enum extract_fault fault;
    const struct sandbox_wait wait = {.is_stopping = build->settings->is_stopping};
    bool has_room = true;
    buf_init(&bytes, EXTRACT_FILE_MAX_BYTES + 65536);
    buf_init(&text, EXTRACT_TEXT_MAX_BYTES);
    unsigned sum_n = 0;
    if (!read_file(file->path, &bytes, &reason)) {
        skip(build, file, reason);
    } else if (EVP_Digest(bytes.at, bytes.n, document.sha256, &sum_n, EVP_sha256(), NULL) == 1 &&
               old != NULL && memcmp(old->sha256, document.sha256, sizeof old->sha256) == 0) {
        has_room = keep(build, old, file);
    } else if ((fault = extract_text(extract_kind_of(str_of(file->name)), buf_str(&bytes), &wait,
                                     &text)) != EXTRACT_FAULT_NONE) {
        skip(build, file, extract_fault_text(fault));
    } else {
        document.name = strdup(file->name);
        document.text = malloc(text.n + 1);
        if (document.name == NULL || document.text == NULL)
            abort();
        memcpy(document.text, text.at, text.n);
        document.text[text.n] = 0;
        document.text_bytes = text.n;
        build->changed[build->changed_n++] = document;
    }
    buf_fini(&bytes);
    buf_fini(&text);
    return has_room;
}

/* ---- the build ---- */

static void load_old(struct build *build)
{
    const char *reason = "none";
    const struct corpus_settings *settings = build->settings;
    if (settings->index_path == NULL)
        return;
    build->old = corpus_load(settings->index_path, &reason);
    if (build->old != NULL && strcmp(build->old->model, settings->embedder->name) != 0) {
        passages_destroy(build->old);
        build->old = NULL;
        reason = "made with another embedding model";
    }
    if (build->old == NULL && strcmp(reason, "none") != 0)
        log_write(LOG_WARN, "the index is made anew", LOG_S("index", settings->index_path),
                  LOG_S("reason", reason));
    if (build->old == NULL)
        return;
    build->old_by_name = calloc(build->old->document_n + 1, sizeof *build->old_by_name);
    if (build->old_by_name == NULL)
        abort();
    for (uint32_t i = 0; i < build->old->document_n; i++)
        build->old_by_name[i] = &build->old->documents[i];
    if (build->old->document_n > 1)
        qsort(build->old_by_name, build->old->document_n, sizeof *build->old_by_name,
              compare_documents);
}

static bool read_files(struct build *build)
{
    build->changed = calloc(build->file_n + 1, sizeof *build->changed);
    if (build->changed == NULL)
        abort();
    for (size_t i = 0; i < build->file_n; i++) {
        const struct file *file = &build->files[i];
        const struct passage_document *old = find_old(build, file->name);
        bool is_same =
            old != NULL && old->mtime_ns == file->mtime_ns && old->size_bytes == file->size_bytes;
        if (is_stopping(build) ||
            !(is_same ? keep(build, old, file) : read_changed(build, file, old)))
            return false;
        if (clock_mono_ms() - build->progress_ms > PROGRESS_MS) {
            build->progress_ms = clock_mono_ms();
            log_write(LOG_INFO, "reading the corpus", LOG_U("files", i + 1),
                      LOG_U("of", build->file_n));
        }
    }
    return true;
}

static bool make_set(struct build *build)
{
    uint64_t started_ms = clock_mono_ms();
    build->progress_ms = started_ms;
    if (!list_folder(build, build->settings->folder, "", 0))
        return false;
    if (build->file_n > 1)
        qsort(build->files, build->file_n, sizeof *build->files, compare_files);
    load_old(build);
    bool has_room = read_files(build);
    uint32_t first = build->set->n;
    for (size_t i = 0; has_room && i < build->changed_n; i++)
        has_room = passages_add(build->set, &build->changed[i]);
    if (is_stopping(build))
        return false;
    if (!has_room)
        log_write(LOG_ERROR, "the corpus is too large: the rest is left out",
                  LOG_U("passages_max", PASSAGES_MAX));
    if (!passages_finish(build->set, first, build->settings->embedder,
                         build->settings->is_stopping))
        return false;
    bool is_new = build->changed_n > 0 || build->touched_n > 0 || build->old == NULL ||
                  build->set->document_n != build->old->document_n;
    if (is_new && build->settings->index_path != NULL &&
        !corpus_save(build->set, build->settings->index_path))
        log_write(LOG_WARN, "the index cannot be kept", LOG_S("index", build->settings->index_path),
                  LOG_S("reason", strerror(errno)));
    log_write(LOG_INFO, "corpus ready", LOG_S("folder", build->settings->folder),
              LOG_U("documents", build->set->document_n), LOG_U("passages", build->set->n),
              LOG_U("indexed", build->changed_n), LOG_U("kept", build->kept_n),
              LOG_U("left_out", build->skipped_n), LOG_U("ms", clock_mono_ms() - started_ms));
    return true;
}

struct passages *corpus_build(const struct corpus_settings *settings)
{
    struct build build = {.settings = settings, .set = passages_create()};
    bool is_good = make_set(&build);
    for (size_t i = 0; i < build.file_n; i++) {
        free(build.files[i].path);
        free(build.files[i].name);
    }
    for (size_t i = 0; i < build.changed_n; i++) {
        free(build.changed[i].name);
        free(build.changed[i].text);
    }
    free(build.files);
    free(build.changed);
    free(build.old_by_name);
    passages_destroy(build.old);
    if (is_good)
        return build.set;
    passages_destroy(build.set);
    return NULL;
}
