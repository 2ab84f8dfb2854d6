/* SPDX-License-Identifier: MIT
 *
 * job_form: how the answer of a job is written for its client: as a chat completion (job_chat.c),
 * or as another interface has it. A job names its form in its settings. Forms are constant tables
 * and own nothing; what one keeps during an answer is `form_state` of the job, in the request's
 * memory or freed by `fini`. All functions run on the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_JOB_FORM_H
#define PARLEY_SERVICES_OPENAI_JOB_FORM_H

#include "services/openai/members.h"
#include "shared/http/request/stream.h"

struct job;

struct job_form {
    const char *name;        /* requests of two forms are never equal; "": a chat's */
    const char *id;          /* what the id of an answer begins with; NULL: as its Api has it */
    problem_writer *problem; /* an error that comes after the head of a stream */

    /* Texts while a stream waits: when its head is sent without a piece, and every 10 s. */
    const char *first, *comment;

    /* The id of the answer is known, and nothing is given yet. */
    void (*open)(struct job *job);
    /* The head of a stream is sent, and nothing after it: perhaps while another event is given.
     * May be NULL. */
    void (*begin)(struct job *job);
    /* Both NULL: an answer without a stream is put together by job->merged. Otherwise each of its
     * deltas, and that those so far do not count, since its engine was lost. */
    void (*add)(struct job *job, struct str delta);
    void (*clear)(struct job *job);
    /* Gives a delta to the client of a stream (job_put_event). `delta`: JSON as an engine sent it,
     * or of the same shape; borrowed. */
    void (*give)(struct job *job, struct str delta);
    /* Gives the last events; `job->finish` and `job->usage` are known. Ends no stream. */
    void (*end)(struct job *job);
    /* Gives an error that the form wrote itself, the last event of a stream. */
    void (*give_error)(struct job *job, const struct buf *error);
    /* Puts an answer without a stream, of `job->merged` or what was added. Returns false if its
     * engine has sent nothing that can be one. */
    bool (*put_whole)(struct buf *b, const struct job *job);
    /* Puts the answer to a request that is queued in the background. NULL: there are none. */
    void (*put_queued)(struct buf *b, const struct job *job);
    /* Puts an error that an engine has sent: the members message, type, param and code, each of
     * which may be absent. `status`: 400 to 599. Before the head and in a stream. */
    void (*put_fault)(struct buf *b, const struct job *job, const struct members *fault,
                      uint64_t status);
    /* Frees its state. May be NULL; `open` may not have run. */
    void (*fini)(struct job *job);
};

/* Chat completions, completions and embeddings, as OpenAI has them. */
extern const struct job_form job_chat_form;

#endif
