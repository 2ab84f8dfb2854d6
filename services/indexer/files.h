/* SPDX-License-Identifier: MIT
 *
 * files: the documents below the paths that `parley ingest` was given, and what each is called.
 *
 * A file's *name* in its collection is the path as it was given, tidied ("./docs//a/" is "docs/a"),
 * and the way from there. So the same command from the same folder names the same files, on any
 * machine. Its *page* is where its text can be read: see file_put_url. Blocking; one thread.
 */
#ifndef PARLEY_INDEXER_FILES_H
#define PARLEY_INDEXER_FILES_H

#include "shared/base/buf.h"

enum { FILES_MAX = 10000, FILE_NAME_MAX_BYTES = 1024 };

struct file {
    char *path; /* to open it by */
    char *name; /* in the collection */
    char *page; /* the way from its root, "guide/index.md" */
    uint64_t size_bytes;
};

/* Chooses among the files that could be read. Patterns are those of fnmatch(3), one a line, or
 * NULL. One without a slash is compared with the last segment of a name, any other with the whole
 * name, where * stands for slashes, too. */
struct file_filter {
    const char *include; /* a file must match one of them */
    const char *exclude; /* no file, and no folder around it, may match one of them */
    bool is_code_out;    /* without source code */
};

struct skipped_file {
    char *name;         /* of a file, or of a folder with all below it */
    const char *reason; /* a sentence, of static storage */
};

struct files {
    struct file_filter filter; /* set by its owner before files_add; borrowed */
    struct file *at;
    size_t n;
    char **roots; /* tidied */
    size_t root_n;
    uint64_t bytes;
    struct skipped_file *skipped;
    size_t skipped_n;
    bool is_over; /* more than FILES_MAX: the rest is left out */
};

/* Adds a file, or a folder with all below it: hidden files and folders and linked folders aside.
 * What is left out is in `skipped`. False, with a line for people, when it cannot be read or (a
 * file) is of no kind that is read. */
bool files_add(struct files *files, const char *path, char *reason, size_t reason_size) must_check;
/* Sorts by name and drops what was found twice, skipped or not. After the last files_add. */
void files_finish(struct files *files);
void files_fini(struct files *files);

/* Is there a file of that name? After files_finish. */
bool files_have(const struct files *files, const char *name);
/* Would that name be below one of the paths that were given? */
bool files_cover(const struct files *files, const char *name);

/* Puts the address of a page: `base`, a slash, and `page` with the ending .md, .markdown, .html,
 * .htm or .xhtml left out; a file so named index or README stands for its folder ("guide/"). */
void file_put_url(struct buf *url, struct str base, struct str page);
/* Puts `path` tidied: no "./", no doubled or last slash, "a/../b" as "b". "." is "". */
void file_put_tidy(struct buf *b, struct str path);

#endif
