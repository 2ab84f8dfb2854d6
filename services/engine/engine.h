/* SPDX-License-Identifier: MIT
 *
 * engine: state shared by the parts of a running engine, and its concurrent parts: slots (one claim
 * each), the lookup worker, the recommendations. Single thread: the engine's loop.
 */
#ifndef PARLEY_ENGINE_ENGINE_H
#define PARLEY_ENGINE_ENGINE_H

#include "services/engine/library.h"
#include "services/engine/link/link.h"
#include "services/engine/link/rest.h"
#include "services/engine/models/backend.h"

enum {
    CALL_TIMEOUT_MS = 15000, /* of a request that does not wait */
    WAIT_MARGIN_MS = 15000,  /* what a long poll may take beyond its wait */
    BODY_MAX_BYTES = 1 << 20 /* of a request, as the nodes limit it */
};

struct slot;

struct engine {
    struct http_client *client;
    struct timers timers;
    struct link *link;
    struct backend *backend; /* of questions */
    struct backend *server;  /* of requests of doors; NULL: `backend`. May be the same */
    struct library *library;
    const char *models;    /* comma list that polls name; NULL: all */
    const char *serves;    /* the parameters Models, Apis and Continues of polls, or "" */
    unsigned apis;         /* of clients of doors, as API_BIT */
    const char *engine_id; /* "Engine" is this, a dash and the slot's number */
    uint64_t wait_s;
    size_t top_k;
    struct slot **slots;
    unsigned slot_n;
    struct backoff model_backoff; /* of answers that failed, for all slots together */
    struct rest rest;             /* of the back end, likewise */
    /* Claims are given back only when none of our polls is left that could take them again. */
    bool may_give_back;
};

struct slot *slot_create(struct engine *engine, unsigned number) must_check;
/* Starts to pull. */
void slot_start(struct slot *slot);
/* The engine rests (rest.h): ends a parked poll, and says why. */
void slot_rest(struct slot *slot);
/* Polls that rest held up may continue, or rest for another time. */
void slot_wake(struct slot *slot);
/* Stops taking work: reports that it leaves, which ends a parked poll. Current work continues until
 * slot_give_back. */
void slot_stop(struct slot *slot);
bool slot_is_polling(const struct slot *slot);
/* Gives back what is unfinished, once `may_give_back` is set. */
void slot_give_back(struct slot *slot);
/* True after slot_give_back once nothing is left to give back. */
bool slot_is_stopped(const struct slot *slot);
/* Ends its calls at once. Accepts NULL. */
void slot_destroy(struct slot *slot);

struct lookup_worker;
struct lookup_worker *lookup_create(struct engine *engine) must_check;
void lookup_start(struct lookup_worker *worker);
/* Accepts NULL. */
void lookup_destroy(struct lookup_worker *worker);

struct recommender;
struct recommender *recommender_create(struct engine *engine) must_check;
void recommender_start(struct recommender *recommender);
/* Accepts NULL. */
void recommender_destroy(struct recommender *recommender);

#endif
