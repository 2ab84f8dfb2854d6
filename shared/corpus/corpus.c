/* SPDX-License-Identifier: MIT
 * corpus.c - see corpus.h. A build processes the files in the order of their names. Documents that
 * are current in the old index are reused; the texts of the others are collected and embedded at
 * the end. */
#include "shared/corpus/corpus.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/mem.h"
#include "shared/corpus/make.h"
#include "shared/extract/extract.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
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
    size_t file_n;
    struct corpus *old, *corpus; /* old may be NULL */
    struct make_text *texts; /* of the documents that are new or changed; owns texts and pages */
    uint32_t *places;        /* and where in the corpus they go */
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
    build->files = mem_grow(build->files, build->file_n, sizeof *build->files);
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
        log_write(depth == 0 ? LOG_ERROR : LOG_WARN, "cannot read a corpus folder",
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

static unsigned readers_of(const struct file *file)
{
    return extract_readers_version(extract_kind_of(str_of(file->name)));
}

static struct corpus_document *put_document(struct build *build, const struct file *file)
{
    struct corpus_document *document = &build->corpus->documents[build->corpus->n++];
    *document = (struct corpus_document){
        .mtime_ns = file->mtime_ns, .size_bytes = file->size_bytes, .readers = readers_of(file)};
    return document;
}

static void keep(struct build *build, const struct corpus_document *old, const struct file *file)
{
    struct corpus_document *document = put_document(build, file);
    document->document = rag_document_ref(old->document);
    memcpy(document->sha256, old->sha256, sizeof document->sha256);
    build->corpus->dimension = build->old->dimension;
    build->kept_n++;
    build->touched_n += old->mtime_ns != file->mtime_ns;
}

static void skip(struct build *build, const struct file *file, const char *reason)
{
    log_write(LOG_WARN, "corpus file skipped", LOG_S("file", file->name), LOG_S("reason", reason));
    build->skipped_n++;
}

/* Remembers a text that is to be embedded; takes the buffer's bytes and the pages. */
static void put_text(struct build *build, const struct file *file, struct buf *text,
                     struct text_pages *pages)
{
    struct str id = str_of(file->name);
    build->places[build->changed_n] = build->corpus->n;
    build->texts[build->changed_n++] =
        (struct make_text){.id = id, .name = id, .text = buf_str(text), .pages = *pages};
    buf_init(text, 0);
    *pages = (struct text_pages){0};
}

/* Reads a file that is new, has another time, or is of a kind of which more is read now. */
static void read_changed(struct build *build, const struct file *file,
                         const struct corpus_document *old)
{
    unsigned char sha256[EVP_MAX_MD_SIZE];
    unsigned sum_n = 0;
    struct buf bytes, text;
    struct text_pages pages = {0};
    const char *reason;
    enum extract_fault fault;
    buf_init(&bytes, EXTRACT_FILE_MAX_BYTES + 65536);
    buf_init(&text, EXTRACT_TEXT_MAX_BYTES);
    if (!read_file(file->path, &bytes, &reason)) {
        skip(build, file, reason);
    } else if (EVP_Digest(bytes.at, bytes.n, sha256, &sum_n, EVP_sha256(), NULL) == 1 &&
               old != NULL && old->readers == readers_of(file) &&
               memcmp(old->sha256, sha256, sizeof old->sha256) == 0) {
        keep(build, old, file);
    } else if ((fault = extract_text(extract_kind_of(str_of(file->name)), buf_str(&bytes),
                                     build->settings->is_stopping, &text, &pages)) !=
               EXTRACT_FAULT_NONE) {
        skip(build, file, extract_fault_text(fault));
    } else {
        put_text(build, file, &text, &pages);
        memcpy(put_document(build, file)->sha256, sha256, CORPUS_SHA_BYTES);
    }
    buf_fini(&bytes);
    buf_fini(&text);
    text_pages_fini(&pages);
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
        corpus_destroy(build->old);
        build->old = NULL;
        reason = "built with another embedding model";
    }
    if (build->old == NULL && strcmp(reason, "none") != 0)
        log_write(LOG_WARN, "rebuilding the corpus index", LOG_S("index", settings->index_path),
                  LOG_S("reason", reason));
}

static void *zeros(size_t n, size_t size)
{
    void *at = mem_zeroed_n(n + 1, size);
    return at;
}

static bool read_files(struct build *build)
{
    build->texts = zeros(build->file_n, sizeof *build->texts);
    build->places = zeros(build->file_n, sizeof *build->places);
    build->corpus->documents = zeros(build->file_n, sizeof *build->corpus->documents);
    for (size_t i = 0; i < build->file_n; i++) {
        const struct file *file = &build->files[i];
        const struct corpus_document *old =
            build->old == NULL ? NULL : corpus_find(build->old, str_of(file->name));
        if (is_stopping(build))
            return false;
        if (i > 0 && strcmp(file[-1].name, file->name) == 0)
            skip(build, file, "another file has the same name apart from bytes that are not UTF-8");
        else if (old != NULL && old->mtime_ns == file->mtime_ns &&
                 old->size_bytes == file->size_bytes && old->readers == readers_of(file))
            keep(build, old, file);
        else
            read_changed(build, file, old);
        if (clock_mono_ms() - build->progress_ms > PROGRESS_MS) {
            build->progress_ms = clock_mono_ms();
            log_write(LOG_INFO, "reading the corpus", LOG_U("files", i + 1),
                      LOG_U("of", build->file_n));
        }
    }
    return !is_stopping(build);
}

static bool embed_changed(struct build *build)
{
    struct corpus *corpus = build->corpus;
    struct rag_document **made = zeros(build->changed_n, sizeof *made);
    bool is_good = make_documents(build->texts, build->changed_n, build->settings->embedder,
                                  build->settings->is_stopping, &corpus->dimension, made);
    for (size_t i = 0; is_good && i < build->changed_n; i++)
        corpus->documents[build->places[i]].document = made[i];
    free(made);
    return is_good;
}

static void cut_off(struct corpus *corpus)
{
    uint32_t kept = 0;
    for (; kept < corpus->n; kept++) {
        uint32_t chunk_n = corpus->documents[kept].document->pack.chunk_n;
        if (chunk_n > CORPUS_CHUNKS_MAX - corpus->chunk_n)
            break;
        corpus->chunk_n += chunk_n;
    }
    if (kept < corpus->n)
        log_write(LOG_ERROR, "corpus too large: skipping the remaining files",
                  LOG_U("passages_max", CORPUS_CHUNKS_MAX), LOG_U("documents", corpus->n - kept));
    while (corpus->n > kept)
        rag_document_unref(corpus->documents[--corpus->n].document);
}

static bool fill(struct build *build)
{
    uint64_t started_ms = clock_mono_ms();
    build->progress_ms = started_ms;
    if (!list_folder(build, build->settings->folder, "", 0))
        return false;
    if (build->file_n > 1)
        qsort(build->files, build->file_n, sizeof *build->files, compare_files);
    load_old(build);
    if (!read_files(build) || !embed_changed(build))
        return false;
    cut_off(build->corpus);
    bool is_new = build->changed_n > 0 || build->touched_n > 0 || build->old == NULL ||
                  build->corpus->n != build->old->n;
    if (is_new && build->settings->index_path != NULL &&
        !corpus_save(build->corpus, build->settings->index_path))
        log_write(LOG_WARN, "cannot save the corpus index",
                  LOG_S("index", build->settings->index_path), LOG_S("reason", strerror(errno)));
    log_write(LOG_INFO, "corpus ready", LOG_S("folder", build->settings->folder),
              LOG_U("documents", build->corpus->n), LOG_U("passages", build->corpus->chunk_n),
              LOG_U("indexed", build->changed_n), LOG_U("kept", build->kept_n),
              LOG_U("left_out", build->skipped_n), LOG_U("ms", clock_mono_ms() - started_ms));
    return true;
}

struct corpus *corpus_build(const struct corpus_settings *settings)
{
    struct build build = {.settings = settings, .corpus = zeros(1, sizeof *build.corpus)};
    build.corpus->model = strdup(settings->embedder->name);
    bool is_good = build.corpus->model != NULL && fill(&build);
    for (size_t i = 0; i < build.changed_n; i++) {
        free((char *)build.texts[i].text.at);
        text_pages_fini(&build.texts[i].pages);
    }
    for (size_t i = 0; i < build.file_n; i++) {
        free(build.files[i].path);
        free(build.files[i].name);
    }
    free(build.files);
    free(build.texts);
    free(build.places);
    corpus_destroy(build.old);
    if (is_good)
        return build.corpus;
    corpus_destroy(build.corpus);
    return NULL;
}

void corpus_destroy(struct corpus *corpus)
{
    if (corpus == NULL)
        return;
    for (uint32_t i = 0; i < corpus->n; i++)
        rag_document_unref(corpus->documents[i].document);
    free(corpus->documents);
    free(corpus->model);
    free(corpus);
}

static int compare_id(const void *key, const void *at)
{
    const struct str *id = key;
    struct str own = ((const struct corpus_document *)at)->document->id;
    return str_compare(*id, own);
}

const struct corpus_document *corpus_find(const struct corpus *corpus, struct str id)
{
    return bsearch(&id, corpus->documents, corpus->n, sizeof *corpus->documents, compare_id);
}
