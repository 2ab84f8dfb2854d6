/* SPDX-License-Identifier: MIT
 *
 * start: what every command with --redis does before it works: reads where Redis is, and ends with
 * one line that names the flag when waiting for Redis would be in vain. Used from main before
 * threads start.
 */
#ifndef PARLEY_REDIS_START_H
#define PARLEY_REDIS_START_H

#include "shared/base/config.h"
#include "shared/redis/shard_map.h"
#include "shared/redis/sync.h"

/* --redis, --redis-password-file, --key-prefix and --shards. */
extern const struct config_group redis_options;

/* Reads them. False: one line was written to standard error. */
bool redis_read_options(const struct config *config, struct shard_map *ret_map) must_check;

/* Logs in to each server, agrees with them on the number of shards (agreement.h) and looks whether
 * a restore into this Redis has begun and has not ended, which is all that a command needs that
 * only reads. False, with one line on standard error: the login is refused, or there is such a
 * restore. Else as redis_check_start. */
bool redis_check_login(struct shard_map *map) must_check;

/* The same, and calls the function library once, without any effect. False, with one line on
 * standard error, also if its rights do not suffice, or the server is too old. True in all
 * other cases, also when Redis is away, hangs (up to 3 seconds) or refuses for a reason that
 * passes. SIGPIPE is ignored from then on. */
bool redis_check_start(struct shard_map *map) must_check;

/* Only looks at each server, as redis_check_start does, and agrees on nothing: for a restore. */
bool redis_check_servers(struct shard_map *map) must_check;

/* For tools, after one of these: waits until it is known how many shards there are, so long if
 * Redis is away. False, with one line on standard error, when the time is over, a signal was noted,
 * or the servers hold another cluster. `may_write`: as of agreement_make. */
bool redis_await_agreement(struct shard_map *map, bool may_write, uint64_t patience_ms) must_check;

/* For tools: a connection to each server of the map, which is agreed on, in their order. SIGINT and
 * SIGTERM stop all of them (sync_stop) from here on, and are noted. Once per process. */
void redis_connect_all(const struct shard_map *map, const char *name, uint64_t patience_ms,
                       struct sync **ret_syncs);
void redis_disconnect_all(const struct shard_map *map, struct sync **syncs);

/* For tools of one connection: SIGINT and SIGTERM stop `sync` (sync_stop) from here on, and are
 * noted. Once per process. */
void redis_stop_on_signals(struct sync *sync);
/* The same, while there is no connection yet. */
void redis_note_signals(void);
/* Such a signal came. */
bool redis_is_interrupted(void);
/* Further signals are ignored; before `sync` is destroyed. */
void redis_ignore_signals(void);

#endif
