/* SPDX-License-Identifier: MIT
 * pipeline.c - see pipeline.h.
 *
 *   job_begin --> PARSE --> CHUNK --> EMBED --> STORE --> DONE
 *                   |         |         |         |
 *                   |  the text is stored already: PARSE is left out
 *                   +---------+----+----+---------+
 *                                  |
 *        ERR_FAILED  a reason for people            --> job_fail    --> FAILED
 *        ERR_FILE_TYPE  a program is missing here   --> job_pass    --> PASSED
 *        ERR_BUSY  no process can be started here   --> job_release --> DELAYED
 *        ERR_DRAINING  the process stops            --> job_release --> RELEASED
 *        ERR_LEASE_LOST  deleted, or another's      --> (nothing)   --> LOST
 *        ERR_REDIS_LOST  out of patience, full      --> job_release --> RELEASED
 *                        out of patience, away      --> (nothing)   --> CUT
 *        ERR_INTERNAL  a verb broke: our own bug    --> job_fail, if that works
 *
 * Each step is a function that returns one of these errors. What cannot be reported to Redis is
 * not: then the lease runs out, and another indexer takes the job with one attempt more. */
#include "services/indexer/pipeline.h"

#include "generated/verbs.h"
#include "services/indexer/stages.h"
#include "shared/extract/extract.h"
#include "shared/text/chunk.h"

#include <stdio.h>
#include <stdlib.h>

static const char *outcome_name(enum pipeline_outcome outcome)
{
    static const char *const names[PIPELINE_NR] = {"done",   "failed",  "released", "cut",
                                                   "passed", "delayed", "lost",     "none"};
    return names[outcome];
}

/* --- one job -------------------------------------------------------------------------------- */

static enum err work(struct pipeline *p)
{
    enum err error = p->job.facts.blocks == 0 ? stage_parse(p) : stage_load_text(p);
    if (error == ERR_OK)
        error = stage_chunk(p);
    if (error == ERR_OK)
        error = stage_look_at_space(p);
    if (error == ERR_OK)
        error = stage_embed(p);
    return error == ERR_OK ? stage_store(p) : error;
}

enum ending { END_FAIL, END_PASS, END_DELAY };

/* Ends the job by a verb that takes the reason. A delayed one waits for a third of a lease, so that
 * it is not read again and again meanwhile. */
static enum pipeline_outcome end(struct pipeline *p, enum ending ending,
                                 enum pipeline_outcome outcome)
{
    struct buf json;
    struct str id = p->job.facts.id, lease = p->job.facts.lease;
    buf_init(&json, STAGE_REASON_MAX_BYTES * 6);
    buf_put_json(&json, buf_str(&p->reason));
    if (ending == END_FAIL)
        call_job_fail(job_call(&p->job), .job = id, .lease = lease, .message = buf_str(&json));
    else if (ending == END_PASS)
        call_job_pass(job_call(&p->job), .job = id, .lease = lease, .message = buf_str(&json));
    else
        call_job_release(job_call(&p->job), .job = id, .lease = lease,
                         .delay_ms = p->settings->lease_ms / 3, .message = buf_str(&json));
    enum err error = job_done(&p->job);
    buf_fini(&json);
    return error == ERR_OK ? outcome : error == ERR_LEASE_LOST ? PIPELINE_LOST : PIPELINE_RELEASED;
}

static enum pipeline_outcome finish(struct pipeline *p, enum err error)
{
    switch (error) {
    case ERR_OK: return PIPELINE_DONE;
    case ERR_LEASE_LOST: return PIPELINE_LOST;
    case ERR_FAILED: return end(p, END_FAIL, PIPELINE_FAILED);
    case ERR_FILE_TYPE: return end(p, END_PASS, PIPELINE_PASSED);
    case ERR_BUSY: return end(p, END_DELAY, PIPELINE_DELAYED);
    case ERR_REDIS_LOST:
        if (!atomic_load(&p->is_stopping) && !atomic_load(&p->job.has_met_full))
            return PIPELINE_CUT;
        break;
    case ERR_INTERNAL:
        (void)stage_refuse(p, "Internal error while the document was indexed: see the log.");
        return end(p, END_FAIL, PIPELINE_FAILED);
    default: break;
    }
    call_job_release(job_call(&p->job), .job = p->job.facts.id, .lease = p->job.facts.lease,
                     .delay_ms = NO_NUMBER, .message = STR(""));
    return job_done(&p->job) == ERR_LEASE_LOST ? PIPELINE_LOST : PIPELINE_RELEASED;
}

static void forget(struct pipeline *p)
{
    buf_fini(&p->text);
    text_pages_fini(&p->pages);
    free(p->chunks);
    free(p->vectors);
    p->chunks = NULL;
    p->vectors = NULL;
    p->chunk_n = p->dimension = 0;
    p->is_set = false;
    buf_init(&p->text, EXTRACT_TEXT_MAX_BYTES);
}

enum pipeline_outcome pipeline_run(struct pipeline *p, struct str entry, struct str id)
{
    buf_clear(&p->reason);
    enum err error = job_begin(&p->job, entry, id, str_of(p->consumer));
    enum pipeline_outcome outcome = PIPELINE_NONE;
    switch (error) {
    case ERR_OK:
        outcome = finish(p, work(p));
        job_end(&p->job);
        forget(p);
        break;
    case ERR_NOT_FOUND: return PIPELINE_NONE;
    case ERR_REDIS_LOST: return PIPELINE_CUT;
    case ERR_FAILED:
        (void)stage_refuse(p, "The maximum number of attempts is reached.");
        outcome = PIPELINE_FAILED;
        break;
    default:
        (void)stage_refuse(p, "Internal error before the document was indexed: see the log.");
        outcome = PIPELINE_FAILED;
    }
    bool has_reason =
        outcome == PIPELINE_FAILED || outcome == PIPELINE_PASSED || outcome == PIPELINE_DELAYED;
    log_write(has_reason ? LOG_WARN : LOG_INFO, "indexing ended", LOG_STR("job", id),
              LOG_S("outcome", outcome_name(outcome)),
              LOG_STR("reason", has_reason ? buf_str(&p->reason) : STR("")));
    return outcome;
}

void pipeline_use(struct pipeline *p, unsigned shard, uint64_t patience_ms)
{
    const struct shard_map *map = p->settings->map;
    p->blocking = p->connections[shard % map->server_n];
    p->prefix = map->prefixes[shard];
    p->shard = shard;
    blocking_use(p->blocking, p->prefix);
    blocking_set_patience(p->blocking, patience_ms);
    job_use(&p->job, p->blocking);
}

void pipeline_stop(struct pipeline *p)
{
    atomic_store(&p->is_stopping, true);
    job_stop(&p->job);
    for (unsigned i = 0; i < p->settings->map->server_n; i++)
        blocking_stop(p->connections[i]);
}

void pipeline_init(struct pipeline *p, const struct pipeline_settings *settings, const char *name,
                   uint64_t patience_ms)
{
    char hex[17];
    str_random_hex(8, hex);
    *p = (struct pipeline){.settings = settings};
    snprintf(p->consumer, sizeof p->consumer, "i%s", hex);
    for (unsigned i = 0; i < settings->map->server_n; i++)
        p->connections[i] =
            blocking_create(&(struct blocking_config){.address = &settings->map->servers[i],
                                                      .prefix = settings->map->prefixes[i],
                                                      .name = name,
                                                      .patience_ms = patience_ms,
                                                      .map = settings->map,
                                                      .server = i});
    p->blocking = p->connections[0];
    p->prefix = settings->map->prefixes[0];
    buf_init(&p->reason, STAGE_REASON_MAX_BYTES);
    buf_init(&p->text, EXTRACT_TEXT_MAX_BYTES);
    job_init(&p->job, p->blocking, settings->lease_ms, &p->is_stopping);
}

void pipeline_fini(struct pipeline *p)
{
    job_fini(&p->job);
    forget(p);
    buf_fini(&p->text);
    buf_fini(&p->reason);
    for (unsigned i = 0; i < p->settings->map->server_n; i++)
        blocking_destroy(p->connections[i]);
}
