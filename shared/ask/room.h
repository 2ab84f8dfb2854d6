/* SPDX-License-Identifier: MIT
 *
 * room: how many bytes may be stored for the account of a request, and for each of its users, on
 * one shard, as verbs take it (lua/queue/stored.lua). On the loop's thread.
 */
#ifndef PARLEY_ASK_ROOM_H
#define PARLEY_ASK_ROOM_H

#include "shared/http/request.h"
#include "shared/redis/verb.h"

/* A shard's part of max_stored, and of max_stored_per_user (NO_NUMBER: no bound); never less than
 * what is counted for one topic. Of an account that has neither nothing is counted. */
uint64_t room_of_account(const struct request *r);
uint64_t room_of_user(const struct request *r);

#endif
