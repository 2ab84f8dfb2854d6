/* SPDX-License-Identifier: MIT
 * job.c - see job.h.
 *
 * Worker and renewer share one connection under `lock`. The renewer repeats what the worker last
 * told (job_progress renews the lease and moves the stream entry's idle time), every third of a
 * lease and at least every 2 seconds: not for the lease's sake, but because that is how a deleted
 * document stops its indexing in the middle of a step. It never tells anything of its own, so what
 * watchers see stays in order.
 *
 * While Redis is full the worker waits with the lock held, and renews the lease itself: else
 * another indexer took the job when there is room again, and this attempt would be lost. */
#include "services/indexer/job.h"

#include "shared/base/clock.h"
#include "shared/queue/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    RENEW_MAX_MS = 2000,
    TELL_EVERY_MS = 250,
    MESSAGE_MAX_BYTES = 4096,
    FACTS_MAX_BYTES = 1 << 16
};
enum { REPLY_MAX_BYTES = 64 << 20, PERCENT_BYTES = 16, PROGRESS_ARGS = 3 };

const char *job_stage_name(enum job_stage stage)
{
    static const char *const names[] = {"PARSE", "CHUNK", "EMBED", "STORE"};
    return names[stage];
}

/* --- calls, under the lock ------------------------------------------------------------------ */

/* What job_progress gets to know of the worker's last news. `digits` is borrowed. */
static void put_progress(struct job *job, char digits[PERCENT_BYTES], struct str *args)
{
    int n = snprintf(digits, PERCENT_BYTES, "%u", job->percent);
    args[0] = str_of(job_stage_name(job->stage));
    args[1] = (struct str){digits, (size_t)n};
    args[2] = buf_str(&job->message);
    job->told_ms = clock_mono_ms();
}

/* False when it cannot be said to Redis that the job is still ours. That it is not any more, the
 * call that waits will hear. */
static bool locked_renew(struct job *job)
{
    char digits[PERCENT_BYTES];
    struct str reply, words[2 + PROGRESS_ARGS] = {job->facts.id, job->facts.lease};
    put_progress(job, digits, words + 2);
    return sync_verb_unless_full(job->sync, STR("job_progress"), words, 2 + PROGRESS_ARGS,
                                 &reply) == ERR_OK;
}

static enum err locked_call(struct job *job, struct str verb, const struct str *args, size_t n,
                            struct str *ret_reply)
{
    if (job->is_lost)
        return ERR_LEASE_LOST;
    struct str *words = malloc((n + 2) * sizeof *words);
    if (words == NULL)
        abort();
    words[0] = job->facts.id;
    words[1] = job->facts.lease;
    if (n > 0)
        memcpy(words + 2, args, n * sizeof *args);
    enum err error;
    uint64_t since_ms = clock_mono_ms(), patience_ms = sync_patience_ms(job->sync);
    for (;;) {
        error = sync_verb_unless_full(job->sync, verb, words, n + 2, ret_reply);
        if (error != ERR_STORE_FULL)
            break;
        bool is_over = patience_ms > 0 && clock_mono_ms() - since_ms > patience_ms;
        if (is_over || (job->is_stopping != NULL && atomic_load(job->is_stopping)) ||
            !locked_renew(job)) {
            error = ERR_REDIS_LOST;
            break;
        }
        sync_pause(job->sync, job->renew_ms);
    }
    free(words);
    if (error == ERR_OK && str_eq(*ret_reply, STR("lost"))) {
        job->is_lost = true;
        atomic_store(&job->must_stop, true);
        return ERR_LEASE_LOST;
    }
    return error;
}

static enum err locked_tell(struct job *job)
{
    char digits[PERCENT_BYTES];
    struct str reply, args[PROGRESS_ARGS];
    put_progress(job, digits, args);
    return locked_call(job, STR("job_progress"), args, PROGRESS_ARGS, &reply);
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
            (void)locked_tell(job); /* what went wrong, the worker's next call hears too */
    }
    pthread_mutex_unlock(&job->lock);
    return NULL;
}

/* --- the worker's side ---------------------------------------------------------------------- */

/* What the connection holds is the renewer's next: the worker gets a copy. */
static enum err locked_copy(struct job *job, struct str reply, struct str *ret_copy)
{
    buf_clear(&job->reply);
    buf_put(&job->reply, reply);
    *ret_copy = buf_str(&job->reply);
    return job->reply.is_over ? ERR_INTERNAL : ERR_OK;
}

enum err job_call(struct job *job, struct str verb, const struct str *args, size_t n,
                  struct str *ret_reply)
{
    struct str reply;
    pthread_mutex_lock(&job->lock);
    enum err error = locked_call(job, verb, args, n, &reply);
    if (error == ERR_OK)
        error = locked_copy(job, reply, ret_reply);
    pthread_mutex_unlock(&job->lock);
    return error;
}

enum err job_ask(struct job *job, const struct str *words, size_t n, struct str *ret_first)
{
    struct sync_answer answer;
    pthread_mutex_lock(&job->lock);
    enum err error = sync_command(job->sync, words, n, 0, &answer);
    if (error == ERR_OK && (answer.n == 0 || answer.at[0].at == NULL))
        *ret_first = (struct str){NULL, 0};
    else if (error == ERR_OK)
        error = locked_copy(job, answer.at[0], ret_first);
    pthread_mutex_unlock(&job->lock);
    return error;
}

enum err job_simple_call(struct job *job, struct str verb, const struct str *args, size_t n)
{
    struct str reply;
    enum err error = job_call(job, verb, args, n, &reply);
    return error == ERR_OK && !str_eq(reply, STR("ok")) ? ERR_INTERNAL : error;
}

enum err job_tell(struct job *job, enum job_stage stage, unsigned percent, const char *message)
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
        error = locked_tell(job);
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
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)job->lease_ms);
    struct str reply, args[] = {entry, id, consumer, entry.n == 0 ? str_of(digits) : STR("")};
    pthread_mutex_lock(&job->lock);
    enum err error = sync_verb(job->sync, STR("job_begin"), args, 4, &reply);
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

void job_stop(struct job *job)
{
    atomic_store(&job->must_stop, true);
}

void job_init(struct job *job, struct sync *sync, uint64_t lease_ms, const atomic_bool *is_stopping)
{
    pthread_condattr_t clock;
    *job = (struct job){.sync = sync, .is_stopping = is_stopping, .lease_ms = lease_ms};
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
