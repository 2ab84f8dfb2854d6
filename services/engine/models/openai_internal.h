/* SPDX-License-Identifier: MIT
 *
 * openai_internal: the parts that backend_openai.c (settings, calls), openai_end.c (ends of
 * responses) and openai_text.c (text on its way) share. Only they include it.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_OPENAI_INTERNAL_H
#define PARLEY_SERVICES_ENGINE_MODELS_OPENAI_INTERNAL_H

#include "services/engine/models/backend.h"
#include "services/engine/models/messages_delta.h"
#include "services/engine/models/openai_pass.h"
#include "services/engine/models/openai_reply.h"
#include "shared/http/client/endpoint.h"
#include "shared/text/cite.h"

struct openai {
    struct backend base;
    struct timers *timers;
    struct http_client *client;
    struct http_endpoint endpoints[API_NR];
    struct http_endpoint list_endpoint; /* of the models */
    char *model;                        /* the usual one; NULL: the first of `found` */
    char *own, *models;                 /* of the settings */
    char *key_header;                   /* as Anthropic's interface has it; NULL without a key */
    struct buf found;                   /* the names that the server lists, comma-separated */
    uint64_t idle_timeout_s;
    struct openai_wishes refused, granted; /* by the server, as far as is known */
};

struct completion {
    struct openai *server;
    const struct prompt *prompt;
    const struct completion_events *events;
    void *context;
    struct http_call *call;
    struct timer timer; /* of LAST_WAIT_MS */
    bool is_enough, has_thoughts, has_answer;
    bool is_full;       /* the owner has no room for a delta */
    bool is_empty;      /* nothing was said for too long */
    bool is_for_one;    /* one choice was asked for */
    uint64_t spoken_ms; /* when the server last said something */
    struct openai_wishes wishes;
    struct openai_reply reply;
    struct delta_maker maker;       /* of a request of a door */
    struct messages_maker messages; /* of Anthropic's */
    struct think_split split;
    struct cite_filter cite;
    struct buf think, answer, cited; /* of one piece, on its way through the filters */
    char reason[REPLY_REASON_MAX_BYTES];
};

static inline bool openai_is_of_messages(const struct completion *completion)
{
    return completion->prompt->api == API_MESSAGES;
}

static inline bool openai_is_passed(const struct completion *completion)
{
    return completion->prompt->api != API_NONE;
}

/* --- openai_text.c ---------------------------------------------------------------------------- */

void openai_free(struct completion *completion);
/* For the reply and the maker of deltas; the context is the completion. */
bool openai_on_text(void *context, struct str think, struct str answer);
bool openai_on_chunk(void *context, const json_t *json, bool is_repaired);
/* Hands on what the filters held back, and the list of the passages that were cited. */
void openai_put_rest(struct completion *completion);
bool openai_on_delta(void *context, struct str delta);

/* --- openai_end.c: each that ends a completion frees it --------------------------------------- */

void openai_set_reason(struct completion *completion, const char *what, struct str more);
/* Ends it without an answer. */
void openai_finish(struct completion *completion, enum completion_outcome outcome);
/* Refuses the prompt. `error`: as the server reported it; NULL: it is ours. */
void openai_refuse(struct completion *completion, int status, const json_t *error);
/* The server has answered with no success. */
void openai_fail_with_status(struct completion *completion, const struct http_response *response);
/* The body of /embeddings has come. */
void openai_conclude_embeddings(struct completion *completion, struct str body);
/* The body of a text was read, or as much of it as counts. `lost`: why the rest did not come. */
void openai_conclude(struct completion *completion, const char *lost);
/* Returns whether the answer is complete, as far as it was read. */
bool openai_is_whole(const struct completion *completion);

#endif
