/* SPDX-License-Identifier: MIT
 *
 * indexing: the clients of this node that watch indexing (GET /ws/indexing), and the events for
 * them from any node or indexer. One per thread, used on its thread only.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_LIBRARY_INDEXING_H
#define PARLEY_SERVICES_DOCUMENTS_LIBRARY_INDEXING_H

#include "services/documents/documents.h"

struct indexing;

struct indexing *indexing_create(struct documents *documents) must_check;
/* Accepts NULL. No verb may be under way. */
void indexing_destroy(struct indexing *indexing);
/* An event `indexing`; `rest`: the text after its first line. */
void indexing_on_event(struct indexing *indexing, struct lines *rest);
/* Messages of that shard may have been missed: checks everything that is watched there again. */
void indexing_on_up(struct indexing *indexing, unsigned shard);

#endif
