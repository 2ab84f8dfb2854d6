/* SPDX-License-Identifier: MIT
 *
 * retrieve: finds the passages of a space that best answer a question. /ask, /api/rag/ask, the
 * agent and /api/rag/retrieve share it. Its steps:
 *
 *     admit?   checks nonce and limits first, if a server embeds the question
 *     embed    computes the question's vector; if the server is down, searches words only
 *     search   otherwise checks nonce and limits; gets the space's version and a vector set's hits
 *     packs*   fetches the indexes of documents that this thread does not have yet (cache.h)
 *     rank     in turns between accounts, then their users: a large index takes milliseconds
 *     passages reads the texts of the hits; searches once more if one was deleted meanwhile
 *
 * A retrieval has its own memory; its caller owns it. Runs on the loop's thread.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_SEARCH_RETRIEVE_H
#define PARLEY_SERVICES_DOCUMENTS_SEARCH_RETRIEVE_H

#include "services/documents/documents.h"
#include "shared/ask/reply.h"

/* One passage. Its data lives as long as the retrieval. */
struct retrieve_hit {
    struct str doc;        /* its id */
    uint32_t chunk;        /* its index there */
    struct str title_json; /* the file's name, a JSON string */
    /* The URL of its page, a JSON string, with the section if the passage contains its heading;
     * n == 0: none. */
    struct str url_json;
    struct str text;                 /* the whole passage, UTF-8, about 1,000 characters */
    uint32_t start_chars, end_chars; /* its position in the document's text */
    uint32_t page;                   /* where it begins; 0: the document has no pages */
    double score;                    /* 0 to 1; never higher than that of the hit before */
};

struct retrieval {
    /* ERR_OK; ERR_NONCE_USED; ERR_RATE_LIMITED, with retry_ms, limit and window_s;
     * ERR_REDIS_LOST; ERR_TIMEOUT; ERR_INTERNAL. */
    enum err error;
    uint64_t retry_ms, limit, window_s;
    struct quota quota;              /* what is left of the limits, once the request was counted */
    const struct retrieve_hit *hits; /* best first; hit_n == 0: nothing was found */
    size_t hit_n;
    size_t all_n; /* with the nearest others, which come after and fit too badly to answer from */
    uint64_t took_ms; /* from start to end */
};

struct refusal; /* shared/ask/refusal.h */

/* Runs exactly once, unless the retrieval is freed first; never before retrieve_start returns. May
 * free the retrieval. */
typedef void retrieve_cb(struct retrieval *retrieval, void *context);

/* Borrowed during retrieve_start only. */
struct retrieve_settings {
    struct str space;         /* "o:<name>" or "c:<name>" */
    struct str account, user; /* whose turn it takes: names */
    struct str question;      /* UTF-8 */
    struct str context;     /* what the reader selected: searched too, with less weight; or empty */
    unsigned n;             /* passages wanted, 1 to TOP_K_MAX */
    struct nonce_id *nonce; /* the request's; taken over, and unset on return; NULL: none */
    struct str limits;      /* "<what>:<who>:<n>:<window s>,…", see lua/auth/limiter.lua */
};

struct retrieval *retrieve_start(struct documents *documents,
                                 const struct retrieve_settings *settings, retrieve_cb *on_done,
                                 void *context) must_check;
/* Cancels it, without a callback, if it is under way. Frees it with its hits. Accepts NULL. */
void retrieve_free(struct retrieval *retrieval);
/* Ends all retrievals under way with ERR_DRAINING, because the node shuts down. */
void retrieve_end_all(struct documents *documents);
/* Puts a hit as a citation: {"docId","chunkId","chunkIndex","snippet","score","documentTitle",
 * "page"}. */
void retrieve_put_citation(struct buf *b, const struct retrieve_hit *hit);
/* Answers the request with the error of the retrieval, which must not be ERR_OK, and with the
 * headers of its quota. */
void retrieve_refuse(struct request *r, const struct retrieval *retrieval);
/* The same as a refusal, for responses of another form. */
void retrieve_refusal_of(const struct request *r, const struct retrieval *retrieval,
                         struct refusal *ret_refusal);

#endif
