/* SPDX-License-Identifier: MIT
 *
 * health: the dependencies shown by /health, one member each.
 */
#ifndef PARLEY_SERVICES_NODE_HEALTH_H
#define PARLEY_SERVICES_NODE_HEALTH_H

#include "shared/base/buf.h"

/* UNKNOWN: not tried yet. */
enum health { HEALTH_UNKNOWN, HEALTH_GOOD, HEALTH_BAD, HEALTH_NR };

struct health_report {
    struct buf *b;
    bool is_begun;  /* there is a member already */
    bool is_broken; /* one of them is in trouble */
};

/* Puts one member. `message`: what the status does not say by itself, for people; it becomes the
 * `message` of `details`, which is null without one. */
void health_put(struct health_report *report, const char *name, enum health health,
                struct str message);

#endif
