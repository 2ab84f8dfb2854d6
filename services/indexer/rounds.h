/* SPDX-License-Identifier: MIT
 *
 * rounds: chooses the shard that an indexer of this process handles next: one whose stream may have
 * a job, or one that is due for its regular check (abandoned jobs and the like). All shards are
 * checked in turn, whatever the others contain.
 *
 * On several shards a thread for each server waits for new entries of all its streams at once, and
 * notes where one came; an entry is taken from its group by one of the indexers it wakes, or by one
 * of another process. Nobody reads a stream that has had none. On one shard there is no such
 * thread: an indexer waits in the stream itself.
 *
 * A server that does not respond is skipped until its thread reaches it again; jobs of the others
 * continue. One per process; any thread.
 */
#ifndef PARLEY_INDEXER_ROUNDS_H
#define PARLEY_INDEXER_ROUNDS_H

#include "shared/redis/shard_map.h"

#include <stdbool.h>
#include <stdint.h>

struct rounds;

/* `map` is borrowed, and agreed on by then (or its number of shards is the one that counts).
 * `check_ms`: how often a shard is checked. */
struct rounds *rounds_create(const struct shard_map *map, uint64_t check_ms) must_check;
/* Nobody waits any more, now or later. Any thread. */
void rounds_stop(struct rounds *rounds);
/* After rounds_stop; nobody else may be inside. Accepts NULL. */
void rounds_destroy(struct rounds *rounds);

/* A shard that is to be checked now, by nobody else; its stream is read by then, too. False when
 * there is none. */
bool rounds_next_check(struct rounds *rounds, unsigned *ret_shard) must_check;
/* Something was found there: it is checked again soon, and not after `check_ms`. */
void rounds_check_soon(struct rounds *rounds, unsigned shard);
/* When the next check is due (clock_mono_ms). */
uint64_t rounds_check_ms(struct rounds *rounds);

/* Waits, with several shards, for one whose stream may have a job, and takes the note of it off.
 * False: a check is due, or the process stops. */
bool rounds_wait(struct rounds *rounds, unsigned *ret_shard) must_check;
/* Its stream had one, so it may have another. */
void rounds_found(struct rounds *rounds, unsigned shard);
/* Its server does not answer. */
void rounds_lost(struct rounds *rounds, unsigned shard);

#endif
