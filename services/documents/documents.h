/* SPDX-License-Identifier: MIT
 *
 * documents: DocuChat and the RAG chatbot (contract, sections 4 and 5): uploads, what is found in
 * them, and questions that are answered from it. Indexing itself is the indexer's. One per thread;
 * handlers are one file per verb, routes.c lists them, store.c has what several of them share.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_DOCUMENTS_H
#define PARLEY_SERVICES_DOCUMENTS_DOCUMENTS_H

#include "shared/http/client.h"
#include "shared/http/respond.h"
#include "shared/queue/queue.h"
#include "shared/rag/embed.h"

enum {
    DOCUMENT_ID_BYTES = 24,
    DOCUMENT_MAX_BYTES = 25 << 20,
    TOP_K_MAX = 20,
    QUESTION_MAX_CHARS = 4000,
    OWNER_MAX_BYTES = 128,
};

/* The process's settings, shared by its threads. */
struct documents_settings {
    struct embedder *embedder;
    uint64_t cap_bytes;     /* of one owner */
    size_t cache_bytes;     /* of packs that a thread keeps */
    const char *collection; /* of POST /ask */
    uint64_t ask_ms;        /* for an answer to a question */
};

struct documents {
    struct server *server;
    struct queue *queue;
    const struct documents_settings *settings;
    struct http_client *client; /* for the embedding model's server; NULL with a quick embedder */
    struct pack_cache *cache;
    struct indexing_watch *indexing; /* open /ws/indexing sockets */
};

extern const struct route documents_routes[];

/* Fills in what the thread needs; `server` and `queue` are set already. */
void documents_init(struct documents *documents, const struct documents_settings *settings);
void documents_fini(struct documents *documents);
/* An event that is not the queue's (struct queue_config). */
void documents_on_event(struct documents *documents, struct str kind, struct lines *rest);
/* Both connections stand (again): what was missed is asked for. */
void documents_on_up(struct documents *documents);

static inline struct documents *documents_of(struct request *r)
{
    return r->server->services[SERVICE_DOCUMENTS];
}

/* --- store.c ---------------------------------------------------------------------------------- */

/* Whose documents the request is about: the account of role user, or the user that a frontend names
 * in the parameter OnBehalfOf. Answers 400 or 403 and returns false otherwise. *ret_owner is a name
 * (buf_put_name), *ret_space `o:<owner>`, both in the request's pool. */
bool documents_owner(struct request *r, struct str *ret_owner, struct str *ret_space) must_check;
/* The path's `{id}`; answers 404 and returns false when it can be no document's. */
bool documents_id(struct request *r, struct str *ret_id) must_check;
/* 24 random hex digits, in the request's pool. */
struct str documents_new_id(struct request *r);
/* Answers what a verb's reply says against the request (missing, limited, full, ...) and returns
 * true; false for "ok" and all tags that are a success. `rest` are the lines behind the tag. */
bool documents_refuse(struct request *r, enum err error, struct str tag, struct lines *rest);
/* Puts a document's 14 lines as a JSON object, without the closing brace. */
void documents_put(struct buf *b, struct lines *lines, uint64_t *ret_chunk_n);

/* The verb's argument for limits: "upload:<owner>:5:60,...". In the request's pool. */
struct str documents_limits(struct request *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
