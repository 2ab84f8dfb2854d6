/* SPDX-License-Identifier: MIT
 * corpus_file.c - the index file of corpus.h.
 *
 *   "PARLEYR1"  how chunks are cut  model  dimension  document_n
 *   per document: name  mtime_ns  size  sha256  text  passage_n  (4 numbers per passage)
 *   vectors
 *   SHA-256 of all of it
 *
 * Numbers are u64, strings a u64 length and the bytes, vectors float32, all in this machine's byte
 * order: the file is a cache of this machine, not for exchange, and the magic number would not
 * match on one of the other order. */
#include "shared/rag/corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 4096 };

static const uint64_t magic = 0x315259454c524150u; /* "PARLEYR1" as little-endian bytes */
static const uint64_t cutting =
    ((uint64_t)CHUNK_CHARS << 40) | ((uint64_t)CHUNK_MAX_CHARS << 20) | CHUNK_OVERLAP_CHARS;

/* ---- writing ---- */

struct writer {
    FILE *file;
    EVP_MD_CTX *sum;
};

static void put_bytes(struct writer *w, const void *at, size_t n)
{
    if (n > 0)
        fwrite(at, 1, n, w->file); /* ferror is asked once, at the end */
    EVP_DigestUpdate(w->sum, at, n);
}

static void put_number(struct writer *w, uint64_t number)
{
    put_bytes(w, &number, sizeof number);
}

static void put_string(struct writer *w, struct str s)
{
    put_number(w, s.n);
    put_bytes(w, s.at, s.n);
}

static void put_set(struct writer *w, const struct passages *set)
{
    put_number(w, magic);
    put_number(w, cutting);
    put_string(w, str_of(set->model));
    put_number(w, set->dimension);
    put_number(w, set->document_n);
    for (uint32_t i = 0; i < set->document_n; i++) {
        const struct passage_document *document = &set->documents[i];
        put_string(w, str_of(document->name));
        put_number(w, document->mtime_ns);
        put_number(w, document->size_bytes);
        put_bytes(w, document->sha256, sizeof document->sha256);
        put_string(w, (struct str){document->text, document->text_bytes});
        put_number(w, document->n);
        for (uint32_t k = 0; k < document->n; k++) {
            const struct chunk *chunk = &set->items[document->first + k].chunk;
            put_number(w, chunk->start_bytes);
            put_number(w, chunk->end_bytes);
            put_number(w, chunk->start_chars);
            put_number(w, chunk->end_chars);
        }
    }
    put_bytes(w, set->vectors, (size_t)set->n * set->dimension * sizeof(float));
}

bool corpus_save(const struct passages *set, const char *path)
{
    char *fresh = NULL;
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned sum_n = 0;
    if (asprintf(&fresh, "%s.%ld.tmp", path, (long)getpid()) < 0)
        abort();
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct writer w = {.file = fd < 0 ? NULL : fdopen(fd, "w"), .sum = EVP_MD_CTX_new()};
    bool is_good = w.file != NULL && w.sum != NULL;
    if (is_good) {
        EVP_DigestInit_ex(w.sum, EVP_sha256(), NULL);
        put_set(&w, set);
        EVP_DigestFinal_ex(w.sum, sum, &sum_n);
        fwrite(sum, 1, sum_n, w.file);
        is_good = fflush(w.file) == 0 && ferror(w.file) == 0 && fsync(fd) == 0;
    }
    int reason = errno;
    if (w.file != NULL)
        fclose(w.file);
    if (is_good && rename(fresh, path) != 0) {
        reason = errno;
        is_good = false;
    }
    if (!is_good && fd >= 0)
        unlink(fresh);
    EVP_MD_CTX_free(w.sum);
    free(fresh);
    errno = reason;
    return is_good;
}

/* ---- reading ---- */

struct reader {
    struct str rest;
    bool is_bad; /* ran past the end, or a value makes no sense: all later reads give zeros */
};

static struct str take_bytes(struct reader *r, uint64_t n)
{
    struct str bytes = {r->rest.at, (size_t)n};
    if (r->is_bad || n > r->rest.n) {
        r->is_bad = true;
        return (struct str){"", 0};
    }
    r->rest.at += n;
    r->rest.n -= (size_t)n;
    return bytes;
}

static uint64_t take_number(struct reader *r, uint64_t max)
{
    uint64_t number = 0;
    struct str bytes = take_bytes(r, sizeof number);
    if (r->is_bad)
        return 0;
    memcpy(&number, bytes.at, sizeof number);
    if (number > max) {
        r->is_bad = true;
        return 0;
    }
    return number;
}

static struct str take_string(struct reader *r, uint64_t max)
{
    return take_bytes(r, take_number(r, max));
}

static char *copy_string(struct str s)
{
    char *twin = malloc(s.n + 1);
    if (twin == NULL)
        abort();
    if (s.n > 0)
        memcpy(twin, s.at, s.n);
    twin[s.n] = 0;
    return twin;
}

static bool is_plain(struct str s)
{
    return str_is_utf8(s) && memchr(s.at, 0, s.n) == NULL;
}

static void take_passages(struct reader *r, struct passages *set, struct passage_document *document,
                          uint32_t index)
{
    uint64_t n = take_number(r, PASSAGES_MAX - set->n);
    if (n > r->rest.n / 32) {
        r->is_bad = true;
        return;
    }
    if (set->n + n > set->cap) {
        set->cap = (uint32_t)(set->n + n) * 2;
        set->items = reallocarray(set->items, set->cap, sizeof *set->items);
        if (set->items == NULL)
            abort();
    }
    for (uint64_t i = 0; i < n && !r->is_bad; i++) {
        struct chunk chunk = {.start_bytes = (size_t)take_number(r, document->text_bytes),
                              .end_bytes = (size_t)take_number(r, document->text_bytes),
                              .start_chars = (size_t)take_number(r, document->text_bytes),
                              .end_chars = (size_t)take_number(r, document->text_bytes)};
        if (chunk.start_bytes >= chunk.end_bytes || chunk.start_chars >= chunk.end_chars)
            r->is_bad = true;
        set->items[set->n++] = (struct passage){.document = index, .chunk = chunk};
        document->n++;
    }
}

static void take_document(struct reader *r, struct passages *set)
{
    struct passage_document *document = &set->documents[set->document_n];
    struct str name = take_string(r, NAME_MAX_BYTES);
    *document = (struct passage_document){.first = set->n};
    document->mtime_ns = take_number(r, UINT64_MAX);
    document->size_bytes = take_number(r, UINT64_MAX);
    struct str sum = take_bytes(r, PASSAGES_SHA_BYTES);
    struct str text = take_string(r, UINT32_MAX);
    if (r->is_bad || !is_plain(name) || !str_is_utf8(text)) {
        r->is_bad = true;
        return;
    }
    memcpy(document->sha256, sum.at, sum.n);
    document->name = copy_string(name);
    document->text = copy_string(text);
    document->text_bytes = text.n;
    take_passages(r, set, document, set->document_n++);
}

static void take_vectors(struct reader *r, struct passages *set)
{
    size_t n = (size_t)set->n * set->dimension;
    if (r->is_bad || r->rest.n != n * sizeof(float)) {
        r->is_bad = true;
        return;
    }
    set->vectors = malloc(n == 0 ? 1 : n * sizeof(float));
    if (set->vectors == NULL)
        abort();
    if (n > 0)
        memcpy(set->vectors, r->rest.at, n * sizeof(float));
    for (size_t i = 0; i < n && !r->is_bad; i++)
        r->is_bad = !isfinite(set->vectors[i]);
}

struct passages *corpus_parse(struct str bytes, const char **ret_reason)
{
    struct reader r = {.rest = bytes};
    if (take_number(&r, UINT64_MAX) != magic || take_number(&r, UINT64_MAX) != cutting) {
        *ret_reason = "another format";
        return NULL;
    }
    struct passages *set = passages_create();
    struct str model = take_string(&r, NAME_MAX_BYTES);
    if (!r.is_bad && is_plain(model)) {
        free(set->model);
        set->model = copy_string(model);
    } else {
        r.is_bad = true;
    }
    set->dimension = (uint32_t)take_number(&r, EMBED_DIMENSION_MAX);
    /* A document takes 72 bytes at least: a count that cannot be true reserves no memory. */
    uint64_t document_n = take_number(&r, r.rest.n / 72);
    set->document_cap = (uint32_t)document_n;
    set->documents = calloc(document_n == 0 ? 1 : document_n, sizeof *set->documents);
    if (set->documents == NULL)
        abort();
    for (uint64_t i = 0; i < document_n && !r.is_bad; i++)
        take_document(&r, set);
    take_vectors(&r, set);
    if (r.is_bad) {
        *ret_reason = "damaged";
        passages_destroy(set);
        return NULL;
    }
    return set;
}

static bool is_sum_right(struct str bytes, struct str sum)
{
    unsigned char own[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    return EVP_Digest(bytes.at, bytes.n, own, &n, EVP_sha256(), NULL) == 1 &&
           str_eq(sum, (struct str){(const char *)own, n});
}

struct passages *corpus_load(const char *path, const char **ret_reason)
{
    struct stat info;
    struct passages *set = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *ret_reason = fd < 0 && errno == ENOENT ? "none" : "cannot be read";
    if (fd < 0)
        return NULL;
    void *at = MAP_FAILED;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < PASSAGES_SHA_BYTES)
        *ret_reason = "damaged";
    else
        at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at != MAP_FAILED) {
        struct str bytes = {at, (size_t)info.st_size - PASSAGES_SHA_BYTES};
        if (is_sum_right(bytes, (struct str){bytes.at + bytes.n, PASSAGES_SHA_BYTES}))
            set = corpus_parse(bytes, ret_reason);
        else
            *ret_reason = "damaged";
        munmap(at, (size_t)info.st_size);
    }
    close(fd);
    return set;
}
