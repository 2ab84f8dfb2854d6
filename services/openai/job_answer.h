/* SPDX-License-Identifier: MIT
 *
 * job_answer: makes the answer of a job (job.h) from what is followed: the head when it is due,
 * events of a stream or one body, and errors, each as the job's form writes them (job_form.h). The
 * job lives in the request's memory. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_JOB_ANSWER_H
#define PARLEY_SERVICES_OPENAI_JOB_ANSWER_H

#include "services/openai/budget.h"
#include "services/openai/chunks.h"
#include "services/openai/job_form.h"
#include "services/openai/leaving.h"
#include "services/openai/merged.h"
#include "services/openai/repeated.h"
#include "shared/ask/own_model.h"
#include "shared/http/request/stream.h"
#include "shared/queue/follow.h"

enum {
    JOB_DEADLINE_S = 1740, /* before the topic is swept (lua/queue/asks.lua) */
    JOB_ANSWER_MAX_BYTES = 32 << 20,
    JOB_RETRY_S = 10,
    JOB_POSITION_MS = 100, /* before the head, which has the position in the queue */
};

struct job_settings {
    enum openai_api api;
    const struct job_form *form; /* NULL: job_chat_form */
    struct str request;          /* for engines; at == NULL: the body. Lives as long as it */
    struct str fault;            /* why no engine of `api` can get it; at == NULL: one can */
    const char *passing_api;     /* engines of that one get the body, and are preferred, or NULL */
    struct str model;            /* as the client named it: 1 to OPENAI_MODEL_MAX_BYTES, UTF-8 */
    struct str title;            /* of the query, for people */
    struct on_behalf person;
    struct str topic;    /* that keeps it, a name; at == NULL: none */
    bool is_stored;      /* without one, a topic of its own keeps it */
    struct str metadata; /* of a chat completion that is kept (metadata.h); else n == 0 */
    struct str response; /* of a response that is kept: the body that asked for it; else n == 0 */
    bool is_background;  /* it is not cancelled when its client leaves */
    bool is_stream;      /* not of embeddings */
    bool has_usage;      /* a stream ends with the usage */
    bool wants_base64;   /* embeddings */
    bool is_one_text;    /* another engine may continue the answer */
    bool is_repeatable;  /* an equal request has an equal answer */
    void *of_form;       /* what its form has to know, or NULL */

    /* A model that a service offers, and how it is asked (own_chat.h). NULL: an engine is. */
    const struct own_model *own;
    struct own_question *question;
    void (*ask)(struct job *job);
};

struct job {
    struct request *r;
    struct job_settings settings;
    struct follow follow;
    struct stream stream;
    struct deadline head, last, paused;
    struct left_listener left;
    struct budget budget;
    struct usage usage;
    struct repeated repeated; /* of a stream whose answer is generated again */
    struct chunks chunks;
    struct merged merged;
    uint64_t position; /* plus 1; 0: unknown */
    struct asked asked;
    struct own_answer *own; /* NULL: none */
    void *form_state;       /* of its form */
    struct str id;          /* of the answer, once its query is known */
    uint64_t created_s;     /* the same */
    struct usage unused;    /* of `merged`, where chunks count */
    struct str finish;      /* why the model stopped, if its engine said it */
    uint64_t began_ms;
    bool is_passed;     /* it is put to engines of passing_api */
    bool is_refused[2]; /* there is no engine: of `api`, of passing_api */
    bool lacks_engine;  /* one of these was there within the hour */
    bool may_be_queued; /* from asking on, unless it was refused */
    bool is_view;       /* of a query that another request has made */
    bool has_ended;     /* its query has */
    bool is_over;       /* it is answered */
    bool is_pause_over; /* for so long no engine has continued */
    bool has_given;     /* the client has pieces of this claim */
    bool has_time;      /* the head says how long it took */
};

/* The words of an Api. */
struct job_api {
    const char *name, *id, *object, *chunk;
};
extern const struct job_api job_apis[OPENAI_API_NR];

/* Is the answer a chat completion that is stored (lua/queue/kept.lua)? */
bool job_is_stored(const struct job *job);
/* Can clients read the answer later, by its id: is it one, or a response that is kept
 * (lua/queue/responses.lua)? */
bool job_is_readable(const struct job *job);
/* Puts `{"id":...,"object":...,"created":...,"model":...`. */
void job_put_head(struct buf *b, const struct job *job, const char *object);
/* Puts what follows the head: `,"choices":[...],"usage":...`, of `merged`. */
void job_put_rest(struct buf *b, const struct job *job);
/* Puts the message of an engine's error as a JSON text. */
void job_put_fault_message(struct buf *b, const struct members *fault);
/* Gives an event to the client of a stream, and the head before it. `event` NULL: without a name.
 * `data`: JSON. */
void job_put_event(struct job *job, const char *event, const struct buf *data);
/* Sends the head of a stream now. */
void job_send_head(struct job *job);
/* It is answered from now on: nothing more is followed or waited for. */
void job_finish(struct job *job);
/* Answers with the error, before or after the head. `detail` NULL: the error's own text. */
void job_fail(struct job *job, enum err error, const char *detail);

/* The same, as a refusal has it. */
void job_refuse(struct job *job, const struct refusal *refusal);
/* Answers with a text that no engine was asked for. */
void job_answer_text(struct job *job, struct str text);

extern const struct follow_events job_events;
/* The deadlines `head` and `paused` have passed. Of `head` there are two: first, JOB_POSITION_MS
 * before the head, the position is read. */
void job_on_head_due(struct deadline *deadline);
void job_on_pause_over(struct deadline *deadline);

#endif
