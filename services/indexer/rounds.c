/* SPDX-License-Identifier: MIT
 * rounds.c - see rounds.h.
 *
 *   a shard:  quiet --its server's thread saw an entry, or a check is made--> may have a job
 *               ^                                                                  |
 *               '------------------- an indexer reads its stream ------------------'
 *
 * The note is taken off before the stream is read, so an entry that comes meanwhile makes a new
 * one. One note wakes one indexer. That one, when it has found a job, notes the shard again before
 * it runs it, for there may be another: so n jobs wake n + 1 times, and not each indexer each time.
 */
#include "services/indexer/rounds.h"

#include "shared/base/clock.h"
#include "shared/base/mem.h"
#include "shared/redis/blocking.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum {
    BLOCK_MS = 2000,
    PAUSE_MS = 200,
    ID_BYTES = 48,
    KEY_BYTES = SHARD_PREFIX_BYTES + 8,
    HEAD_WORDS = 6,
};

struct shard_round {
    bool may_have;
    uint64_t check_ms;
    char last_id[ID_BYTES]; /* of its stream, for its server's thread alone */
};

struct watch {
    struct rounds *rounds;
    struct blocking *blocking;
    pthread_t thread;
    unsigned server;
    bool is_away; /* under the lock */
};

struct rounds {
    const struct shard_map *map;
    uint64_t every_ms;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct shard_round shards[SHARDS_MAX];
    unsigned next_take, next_check;
    atomic_bool is_stopping;
    struct watch watches[SHARDS_MAX];
    unsigned watch_n;
};

/* --- under the lock --------------------------------------------------------------------------- */

static bool locked_is_away(const struct rounds *rounds, unsigned shard)
{
    return rounds->watches[shard % rounds->map->server_n].is_away;
}

static void locked_note(struct rounds *rounds, unsigned shard)
{
    rounds->shards[shard].may_have = true;
    pthread_cond_signal(&rounds->changed);
}

/* The first from `from` on whose turn it is; map->n when there is none. */
static unsigned locked_find(const struct rounds *rounds, unsigned from, bool is_check)
{
    unsigned n = rounds->map->n;
    uint64_t now_ms = clock_mono_ms();
    for (unsigned i = 0; i < n; i++) {
        unsigned shard = (from + i) % n;
        const struct shard_round *at = &rounds->shards[shard];
        if (!locked_is_away(rounds, shard) && (is_check ? now_ms >= at->check_ms : at->may_have))
            return shard;
    }
    return n;
}

static uint64_t locked_check_ms(const struct rounds *rounds)
{
    uint64_t at_ms = clock_mono_ms() + rounds->every_ms;
    for (unsigned i = 0; i < rounds->map->n; i++)
        if (!locked_is_away(rounds, i) && rounds->shards[i].check_ms < at_ms)
            at_ms = rounds->shards[i].check_ms;
    return at_ms;
}

static bool is_stopping(struct rounds *rounds)
{
    return atomic_load(&rounds->is_stopping);
}

/* --- a server's thread ------------------------------------------------------------------------ */

static void came_back(struct watch *watch)
{
    struct rounds *rounds = watch->rounds;
    pthread_mutex_lock(&rounds->lock);
    if (watch->is_away)
        for (unsigned i = watch->server; i < rounds->map->n; i += rounds->map->server_n)
            locked_note(rounds, i);
    watch->is_away = false;
    pthread_mutex_unlock(&rounds->lock);
}

/* The shard of a stream's key; map->n of anything else. */
static unsigned find_shard(const struct watch *watch, struct str name)
{
    const struct shard_map *map = watch->rounds->map;
    for (unsigned i = watch->server; i < map->n; i += map->server_n) {
        size_t n = strlen(map->prefixes[i]);
        if (name.n == n + 4 && memcmp(name.at, map->prefixes[i], n) == 0)
            return i;
    }
    return map->n;
}

/* Takes what came: per stream its key, then per entry its id, "job" and the job. */
static void take_news(struct watch *watch, const struct blocking_answer *answer)
{
    struct rounds *rounds = watch->rounds;
    unsigned shard = rounds->map->n;
    for (size_t i = 0; i < answer->n && answer->at[i].at != NULL;) {
        unsigned other = find_shard(watch, answer->at[i]);
        if (other < rounds->map->n) {
            shard = other;
            i++;
            pthread_mutex_lock(&rounds->lock);
            locked_note(rounds, shard);
            pthread_mutex_unlock(&rounds->lock);
        } else {
            if (shard < rounds->map->n && answer->at[i].n < ID_BYTES)
                snprintf(rounds->shards[shard].last_id, ID_BYTES, "%.*s", STR_ARG(answer->at[i]));
            i += 3;
        }
    }
}

/* XREAD COUNT 1000 BLOCK <ms> STREAMS <key>... <id>... */
static enum err wait_for_news(struct watch *watch, struct blocking_answer *ret_answer)
{
    struct rounds *rounds = watch->rounds;
    const struct shard_map *map = rounds->map;
    char keys[SHARDS_MAX][KEY_BYTES], block[16];
    snprintf(block, sizeof block, "%d", BLOCK_MS);
    struct str words[HEAD_WORDS + 2 * SHARDS_MAX] = {STR("XREAD"), STR("COUNT"),  STR("1000"),
                                                     STR("BLOCK"), str_of(block), STR("STREAMS")};
    size_t n = 0, stream_n = (map->n - watch->server + map->server_n - 1) / map->server_n;
    for (unsigned i = watch->server; i < map->n; i += map->server_n, n++) {
        int key_n = snprintf(keys[n], KEY_BYTES, "%sjobs", map->prefixes[i]);
        words[HEAD_WORDS + n] = (struct str){keys[n], (size_t)key_n};
        words[HEAD_WORDS + stream_n + n] = str_of(rounds->shards[i].last_id);
    }
    return blocking_command(watch->blocking, words, HEAD_WORDS + 2 * stream_n, BLOCK_MS,
                            ret_answer);
}

static void *watch_server(void *arg)
{
    struct watch *watch = arg;
    while (!is_stopping(watch->rounds)) {
        struct blocking_answer answer;
        enum err error = wait_for_news(watch, &answer);
        if (error == ERR_OK) {
            came_back(watch);
            take_news(watch, &answer);
        } else if (!is_stopping(watch->rounds)) {
            blocking_pause(watch->blocking, PAUSE_MS);
        }
    }
    return NULL;
}

static void start_watch(struct rounds *rounds, unsigned server)
{
    struct watch *watch = &rounds->watches[server];
    *watch = (struct watch){.rounds = rounds, .server = server};
    watch->blocking =
        blocking_create(&(struct blocking_config){.address = &rounds->map->servers[server],
                                                  .prefix = rounds->map->prefixes[server],
                                                  .name = "parley-jobs",
                                                  .map = rounds->map,
                                                  .server = server});
    if (pthread_create(&watch->thread, NULL, watch_server, watch) != 0)
        abort();
}

/* --- for indexers ----------------------------------------------------------------------------- */

bool rounds_next_check(struct rounds *rounds, unsigned *ret_shard)
{
    pthread_mutex_lock(&rounds->lock);
    unsigned shard = locked_find(rounds, rounds->next_check, true);
    bool is_due = shard < rounds->map->n;
    if (is_due) {
        rounds->next_check = shard + 1;
        rounds->shards[shard].check_ms = clock_mono_ms() + rounds->every_ms;
        locked_note(rounds, shard);
        *ret_shard = shard;
    }
    pthread_mutex_unlock(&rounds->lock);
    return is_due;
}

void rounds_check_soon(struct rounds *rounds, unsigned shard)
{
    pthread_mutex_lock(&rounds->lock);
    rounds->shards[shard].check_ms = clock_mono_ms();
    pthread_cond_signal(&rounds->changed);
    pthread_mutex_unlock(&rounds->lock);
}

uint64_t rounds_check_ms(struct rounds *rounds)
{
    pthread_mutex_lock(&rounds->lock);
    uint64_t at_ms = locked_check_ms(rounds);
    pthread_mutex_unlock(&rounds->lock);
    return at_ms;
}

bool rounds_wait(struct rounds *rounds, unsigned *ret_shard)
{
    pthread_mutex_lock(&rounds->lock);
    unsigned n = rounds->map->n, shard;
    while ((shard = locked_find(rounds, rounds->next_take, false)) == n && !is_stopping(rounds)) {
        uint64_t at_ms = locked_check_ms(rounds);
        struct timespec at = {.tv_sec = (time_t)(at_ms / 1000),
                              .tv_nsec = (long)(at_ms % 1000) * 1000000};
        if (clock_mono_ms() >= at_ms)
            break;
        pthread_cond_timedwait(&rounds->changed, &rounds->lock, &at);
    }
    if (shard < n) {
        rounds->next_take = shard + 1;
        rounds->shards[shard].may_have = false;
        *ret_shard = shard;
    }
    pthread_mutex_unlock(&rounds->lock);
    return shard < n;
}

void rounds_found(struct rounds *rounds, unsigned shard)
{
    pthread_mutex_lock(&rounds->lock);
    locked_note(rounds, shard);
    pthread_mutex_unlock(&rounds->lock);
}

void rounds_lost(struct rounds *rounds, unsigned shard)
{
    pthread_mutex_lock(&rounds->lock);
    if (rounds->watch_n > 0)
        rounds->watches[shard % rounds->map->server_n].is_away = true;
    pthread_mutex_unlock(&rounds->lock);
}

/* --- life ------------------------------------------------------------------------------------- */

struct rounds *rounds_create(const struct shard_map *map, uint64_t check_ms)
{
    struct rounds *rounds = mem_zeroed(sizeof *rounds);
    pthread_condattr_t clock;
    rounds->map = map;
    rounds->every_ms = check_ms;
    pthread_mutex_init(&rounds->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&rounds->changed, &clock);
    pthread_condattr_destroy(&clock);
    for (unsigned i = 0; i < map->n; i++) {
        rounds->shards[i].may_have = true;
        snprintf(rounds->shards[i].last_id, ID_BYTES, "0-0");
    }
    if (map->n > 1)
        for (; rounds->watch_n < map->server_n; rounds->watch_n++)
            start_watch(rounds, rounds->watch_n);
    return rounds;
}

void rounds_stop(struct rounds *rounds)
{
    atomic_store(&rounds->is_stopping, true);
    for (unsigned i = 0; i < rounds->watch_n; i++)
        blocking_stop(rounds->watches[i].blocking);
    pthread_mutex_lock(&rounds->lock);
    pthread_cond_broadcast(&rounds->changed);
    pthread_mutex_unlock(&rounds->lock);
}

void rounds_destroy(struct rounds *rounds)
{
    if (rounds == NULL)
        return;
    for (unsigned i = 0; i < rounds->watch_n; i++) {
        pthread_join(rounds->watches[i].thread, NULL);
        blocking_destroy(rounds->watches[i].blocking);
    }
    pthread_cond_destroy(&rounds->changed);
    pthread_mutex_destroy(&rounds->lock);
    free(rounds);
}
