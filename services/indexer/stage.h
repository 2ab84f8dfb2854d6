/* SPDX-License-Identifier: MIT
 *
 * stage: a pipeline as its steps see it, and how a step reports how far it is and why it ends. On
 * the pipeline's thread.
 */
#ifndef PARLEY_INDEXER_STAGE_H
#define PARLEY_INDEXER_STAGE_H

#include "services/indexer/job.h"
#include "shared/embed/embed.h"
#include "shared/search/space_settings.h"
#include "shared/text/text_pages.h"

enum { STAGE_REASON_MAX_BYTES = 2048 }; /* of `reason` */

/* Settings that all indexers of a process share; they do not change while indexers run. */
struct pipeline_settings {
    const struct shard_map *map;
    struct embedder *embedder;
    struct space_settings space;
    uint64_t lease_ms;
    /* A file for which a program is missing is left to another indexer; otherwise it fails.
     */
    bool may_pass;
    /* Reports the progress of a job, which Redis gets too; may be NULL. On the pipeline's
     * thread. */
    void (*on_stage)(void *arg, enum job_stage stage, unsigned percent);
    void *arg;
};

struct pipeline {
    const struct pipeline_settings *settings;
    struct blocking *connections[SHARDS_MAX]; /* a connection to each server */
    struct blocking *blocking;                /* that of the shard in use */
    const char *prefix;                       /* of its keys */
    unsigned shard;
    struct job job;
    atomic_bool is_stopping;
    char consumer[40];       /* this indexer, in the stream's group */
    struct buf reason;       /* of the last PIPELINE_FAILED, _PASSED or _DELAYED, for people */
    struct buf text;         /* of the document */
    struct text_pages pages; /* of the text */
    struct chunk *chunks;    /* chunk_n of it */
    uint32_t chunk_n, dimension;
    float *vectors; /* chunk_n * dimension */
    bool is_set;    /* its vectors go to a vector set */
};

/* Records the reason for the document's owner. Always returns ERR_FAILED. */
enum err stage_refuse(struct pipeline *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Reports the job's progress; also fails if the job must stop. */
enum err stage_report(struct pipeline *p, enum job_stage stage, unsigned percent_of_stage,
                      const char *format, ...) __attribute__((format(printf, 4, 5))) must_check;
/* Returns whether a long step must end, and the resulting error. */
static inline bool stage_must_stop(struct pipeline *p)
{
    return atomic_load(&p->job.must_stop);
}
enum err stage_stopped(const struct pipeline *p) must_check;

#endif
