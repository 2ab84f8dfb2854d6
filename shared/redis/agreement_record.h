/* SPDX-License-Identifier: MIT
 *
 * agreement_record: the record by which a Redis server knows to which cluster it belongs, as text,
 * and whether that is the one of this process. agreement.h reads and writes records. Any thread.
 */
#ifndef PARLEY_REDIS_AGREEMENT_RECORD_H
#define PARLEY_REDIS_AGREEMENT_RECORD_H

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

/* Returns the record of that server of a whole cluster, once it is agreed on. */
struct agreement agreement_of(const struct shard_map *map, unsigned server);
/* Returns false if `text` is not a record. In one of another data version, or of none, only
 * `data_version` is set. */
bool agreement_parse(struct str text, struct agreement *ret_agreement) must_check;
/* Writes it with a NUL after it; AGREEMENT_TEXT_BYTES suffice. */
struct str agreement_put(const struct agreement *agreement, char *text);
/* The record's key, with a NUL after it; AGREEMENT_KEY_BYTES suffice. The same on each server,
 * except in a Redis Cluster, where each shard has its own (shard_map.h). */
struct str agreement_key(const struct shard_map *map, unsigned server, char *key);
/* Returns whether `key` is that of any record. */
bool agreement_is_key(const struct shard_map *map, struct str key);

/* The reason not to use a server without a record. */
#define AGREEMENT_EMPTIED "EMPTIED: it has no cluster record"
/* Returns why a server with that record is not used; NULL if it is the record that the server must
 * hold. With a single server the id is not compared, because the server may have lost its record
 * and got a new one. */
const char *agreement_problem(struct str record, const struct shard_map *map, unsigned server);
/* Returns true once agreement_problem has found a record of another data version in this process,
 * and which one: 0 if the record had none. Any thread. */
bool agreement_has_met_other_data(unsigned *ret_data_version);
/* Writes the line for people about that. */
const char *agreement_explain_data(char text[DATA_VERSION_TEXT_BYTES], unsigned data_version);

#endif
