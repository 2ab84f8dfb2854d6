/* SPDX-License-Identifier: MIT
 * engines.c - what this node's engines are known by between their polls (queue_internal.h).
 *
 * A sync reports the engines that polled since the last one, each to the shard of its name.
 * Between two polls that report is all that is known of an engine, and lua/queue/ask.lua refuses a
 * question that no engine is there for. So an engine that this node has not reported lately is
 * reported at once, others within a second.
 *
 * The same of a class that has not polled here lately, to each shard: a question for a model falls
 * at once where no engine for it was ever stated (lua/queue/fallback.lua).
 */
#include "shared/queue/polls.h"

#include "generated/verbs.h"
#include <stdio.h>
#include <string.h>

enum {
    SYNC_ENGINES_MAX = 100, /* reported by one sync; the next one reports the rest */
    LATELY_MS = 60000,
    NEWS_MS = 1000,
    NEWS_A_SECOND = 20, /* at most: names may be new with every poll */
};

static unsigned home_of(const struct queue *queue, struct str account, struct str engine)
{
    return shards_of_engine(&queue->shards, account, engine.n == 0 ? STR("-") : engine);
}

static size_t put_name(struct engine_seen *seen, struct str account, struct str engine)
{
    if (engine.n == 0)
        engine = STR("-");
    size_t n = account.n + 1 + engine.n;
    if (n >= sizeof seen->name)
        return 0;
    memcpy(seen->name, account.at, account.n);
    seen->name[account.n] = ' ';
    memcpy(seen->name + account.n + 1, engine.at, engine.n);
    seen->name[n] = 0;
    return n;
}

/* Two engines may share a place and push each other out: they are reported more often than needed.
 */
static struct engine_reported *reported_place(struct queue *queue, uint32_t hash)
{
    return &queue->reported[hash % ENGINES_REPORTED_MAX];
}

/* Each poll looks: the names lie far apart, and begin alike. */
static struct engine_seen *find(struct queue *queue, const char *name, uint32_t hash)
{
    for (unsigned i = 0; i < queue->engine_n; i++)
        if (queue->engine_hashes[i] == hash && strcmp(queue->engines[i].name, name) == 0)
            return &queue->engines[i];
    return NULL;
}

static void report_soon(struct queue *queue, unsigned shard, uint64_t now_ms)
{
    if (now_ms >= queue->news_ms + NEWS_MS) {
        queue->news_ms = now_ms;
        queue->news_n = 0;
    }
    part_sync_by(&queue->parts[shard],
                 queue->news_n++ < NEWS_A_SECOND ? 0 : queue->news_ms + NEWS_MS - now_ms);
}

static bool is_lately(const struct engine_reported *reported, uint32_t hash, uint64_t now_ms)
{
    return reported->hash == hash && reported->at_ms != 0 && now_ms <= reported->at_ms + LATELY_MS;
}

static void note_class(struct queue *queue, const struct poll_class *class, uint64_t now_ms)
{
    uint32_t hash = queue_hash(class_name(class), 0);
    struct engine_reported *reported = reported_place(queue, hash);
    bool was_lately = is_lately(reported, hash, now_ms);
    *reported = (struct engine_reported){.hash = hash, .at_ms = now_ms};
    for (unsigned i = 0; i < queue->shards.n && !was_lately; i++)
        if ((class->polled & shard_bit(i)) != 0)
            report_soon(queue, i, now_ms);
}

void engines_note(struct queue *queue, const struct poll *poll)
{
    const struct poll_class *class = poll->class;
    uint64_t now_ms = clock_mono_ms();
    struct str account = {class->name, class->account_n};
    struct str models = {class->name + account.n + 1, class->name_n - account.n - 1};
    struct engine_seen seen;
    note_class(queue, class, now_ms);
    if (queue->engine_n == ENGINES_MAX)
        return; /* it is noted with its next poll */
    size_t name_n = put_name(&seen, account, poll->engine);
    uint32_t hash = queue_hash((struct str){seen.name, name_n}, 0);
    if (name_n == 0 || find(queue, seen.name, hash) != NULL)
        return;
    int n = snprintf(seen.info, sizeof seen.info, "{\"Models\":\"%.*s\"}", STR_ARG(models));
    if (n < 0 || (size_t)n >= sizeof seen.info)
        return;
    seen.shard = home_of(queue, account, poll->engine);
    queue->parts[seen.shard].engine_n++;
    queue->engine_hashes[queue->engine_n] = hash;
    queue->engines[queue->engine_n++] = seen;
    if (!is_lately(reported_place(queue, hash), hash, now_ms))
        report_soon(queue, seen.shard, now_ms);
}

void queue_forget_engine(struct queue *queue, struct str account, struct str engine)
{
    struct engine_seen gone;
    size_t name_n = put_name(&gone, account, engine);
    if (name_n == 0)
        return;
    uint32_t hash = queue_hash((struct str){gone.name, name_n}, 0);
    struct engine_seen *seen = find(queue, gone.name, hash);
    if (seen != NULL) {
        queue->parts[seen->shard].engine_n--;
        *seen = queue->engines[--queue->engine_n];
        queue->engine_hashes[seen - queue->engines] = queue->engine_hashes[queue->engine_n];
    }
    reported_place(queue, hash)->at_ms = 0; /* when it is back, it is reported at once */
}

void engines_put(struct queue_shard *part, struct verb_writer *verb)
{
    struct queue *queue = part->queue;
    unsigned n = 0, left_n = 0;
    for (unsigned i = 0; i < queue->engine_n; i++) {
        uint32_t hash = queue->engine_hashes[i];
        if (queue->engines[i].shard != part_shard(part) || n == SYNC_ENGINES_MAX) {
            if (left_n < i) {
                queue->engines[left_n] = queue->engines[i];
                queue->engine_hashes[left_n] = hash;
            }
            left_n++;
            continue;
        }
        *reported_place(queue, hash) =
            (struct engine_reported){.hash = hash, .at_ms = clock_mono_ms()};
        put_sync_engine(verb, .name = str_of(queue->engines[i].name),
                        .info = str_of(queue->engines[i].info));
        n++;
    }
    queue->engine_n = left_n;
    part->engine_n -= n;
}
