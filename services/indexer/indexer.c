/* SPDX-License-Identifier: MIT
 * indexer.c - see indexer.h.
 *
 * One round: is it time to look for jobs of the dead, and for such as no other indexer could read,
 * then take one if there is; else wait for a new job, but not past the next look. So a look is not
 * put off by a stream that is never empty, nor the stream by what a look finds: a job of each in
 * turn. The group is made where Redis says that there is none:
 * at the very first start, and after Redis lost its data. */
#include "services/indexer/indexer.h"

#include "generated/verbs.h"
#include "shared/base/clock.h"
#include "shared/extract/extract.h"
#include "shared/queue/lines.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    BLOCK_MS = 2000,
    LOOK_MAX_MS = 5000,
    SWEEP_N = 200,
    PAUSE_MS = 200,
    DELAYED_PAUSE_MS = 1000,
    CONSUMER_IDLE_MS = 24 * 3600 * 1000,
};

struct worker {
    pthread_t thread;
    struct pipeline pipeline;
    uint64_t look_ms; /* when to look for jobs of the dead again */
};

struct indexer {
    struct pipeline_settings settings;
    struct worker *workers;
    unsigned n;
};

/* The stream's key, whose prefix is at most 64 bytes. */
static struct str stream_key(const struct worker *w, char *room, size_t size)
{
    int n = snprintf(room, size, "%sjobs", w->pipeline.settings->prefix);
    return (struct str){room, (size_t)n};
}

static bool is_stopping(struct worker *w)
{
    return atomic_load(&w->pipeline.is_stopping);
}

/* Each process that ever was has a consumer in the group. Those without anything pending that were
 * not seen for a day go. */
static void drop_old_consumers(struct worker *w)
{
    char key[128];
    struct sync_answer answer;
    struct str jobs = stream_key(w, key, sizeof key);
    struct str words[] = {STR("XINFO"), STR("CONSUMERS"), jobs, STR("indexers")};
    if (sync_command(w->pipeline.sync, words, 4, 0, &answer) != ERR_OK)
        return;
    /* name <name> pending <n> idle <ms>, and in later versions more pairs. */
    struct buf names;
    buf_init(&names, 1 << 20);
    struct str name = STR("");
    bool is_empty = false;
    for (size_t i = 0; i + 1 < answer.n; i += 2) {
        uint64_t number = 0;
        bool is_number = str_parse_u64(answer.at[i + 1], &number);
        if (str_eq(answer.at[i], STR("name"))) {
            name = answer.at[i + 1];
        } else if (str_eq(answer.at[i], STR("pending"))) {
            is_empty = is_number && number == 0;
        } else if (str_eq(answer.at[i], STR("idle")) && is_empty && number > CONSUMER_IDLE_MS) {
            buf_put(&names, name);
            buf_put_char(&names, '\n');
        }
    }
    struct lines lines = lines_of(buf_str(&names));
    while (lines_are_left(&lines)) {
        struct str drop[] = {STR("XGROUP"), STR("DELCONSUMER"), jobs, STR("indexers"),
                             lines_next(&lines)};
        if (drop[4].n > 0 && sync_command(w->pipeline.sync, drop, 5, 0, &answer) != ERR_OK)
            break;
    }
    buf_fini(&names);
}

static void make_group(struct worker *w)
{
    char key[128];
    struct sync_answer answer;
    struct str words[] = {STR("XGROUP"),   STR("CREATE"), stream_key(w, key, sizeof key),
                          STR("indexers"), STR("0"),      STR("MKSTREAM")};
    if (sync_command(w->pipeline.sync, words, 6, 0, &answer) == ERR_CONFLICT &&
        !str_has_prefix(str_of(sync_error(w->pipeline.sync)), STR("BUSYGROUP")))
        log_write(LOG_ERROR, "the stream of jobs has no group",
                  LOG_S("error", sync_error(w->pipeline.sync)));
}

static void run(struct worker *w, struct str entry, struct str id)
{
    char copies[2][64];
    if (entry.n >= sizeof copies[0] || id.n >= sizeof copies[1])
        return;
    memcpy(copies[0], entry.at, entry.n);
    memcpy(copies[1], id.at, id.n);
    /* What other documents need is missing as well, most likely: without the pause a long queue
     * would be read from Redis at full speed, for nothing. */
    if (pipeline_run(&w->pipeline, (struct str){copies[0], entry.n},
                     (struct str){copies[1], id.n}) == PIPELINE_DELAYED)
        sync_pause(w->pipeline.sync, DELAYED_PAUSE_MS);
}

/* Takes over one job whose indexer was not heard of for a lease; true when there was one. */
static bool steal(struct worker *w)
{
    struct sync_call call = {.sync = w->pipeline.sync};
    call_job_steal(sync_start(&call), .consumer = str_of(w->pipeline.consumer),
                   .idle_ms = w->pipeline.settings->lease_ms);
    if (call.error != ERR_OK || str_eq(call.reply, STR("none")))
        return false;
    struct lines lines = lines_of(call.reply);
    struct str entry = lines_next(&lines), id = lines_next(&lines);
    log_write(LOG_INFO, "taking over a job", LOG_STR("job", id));
    run(w, entry, id);
    return true;
}

/* Begins one job that an indexer without pdftotext could not read; true when there was one. */
static bool take_waiting(struct worker *w)
{
    struct sync_call call = {.sync = w->pipeline.sync};
    if (!extract_can_read_pdf())
        return false;
    call_job_waiting(sync_start(&call));
    if (call.error != ERR_OK || str_eq(call.reply, STR("none")))
        return false;
    run(w, STR(""), call.reply);
    return true;
}

/* What a deleted or replaced document left in a vector set; a little at a time. */
static void sweep(struct worker *w)
{
    uint64_t n = SWEEP_N;
    while (n >= SWEEP_N && !is_stopping(w)) {
        struct sync_call call = {.sync = w->pipeline.sync};
        call_sweep(sync_start(&call), .limit = SWEEP_N);
        if (call.error != ERR_OK || !str_parse_u64(call.reply, &n))
            return;
    }
}

/* False when Redis refused the wait, so that the loop does not spin. */
static bool wait_for_job(struct worker *w)
{
    char key[128], block[16];
    struct sync_answer answer;
    uint64_t now_ms = clock_mono_ms();
    unsigned block_ms = w->look_ms > now_ms + BLOCK_MS ? BLOCK_MS
                        : w->look_ms > now_ms          ? (unsigned)(w->look_ms - now_ms)
                                                       : 1;
    snprintf(block, sizeof block, "%u", block_ms);
    struct str words[] = {STR("XREADGROUP"), STR("GROUP"),
                          STR("indexers"),   str_of(w->pipeline.consumer),
                          STR("COUNT"),      STR("1"),
                          STR("BLOCK"),      str_of(block),
                          STR("STREAMS"),    stream_key(w, key, sizeof key),
                          STR(">")};
    enum err error = sync_command(w->pipeline.sync, words, 11, block_ms, &answer);
    if (error == ERR_CONFLICT) {
        make_group(w);
        return false;
    }
    /* jobs, entry, "job", id */
    if (error == ERR_OK && answer.n >= 4)
        run(w, answer.at[1], answer.at[3]);
    return error == ERR_OK;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    uint64_t every_ms = w->pipeline.settings->lease_ms / 3;
    if (every_ms > LOOK_MAX_MS)
        every_ms = LOOK_MAX_MS;
    make_group(w);
    drop_old_consumers(w);
    while (!is_stopping(w)) {
        if (clock_mono_ms() >= w->look_ms) {
            /* After each of them comes one of the stream, so that many of them hold up nobody. */
            if (!steal(w) && !take_waiting(w)) {
                w->look_ms = clock_mono_ms() + every_ms;
                sweep(w);
            }
        }
        if (!wait_for_job(w) && !is_stopping(w))
            sync_pause(w->pipeline.sync, PAUSE_MS);
    }
    return NULL;
}

struct indexer *indexer_start(const struct pipeline_settings *settings, unsigned n)
{
    struct indexer *indexer = calloc(1, sizeof *indexer);
    if (indexer == NULL)
        abort();
    if (!extract_can_read_pdf())
        log_write(LOG_WARN, "no pdftotext on PATH: PDF waits for an indexer that has it",
                  LOG_S("install", "poppler-utils"));
    indexer->n = n;
    indexer->settings = *settings;
    indexer->workers = calloc(n, sizeof *indexer->workers);
    if (indexer->workers == NULL)
        abort();
    for (unsigned i = 0; i < n; i++) {
        struct worker *w = &indexer->workers[i];
        pipeline_init(&w->pipeline, &indexer->settings, "parley-indexer", 0);
        if (pthread_create(&w->thread, NULL, work, w) != 0)
            abort();
    }
    return indexer;
}

void indexer_stop(struct indexer *indexer)
{
    for (unsigned i = 0; indexer != NULL && i < indexer->n; i++)
        pipeline_stop(&indexer->workers[i].pipeline);
}

void indexer_destroy(struct indexer *indexer)
{
    if (indexer == NULL)
        return;
    for (unsigned i = 0; i < indexer->n; i++) {
        pthread_join(indexer->workers[i].thread, NULL);
        pipeline_fini(&indexer->workers[i].pipeline);
    }
    free(indexer->workers);
    free(indexer);
}
