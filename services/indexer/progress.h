/* SPDX-License-Identifier: MIT
 *
 * progress: the output of `parley ingest`: on a terminal a progress bar, otherwise a line per file;
 * with --json one JSON object per line. One per process; main thread.
 */
#ifndef PARLEY_INDEXER_PROGRESS_H
#define PARLEY_INDEXER_PROGRESS_H

#include "shared/base/repeats.h"

struct progress {
    size_t file_n, done_n;
    uint64_t bytes, done_bytes;
    bool is_json, is_bar;
    bool is_drawn; /* a bar is on the terminal's last line */
    uint64_t drawn_ms;
    char name[64]; /* the file at hand */
};

void progress_init(struct progress *progress, size_t file_n, uint64_t bytes, bool is_json);
/* The file at hand, and how far it is. Drawn a few times a second at most. */
void progress_begin(struct progress *progress, const char *name);
void progress_report(struct progress *progress, const char *stage, unsigned percent);
/* A file is finished: `what` ("indexed") is reported for good, with a reason where there is one
 * (may be NULL). What is `quiet` is counted in the bar and reported as JSON only. */
void progress_end(struct progress *progress, const char *what, const char *name,
                  uint64_t size_bytes, const char *reason, bool is_quiet);
/* Something that is no file at hand, such as a document that was removed. */
void progress_note(struct progress *progress, const char *what, const char *name,
                   const char *reason);
/* The same for all that have one reason, together, with the first of their names. Those before
 * `from` (0 or 1) of each reason were noted when they came. */
void progress_note_repeats(struct progress *progress, const char *what,
                           const struct repeats *repeats, size_t from);
/* Takes the bar off the terminal. */
void progress_clear(struct progress *progress);

#endif
