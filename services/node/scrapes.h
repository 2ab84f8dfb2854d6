/* SPDX-License-Identifier: MIT
 *
 * scrapes: GET /metrics: what this process counts (shared/metrics) and, at most once a second, the
 * state of the whole queue, for which it asks each shard (lua/operator/depth.lua). A scrape does
 * not depend on Redis: what is not there in time is left out. One per node, on its thread.
 */
#ifndef PARLEY_SERVICES_NODE_SCRAPES_H
#define PARLEY_SERVICES_NODE_SCRAPES_H

#include "services/node/service.h"

/* The settings that all scrapes of the process show. */
struct scrapes_settings {
    uint64_t queue_max; /* Open queries that the cluster takes */
    unsigned thread_n;
};

struct scrapes *scrapes_create(const struct scrapes_settings *settings) must_check;
/* Accepts NULL. */
void scrapes_destroy(struct scrapes *scrapes);
#endif
