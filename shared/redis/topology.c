/* SPDX-License-Identifier: MIT
 * topology.c - see topology.h.
 *
 * `map` is what the thread learned last, corrected by what MOVED has said since. A member that has
 * just lost a slot may not know yet who has it now, and one that is cut off from the others never
 * learns it. So a round first asks the place that MOVED named, then those that have slots, each
 * time beginning with another one, then the seeds; and members that say that the cluster does not
 * work count only if nobody else replies. */
#include "shared/redis/topology_internal.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/mem.h"
#include "shared/redis/trouble.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    SLOWLY_MS = 3000, /* while all is well: a master that is cut off is written to no longer */
    ANEW_MS = 100,    /* after a hint, at least this long after the last round */
};

struct topology {
    enum redis_kind kind;
    char name[REDIS_PLACE_BYTES]; /* for the log */
    char master[REDIS_MASTER_BYTES];
    char user[128], password[512]; /* of those who are asked */
    bool is_tls;
    struct topology_place seeds[TOPOLOGY_SEEDS_MAX];
    unsigned seed_n;
    atomic_uint version;
    pthread_mutex_t lock;
    /* --- under the lock --- */
    pthread_cond_t wake, news; /* of the thread; of those who wait for a round */
    bool is_started, is_hinted;
    uint64_t round_n;
    struct topology_map map;
    struct topology_place first; /* to be asked first; no host: none */
    char reason[TOPOLOGY_REASON_BYTES];
    /* --- of the thread --- */
    struct topology_place slow[TOPOLOGY_SEEDS_MAX];
    unsigned slow_n;
    struct topology *next;
};

/* All of them, so that they stay reachable until the process ends. */
static struct topology *_Atomic all;

/* --- what is known ---------------------------------------------------------------------------- */

static const struct topology_place *place_of(const struct topology *t, unsigned slot)
{
    if (t->kind == REDIS_SENTINEL)
        return t->map.place_n > 0 ? &t->map.places[0] : NULL;
    unsigned owner = t->map.owner[slot % REDIS_SLOT_N];
    return owner > 0 ? &t->map.places[owner - 1] : NULL;
}

static struct topology_place place_in(const struct redis_address *address)
{
    struct topology_place place = {.port = address->port};
    memcpy(place.host, address->host, sizeof place.host);
    memcpy(place.name, address->name, sizeof place.name);
    return place;
}

static bool is_other(const struct topology_map *a, const struct topology_map *b)
{
    if (a->place_n == 0 || b->place_n == 0)
        return a->place_n != b->place_n;
    for (unsigned slot = 0; slot < REDIS_SLOT_N; slot++) {
        if ((a->owner[slot] == 0) != (b->owner[slot] == 0))
            return true;
        if (a->owner[slot] > 0 &&
            !topology_is_same(&a->places[a->owner[slot] - 1], &b->places[b->owner[slot] - 1]))
            return true;
    }
    return !topology_is_same(&a->places[0], &b->places[0]) && a->owner[0] == 0;
}

/* --- a round ---------------------------------------------------------------------------------- */

static bool is_in(const struct topology_place *places, unsigned n,
                  const struct topology_place *place)
{
    for (unsigned i = 0; i < n; i++)
        if (topology_is_same(&places[i], place))
            return true;
    return false;
}

static void add_asked(const struct topology *t, struct topology_asked *asked, bool is_slow,
                      const struct topology_place *place)
{
    if (asked->place_n == TOPOLOGY_SEEDS_MAX || place->host[0] == 0 ||
        is_in(t->slow, t->slow_n, place) != is_slow || is_in(asked->places, asked->place_n, place))
        return;
    asked->is_slow[asked->place_n] = is_slow;
    asked->places[asked->place_n++] = *place;
}

/* Under the lock. Those that did not reply last time come last. */
static void choose(const struct topology *t, struct topology_asked *asked)
{
    *asked = (struct topology_asked){.kind = t->kind, .master = t->master, .is_tls = t->is_tls};
    memcpy(asked->user, t->user, sizeof asked->user);
    memcpy(asked->password, t->password, sizeof asked->password);
    for (int is_slow = 0; is_slow < 2; is_slow++) {
        add_asked(t, asked, is_slow, &t->first);
        /* Some are left to the seeds: a cluster may have moved away from what it was. */
        for (unsigned i = 0; t->kind == REDIS_OF_CLUSTER && i < t->map.place_n &&
                             asked->place_n < TOPOLOGY_SEEDS_MAX / 2;
             i++)
            add_asked(t, asked, is_slow, &t->map.places[(t->round_n + i) % t->map.place_n]);
        for (unsigned i = 0; i < t->seed_n; i++)
            add_asked(t, asked, is_slow, &t->seeds[i]);
    }
}

static void note_slow(struct topology *t, const struct topology_asked *asked)
{
    t->slow_n = 0;
    for (unsigned i = 0; i < asked->place_n; i++)
        if (asked->is_slow[i])
            t->slow[t->slow_n++] = asked->places[i];
}

/* Logs a new place; connections that wait for an unknown one log that themselves. */
static void say_change(const struct topology *t)
{
    char text[REDIS_PLACE_BYTES];
    if (t->kind == REDIS_SENTINEL)
        snprintf(text, sizeof text, "%.250s:%d", t->map.places[0].host, t->map.places[0].port);
    else
        snprintf(text, sizeof text, "%llu %s", COUNTED(t->map.place_n, "master"));
    log_write(t->map.place_n > 0 && atomic_load(&t->version) > 1 ? LOG_INFO : LOG_DEBUG,
              "redis has other servers", LOG_S("redis", t->name), LOG_S("servers", text));
}

static void run_round(struct topology *t)
{
    struct topology_asked *asked = mem_alloc(sizeof *asked);
    struct topology_map map = {.place_n = 0};
    char reason[TOPOLOGY_REASON_BYTES];
    pthread_mutex_lock(&t->lock);
    choose(t, asked);
    t->is_hinted = false;
    pthread_mutex_unlock(&t->lock);
    bool is_known = topology_ask(asked, &map, reason, sizeof reason);
    note_slow(t, asked);
    free(asked);

    pthread_mutex_lock(&t->lock);
    struct topology_map former = t->map;
    bool is_new = is_known && is_other(&t->map, &map);
    if (is_known) {
        t->map = map;
        map = former;
    } else {
        memcpy(t->reason, reason, sizeof t->reason);
    }
    if (is_new) {
        atomic_fetch_add(&t->version, 1);
        say_change(t);
    }
    t->round_n++;
    pthread_cond_broadcast(&t->news);
    pthread_mutex_unlock(&t->lock);
    topology_map_fini(&map);
}

/* Under the lock: waits up to `ms`. False when they have passed. */
static bool wait_some(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t end_ms)
{
    struct timespec end = {.tv_sec = (time_t)(end_ms / 1000),
                           .tv_nsec = (long)(end_ms % 1000) * 1000000};
    return pthread_cond_timedwait(cond, lock, &end) == 0;
}

static void *run(void *arg)
{
    struct topology *t = arg;
    for (;;) {
        run_round(t);
        uint64_t ended_ms = clock_mono_ms();
        pthread_mutex_lock(&t->lock);
        while (!t->is_hinted && wait_some(&t->wake, &t->lock, ended_ms + SLOWLY_MS))
            ;
        while (clock_mono_ms() < ended_ms + ANEW_MS)
            (void)wait_some(&t->wake, &t->lock, ended_ms + ANEW_MS);
        pthread_mutex_unlock(&t->lock);
    }
    return NULL;
}

/* Under the lock. Signals are for the threads that expect them. */
static void start(struct topology *t)
{
    sigset_t every, former;
    pthread_t thread;
    if (t->is_started)
        return;
    t->is_started = true;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &former);
    if (pthread_create(&thread, NULL, run, t) != 0)
        abort();
    pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
}

/* --- addresses -------------------------------------------------------------------------------- */

static void init_cond(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

void topology_open(struct redis_address *address, const char *sentinel_user,
                   const char *sentinel_password)
{
    if (address->kind == REDIS_SERVER || address->topology != NULL)
        return;
    struct topology *t = mem_zeroed(sizeof *t);
    t->kind = address->kind;
    t->is_tls = address->is_tls;
    redis_put_place(address, t->name);
    memcpy(t->master, address->master, sizeof t->master);
    bool is_sentinel = t->kind == REDIS_SENTINEL;
    snprintf(t->user, sizeof t->user, "%s",
             !is_sentinel            ? address->user
             : sentinel_user == NULL ? ""
                                     : sentinel_user);
    snprintf(t->password, sizeof t->password, "%s",
             !is_sentinel                ? address->password
             : sentinel_password == NULL ? ""
                                         : sentinel_password);
    snprintf(t->reason, sizeof t->reason, "nobody has replied yet");
    struct str seeds = str_of(address->seeds);
    while (seeds.at != NULL && t->seed_n < TOPOLOGY_SEEDS_MAX) {
        struct topology_place *seed = &t->seeds[t->seed_n];
        if (redis_parse_endpoint(str_cut(&seeds, ','), is_sentinel ? 26379 : 6379, seed->host,
                                 &seed->port))
            t->seed_n++;
    }
    pthread_mutex_init(&t->lock, NULL);
    init_cond(&t->wake);
    init_cond(&t->news);
    address->topology = t;
    t->next = atomic_load(&all);
    while (!atomic_compare_exchange_weak(&all, &t->next, t))
        ;
}

/* Under the lock. */
static bool locate(const struct redis_address *address, struct redis_address *ret_place,
                   char *reason, size_t reason_size)
{
    const struct topology *t = address->topology;
    const struct topology_place *place = place_of(t, address->slot);
    if (place == NULL) {
        snprintf(reason, reason_size, "NOWHERE %.100s: %s", t->name,
                 t->map.place_n > 0 ? "no server has the slot of this shard" : t->reason);
        return false;
    }
    struct redis_address found = *address;
    memcpy(found.host, place->host, sizeof found.host);
    memcpy(found.name, place->name, sizeof found.name);
    found.port = place->port;
    *ret_place = found;
    return true;
}

bool topology_locate(const struct redis_address *address, struct redis_address *ret_place,
                     char *reason, size_t reason_size)
{
    struct topology *t = address->topology;
    if (t == NULL) {
        *ret_place = *address;
        return true;
    }
    pthread_mutex_lock(&t->lock);
    start(t);
    bool is_known = locate(address, ret_place, reason, reason_size);
    pthread_mutex_unlock(&t->lock);
    return is_known;
}

bool topology_await(const struct redis_address *address, uint64_t wait_ms,
                    struct redis_address *ret_place, char *reason, size_t reason_size)
{
    struct topology *t = address->topology;
    uint64_t end_ms = clock_mono_ms() + wait_ms;
    if (t == NULL) {
        *ret_place = *address;
        return true;
    }
    pthread_mutex_lock(&t->lock);
    start(t);
    /* One round is enough to know that nobody knows. */
    uint64_t round_n = t->round_n;
    if (round_n > 0 && place_of(t, address->slot) == NULL) {
        t->is_hinted = true;
        pthread_cond_signal(&t->wake);
    }
    while (place_of(t, address->slot) == NULL && t->round_n == round_n &&
           wait_some(&t->news, &t->lock, end_ms))
        ;
    bool is_known = locate(address, ret_place, reason, reason_size);
    pthread_mutex_unlock(&t->lock);
    return is_known;
}

static bool is_numeric(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

/* Under the lock. A name (cluster-announce-hostname) is looked up by the thread: a loop that
 * connects to it would wait for that. */
static void obey(struct topology *t, const struct redis_address *place, const char *reason)
{
    struct topology_place from = place_in(place), to;
    unsigned slot;
    if (!topology_read_moved(reason, &from, &slot, &to))
        return;
    t->first = to;
    if (!is_numeric(to.host))
        return;
    unsigned at = topology_map_add(&t->map, &to);
    if (at == TOPOLOGY_PLACES_MAX || t->map.owner[slot] == at + 1)
        return;
    t->map.owner[slot] = (uint16_t)(at + 1);
    atomic_fetch_add(&t->version, 1);
}

void topology_hint(const struct redis_address *address, const struct redis_address *place,
                   const char *reason)
{
    struct topology *t = address->topology;
    if (t == NULL)
        return;
    pthread_mutex_lock(&t->lock);
    if (t->kind == REDIS_OF_CLUSTER && place != NULL)
        obey(t, place, reason);
    t->is_hinted = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
}

unsigned topology_version(const struct redis_address *address)
{
    return address->topology == NULL ? 0 : atomic_load(&address->topology->version);
}

bool topology_has_left(const struct redis_address *address, const struct redis_address *place)
{
    struct topology *t = address->topology;
    if (t == NULL)
        return false;
    struct topology_place was = place_in(place);
    pthread_mutex_lock(&t->lock);
    const struct topology_place *now = place_of(t, address->slot);
    bool has_left = now != NULL && !topology_is_same(now, &was);
    pthread_mutex_unlock(&t->lock);
    return has_left;
}

bool topology_is_passing(const struct redis_address *address, const char *error)
{
    if (address->topology == NULL)
        return false;
    switch (redis_trouble_of(error)) {
    case REDIS_MOVED:
    case REDIS_ASK:
    case REDIS_CLUSTER:
    case REDIS_READONLY:
    case REDIS_MASTERDOWN:
    case REDIS_LOADING: return true;
    default: return false;
    }
}

bool topology_is_elsewhere(const struct redis_address *address, const char *error)
{
    enum redis_trouble trouble = redis_trouble_of(error);
    return topology_is_passing(address, error) && trouble != REDIS_ASK && trouble != REDIS_CLUSTER;
}
