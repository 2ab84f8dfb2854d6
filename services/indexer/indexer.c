/* SPDX-License-Identifier: MIT
 * indexer.c - see indexer.h.
 *
 * One round: is it time to check a shard for jobs of the dead, and for such as no other indexer
 * could read, then take a job if there is one; else wait for a new one, but not past the next
 * check. So a check is not put off by streams that are never empty, nor a stream by what a check
 * finds: a job of each in turn. Which shard, rounds.h says. */
#include "services/indexer/indexer.h"

#include "generated/verbs.h"
#include "services/indexer/rounds.h"
#include "services/indexer/stream.h"
#include "shared/base/clock.h"
#include "shared/base/mem.h"
#include "shared/extract/extract.h"
#include "shared/queue/lines.h"

#include <stdatomic.h>
#include <stdio.h>

enum {
    BLOCK_MS = 2000,
    CHECK_MAX_MS = 5000,
    SWEEP_N = 200,
    PAUSE_MS = 200,
    DELAYED_PAUSE_MS = 1000,
    ONE_TRY_MS = 1,
};

struct worker {
    pthread_t thread;
    struct pipeline pipeline;
    struct indexer *indexer;
    bool has_begun[SHARDS_MAX]; /* it has checked that shard */
};

struct indexer {
    struct pipeline_settings settings;
    struct worker *workers;
    unsigned n;
    struct rounds *_Atomic rounds; /* NULL: it is not known yet how many shards there are */
    pthread_mutex_t lock;          /* of making them */
};

static bool is_stopping(struct worker *w)
{
    return atomic_load(&w->pipeline.is_stopping);
}

/* Goes to a shard to look for work. One whose server is away does not keep the others waiting. */
static void use(struct worker *w, unsigned shard)
{
    pipeline_use(&w->pipeline, shard, w->pipeline.settings->map->server_n > 1 ? ONE_TRY_MS : 0);
}

/* Work waits for its server, of several as long as nobody else takes the job. */
static void run(struct worker *w, struct str entry, struct str id)
{
    const struct pipeline_settings *settings = w->pipeline.settings;
    pipeline_use(&w->pipeline, w->pipeline.shard,
                 settings->map->server_n > 1 ? settings->lease_ms : 0);
    /* What other documents need is missing as well, most likely: without the pause a long queue
     * would be read from Redis at full speed, for nothing. */
    if (pipeline_run(&w->pipeline, entry, id) == PIPELINE_DELAYED)
        blocking_pause(w->pipeline.blocking, DELAYED_PAUSE_MS);
}

/* A copy: the reply is gone with the next call. */
static struct str copy(char room[STREAM_ID_BYTES], struct str from)
{
    size_t n = from.n < STREAM_ID_BYTES ? from.n : 0;
    memcpy(room, from.at, n);
    return (struct str){room, n};
}

/* Takes over one job whose indexer was not heard of for a lease; true when there was one. */
static bool steal(struct worker *w, enum err *ret_error)
{
    char copies[2][STREAM_ID_BYTES];
    struct blocking_call call = {.blocking = w->pipeline.blocking};
    call_job_steal(blocking_start(&call), .consumer = str_of(w->pipeline.consumer),
                   .idle_ms = w->pipeline.settings->lease_ms);
    *ret_error = call.error;
    if (call.error != ERR_OK || str_eq(call.reply, STR("none")))
        return false;
    struct lines lines = lines_of(call.reply);
    struct str entry = copy(copies[0], lines_next(&lines)),
               id = copy(copies[1], lines_next(&lines));
    log_write(LOG_INFO, "taking over an abandoned job", LOG_STR("job", id));
    run(w, entry, id);
    return true;
}

/* Begins one job that an indexer without pdftotext could not read; true when there was one. */
static bool take_waiting(struct worker *w)
{
    char room[STREAM_ID_BYTES];
    struct blocking_call call = {.blocking = w->pipeline.blocking};
    if (!extract_can_read_pdf())
        return false;
    call_job_waiting(blocking_start(&call));
    if (call.error != ERR_OK || str_eq(call.reply, STR("none")))
        return false;
    run(w, STR(""), copy(room, call.reply));
    return true;
}

/* Removes what a deleted or replaced document left in a vector set, a little at a time. */
static void sweep(struct worker *w)
{
    uint64_t n = SWEEP_N;
    while (n >= SWEEP_N && !is_stopping(w)) {
        struct blocking_call call = {.blocking = w->pipeline.blocking};
        call_sweep(blocking_start(&call), .limit = SWEEP_N);
        if (call.error != ERR_OK || !str_parse_u64(call.reply, &n))
            return;
    }
}

static void check_shard(struct worker *w, struct rounds *rounds, unsigned shard)
{
    enum err error;
    use(w, shard);
    if (!w->has_begun[shard]) {
        stream_make_group(&w->pipeline);
        stream_drop_old_consumers(&w->pipeline);
    }
    w->has_begun[shard] = true;
    if (steal(w, &error) || (error == ERR_OK && take_waiting(w)))
        rounds_check_soon(rounds, shard);
    else if (error == ERR_OK)
        sweep(w);
    else if (!is_stopping(w))
        rounds_lost(rounds, shard);
}

/* Waits, with one shard, in its stream. */
static enum err read_one(struct worker *w, struct rounds *rounds, struct stream_entry *ret_entry)
{
    uint64_t now_ms = clock_mono_ms(), check_ms = rounds_check_ms(rounds);
    unsigned block_ms = check_ms > now_ms + BLOCK_MS ? BLOCK_MS
                        : check_ms > now_ms          ? (unsigned)(check_ms - now_ms)
                                                     : 1;
    use(w, 0);
    return stream_read(&w->pipeline, block_ms, ret_entry);
}

static enum err read_several(struct worker *w, struct rounds *rounds,
                             struct stream_entry *ret_entry)
{
    unsigned shard;
    if (!rounds_wait(rounds, &shard))
        return ERR_NOT_FOUND;
    use(w, shard);
    enum err error = stream_read(&w->pipeline, 0, ret_entry);
    if (error == ERR_CONFLICT)
        error = stream_read(&w->pipeline, 0, ret_entry); /* its group was missing */
    if (error == ERR_OK)
        rounds_found(rounds, shard);
    else if (error != ERR_NOT_FOUND && !is_stopping(w))
        rounds_lost(rounds, shard);
    return error == ERR_OK ? ERR_OK : ERR_NOT_FOUND;
}

static void take(struct worker *w, struct rounds *rounds)
{
    struct stream_entry entry;
    bool is_one = w->pipeline.settings->map->n == 1;
    enum err error = is_one ? read_one(w, rounds, &entry) : read_several(w, rounds, &entry);
    if (error == ERR_OK)
        run(w, str_of(entry.entry), str_of(entry.job));
    else if (error != ERR_NOT_FOUND && !is_stopping(w)) /* so that the loop does not spin */
        blocking_pause(w->pipeline.blocking, PAUSE_MS);
}

/* Waits until the number of shards is agreed on; NULL when the process stops before that. */
static struct rounds *find_rounds(struct worker *w)
{
    struct indexer *indexer = w->indexer;
    const struct pipeline_settings *settings = &indexer->settings;
    uint64_t every_ms =
        settings->lease_ms / 3 < CHECK_MAX_MS ? settings->lease_ms / 3 : CHECK_MAX_MS;
    while (!atomic_load(&settings->map->is_agreed) && !is_stopping(w))
        blocking_pause(w->pipeline.blocking, PAUSE_MS);
    pthread_mutex_lock(&indexer->lock);
    if (!is_stopping(w) && atomic_load(&indexer->rounds) == NULL)
        atomic_store(&indexer->rounds, rounds_create(settings->map, every_ms));
    pthread_mutex_unlock(&indexer->lock);
    return is_stopping(w) ? NULL : atomic_load(&indexer->rounds);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct rounds *rounds = find_rounds(w);
    unsigned shard;
    while (rounds != NULL && !is_stopping(w)) {
        if (rounds_next_check(rounds, &shard))
            check_shard(w, rounds, shard);
        take(w, rounds);
    }
    return NULL;
}

struct indexer *indexer_start(const struct pipeline_settings *settings, unsigned n)
{
    struct indexer *indexer = mem_zeroed(sizeof *indexer);
    if (!extract_can_read_pdf())
        log_write(LOG_WARN, "no pdftotext on PATH: PDF files wait for an indexer that has it",
                  LOG_S("install", "poppler-utils"));
    indexer->n = n;
    indexer->settings = *settings;
    indexer->workers = mem_zeroed_n(n, sizeof *indexer->workers);
    pthread_mutex_init(&indexer->lock, NULL);
    for (unsigned i = 0; i < n; i++) {
        struct worker *w = &indexer->workers[i];
        w->indexer = indexer;
        pipeline_init(&w->pipeline, &indexer->settings, "parley-indexer", 0);
        if (pthread_create(&w->thread, NULL, work, w) != 0)
            abort();
    }
    return indexer;
}

void indexer_stop(struct indexer *indexer)
{
    if (indexer == NULL)
        return;
    for (unsigned i = 0; i < indexer->n; i++)
        pipeline_stop(&indexer->workers[i].pipeline);
    pthread_mutex_lock(&indexer->lock); /* nobody makes them from here on */
    struct rounds *rounds = atomic_load(&indexer->rounds);
    pthread_mutex_unlock(&indexer->lock);
    if (rounds != NULL)
        rounds_stop(rounds);
}

void indexer_destroy(struct indexer *indexer)
{
    if (indexer == NULL)
        return;
    for (unsigned i = 0; i < indexer->n; i++) {
        pthread_join(indexer->workers[i].thread, NULL);
        pipeline_fini(&indexer->workers[i].pipeline);
    }
    rounds_destroy(atomic_load(&indexer->rounds));
    pthread_mutex_destroy(&indexer->lock);
    free(indexer->workers);
    free(indexer);
}
