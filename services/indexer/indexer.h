/* SPDX-License-Identifier: MIT
 *
 * indexer: the threads of this process that index documents. Each waits for jobs in the stream's
 * group, so a job starts at once wherever it was created; takes over jobs of indexers that died or
 * could not read a file; and clears the trash when idle. Any number of them can work in parallel on
 * any machines.
 */
#ifndef PARLEY_INDEXER_INDEXER_H
#define PARLEY_INDEXER_INDEXER_H

#include "services/indexer/pipeline.h"

enum { INDEXERS_MAX = 64 };

struct indexer;

/* Starts `n` threads. `settings` is borrowed until indexer_destroy. */
struct indexer *indexer_start(const struct pipeline_settings *settings, unsigned n) must_check;
/* Running jobs are given back, and the threads end soon. Any thread. Accepts NULL. */
void indexer_stop(struct indexer *indexer);
/* Waits for the threads, after indexer_stop, and frees. Accepts NULL. */
void indexer_destroy(struct indexer *indexer);

#endif
