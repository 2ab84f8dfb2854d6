/* SPDX-License-Identifier: MIT
 *
 * corpus: the documents of a folder, prepared for an index and cached in one file between starts.
 * Files with unchanged size and time are not read again, files with unchanged bytes are not
 * embedded again, unless a newer Parley reads more of their kind. The index file is replaced
 * atomically; one that is damaged, of another version or of another embedding model is rebuilt,
 * with a log line. Blocking: for a thread that may wait.
 */
#ifndef PARLEY_CORPUS_CORPUS_H
#define PARLEY_CORPUS_CORPUS_H

#include "shared/embed/embed.h"
#include "shared/search/index.h"

enum { CORPUS_CHUNKS_MAX = 200000, CORPUS_SHA_BYTES = 32 };

struct corpus_document {
    /* A reference of its own. The id is the path below the folder, e.g. "handbook/leave.md", the
     * title the same as JSON; has its text. */
    const struct rag_document *document;
    uint64_t mtime_ns, size_bytes; /* of the file */
    unsigned readers;              /* extract_readers_version of those that read it */
    unsigned char sha256[CORPUS_SHA_BYTES];
};

struct corpus {
    char *model;                       /* the embedder's name */
    uint32_t dimension;                /* of the vectors; 0 while there are none */
    struct corpus_document *documents; /* by rising id */
    uint32_t n, chunk_n;
};

struct corpus_settings {
    const char *folder;
    const char *index_path; /* NULL: nothing is kept */
    struct embedder *embedder;
    const atomic_bool *is_stopping; /* stops soon after it becomes true; may be NULL */
};

/* Reads the folder except hidden files and folders and linked folders. Returns NULL after a log
 * line if the folder cannot be read, embedding failed, or it was stopped. A file that cannot be
 * read, or that exceeds CORPUS_CHUNKS_MAX, is logged and skipped. The caller owns the corpus.
 */
struct corpus *corpus_build(const struct corpus_settings *settings) must_check;
/* Accepts NULL. The documents live on in the indexes that share them. */
void corpus_destroy(struct corpus *corpus);
/* Returns NULL if no document has that id. */
const struct corpus_document *corpus_find(const struct corpus *corpus, struct str id);

/* Writes the corpus to `path` through a temporary file in the same folder. False with errno on
 * failure. */
bool corpus_save(const struct corpus *corpus, const char *path) must_check;
/* Reads what corpus_save wrote. Returns NULL with a reason if there is no valid index; the reason
 * is "none" if there is no file. */
struct corpus *corpus_load(const char *path, const char **ret_reason) must_check;
/* The part of it that reads bytes from outside: all but the check sum at the end. */
struct corpus *corpus_parse(struct str bytes, const char **ret_reason) must_check;

#endif
