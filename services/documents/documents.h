/* SPDX-License-Identifier: MIT
 *
 * documents: the document service: uploads, indexing status, search, and questions over documents
 * (/openapi.yaml). One per thread (service.h). Handlers are one file per verb; routes.yaml lists
 * them; owner.c and ids.c hold what several of them share.
 *
 * Owners are isolated: every verb takes a space, an owner's documents (`o:<name>`) or a collection
 * (`c:<name>`), and sees nothing of other spaces.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_DOCUMENTS_H
#define PARLEY_SERVICES_DOCUMENTS_DOCUMENTS_H

#include "services/node/service.h"
#include "shared/ask/limits.h"
#include "shared/ask/presence.h"
#include "shared/ask/requester.h"
#include "shared/embed/embed.h"
#include "shared/http/request/respond.h"
#include "shared/queue/queue.h"
#include "shared/redis/blocks.h"
#include "shared/search/space_settings.h"

enum {
    OWNER_MAX_BYTES = USER_MAX_BYTES,                                /* or of a collection's name */
    SPACE_MAX_BYTES = 3 * OWNER_MAX_BYTES + NAMESPACE_MAX_BYTES + 3, /* as a name */
    ID_BYTES = STR_UUID_BYTES,
    QUESTION_MAX_CHARS = 4000,
    TOP_K_MAX = 20,
    TOP_K_USUAL = 5,
    UPLOAD_MOST_MIB = 25, /* what --upload-max-mib may be at most */
    UPLOAD_BODY_BYTES = (UPLOAD_MOST_MIB << 20) + (64 << 10), /* a form has more than its file */
    /* A question of 4,000 characters, each of them escaped in 12 bytes. It is what anybody may send
     * (shared/http/access/admit.h). */
    ASK_BODY_BYTES = 48 << 10,
};

/* Shared by all threads; immutable while they run. */
struct documents_settings {
    const struct shard_map *map;
    struct embedder *embedder;
    uint64_t upload_max_bytes; /* of one document */
    uint64_t cache_max_bytes;  /* of search indexes, per thread */
    struct space_settings space;
    const char *public_collection;
    const char *public_url; /* where people reach the cluster; "": paths alone */
    unsigned
        public_max_waiting; /* questions of all anonymous clients that may wait for an engine */
    uint64_t ask_ms;        /* how long a question may wait for its answer */
    uint64_t agent_ms;      /* how long a run of the agent may take */
};

struct documents {
    struct server *server;
    struct queue *queue;
    const struct documents_settings *settings;
    struct http_client *client; /* for the embedding model server; NULL where it needs none */
    struct cache *cache;
    struct blocks *blocks[SHARDS_MAX]; /* the way of uploads to each server */
    struct indexing *indexing;
    struct list retrievals;      /* struct retrieve_op: under way */
    struct fair_slots *searches; /* of an index in the loop: one at a time, in turns */
    struct presences waiting;    /* for engines */
    struct call vectors_call;
    enum health embeddings, vectors; /* how the last embedding went; what Redis offers */
};

static inline struct documents *documents_of(const struct request *r)
{
    return service_state(r, "documents");
}

/* --- life.c: hooks of the service (services/node/service.h), whose state is struct documents
 */

/* `settings`: struct documents_settings. All is borrowed and outlives it. */
void *documents_create(struct server *server, struct queue *queue, const void *settings) must_check;
/* Accepts NULL. */
void documents_destroy(void *state);
/* Passes on which document was indexed, or how far that is; `rest` as the scripts send it. */
void documents_on_event(void *state, struct str kind, struct lines *rest);
/* Requests that wait for an engine are answered. */
void documents_drain(void *state);
void documents_on_up(void *state, unsigned shard);
/* Puts the members `embeddings` and `vectors`. */
void documents_put_health(void *state, struct health_report *report);

/* The way of a space's uploads to Redis. */
struct blocks *documents_blocks(const struct documents *documents, struct str space);
/* Returns the prefix of the keys of a space. */
const char *documents_prefix(const struct documents *documents, struct str space);

/* --- owner.c ---------------------------------------------------------------------------------- */

/* The owner of the documents that a request is about. All in the request's pool. */
struct owner {
    struct on_behalf person;
    struct str space; /* "o:<user's name>" */
};
/* Finds the user that the request acts for by its query parameter OnBehalfOf. Answers 400 or 403
 * and returns false otherwise. */
bool owner_of_request(struct request *r, struct owner *ret_owner) must_check;
/* The person as the owner of documents, for requests that name it elsewhere. */
struct owner owner_of_person(struct request *r, const struct on_behalf *person);
/* The owner as the sender of questions to engines: identical questions over the owner's documents
 * are shared. */
struct requester owner_requester(struct request *r, const struct owner *owner);

/* --- ids.c ------------------------------------------------------------------------------------ */

/* Answers 404 for a document that does not exist, or that is another owner's; returns false. */
bool ids_refuse(struct request *r, struct str id);
/* The path's `{id}`: a document's id, a UUID. Answers 404 and returns false for anything else. */
bool ids_param(struct request *r, struct str *ret_id) must_check;
/* A new id, in the request's pool. */
struct str ids_new(struct request *r);
/* Puts the `chunkId` of a passage: "<document>:<chunk>". */
void ids_put_chunk(struct buf *b, struct str doc, uint32_t chunk);

#endif
