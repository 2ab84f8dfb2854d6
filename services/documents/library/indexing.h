/* SPDX-License-Identifier: MIT
 *
 * indexing: who watches on this node how documents are indexed (GET /ws/indexing), and the events
 * that come for them, whichever node or indexer they are from. One per thread, used on its thread
 * only.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_LIBRARY_INDEXING_H
#define PARLEY_SERVICES_DOCUMENTS_LIBRARY_INDEXING_H

#include "services/documents/documents.h"

struct indexing;

struct indexing *indexing_create(struct documents *documents) must_check;
/* Accepts NULL. No verb may be under way. */
void indexing_destroy(struct indexing *indexing);
/* An event `indexing`; `rest`: what is behind its first line. */
void indexing_on_event(struct indexing *indexing, struct lines *rest);
/* Messages of that shard may have been missed: what is watched there is looked at again. */
void indexing_on_up(struct indexing *indexing, unsigned shard);

#endif
