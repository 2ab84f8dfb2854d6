/* SPDX-License-Identifier: MIT
 *
 * engines: remembers the engines of this node between their polls. Services call queue.h. On the
 * loop's thread.
 */
#ifndef PARLEY_QUEUE_ENGINES_H
#define PARLEY_QUEUE_ENGINES_H

#include "shared/queue/poll_class.h"

struct verb_writer;

/* The last sign of life of an engine. */
enum seen { SEEN_WAITING, SEEN_WORKING, SEEN_BEAT, SEEN_LEFT };

struct engines *engines_create(void) must_check;
void engines_destroy(struct engines *engines);

/* Records what an engine does whose poll had a valid nonce. */
void engines_note(struct queue *queue, const struct poll *poll, enum seen what);
/* Returns whether the next sync of that shard, the home of some engines, must report any. */
bool engines_have_news(const struct queue_shard *part);
/* Writes the engines that polled since the last sync, and whose home is that shard, into `verb`, a
 * sync. */
void engines_put(struct queue_shard *part, struct verb_writer *verb);

#endif
