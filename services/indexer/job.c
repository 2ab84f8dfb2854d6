/* SPDX-License-Identifier: MIT
 * job.c - see job.h.
 *
 * Worker and renewer share one connection under `lock`. The renewer repeats what the worker last
 * reported (job_progress renews the lease and moves the stream entry's idle time), every third of a
 * lease and at least every 2 seconds: this is how a deleted document stops its indexing in the
 * middle of a step. It reports nothing else, so watchers see events in order.
 *
 * While Redis is full the worker waits with the lock held, and renews the lease itself: else
 * another indexer took the job when there is room again, and this attempt would be lost. */
#include "services/indexer/job.h"

#include "generated/verbs.h"
#include "shared/base/clock.h"
#include "shared/queue/lines.h"

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

enum {
    RENEW_MAX_MS = 2000,
    TELL_EVERY_MS = 250,
    MESSAGE_MAX_BYTES = 4096,
    FACTS_MAX_BYTES = 1 << 16,
    REPLY_MAX_BYTES = 64 << 20,
};

const char *job_stage_name(enum job_stage stage)
{
    static const char *const names[] = {"PARSE", "CHUNK", "EMBED", "STORE"};
    return names[stage];
}

/* --- calls, under the lock ------------------------------------------------------------------ */

/* Says the worker's last news. */
static void put_progress(struct job *job, struct call_start start)
{
    static const enum verb_job_progress_stage stages[JOB_STAGE_NR] = {
        [JOB_PARSE] = JOB_PROGRESS_PARSE,
        [JOB_CHUNK] = JOB_PROGRESS_CHUNK,
        [JOB_EMBED] = JOB_PROGRESS_EMBED,
        [JOB_STORE] = JOB_PROGRESS_STORE,
    };
    job->told_ms = clock_mono_ms();
    call_job_progress(start, .job = job->facts.id, .lease = job->facts.lease,
                      .stage = stages[job->stage], .progress = job->percent,
                      .message = buf_str(&job->message));
}

static bool give_up(struct blocking_call *call)
{
    return false;
}

/* False when it cannot be said to Redis that the job is still ours. That it is not any more, the
 * call that waits will hear. */
static bool locked_renew(struct job *job)
{
    struct blocking_call call = {.blocking = job->blocking, .on_full = give_up};
    put_progress(job, blocking_start(&call));
    return call.error == ERR_OK;
}

/* Redis is full. */
static bool wait_for_room(struct blocking_call *call)
{
    struct job *job = (struct job *)((char *)call - offsetof(struct job, call));
    uint64_t patience_ms = blocking_patience_ms(job->blocking);
    bool is_over = patience_ms > 0 && clock_mono_ms() - job->call_ms > patience_ms;
    if (is_over || (job->is_stopping != NULL && atomic_load(job->is_stopping)) ||
        !locked_renew(job))
        return false;
    blocking_pause(job->blocking, job->renew_ms);
    return true;
}

static struct call_start locked_call(struct job *job)
{
    job->call_ms = clock_mono_ms();
    job->call = (struct blocking_call){.blocking = job->blocking,
                                       .on_full = wait_for_room,
                                       .error = job->is_lost ? ERR_LEASE_LOST : ERR_OK};
    return blocking_start(&job->call);
}

static enum err locked_reply(struct job *job, struct str *ret_reply)
{
    if (job->call.error == ERR_STORE_FULL) {
        atomic_store(&job->has_met_full, true);
        return ERR_REDIS_LOST;
    }
    if (job->call.error == ERR_OK && str_eq(job->call.reply, STR("lost"))) {
        job->is_lost = true;
        atomic_store(&job->must_stop, true);
        return ERR_LEASE_LOST;
    }
    *ret_reply = job->call.reply;
    return job->call.error;
}

static enum err locked_report(struct job *job)
{
    struct str reply;
    put_progress(job, locked_call(job));
    return locked_reply(job, &reply);
}

/* --- the renewer ---------------------------------------------------------------------------- */

static void wait_until(struct job *job, uint64_t at_ms)
{
    struct timespec at = {.tv_sec = (time_t)(at_ms / 1000),
                          .tv_nsec = (long)(at_ms % 1000) * 1000000};
    pthread_cond_timedwait(&job->changed, &job->lock, &at);
}

static void *renew(void *arg)
{
    struct job *job = arg;
    pthread_mutex_lock(&job->lock);
    while (!job->is_ending) {
        if (!job->is_held || job->is_lost)
            pthread_cond_wait(&job->changed, &job->lock);
        else if (clock_mono_ms() < job->told_ms + job->renew_ms)
            wait_until(job, job->told_ms + job->renew_ms);
        else
            (void)locked_report(job); /* what went wrong, the worker's next call hears too */
    }
    pthread_mutex_unlock(&job->lock);
    return NULL;
}

/* --- the worker's side ---------------------------------------------------------------------- */

/* Gives the worker a copy, because the renewer uses the connection next. */
static enum err locked_copy(struct job *job, struct str reply, struct str *ret_copy)
{
    buf_clear(&job->reply);
    buf_put(&job->reply, reply);
    *ret_copy = buf_str(&job->reply);
    return job->reply.is_over ? ERR_INTERNAL : ERR_OK;
}

struct call_start job_call(struct job *job)
{
    pthread_mutex_lock(&job->lock);
    return locked_call(job);
}

enum err job_reply(struct job *job, struct str *ret_reply)
{
    struct str reply;
    enum err error = locked_reply(job, &reply);
    if (error == ERR_OK)
        error = locked_copy(job, reply, ret_reply);
    pthread_mutex_unlock(&job->lock);
    return error;
}

static enum err locked_ask(struct job *job, const struct str *words, size_t n,
                           struct str *ret_first)
{
    struct blocking_answer answer;
    enum err error = blocking_command(job->blocking, words, n, 0, &answer);
    if (error == ERR_OK)
        *ret_first = answer.n == 0 ? (struct str){NULL, 0} : answer.at[0];
    return error;
}

enum err job_ask(struct job *job, const struct str *words, size_t n, struct str *ret_first)
{
    struct str first;
    pthread_mutex_lock(&job->lock);
    enum err error = locked_ask(job, words, n, &first);
    if (error == ERR_OK && first.at == NULL)
        *ret_first = first;
    else if (error == ERR_OK)
        error = locked_copy(job, first, ret_first);
    pthread_mutex_unlock(&job->lock);
    return error;
}

enum err job_read(struct job *job, const struct str *words, size_t n,
                  enum err (*take)(void *arg, struct str first), void *arg)
{
    struct str first;
    pthread_mutex_lock(&job->lock);
    enum err error = locked_ask(job, words, n, &first);
    if (error == ERR_OK)
        error = take(arg, first);
    pthread_mutex_unlock(&job->lock);
    return error;
}

enum err job_done(struct job *job)
{
    struct str reply;
    enum err error = job_reply(job, &reply);
    return error == ERR_OK && !str_eq(reply, STR("ok")) ? ERR_INTERNAL : error;
}

enum err job_report(struct job *job, enum job_stage stage, unsigned percent, const char *message)
{
    enum err error = ERR_OK;
    pthread_mutex_lock(&job->lock);
    bool is_new = stage != job->stage || !job->is_told;
    job->is_told = true;
    job->stage = stage;
    job->percent = percent > 100 ? 100 : percent;
    buf_clear(&job->message);
    buf_put_json(&job->message, str_of(message));
    if (is_new || clock_mono_ms() >= job->told_ms + TELL_EVERY_MS)
        error = locked_report(job);
    else if (job->is_lost)
        error = ERR_LEASE_LOST;
    pthread_mutex_unlock(&job->lock);
    return error;
}

/* Copies the reply of job_begin, whose lines the facts are. */
static void read_facts(struct job *job, struct str id, struct str reply)
{
    struct job_facts *f = &job->facts;
    buf_clear(&job->text);
    buf_put(&job->text, id);
    buf_put(&job->text, reply);
    struct lines lines = lines_of((struct str){job->text.at + id.n, job->text.n - id.n});
    lines_next(&lines); /* ok */
    *f = (struct job_facts){.id = {job->text.at, id.n}};
    f->lease = lines_next(&lines);
    f->attempt = lines_next_u64(&lines);
    f->doc = lines_next(&lines);
    f->space = lines_next(&lines);
    f->stage = lines_next(&lines);
    f->kind = lines_next(&lines);
    f->filename_json = lines_next(&lines);
    f->size_bytes = lines_next_u64(&lines);
    f->is_reindex = lines_next_u64(&lines) != 0;
    f->chars = lines_next_u64(&lines);
    f->blocks = lines_next_u64(&lines);
}

enum err job_begin(struct job *job, struct str entry, struct str id, struct str consumer)
{
    struct blocking_call call = {.blocking = job->blocking};
    pthread_mutex_lock(&job->lock);
    call_job_begin(blocking_start(&call), .entry = entry, .job = id, .consumer = consumer,
                   .idle_ms = entry.n == 0 ? job->lease_ms : NO_NUMBER);
    struct str reply = call.reply;
    enum err error = call.error;
    if (error == ERR_OK && str_eq(reply, STR("gone")))
        error = ERR_NOT_FOUND;
    else if (error == ERR_OK && str_eq(reply, STR("spent")))
        error = ERR_FAILED;
    else if (error == ERR_OK &&
             (!str_has_prefix(reply, STR("ok\n")) || id.n + reply.n > FACTS_MAX_BYTES))
        error = ERR_INTERNAL;
    if (error == ERR_OK) {
        read_facts(job, id, reply);
        job->is_held = true;
        job->is_lost = false;
        job->stage = JOB_PARSE;
        job->percent = 0;
        job->told_ms = clock_mono_ms();
        job->is_told = false;
        buf_clear(&job->message);
        buf_lit(&job->message, "\"\"");
        atomic_store(&job->must_stop, false);
        atomic_store(&job->has_met_full, false);
        if (job->is_stopping != NULL && atomic_load(job->is_stopping))
            atomic_store(&job->must_stop, true);
        pthread_cond_signal(&job->changed);
    }
    pthread_mutex_unlock(&job->lock);
    return error;
}

void job_end(struct job *job)
{
    pthread_mutex_lock(&job->lock);
    job->is_held = false;
    pthread_mutex_unlock(&job->lock);
}

void job_use(struct job *job, struct blocking *blocking)
{
    pthread_mutex_lock(&job->lock);
    job->blocking = blocking;
    pthread_mutex_unlock(&job->lock);
}

void job_stop(struct job *job)
{
    atomic_store(&job->must_stop, true);
}

void job_init(struct job *job, struct blocking *blocking, uint64_t lease_ms,
              const atomic_bool *is_stopping)
{
    pthread_condattr_t clock;
    *job = (struct job){.blocking = blocking, .is_stopping = is_stopping, .lease_ms = lease_ms};
    job->renew_ms = lease_ms / 3 < RENEW_MAX_MS ? lease_ms / 3 : RENEW_MAX_MS;
    buf_init(&job->text, FACTS_MAX_BYTES);
    buf_init(&job->reply, REPLY_MAX_BYTES);
    buf_init(&job->message, MESSAGE_MAX_BYTES);
    pthread_mutex_init(&job->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&job->changed, &clock);
    pthread_condattr_destroy(&clock);
    if (pthread_create(&job->renewer, NULL, renew, job) != 0)
        abort();
}

void job_fini(struct job *job)
{
    pthread_mutex_lock(&job->lock);
    job->is_ending = true;
    pthread_cond_signal(&job->changed);
    pthread_mutex_unlock(&job->lock);
    pthread_join(job->renewer, NULL);
    pthread_cond_destroy(&job->changed);
    pthread_mutex_destroy(&job->lock);
    buf_fini(&job->text);
    buf_fini(&job->reply);
    buf_fini(&job->message);
}
