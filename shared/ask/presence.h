/* SPDX-License-Identifier: MIT
 *
 * presence: detects that a request no longer needs to wait for an engine: its client has left or
 * lost its right, or the node shuts down. One at a time per request, in the request's memory. On
 * the loop's thread.
 */
#ifndef PARLEY_ASK_PRESENCE_H
#define PARLEY_ASK_PRESENCE_H

#include "shared/base/list.h"
#include "shared/http/request/request.h"

/* Requests that wait: one per service and thread, zeroed to begin with. */
struct presences {
    struct list list; /* struct presence */
};

struct presence {
    struct list_link link; /* linked from presence_start to its end */
    struct deadline soon;
    struct left_listener left;
    struct request *r; /* NULL before presence_start */
    /* Runs once, after presence_start has returned. `has_left`: the client is gone or has lost its
     * right; otherwise the node drains. The request must still be answered or its stream ended; its
     * connection is then closed. */
    void (*on_end)(struct presence *presence, bool has_left);
};

void presence_start(struct presence *presence, struct presences *all, struct request *r,
                    void (*on_end)(struct presence *presence, bool has_left));
/* May be called any number of times. */
void presence_stop(struct presence *presence);

/* The node drains: ends all of them. */
void presences_drain(struct presences *all);

#endif
