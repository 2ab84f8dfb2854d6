/* SPDX-License-Identifier: MIT
 *
 * poll_report: writes the part of a sync about the classes of polls: their credits and claims on
 * that shard, and polls that wait elsewhere. On the loop's thread.
 */
#ifndef PARLEY_QUEUE_POLL_REPORT_H
#define PARLEY_QUEUE_POLL_REPORT_H

#include "shared/queue/core.h"

struct verb_writer;

/* Returns the number of classes with something to say to that shard, but no more than one sync
 * takes. */
unsigned report_count_classes(const struct queue_shard *part);
/* Puts so many of them into `verb`, the sync that is being written. */
void report_put_classes(struct queue_shard *part, struct verb_writer *verb, unsigned n);

#endif
