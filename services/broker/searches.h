/* SPDX-License-Identifier: MIT
 *
 * searches: how many searches of texts a thread has under way. Each keeps Redis and the loop busy,
 * so an account has SEARCHES_OF_ACCOUNT at a time and all together SEARCHES_MAX; the others wait in
 * order. One per broker, on its thread.
 */
#ifndef PARLEY_SERVICES_BROKER_SEARCHES_H
#define PARLEY_SERVICES_BROKER_SEARCHES_H

#include "shared/base/str.h"

enum { SEARCHES_MAX = 8, SEARCHES_OF_ACCOUNT = 2 };

/* In its owner's memory; zeroed is valid, and not listed. */
struct search_place {
    struct str account;
    void (*start)(struct search_place *place); /* its turn has come; never inside searches_enter */
    bool is_listed, is_running;
    struct search_place *next;
};

struct searches {
    struct search_place *first; /* running and waiting, in order */
};

/* Waits for its turn. Returns whether it has come at once; `start` is not called then. */
bool searches_enter(struct searches *searches, struct search_place *place) must_check;
/* It has ended, or gives up waiting; others may start inside. Does nothing if it is not listed. */
void searches_leave(struct searches *searches, struct search_place *place);

#endif
