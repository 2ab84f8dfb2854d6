/* SPDX-License-Identifier: MIT
 *
 * retrieve: finds the passages of a space that answer a question best. What /ask, /api/rag/ask, the
 * agent and /api/rag/retrieve share:
 *
 *     admit?   the request's nonce and limits, where embedding the question takes a server
 *     embed    the question's vector; without one (server down) words alone are searched
 *     search   nonce and limits otherwise; what is searched now, and near elements of a vector set
 *     packs*   indexes of documents that this thread has not got yet (cache.h)
 *     passages the texts of what was found; what went in between is looked for once more
 *
 * A retrieval has memory of its own, and belongs to who started it. On the loop's thread only.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_SEARCH_RETRIEVE_H
#define PARLEY_SERVICES_DOCUMENTS_SEARCH_RETRIEVE_H

#include "services/documents/documents.h"

/* One passage. All of it lives as long as the retrieval. */
struct retrieve_hit {
    struct str doc;                  /* its id */
    uint32_t chunk;                  /* its index there */
    struct str title_json;           /* the file's name, a JSON string */
    struct str url_json;             /* where its page is, a JSON string; n == 0: nowhere */
    struct str text;                 /* the whole passage, UTF-8, some 1,000 characters */
    uint32_t start_chars, end_chars; /* where it stands in the document's text */
    double score;                    /* 0 to 1; never more than that of the hit before */
    float cosine;                    /* -1 to 1; 0: not known */
    float coverage;                  /* 0 to 1, see shared/search/index.h */
};

struct retrieval {
    /* ERR_OK; ERR_NONCE_USED; ERR_RATE_LIMITED, with retry_ms, limit and window_s;
     * ERR_REDIS_LOST; ERR_TIMEOUT; ERR_INTERNAL. */
    enum err error;
    uint64_t retry_ms, limit, window_s;
    const struct retrieve_hit *hits; /* best first; hit_n == 0: nothing was found */
    size_t hit_n;
    uint64_t took_ms; /* from start to end */
};

/* Runs exactly once, unless the retrieval is freed before; never before retrieve_start returns. The
 * retrieval may be freed inside. */
typedef void retrieve_cb(struct retrieval *retrieval, void *context);

/* Borrowed during retrieve_start only. */
struct retrieve_settings {
    struct str space;       /* "o:<name>" or "c:<name>" */
    struct str question;    /* UTF-8 */
    unsigned n;             /* passages wanted, 1 to TOP_K_MAX */
    struct nonce_id *nonce; /* the request's, used up by this (unset on return); NULL: none */
    struct str limits;      /* "<what>:<who>:<n>:<window s>,…", see lua/auth/limiter.lua */
};

struct retrieval *retrieve_start(struct documents *documents,
                                 const struct retrieve_settings *settings, retrieve_cb *on_done,
                                 void *context) must_check;
/* Ends it, if it is under way, without a callback, and frees it with its hits. Accepts NULL. */
void retrieve_free(struct retrieval *retrieval);
/* Ends those that are under way with ERR_DRAINING: the node ends. */
void retrieve_end_all(struct documents *documents);
/* Puts a hit as a citation: {"docId","chunkId","chunkIndex","snippet","score","documentTitle"}. */
void retrieve_put_citation(struct buf *b, const struct retrieve_hit *hit);
/* Answers the request with what went wrong; `retrieval->error` is not ERR_OK. */
void retrieve_refuse(struct request *r, const struct retrieval *retrieval);

#endif
