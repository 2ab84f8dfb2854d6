/* SPDX-License-Identifier: MIT
 *
 * bots: rooms in which people and bots talk, the bots that answer there, and their evaluation
 * (/openapi.yaml). One per thread (service.h). Rooms, messages, deliveries and evaluations are
 * in Redis; a node holds sockets that follow rooms (rooms/), deliveries that it dispatches under a
 * lease (dispatch/), parked polls of bots that pull (pull/), and evaluations that it drives under a
 * lease (evaluate/).
 *
 * Each of these is a component: a struct of hooks (struct bots_component), listed in components.c.
 * service.c, which iterates over them, names none.
 */
#ifndef PARLEY_SERVICES_BOTS_BOTS_H
#define PARLEY_SERVICES_BOTS_BOTS_H

#include "services/node/service.h"
#include "shared/ask/on_behalf.h"

struct dispatcher;
struct embedder;
struct evaluations;
struct http_client;
struct pulls;
struct rooms;

/* A message for one bot, which this node has under a lease. Texts are borrowed. */
struct bots_delivery {
    struct str id;            /* dlv_<room>_<ms>-<n>_<k> */
    struct str bot;           /* a name */
    struct str account, user; /* whose turn it takes: names, that of the user as a digest */
    uint64_t fence;
};

enum {
    BOTS_NAME_MAX_BYTES = 1024, /* of a user's or bot's name as in keys, its namespace included */
};

/* The main bot, which writes notices and carries out commands. Nobody else can have its name. */
#define BOTS_ANNEX STR("annex")
#define BOTS_TAKEN_BY_ANNEX "The main bot has this user's name, or one that looks like it."

/* Shared by all threads; immutable while they run. */
struct bots_settings {
    const struct shard_map *map;
    const struct config *config; /* of the process; outlives the service */
    bool is_private_allowed;     /* endpoints may be at private addresses */
    struct embedder *embedder;   /* compares answers; owned */
};

struct bots_component;

/* The state of a node. A component sets its own pointer in `create`; the others may be read by
 * all. */
struct bots {
    struct server *server;
    struct queue *queue;
    const struct bots_settings *settings;
    const struct bots_component *const *components; /* ends with NULL */
    struct http_client *client;                     /* for bots' endpoints */
    struct rooms *rooms;
    struct dispatcher *dispatcher;
    struct pulls *pulls;
    struct evaluations *evaluations;
};

/* The hooks of a component in the life of a node. An unused hook is NULL. The order is that of
 * struct service, whose comments hold here. Components end in the reverse order of the table. */
struct bots_component {
    void (*create)(struct bots *bots);
    void (*end)(struct bots *bots);
    void (*destroy)(struct bots *bots);
    /* The one kind of event that is for it, and its hook; NULL: none. The kind must also be in
     * service.c's list. */
    const char *event;
    void (*on_event)(struct bots *bots, struct lines *rest);
    void (*on_up)(struct bots *bots, unsigned shard);
    void (*before_flush)(struct bots *bots);
    void (*drain)(struct bots *bots);
    void (*put_metrics)(struct buf *b); /* of the process */
    void (*put_health)(struct bots *bots, struct health_report *report);

    /* --- dispatch alone --- */

    /* Returns how many more deliveries this node takes. A message that is stored here asks for that
     * many of its own deliveries to be leased in the same step. */
    unsigned (*count_capacity)(struct bots *bots);
    /* A delivery of a message that was stored here, leased to this node. */
    void (*on_delivery)(struct bots *bots, const struct bots_delivery *delivery);
};

/* All components; ends with NULL (components.c). */
extern const struct bots_component *const bots_components[];

static inline struct bots *bots_of(const struct request *r)
{
    return service_state(r, "bots");
}

/* The user that a request acts for, and its account. Texts live as long as the request. */
struct bots_who {
    struct str account;   /* a name */
    struct str namespace; /* the account's, as a name: "%" without one. For keys */
    struct str user;      /* as given */
    struct str user_name; /* for keys, with its namespace */
    struct str role;      /* word of accounts.h */
};
/* The user named by OnBehalfOf, or the account itself (on_behalf.h). Answers 400 or 403 and returns
 * false otherwise. */
bool bots_who_of(struct request *r, struct bots_who *ret_who) must_check;
/* The same for a request that acts as that user in a room; answers 409 if the user's name looks
 * like the main bot's. */
bool bots_speaker_of(struct request *r, struct bots_who *ret_who) must_check;
/* Copies `who` with its texts, which are one allocation that the caller frees. */
char *bots_who_copy(const struct bots_who *who, struct bots_who *ret_copy) must_check;
/* The namespace of the request's account as a name: an empty one is "%", which no namespace can be
 * named. In the request's pool. */
struct str bots_namespace_of(struct request *r);
/* Puts the name, for keys, of a user or bot `plain` in a namespace (as in struct bots_who). */
void bots_put_name(struct buf *b, struct str namespace, struct str plain);
/* The same of its skeleton (skeleton.h). */
void bots_put_skeleton(struct buf *b, struct str namespace, struct str plain);

#endif
