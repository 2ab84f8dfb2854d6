/* SPDX-License-Identifier: MIT
 *
 * nearest: finds the existing name that somebody probably meant by a misspelt one. One per misspelt
 * name. It searches every list of names that people type: commands and their words, flags,
 * variables of the environment, members of files. Pure; any thread.
 */
#ifndef PARLEY_BASE_NEAREST_H
#define PARLEY_BASE_NEAREST_H

#include "shared/base/buf.h"

/* Longer names are close to none. */
enum { NEAREST_NAME_MAX = 64 };

struct nearest {
    struct str given, best; /* `best`: of those that were tried; `at == NULL`: none yet */
    unsigned distance;      /* between them, in characters */
};

/* Borrows `given`, without a prefix that all names have ("--", "PARLEY_"). */
struct nearest nearest_begin(struct str given);
/* Compares with a name that exists; borrows it until the last call. Capitals do not count, and '-'
 * is the same as '_'. */
void nearest_try(struct nearest *nearest, struct str name);
/* Returns the closest name, or one with `at == NULL` if more than a third of `given` would have to
 * change. */
struct str nearest_end(const struct nearest *nearest);

/* All of it for names in a list such as "list|add|remove", or in one that ends with NULL. */
struct str nearest_of(struct str given, const char *choices);
struct str nearest_in(struct str given, const char *const *names);

/* Returns whether it is 1 to 32 letters, '-' and '_'. What a file has where a name belongs may be a
 * secret (`{s3cret}` is a name to YAML), so only such a word is shown. */
bool nearest_is_word(struct str text);

/* Puts ": did you mean <prefix><name>?", or nothing if `name.at` is NULL. */
void buf_put_nearest(struct buf *b, const char *prefix, struct str name);
/* Puts '<prefix><name>' as somebody typed it, in quotes, but without invisible characters, and cut
 * to NEAREST_NAME_MAX bytes. */
void buf_put_typed(struct buf *b, const char *prefix, struct str name);

#endif
