/* SPDX-License-Identifier: MIT
 *
 * pipeline: what happens to one document between its upload and being found:
 *
 *     PARSE    the upload's bytes become text, which is stored compressed; the upload goes
 *     CHUNK    the text is cut into passages
 *     EMBED    each passage gets its vector
 *     STORE    the new index takes the old one's place, in one atomic step
 *
 * Nothing but STORE changes what a search finds, and STORE is fenced by the job's lease: so a job
 * that is run twice, or half, makes neither a doubled nor a missing passage. A job that comes back
 * after PARSE goes on from the stored text. Blocking; one pipeline per indexer, on its thread.
 */
#ifndef PARLEY_INDEXER_PIPELINE_H
#define PARLEY_INDEXER_PIPELINE_H

#include "services/indexer/job.h"
#include "shared/embed/embed.h"
#include "shared/search/space_settings.h"

/* What all indexers of a process share; does not change while they run. */
struct pipeline_settings {
    const struct shard_map *map;
    struct embedder *embedder;
    struct space_settings space;
    uint64_t lease_ms;
    /* A file that cannot be read for want of a program is left to another indexer; else it fails.
     */
    bool may_pass;
    /* How far a job is, as it is reported to Redis too; may be NULL. On the pipeline's thread. */
    void (*on_stage)(void *arg, enum job_stage stage, unsigned percent);
    void *arg;
};

enum pipeline_outcome {
    PIPELINE_DONE,
    PIPELINE_FAILED,   /* for good, with a reason that its owner sees */
    PIPELINE_RELEASED, /* given back, or left to its lease: somebody goes on with it */
    PIPELINE_CUT,      /* the same, because Redis was away for too long */
    PIPELINE_PASSED,   /* it waits for an indexer that can read its file */
    PIPELINE_DELAYED,  /* given back for a while: nothing can be read here at the moment */
    PIPELINE_LOST,     /* it is not ours any more: cancelled, deleted, or another indexer's */
    PIPELINE_NONE,     /* there was nothing to do */
    PIPELINE_NR
};

struct pipeline {
    const struct pipeline_settings *settings;
    struct sync *syncs[SHARDS_MAX]; /* a connection to each server */
    struct sync *sync;              /* that of the shard in use */
    const char *prefix;             /* of its keys */
    unsigned shard;
    struct job job;
    atomic_bool is_stopping;
    char consumer[40];    /* this indexer, in the stream's group */
    struct buf reason;    /* of the last PIPELINE_FAILED, _PASSED or _DELAYED, for people */
    struct buf text;      /* of the document */
    struct chunk *chunks; /* chunk_n of it */
    uint32_t chunk_n, dimension;
    float *vectors; /* chunk_n * dimension */
    bool is_set;    /* its vectors go to a vector set */
};

/* `settings` is borrowed. `name` is what Redis's CLIENT LIST shows. `patience_ms`: see sync.h. */
void pipeline_init(struct pipeline *pipeline, const struct pipeline_settings *settings,
                   const char *name, uint64_t patience_ms);
void pipeline_fini(struct pipeline *pipeline);
/* Goes to another shard, with that patience (sync.h); without a job. It begins with the first. */
void pipeline_use(struct pipeline *pipeline, unsigned shard, uint64_t patience_ms);
/* The job under way is given back soon, and no new one starts. Any thread; async-signal-safe. */
void pipeline_stop(struct pipeline *pipeline);
/* Runs the job `id` that came as the stream's `entry`, or past the stream (see job_begin). */
enum pipeline_outcome pipeline_run(struct pipeline *pipeline, struct str entry, struct str id);

#endif
