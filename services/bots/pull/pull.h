/* SPDX-License-Identifier: MIT
 *
 * pull: bots without an endpoint. A poll waits on its node until there is a delivery for its bot
 * (polls.c); the answer comes with a request of its own (answer_delivery.c), as does that of a bot
 * that has answered 202 to its call (late_answer.c). All of them prove themselves by their caller
 * key (registry/caller_key.h). On the loop's thread.
 *
 * A poll is nothing but a wait: a node that dies loses no delivery. One that was given to a process
 * that dies comes back after its lease of 30 s.
 */
#ifndef PARLEY_BOTS_PULL_PULL_H
#define PARLEY_BOTS_PULL_PULL_H

#include "generated/routes_bots.h"
#include "services/bots/registry/caller_key.h"
#include "shared/http/request/request.h"

enum {
    PULL_WAIT_MAX_S = 120,
    PULL_WAIT_USUAL_S = 60,
    /* Parked polls on one node: of one bot, and of all. Further ones get 429 and 503. */
    POLLS_OF_BOT = 16,
    POLLS_MAX = 4096,
    PULL_BODY_MAX_BYTES = 64 << 10, /* as that of a response to a call */
};

/* POST /api/rooms/{id}/messages with X-CALLER-KEY and no account: {"text","delivery"}. */
handler pull_late_answer;

/* Returns whether the route's `{username}` is the caller itself; otherwise answers 401. */
bool pull_is_own(struct request *r, const struct caller *caller) must_check;
/* The room of a delivery's id, "dlv_<room>_<message>_<k>"; at == NULL: it is no such id. */
struct str delivery_room(struct str id);

#endif
