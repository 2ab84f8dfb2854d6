/* SPDX-License-Identifier: MIT
 *
 * job: the job that an indexer holds: its calls to Redis, each fenced by the job's lease, and a
 * thread that renews the lease during the work, however long a step takes. A worker that loses the
 * lease (another indexer has the job, or its document was deleted) finds `must_stop` set within 2
 * seconds, even in the middle of a long step.
 *
 * One struct per indexer, used for one job after the other. Its functions belong to the indexer's
 * thread, except for job_stop.
 */
#ifndef PARLEY_INDEXER_JOB_H
#define PARLEY_INDEXER_JOB_H

#include "shared/base/buf.h"
#include "shared/redis/blocking.h"

#include <pthread.h>
#include <stdatomic.h>

enum job_stage { JOB_PARSE, JOB_CHUNK, JOB_EMBED, JOB_STORE, JOB_STAGE_NR };
const char *job_stage_name(enum job_stage stage);

/* The facts that job_begin found; valid until the next one. */
struct job_facts {
    struct str id, lease, doc, space, stage, kind, filename_json;
    uint64_t attempt, size_bytes, chars, blocks;
    bool is_reindex;
};

struct job {
    struct job_facts facts;
    /* The work on this job ends soon: it is lost, or the process stops. For steps that take long
     * and may be asked to stop. */
    atomic_bool must_stop;
    /* Its Redis was full for longer than a call of it waits: it is there, and takes the job back.
     */
    atomic_bool has_met_full;
    /* private */
    struct blocking *blocking;
    uint64_t renew_ms, lease_ms;
    pthread_mutex_t lock; /* of `blocking` while a job is held, and of all below */
    pthread_cond_t changed;
    pthread_t renewer;
    struct buf text, reply, message; /* the facts; the last reply; JSON of the last message */
    struct blocking_call call;       /* under way, or the last one */
    uint64_t call_ms;                /* when it began */
    enum job_stage stage;
    unsigned percent;
    uint64_t told_ms;
    bool is_held, is_lost, is_ending, is_told;
    const atomic_bool *is_stopping;
};

/* `blocking` and `is_stopping` (the process's) are borrowed. `lease_ms`: after so long without a
 * sign of life another indexer may take the job. */
void job_init(struct job *job, struct blocking *blocking, uint64_t lease_ms,
              const atomic_bool *is_stopping);
void job_fini(struct job *job);
/* Goes over to another connection (borrowed); while no job is held. */
void job_use(struct job *job, struct blocking *blocking);
/* Sets must_stop. Any thread, and async-signal-safe. */
void job_stop(struct job *job);

/* Takes the job that came as the stream's `entry`; without one (n == 0) past the stream, even when
 * it runs and nothing was heard of it for a lease. ERR_OK: it is ours until job_end. ERR_NOT_FOUND:
 * there is nothing to do (any more). ERR_FAILED: its attempts are used up; it has failed now.
 * ERR_REDIS_LOST, ERR_INTERNAL. */
enum err job_begin(struct job *job, struct str entry, struct str id,
                   struct str consumer) must_check;
/* Stops renewing. The outcome of the job must have been reported, or its lease expires. */
void job_end(struct job *job);

/* Begins a verb call for the job and locks the connection: end it immediately with job_reply or
 * job_done.
 *
 *     call_job_upload(job_call(job), .job = job->facts.id, .lease = job->facts.lease);
 *     error = job_reply(job, &reply);
 */
struct call_start job_call(struct job *job);
/* ERR_OK: `*ret_reply` is what the verb said, valid until the next call. ERR_LEASE_LOST,
 * ERR_REDIS_LOST, ERR_INTERNAL. */
enum err job_reply(struct job *job, struct str *ret_reply) must_check;
/* The same for verbs that say "ok" and nothing else: another word is ERR_INTERNAL. */
enum err job_done(struct job *job) must_check;
/* Sends a plain command; `*ret_first` is the first string of its answer, valid until the next call,
 * with at == NULL where that is nil or nothing. Errors as of blocking_command. */
enum err job_ask(struct job *job, const struct str *words, size_t n,
                 struct str *ret_first) must_check;
/* The same for a long answer, which is not copied: `take` gets it, with the connection locked. */
enum err job_read(struct job *job, const struct str *words, size_t n,
                  enum err (*take)(void *arg, struct str first), void *arg) must_check;

/* Reports progress: `percent` of the whole, a human-readable `message` (UTF-8). Sent immediately if
 * the stage is new, otherwise at most a few times a second. Errors as of job_reply. */
enum err job_report(struct job *job, enum job_stage stage, unsigned percent,
                    const char *message) must_check;

#endif
