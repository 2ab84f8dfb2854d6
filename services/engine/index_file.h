/* SPDX-License-Identifier: MIT
 *
 * index_file: where the index of a corpus is kept if --index does not say: in the user's cache
 * folder, never in the corpus, which may be read-only, in a repository, or on another machine.
 * Used from main before threads start.
 */
#ifndef PARLEY_ENGINE_INDEX_FILE_H
#define PARLEY_ENGINE_INDEX_FILE_H

#include "shared/base/str.h"

/* Returns the path for the index of the folder `corpus`, which the caller frees: the name of the
 * folder and a digest of its whole path, in $CACHE_DIRECTORY (of systemd), $XDG_CACHE_HOME/parley
 * or $HOME/.cache/parley. NULL: none of them is set, so nothing is kept. */
char *index_file_path(const char *corpus) must_check;
/* Makes the folder of `path` and those above it, for this user alone. Whether that worked, saving
 * shows. */
void index_file_make_folder(const char *path);

#endif
