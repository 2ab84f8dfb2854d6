/* SPDX-License-Identifier: MIT
 *
 * agreement: what the Redis servers of a cluster have written down of it, so that no node works
 * with another number of shards, or with the servers in another order (docs/adr/0025-agreement.md).
 *
 * Each server holds a record under `<prefix of shard 0>cluster`. The first process that
 * starts writes them in the order of its list, each only after the one before it was won, and
 * then marks the first one as whole: a start that was cut short is taken up by the next one, and a
 * record that is missing afterwards means that its server has lost its data.
 */
#ifndef PARLEY_REDIS_AGREEMENT_H
#define PARLEY_REDIS_AGREEMENT_H

#include "shared/base/buf.h"
#include "shared/redis/shard_map.h"

enum { AGREEMENT_KEY_BYTES = SHARD_PREFIX_BYTES + 8, AGREEMENT_TEXT_BYTES = 64 };

/* One server's record: "<id> <server> <servers> <shards> begun|whole". */
struct agreement {
    char id[CLUSTER_ID_BYTES + 1]; /* of the cluster, hex */
    unsigned server, server_n, shard_n;
    bool is_whole; /* every server has its record; of the first server's alone */
};

/* False when `text` is no record. */
bool agreement_parse(struct str text, struct agreement *ret_agreement) must_check;
/* Writes it with a NUL after it; AGREEMENT_TEXT_BYTES suffice. */
struct str agreement_put(const struct agreement *agreement, char *text);
/* The record's key, the same on each server, with a NUL after it; AGREEMENT_KEY_BYTES suffice. */
struct str agreement_key(const struct shard_map *map, char *key);

/* Is it what that server of an agreed cluster has to hold? Of an only server the id says nothing:
 * it may have lost its record and got a new one. */
bool agreement_is_of(const struct agreement *agreement, const struct shard_map *map,
                     unsigned server);
/* What is wrong with a server without its record, and with one that has another one. */
#define AGREEMENT_EMPTIED "EMPTIED: it has no record of the cluster"
#define AGREEMENT_FOREIGN "FOREIGN: its record is of another cluster"

enum agreed {
    AGREED,         /* `map` is what the servers hold */
    AGREED_NOT_YET, /* a server that has to be asked cannot be now */
    AGREED_REFUSED, /* they hold another cluster: in vain until somebody mends it */
    AGREED_NR
};

/* Reads the records, and adopts their number of shards unless `map->is_n_given`; with `may_write`
 * begins a cluster where no server has a record, and completes one that was begun. Of a whole
 * cluster, servers that cannot be asked are passed over, and so are those that have lost their
 * record: a node looks again when it connects to them (turn.h). Fills `map->id` and
 * `map->is_agreed`. Blocks, a few seconds for each server that is away. `reason`: for people,
 * filled unless AGREED. */
enum agreed agreement_make(struct shard_map *map, bool may_write, char *reason,
                           size_t reason_size) must_check;

/* Gives a server (from 0) of a whole cluster, which has lost its record, its record again: from
 * then on nodes use it with what it holds. AGREED; else nothing has changed, and `reason` says why.
 */
enum agreed agreement_adopt(struct shard_map *map, unsigned server, char *reason,
                            size_t reason_size) must_check;

enum agreement_answer { AGREEMENT_AWAY, AGREEMENT_NONE, AGREEMENT_RECORD };

/* What one server said. */
struct agreement_server {
    enum agreement_answer answer;
    struct agreement record; /* of AGREEMENT_RECORD */
};

/* Reads all records into `servers`, which has place for `map->server_n`, and changes nothing.
 * AGREED_NOT_YET: none has one. */
enum agreed agreement_look(struct shard_map *map, struct agreement_server *servers, char *reason,
                           size_t reason_size) must_check;

#endif
