/* SPDX-License-Identifier: MIT
 *
 * web: serves pages to browsers, and openapi.yaml to programs that generate a client. One per node,
 * on the thread of its loop. Its only state is a cache of numbers, which may be lost at any time.
 */
#ifndef PARLEY_WEB_WEB_H
#define PARLEY_WEB_WEB_H

#include "generated/routes_web.h"
#include "shared/base/log.h"
#include "shared/http/request/request.h"

/* The cluster's numbers on the front page (front.c). */
struct front_numbers {
    uint64_t asked_ms, read_ms; /* clock_mono_ms; 0: never */
    uint64_t depth, parked, in_flight;
    bool is_partial; /* shards that do not respond are missing */
};

struct web {
    struct front_numbers numbers;
    struct log_limit violations; /* violations.c */
    unsigned sign_in_n;          /* exchanges with the OpenID provider that are under way */
};

/* violations.c: its lines of /metrics. */
void web_put_violations(struct buf *b);

#endif
