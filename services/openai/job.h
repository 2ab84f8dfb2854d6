/* SPDX-License-Identifier: MIT
 *
 * job: a request of a door from its question to its answer: it is put into the queue
 * (lua/queue/door_ask.lua), followed (shared/queue/follow.h), and answered in one piece or as a
 * stream. In the request's memory, on the loop's thread.
 *
 * The head of a stream is sent with the first piece, or after 1 s; that of another answer with the
 * answer, or after 45 s, before proxies give up; then blank lines precede the JSON. What fails
 * before has its status. Later a stream gets an error and its end, and another answer is cut off.
 */
#ifndef PARLEY_SERVICES_OPENAI_JOB_H
#define PARLEY_SERVICES_OPENAI_JOB_H

#include "services/openai/job_answer.h"

/* Answers the request, whose body is what engines get. Texts live as long as the request. */
void job_start(struct request *r, const struct job_settings *settings);

/* The query of a response that is kept. */
struct job_place {
    struct str topic; /* a name that lives as long as the request */
    uint64_t seq;
    struct str id; /* of the answer */
    uint64_t created_ms;
    size_t request_bytes; /* that its engine got */
};

/* Answers with the rest of a stream of a query that has not ended. */
void job_view(struct request *r, const struct job_settings *settings,
              const struct job_place *place);
/* The same of one that has: `deltas` of its answer, each on a line. */
void job_replay(struct request *r, const struct job_settings *settings,
                const struct job_place *place, const struct outcome *outcome, struct str deltas);

/* --- for own_chat.c --- */

/* Follows its query, which is in the queue and watched (follow_watch). */
void job_wait(struct job *job);
/* Answers that no engine has named the model. */
void job_refuse_model(struct job *job);

#endif
