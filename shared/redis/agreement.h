/* SPDX-License-Identifier: MIT
 *
 * agreement: the cluster record on each Redis server, which ensures that all nodes use the same
 * number of shards and the same order of servers (ADR 25), and read what is
 * stored there (data_version.h).
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

#include "shared/base/buf.h"
#include "shared/redis/data_version.h"
#include "shared/redis/shard_map.h"

enum { AGREEMENT_KEY_BYTES = SHARD_PREFIX_BYTES + 8, AGREEMENT_TEXT_BYTES = 80 };

/* One server's record: "<data version> <id> <server> <servers> <shards> begun|whole". Of another
 * data version nothing else is known. */
struct agreement {
    unsigned data_version;         /* 0: it has none */
    char id[CLUSTER_ID_BYTES + 1]; /* of the cluster, hex */
    unsigned server, server_n, shard_n;
    bool is_whole; /* every server has its record; of the first server's alone */
};

/* Returns false if `text` is not a record. In one of another data version, or of none, only
 * `data_version` is set. */
bool agreement_parse(struct str text, struct agreement *ret_agreement) must_check;
/* Writes it with a NUL after it; AGREEMENT_TEXT_BYTES suffice. */
struct str agreement_put(const struct agreement *agreement, char *text);
/* The record's key, with a NUL after it; AGREEMENT_KEY_BYTES suffice. The same on each server,
 * except in a Redis Cluster, where each shard has its own (shard_map.h). */
struct str agreement_key(const struct shard_map *map, unsigned server, char *key);
/* Whether `key` is that of any record. */
bool agreement_is_key(const struct shard_map *map, struct str key);

/* Why a server is not used that has no record. */
#define AGREEMENT_EMPTIED "EMPTIED: it has no cluster record"
/* Why a server with that record is not used, or NULL: it is the record that the server must hold.
 * With a single server the id is not compared, because the server may have lost its record and got
 * a new one. */
const char *agreement_problem(struct str record, const struct shard_map *map, unsigned server);
/* Returns true once agreement_problem has found a record of another data version in this process,
 * and which one: 0 if the record had none. Any thread. */
bool agreement_has_met_other_data(unsigned *ret_data_version);
/* Writes the line for people about that. */
const char *agreement_explain_data(char text[DATA_VERSION_TEXT_BYTES], unsigned data_version);

enum agreed {
    AGREED,         /* `map` is what the servers hold */
    AGREED_NOT_YET, /* a required server is unreachable */
    /* They hold another cluster, or another data version: retrying is useless until that is
     * fixed. */
    AGREED_REFUSED,
    AGREED_NR
};

/* Reads the records, and adopts their number of shards unless `map->is_n_given`; with `may_write`
 * creates a cluster if no server has a record, and completes one that was begun. In a whole
 * cluster, unreachable servers and those that have lost their record are skipped: a node checks
 * them when it connects (turn.h). Fills `map->id` and `map->is_agreed`. Blocks a few seconds for
 * each unreachable server. `reason` is human-readable, filled unless AGREED. */
enum agreed agreement_make(struct shard_map *map, bool may_write, char *reason,
                           size_t reason_size) must_check;

/* Rewrites the record of a server (from 0) that has lost it, in a whole cluster: nodes then use the
 * server with what it holds. Returns AGREED; otherwise nothing has changed and `reason` says why.
 */
enum agreed agreement_adopt(struct shard_map *map, unsigned server, char *reason,
                            size_t reason_size) must_check;

enum agreement_answer { AGREEMENT_AWAY, AGREEMENT_NONE, AGREEMENT_RECORD };

/* The reply of one server. */
struct agreement_server {
    enum agreement_answer answer;
    struct agreement record; /* of AGREEMENT_RECORD */
};

/* Reads all records into `servers`, which has room for `map->server_n`, and changes nothing.
 * AGREED_NOT_YET: none has one. */
enum agreed agreement_look(struct shard_map *map, struct agreement_server *servers, char *reason,
                           size_t reason_size) must_check;

#endif
