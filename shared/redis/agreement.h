/* SPDX-License-Identifier: MIT
 *
 * agreement: the cluster record on each Redis server, which ensures that all nodes use the same
 * number of shards and the same order of servers (ADR 25), and that they can read what is stored
 * there (data_version.h).
 *
 * Each server holds a record under `<prefix of shard 0>cluster`. The first process that starts
 * writes them in the order of its list, each only after it has won the previous one, and then marks
 * the first one as whole. An interrupted start is completed by the next process. A record that is
 * missing later means that its server has lost its data.
 *
 * In a Redis Cluster each shard is such a server, and its record moves with its slot.
 */
#ifndef PARLEY_REDIS_AGREEMENT_H
#define PARLEY_REDIS_AGREEMENT_H

#include "shared/redis/agreement_record.h"

enum agreed {
    AGREED,         /* `map` is what the servers hold */
    AGREED_NOT_YET, /* a required server is unreachable */
    /* They hold another cluster, or another data version: retrying is useless until that is
     * fixed. */
    AGREED_REFUSED,
    AGREED_NR
};

/* Reads the records, and takes over their number of shards unless `map->is_n_given`; with
 * `may_write` creates a cluster if no server has a record, and completes one that was begun. In a
 * whole cluster, unreachable servers and those that have lost their record are skipped: a node
 * checks them when it connects (turn.h). Fills `map->id` and `map->is_agreed`. Blocks a few seconds
 * for each unreachable server. `reason` is human-readable, filled unless AGREED. */
enum agreed agreement_make(struct shard_map *map, bool may_write, char *reason,
                           size_t reason_size) must_check;

/* Rewrites the record of a server (from 0) that has lost it, in a whole cluster: nodes then use the
 * server with what it holds. Returns AGREED; otherwise nothing has changed and `reason` says why.
 */
enum agreed agreement_rewrite(struct shard_map *map, unsigned server, char *reason,
                              size_t reason_size) must_check;

enum agreement_answer { AGREEMENT_AWAY, AGREEMENT_NONE, AGREEMENT_RECORD };

/* The reply of one server. */
struct agreement_server {
    enum agreement_answer answer;
    struct agreement record; /* of AGREEMENT_RECORD */
};

/* Reads all records into `servers`, which has room for `map->server_n`, and changes nothing.
 * AGREED_NOT_YET: none has one. */
enum agreed agreement_read(struct shard_map *map, struct agreement_server *servers, char *reason,
                           size_t reason_size) must_check;

#endif
