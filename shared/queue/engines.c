/* SPDX-License-Identifier: MIT
 * engines.c - remembers this node's engines between their polls (engines.h).
 *
 * A sync reports the engines that polled since the last one, each to the shard of its name.
 * Between two polls that report is all that is known of an engine, and lua/queue/ask.lua refuses a
 * question that no engine is there for. So an engine that this node has not reported recently is
 * reported at once, others within a second.
 *
 * The same of a class that has not polled here recently, to each shard: a question for a model
 * falls at once where no engine for it was ever stated (lua/queue/fallback.lua).
 */
#include "shared/queue/engines.h"

#include "generated/verbs.h"

#include <stdio.h>
#include <string.h>

enum {
    ENGINES_MAX = 256,
    REPORTED_MAX = 1024,
    SYNC_ENGINES_MAX = 100, /* reported by one sync; the next one reports the rest */
    LATELY_MS = 60000,
    NEWS_MS = 1000,
    NEWS_A_SECOND = 20, /* at most: names may be new with every poll */
    BACK_MS = 30000,    /* so long an engine may take between two calls */
    INFO_MAX_BYTES = 2048
};

/* The state of an engine, as far as this node has seen since the last sync of its home. */
struct engine_seen {
    unsigned shard; /* its home */
    enum seen what;
    uint64_t for_ms; /* how long it may last without another word */
    uint64_t poll;   /* SEEN_LEFT: which */
    char name[600];  /* "<account> <engine>": names of 128 and 64 bytes, of three letters a byte */
    char models[1032];
    char process[200]; /* a name; "": it says none */
};

/* When a sync last reported an engine of that name, or a class of that name last polled. */
struct engine_reported {
    uint32_t hash;
    uint64_t at_ms; /* 0: never, or it has left since */
};

struct engines {
    struct engine_seen seen[ENGINES_MAX];
    uint32_t hashes[ENGINES_MAX]; /* of their names */
    unsigned n;
    unsigned of_shard_n[SHARDS_MAX]; /* of these, by home */
    struct engine_reported reported[REPORTED_MAX];
    uint64_t news_ms; /* the second in which syncs that report new engines are counted */
    unsigned news_n;
};

struct engines *engines_create(void)
{
    return mem_zeroed(sizeof(struct engines));
}

void engines_destroy(struct engines *engines)
{
    free(engines);
}

bool engines_have_news(const struct queue_shard *part)
{
    return part->queue->engines->of_shard_n[part->number] > 0;
}

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
    return &queue->engines->reported[hash % REPORTED_MAX];
}

/* Each poll looks: the names lie far apart, and begin alike. */
static struct engine_seen *find(struct engines *engines, const char *name, uint32_t hash)
{
    for (unsigned i = 0; i < engines->n; i++)
        if (engines->hashes[i] == hash && strcmp(engines->seen[i].name, name) == 0)
            return &engines->seen[i];
    return NULL;
}

static void report_soon(struct queue *queue, unsigned shard, uint64_t now_ms)
{
    struct engines *engines = queue->engines;
    if (now_ms >= engines->news_ms + NEWS_MS) {
        engines->news_ms = now_ms;
        engines->news_n = 0;
    }
    part_sync_by(&queue->parts[shard],
                 engines->news_n++ < NEWS_A_SECOND ? 0 : engines->news_ms + NEWS_MS - now_ms);
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

/* The place of what the next sync says of an engine; NULL if there is none: it is noted the next
 * time. */
static struct engine_seen *seen_of(struct queue *queue, struct str account, struct str engine,
                                   uint32_t *ret_hash)
{
    struct engines *engines = queue->engines;
    struct engine_seen name, *seen;
    size_t name_n = put_name(&name, account, engine);
    if (name_n == 0)
        return NULL;
    *ret_hash = queue_hash((struct str){name.name, name_n}, 0);
    seen = find(engines, name.name, *ret_hash);
    if (seen != NULL || engines->n == ENGINES_MAX)
        return seen;
    engines->hashes[engines->n] = *ret_hash;
    seen = &engines->seen[engines->n++];
    memcpy(seen->name, name.name, name_n + 1);
    seen->what = SEEN_BEAT;
    seen->models[0] = seen->process[0] = 0;
    seen->shard = home_of(queue, account, engine);
    engines->of_shard_n[seen->shard]++;
    part_sync_by(&queue->parts[seen->shard], NEWS_MS);
    return seen;
}

/* There is room for it, and its end. */
static void put_text(char *at, struct str text)
{
    if (text.n > 0)
        memcpy(at, text.at, text.n);
    at[text.n] = 0;
}

void engines_note(struct queue *queue, const struct poll *poll, enum seen what)
{
    const struct poll_class *class = poll->class;
    uint64_t now_ms = clock_mono_ms();
    struct str account = class_account(class), models = class_models(class);
    uint32_t hash;
    if (class->work != WORK_QUERIES)
        return;
    note_class(queue, class, now_ms);
    struct engine_seen *seen = seen_of(queue, account, poll->engine, &hash);
    if (seen == NULL || models.n >= sizeof seen->models || poll->process.n >= sizeof seen->process)
        return;
    seen->what = what;
    seen->for_ms = (what == SEEN_WORKING ? queue->config.lease_ms : poll->wait_ms) + BACK_MS;
    put_text(seen->models, models);
    put_text(seen->process, poll->process);
    if (!is_lately(reported_place(queue, hash), hash, now_ms))
        report_soon(queue, seen->shard, now_ms);
}

void queue_note_beat(struct queue *queue, struct str account, struct str engine)
{
    uint32_t hash;
    (void)seen_of(queue, account, engine, &hash); /* what is noted already says as much */
}

/* Ignores engines without a name: others of them may be there. */
void queue_note_left(struct queue *queue, const struct poll *poll)
{
    const struct poll_class *class = poll->class;
    uint32_t hash;
    if (poll->engine.n == 0 || class->work != WORK_QUERIES)
        return;
    struct engine_seen *seen = seen_of(queue, class_account(class), poll->engine, &hash);
    if (seen == NULL)
        return;
    seen->what = SEEN_LEFT;
    seen->poll = poll->number;
    report_soon(queue, seen->shard, clock_mono_ms());
}

static struct str put_info(const struct engine_seen *seen, char *room, size_t size)
{
    static const char *const words[] = {[SEEN_WAITING] = "waiting", [SEEN_WORKING] = "working"};
    int n;
    if (seen->what == SEEN_BEAT)
        return STR("beat");
    if (seen->what == SEEN_LEFT)
        n = snprintf(room, size, "left %llu", (unsigned long long)seen->poll);
    else
        n = snprintf(room, size, "{\"Models\":\"%s\",\"State\":\"%s\",\"ForMs\":%llu%s%s%s}",
                     seen->models, words[seen->what], (unsigned long long)seen->for_ms,
                     seen->process[0] == 0 ? "" : ",\"Process\":\"", seen->process,
                     seen->process[0] == 0 ? "" : "\"");
    return (struct str){room, (size_t)n};
}

void queue_forget_engine(struct queue *queue, struct str account, struct str engine)
{
    struct engine_seen gone;
    size_t name_n = put_name(&gone, account, engine);
    if (name_n == 0)
        return;
    uint32_t hash = queue_hash((struct str){gone.name, name_n}, 0);
    struct engines *engines = queue->engines;
    struct engine_seen *seen = find(engines, gone.name, hash);
    if (seen != NULL) {
        engines->of_shard_n[seen->shard]--;
        *seen = engines->seen[--engines->n];
        engines->hashes[seen - engines->seen] = engines->hashes[engines->n];
    }
    reported_place(queue, hash)->at_ms = 0; /* when it is back, it is reported at once */
}

void engines_put(struct queue_shard *part, struct verb_writer *verb)
{
    struct engines *engines = part->queue->engines;
    unsigned n = 0, left_n = 0;
    for (unsigned i = 0; i < engines->n; i++) {
        uint32_t hash = engines->hashes[i];
        if (engines->seen[i].shard != part->number || n == SYNC_ENGINES_MAX) {
            if (left_n < i) {
                engines->seen[left_n] = engines->seen[i];
                engines->hashes[left_n] = hash;
            }
            left_n++;
            continue;
        }
        *reported_place(part->queue, hash) =
            (struct engine_reported){.hash = hash, .at_ms = clock_mono_ms()};
        char info[INFO_MAX_BYTES];
        put_sync_engine(verb, .name = str_of(engines->seen[i].name),
                        .info = put_info(&engines->seen[i], info, sizeof info));
        n++;
    }
    engines->n = left_n;
    engines->of_shard_n[part->number] -= n;
}
