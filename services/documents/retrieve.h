/* SPDX-License-Identifier: MIT
 *
 * retrieve: the passages of a space that fit a question: the operation under /api/rag/retrieve,
 * /ask, /api/rag/ask and the agent. It belongs to a request: it lives in its pool, takes its verbs
 * (one at a time: the caller begins none meanwhile) and with them its nonce, and ends without a
 * callback when the client leaves, if the owner's on_gone calls retrieve_cancel.
 *
 *   start --> EMBEDDING --vector--> SEARCHING --some packs are not here--> FETCHING --+
 *                                       |  ^                                  ^       | more
 *                                       |  +------ all are here --------------+-------+
 *                                       v
 *                                    READING --texts--> done
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_RETRIEVE_H
#define PARLEY_SERVICES_DOCUMENTS_RETRIEVE_H

#include "services/documents/documents.h"

struct retrieve;

/* One passage, best first; all in the request's pool. */
struct found {
    struct str doc; /* DOCUMENT_ID_BYTES */
    uint64_t generation;
    uint32_t chunk;
    struct str title, url; /* JSON; url is empty when there is none */
    struct str text;
    uint64_t start_chars, end_chars;
    double score; /* 0 to 1 */
};

struct retrieved {
    const struct found *found;
    size_t n;
    uint64_t version; /* of the space: the same question finds the same while it is the same */
    uint64_t took_ms;
};

struct retrieve_settings {
    struct str space;
    struct str question;
    struct str limits; /* documents_limits, or empty; counted with the first verb */
    size_t top_k;      /* 1 to TOP_K_MAX */
};

/* Runs once, on the loop, never before retrieve_start returns. NULL: it failed, or a limit was
 * reached, and the request has been answered. */
typedef void retrieve_callback(struct request *r, const struct retrieved *result);

/* `settings` is copied, its strings must live as long as the request. Aborts nothing, answers what
 * fails. */
struct retrieve *retrieve_start(struct request *r, const struct retrieve_settings *settings,
                                retrieve_callback *on_done);
/* No callback any more. Accepts NULL, and one that is done. */
void retrieve_cancel(struct retrieve *retrieve);

/* Puts a citation of section 5 as a JSON object. */
void retrieve_put_citation(struct buf *b, const struct found *found);

#endif
