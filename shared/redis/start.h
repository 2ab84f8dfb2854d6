/* SPDX-License-Identifier: MIT
 *
 * start: the common start of all commands with --redis: reads the address of Redis and fails with
 * one line that names the flag if waiting for Redis would be useless. Used from main before threads
 * start.
 */
#ifndef PARLEY_REDIS_START_H
#define PARLEY_REDIS_START_H

#include "shared/base/config.h"
#include "shared/redis/blocking.h"
#include "shared/redis/shard_map.h"
#include "shared/redis/turn.h"

/* --redis, --redis-password-file, --key-prefix and --shards. */
extern const struct config_group redis_options;

/* Reads the options. Returns false after writing one line to standard error. */
bool redis_read_options(const struct config *config, struct shard_map *ret_map) must_check;

/* Logs in to each server, agrees with them on the number of shards (agreement.h) and checks for an
 * unfinished restore into this Redis. That is enough for a command that only reads. Returns false
 * with one line on standard error if the login is refused or a restore is unfinished. Otherwise
 * like redis_check_start. */
bool redis_check_login(struct shard_map *map) must_check;

/* The same, and calls the function library once without effect. Returns false with one line on
 * standard error even if permissions are missing or the server is too old. Returns true in all
 * other cases, including a Redis that is unreachable, hangs (up to 3 seconds) or refuses
 * temporarily. SIGPIPE is ignored from then on. */
bool redis_check_start(struct shard_map *map) must_check;

/* Checks that the servers can confirm what --durability asks for (turn.h). Returns false with one
 * line on standard error if one cannot. True even if it is unreachable. */
bool redis_check_durable(const struct shard_map *map, enum durable durable) must_check;

/* Checks each server like redis_check_start but does not agree on shards: for a restore. */
bool redis_check_servers(struct shard_map *map) must_check;

/* For tools, after one of these: waits up to `patience_ms` until the number of shards is known.
 * Returns false with one line on standard error on timeout, after a signal, or if the servers hold
 * another cluster. `may_write`: see agreement_make. */
bool redis_await_agreement(struct shard_map *map, bool may_write, uint64_t patience_ms) must_check;

/* For tools: opens a connection to each server of the agreed map, in order. From then on SIGINT and
 * SIGTERM stop all of them (blocking_stop) and are recorded. Once per process. */
void redis_connect_all(const struct shard_map *map, const char *name, uint64_t patience_ms,
                       struct blocking **ret_connections);
void redis_disconnect_all(const struct shard_map *map, struct blocking **connections);

/* For tools of one connection: from then on SIGINT and SIGTERM stop `blocking` (blocking_stop) and
 * are recorded. Once per process. */
void redis_stop_on_signals(struct blocking *blocking);
/* The same, while there is no connection yet. */
void redis_note_signals(void);
/* Returns whether such a signal has arrived. */
bool redis_is_interrupted(void);
/* Ignores further signals; call it before `blocking` is destroyed. */
void redis_ignore_signals(void);

#endif
