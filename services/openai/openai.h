/* SPDX-License-Identifier: MIT
 *
 * openai: OpenAI's HTTP interface over the queue (routes.yaml). Answers and errors have the shapes
 * of OpenAI's specification. One per thread (service.h). On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_OPENAI_H
#define PARLEY_SERVICES_OPENAI_OPENAI_H

#include "generated/routes_openai.h"
#include "services/node/service.h"

enum {
    OPENAI_BODY_MOST_MIB = 4, /* what --openai-body-mib may be at most */
    OPENAI_BODY_BYTES = OPENAI_BODY_MOST_MIB << 20,
    OPENAI_MODEL_MAX_BYTES = 128,
    OPENAI_CHOICES_MAX = 128,
};

/* The limit that --openai-body-mib sets, for the whole process; read before there is a node. */
extern size_t openai_body_bytes;

struct openai {
    struct server *server;
    struct queue *queue;
    struct list owed; /* owed.h */
    unsigned owed_n;
    struct list keepers; /* responses/keeper.h */
    unsigned keeper_n;
    bool prefers_passing;        /* the last request that could be passed was (job.c) */
    bool has_ended;              /* the service: its queue goes before it does */
    struct file_ways *file_ways; /* files/files.h */
    struct batches *batches;     /* batches/batches.h */
};

static inline struct openai *openai_of(const struct request *r)
{
    return service_state(r, "openai");
}

/* The kinds of requests, each an Api of engines (lua/queue/apis.lua). */
enum openai_api { OPENAI_CHAT, OPENAI_COMPLETIONS, OPENAI_EMBEDDINGS, OPENAI_API_NR };

/* Writes errors as {"error":{"message","type","param","code"}}, always with these four members. */
problem_writer openai_put_problem;

/* Writes errors as Anthropic's clients read them: {"type":"error","error":{"type","message"},
 * "request_id"}. (messages/messages.c) */
problem_writer openai_put_message_problem;

/* Writes errors as the client reads them: Anthropic's if its request has the header
 * anthropic-version. (models.c) */
problem_writer openai_put_models_problem;

#endif
