/* SPDX-License-Identifier: MIT
 *
 * batches: the batches of /v1/batches that this node holds (lua/batches/, shared/lease/leases.h).
 * One feeder per batch reads the lines of its input, sends each as a request of the node's own to
 * the route that it names (shared/http/request/inner.h), behind all other requests, and stores what
 * comes back. What a batch is doing is in Redis, so another node continues when this one is lost.
 * One per node, on the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_BATCHES_H
#define PARLEY_SERVICES_OPENAI_BATCHES_H

#include "services/openai/openai.h"
#include "shared/lease/leases.h"

#define BATCH_PREFIX "batch_"

enum {
    BATCH_ID_CHARS = 24, /* after the prefix, hex digits */
    BATCH_WINDOW_S = 86400,
    BATCH_LINES_MAX = 50000,
    BATCH_CUSTOM_ID_MAX_BYTES = 512,
};

struct batches {
    struct openai *openai;
    struct leases leases; /* struct feeder */
};

struct batches *batches_create(struct openai *openai) must_check;
/* Other nodes take its batches when their leases end. Accepts NULL. */
void batches_destroy(struct batches *batches);
/* Does it hold as many as it may? Then others may wait. */
bool batches_are_full(struct batches *batches) must_check;
/* A batch was cancelled: `rest` is its id. */
void batches_on_event(struct batches *batches, struct lines *rest);

/* Redis is back: events for this node may have been lost. */
void batches_on_up(struct batches *batches, unsigned shard);

/* Is that a path whose requests may be lines? `ret_api`: what its model must serve. */
bool batch_endpoint(struct str path, enum openai_api *ret_api) must_check;
/* Reads an id as clients have it. Returns false if it is none. Borrows from `text`. */
bool batch_id_read(struct str text, struct str *ret_id) must_check;
/* Answers what is refused of a batch that the path names, and returns true. */
bool batch_refuse(struct request *r, enum err error, struct str tag,
                  struct lines *lines) must_check;

#endif
