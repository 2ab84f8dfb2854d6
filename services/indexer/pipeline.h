/* SPDX-License-Identifier: MIT
 *
 * pipeline: turns one uploaded document into a searchable one, in stages:
 *
 *     PARSE    the upload becomes text, which is stored compressed; the upload is deleted
 *     CHUNK    the text is split into passages
 *     EMBED    each passage gets its vector
 *     STORE    the new index takes the old one's place, in one atomic step
 *
 * Only STORE changes search results, and STORE is fenced by the job's lease, so a job that runs
 * twice or only partly neither duplicates nor loses a passage. A job that is resumed after PARSE
 * continues from the stored text. Blocking; one pipeline per indexer, on its thread.
 */
#ifndef PARLEY_INDEXER_PIPELINE_H
#define PARLEY_INDEXER_PIPELINE_H

#include "services/indexer/stage.h"

enum pipeline_outcome {
    PIPELINE_DONE,
    PIPELINE_FAILED,   /* permanently, with a reason that its owner sees */
    PIPELINE_RELEASED, /* given back or left to its lease: another indexer continues it */
    PIPELINE_CUT,      /* the same, because Redis was away for too long */
    PIPELINE_PASSED,   /* it waits for an indexer that can read its file */
    PIPELINE_DELAYED,  /* given back with a delay: this machine cannot read files at the moment */
    PIPELINE_LOST,     /* no longer ours: cancelled, deleted, or taken by another indexer */
    PIPELINE_NONE,     /* there was nothing to do */
    PIPELINE_NR
};

/* `settings` is borrowed. `name` is what Redis's CLIENT LIST shows. `patience_ms`: see blocking.h.
 */
void pipeline_init(struct pipeline *pipeline, const struct pipeline_settings *settings,
                   const char *name, uint64_t patience_ms);
void pipeline_fini(struct pipeline *pipeline);
/* Goes to another shard, with that patience (blocking.h); without a job. It begins with the first.
 */
void pipeline_use(struct pipeline *pipeline, unsigned shard, uint64_t patience_ms);
/* The job under way is given back soon, and no new one starts. Any thread; async-signal-safe. */
void pipeline_stop(struct pipeline *pipeline);
/* Runs the job `id` that came as the stream's `entry`, or past the stream (see job_begin). */
enum pipeline_outcome pipeline_run(struct pipeline *pipeline, struct str entry, struct str id);

#endif
