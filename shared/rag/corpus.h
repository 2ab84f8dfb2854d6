/* SPDX-License-Identifier: MIT
 *
 * corpus: the documents of a folder as a set of passages, kept in one index file between starts.
 * Files whose size and time did not change are not read again, files whose bytes did not change
 * are not embedded again. The index file is replaced atomically; one that is damaged, of another
 * format or of another embedding model is made anew, with a log line. Blocking: for a thread that
 * may wait.
 */
#ifndef PARLEY_RAG_CORPUS_H
#define PARLEY_RAG_CORPUS_H

#include "shared/rag/passages.h"

struct corpus_settings {
    const char *folder;
    const char *index_path; /* NULL: nothing is kept */
    struct embedder *embedder;
    const atomic_bool *is_stopping; /* gives up soon after it becomes true; may be NULL */
};

/* Reads the folder, hidden files and folders and linked folders aside, in the order of their
 * names. NULL, after a log line, when the folder cannot be read, embedding failed, or it was told
 * to stop. A file that cannot be read is logged and left out. The caller owns the set. */
struct passages *corpus_build(const struct corpus_settings *settings) must_check;

/* Writes the set to `path`, by way of a new file beside it. False with errno on failure. */
bool corpus_save(const struct passages *set, const char *path) must_check;
/* Reads what corpus_save wrote. NULL, with a reason, when there is no sound index; the reason is
 * "none" when there is no file. The word index is not made yet: see passages_finish. */
struct passages *corpus_load(const char *path, const char **ret_reason) must_check;
/* The part of it that reads bytes from outside: all but the check sum at the end. */
struct passages *corpus_parse(struct str bytes, const char **ret_reason) must_check;

#endif
