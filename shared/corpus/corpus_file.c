/* SPDX-License-Identifier: MIT
 * corpus_file.c - the index file of corpus.h.
 *
 *   "PARLEYR5"  PACK_VERSION  how chunks are cut  model  dimension  document_n
 *   per document, by rising name: name  mtime_ns  size  readers  sha256  text  pack (pack.h)
 *   SHA-256 of all of it
 *
 * Numbers are u64 in this machine's byte order, strings a u64 length and the bytes: the file is a
 * cache of this machine, not for exchange, and the magic number would not match on one of the other
 * order. */
#include "shared/corpus/corpus.h"

#include "shared/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 4096 };

static const uint64_t magic = 0x355259454c524150u; /* "PARLEYR5" as little-endian bytes */
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

static void put_corpus(struct writer *w, const struct corpus *corpus)
{
    put_number(w, magic);
    put_number(w, PACK_VERSION);
    put_number(w, cutting);
    put_string(w, str_of(corpus->model));
    put_number(w, corpus->dimension);
    put_number(w, corpus->n);
    for (uint32_t i = 0; i < corpus->n; i++) {
        const struct corpus_document *document = &corpus->documents[i];
        put_string(w, document->document->id);
        put_number(w, document->mtime_ns);
        put_number(w, document->size_bytes);
        put_number(w, document->readers);
        put_bytes(w, document->sha256, sizeof document->sha256);
        put_string(w, document->document->text);
        put_string(w, document->document->pack.bytes);
    }
}

bool corpus_save(const struct corpus *corpus, const char *path)
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
        put_corpus(&w, corpus);
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

static bool is_plain(struct str s)
{
    return str_is_utf8(s) && memchr(s.at, 0, s.n) == NULL;
}

static void take_document(struct reader *r, struct corpus *corpus)
{
    struct corpus_document *document = &corpus->documents[corpus->n];
    struct str name = take_string(r, NAME_MAX_BYTES);
    document->mtime_ns = take_number(r, UINT64_MAX);
    document->size_bytes = take_number(r, UINT64_MAX);
    document->readers = (unsigned)take_number(r, UINT32_MAX);
    struct str sum = take_bytes(r, CORPUS_SHA_BYTES);
    struct str text = take_string(r, UINT32_MAX);
    struct str pack = take_string(r, UINT32_MAX);
    if (r->is_bad || !is_plain(name) || !str_is_utf8(text) ||
        (corpus->n > 0 && str_compare(document[-1].document->id, name) >= 0)) {
        r->is_bad = true;
        return;
    }
    struct buf title;
    buf_init(&title, SIZE_MAX / 2);
    buf_put_json(&title, name);
    document->document = rag_document_create(&(struct rag_parts){.id = name,
                                                                 .generation = 1,
                                                                 .title_json = buf_str(&title),
                                                                 .url_json = STR(""),
                                                                 .pack = pack,
                                                                 .text = text});
    buf_fini(&title);
    if (document->document == NULL) {
        r->is_bad = true;
        return;
    }
    memcpy(document->sha256, sum.at, sum.n);
    corpus->n++;
    uint32_t chunk_n = document->document->pack.chunk_n;
    r->is_bad = chunk_n > CORPUS_CHUNKS_MAX - corpus->chunk_n ||
                (chunk_n > 0 && document->document->pack.dimension != corpus->dimension);
    corpus->chunk_n += r->is_bad ? 0 : chunk_n;
}

struct corpus *corpus_parse(struct str bytes, const char **ret_reason)
{
    struct reader r = {.rest = bytes};
    if (take_number(&r, UINT64_MAX) != magic || take_number(&r, UINT64_MAX) != PACK_VERSION ||
        take_number(&r, UINT64_MAX) != cutting) {
        *ret_reason = "made by another version of Parley";
        return NULL;
    }
    struct corpus *corpus = mem_zeroed(sizeof *corpus);
    struct str model = take_string(&r, NAME_MAX_BYTES);
    r.is_bad = r.is_bad || !is_plain(model);
    corpus->model = str_copy(r.is_bad ? STR("") : model);
    corpus->dimension = (uint32_t)take_number(&r, PACK_DIMENSION_MAX);
    /* A document takes 80 bytes at least: a count that cannot be true reserves no memory. */
    uint64_t document_n = take_number(&r, r.rest.n / 80);
    corpus->documents = mem_zeroed_n(document_n + 1, sizeof *corpus->documents);
    for (uint64_t i = 0; i < document_n && !r.is_bad; i++)
        take_document(&r, corpus);
    if (r.is_bad || r.rest.n > 0) {
        *ret_reason = "damaged";
        corpus_destroy(corpus);
        return NULL;
    }
    return corpus;
}

static bool is_sum_right(struct str bytes, struct str sum)
{
    unsigned char own[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    return EVP_Digest(bytes.at, bytes.n, own, &n, EVP_sha256(), NULL) == 1 &&
           str_eq(sum, (struct str){(const char *)own, n});
}

struct corpus *corpus_load(const char *path, const char **ret_reason)
{
    struct stat info;
    struct corpus *corpus = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *ret_reason = fd < 0 && errno == ENOENT ? "none" : "cannot be read";
    if (fd < 0)
        return NULL;
    void *at = MAP_FAILED;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < CORPUS_SHA_BYTES)
        *ret_reason = "damaged";
    else
        at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at != MAP_FAILED) {
        struct str bytes = {at, (size_t)info.st_size - CORPUS_SHA_BYTES};
        if (is_sum_right(bytes, (struct str){bytes.at + bytes.n, CORPUS_SHA_BYTES}))
            corpus = corpus_parse(bytes, ret_reason);
        else
            *ret_reason = "damaged";
        munmap(at, (size_t)info.st_size);
    }
    close(fd);
    return corpus;
}
