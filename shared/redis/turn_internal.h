/* SPDX-License-Identifier: MIT
 *
 * turn_internal: what turn.c (batches) and turn_library.c (the library and Redis's troubles) share;
 * for these alone. On the loop's thread.
 */
#ifndef PARLEY_REDIS_TURN_INTERNAL_H
#define PARLEY_REDIS_TURN_INTERNAL_H

#include "shared/redis/batch.h"
#include "shared/redis/durability.h"
#include "shared/redis/library.h"
#include "shared/redis/verb.h"

/* How long Redis may take for a batch or for the library, once they have reached it. */
enum { TURN_ANSWER_MAX_MS = 5000 };

struct turn {
    struct loop *loop;
    struct turn_config config;
    struct redis_conn *conn;
    struct batch *collecting, *free, *sent; /* sent: in flight, newest first */
    struct batch *doomed;                   /* could not be sent: to fail at the turn's end */
    unsigned in_flight_n;
    size_t pending_n;
    uint64_t took_us;  /* by the call that is being answered */
    uint64_t moved_ms; /* when what was sent so far should have reached Redis at the latest */
    bool is_up, is_loading;
    struct batch *parked;      /* found the library missing: sent again once it is loaded */
    struct deadline load_late; /* while is_loading */
    struct buf settings;       /* of the frame; empty until the first call is sent */
    struct buf library;
    struct buf joined; /* a text that came in parts, see parts.h */
    struct redis_library_names functions;
    enum redis_trouble trouble; /* what the last reply said; while is_up */
    bool is_trouble_said;       /* in the log, so its end is said, too */
    struct log_limit limit;
    struct durability durability;
};

/* --- turn_agreement.c --- */

/* Looks whether the server is the one that the cluster agreed on; then loads the library, or gives
 * the connection up. */
void turn_check_server(struct turn *turn);

/* --- turn_library.c --- */

/* Loads the library unless that is under way. Then parked batches are sent, and on_up runs if verbs
 * did not run before; or they fail, or the connection is given up, as when no answer comes. */
void turn_load_library(struct turn *turn);
/* Logs `text` with Redis's own words, once a minute. */
void turn_say_trouble(struct turn *turn, const char *text, const char *error);
/* A reply said what is wrong: keeps and logs it. on_up runs when that ends an outage. */
void turn_set_trouble(struct turn *turn, enum redis_trouble trouble, const char *error);
/* A turn has run. What came while nothing did is looked at again, as after a lost connection. */
void turn_end_trouble(struct turn *turn);

/* --- turn.c, for verb.c --- */

/* Begins a verb, with its nonce if it takes one. Its arguments are put into what is returned; then
 * comes turn_end_verb, and nothing else in between. */
struct buf *turn_begin_verb(struct call_start start, const struct verb_info *verb);
/* `argc`: how many they were, without the nonce; TURN_ARGS_MAX at most. */
void turn_end_verb(struct turn *turn, unsigned argc);

/* --- turn.c --- */

/* Sends a batch that batch_write has made. When that fails its calls do at the turn's end. */
void turn_send_batch(struct turn *turn, struct batch *batch);
/* The batches that found the library missing end with `error`. */
void turn_fail_parked(struct turn *turn, enum err error);

#endif
