/* SPDX-License-Identifier: MIT
 *
 * topology_internal: shared by topology.c (what is known, and the thread), topology_ask.c (asking
 * Sentinels and members) and topology_read.c (reading their replies; pure functions).
 */
#ifndef PARLEY_REDIS_TOPOLOGY_INTERNAL_H
#define PARLEY_REDIS_TOPOLOGY_INTERNAL_H

#include "shared/redis/topology.h"

enum { TOPOLOGY_SEEDS_MAX = 32, TOPOLOGY_PLACES_MAX = 1024, TOPOLOGY_REASON_BYTES = 192 };

struct redisReply;

struct topology_place {
    char host[256]; /* empty: none */
    char name[256]; /* what it was before it was looked up; empty: the same */
    int port;
};

/* Who has which slot. With Sentinel only places[0] is used. */
struct topology_map {
    struct topology_place *places; /* place_n of them */
    unsigned place_n;
    uint16_t owner[REDIS_SLOT_N]; /* 1 + its index in `places`; 0: nobody */
};

void topology_map_fini(struct topology_map *map);
/* The place's index, which is added if it is new; TOPOLOGY_PLACES_MAX if there are too many. */
unsigned topology_map_add(struct topology_map *map, const struct topology_place *place);
bool topology_is_same(const struct topology_place *a, const struct topology_place *b);

/* --- topology_read.c: bytes from outside ----------------------------------------------------- */

/* CLUSTER SLOTS into an empty map. `from`: the member that replied, for an empty host. False if it
 * is malformed; the map then has to be freed, too. */
bool topology_read_slots(const struct redisReply *reply, const struct topology_place *from,
                         struct topology_map *ret_map) must_check;
/* CLUSTER INFO: whether the member says that the cluster works. */
bool topology_read_is_ok(const struct redisReply *reply);
/* SENTINEL GET-MASTER-ADDR-BY-NAME: [host, port]. */
bool topology_read_master(const struct redisReply *reply,
                          struct topology_place *ret_place) must_check;
/* SENTINEL MASTER: its config-epoch; 0 if it cannot be read. */
uint64_t topology_read_epoch(const struct redisReply *reply);
/* "MOVED slot host:port" */
bool topology_read_moved(const char *error, const struct topology_place *from, unsigned *ret_slot,
                         struct topology_place *ret_place) must_check;

/* --- topology_ask.c: blocks ------------------------------------------------------------------ */

/* Who is asked, in this order. */
struct topology_asked {
    enum redis_kind kind;
    const char *master;
    struct topology_place places[TOPOLOGY_SEEDS_MAX];
    bool is_slow[TOPOLOGY_SEEDS_MAX]; /* it did not reply last time: not waited for long */
    unsigned place_n;
    char user[128], password[512]; /* of those who are asked */
    bool is_tls;
};

/* Asks until it knows: all Sentinels, where the one with the newest configuration counts; or
 * members until one says that the cluster works, else the first that replied. Fills an empty map
 * and notes in `is_slow` who did not reply. False with a reason. */
bool topology_ask(struct topology_asked *asked, struct topology_map *ret_map, char *reason,
                  size_t reason_size) must_check;

#endif
