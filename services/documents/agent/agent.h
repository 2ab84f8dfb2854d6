/* SPDX-License-Identifier: MIT
 *
 * agent: one run of the agent: a plan, some tool calls within the owner's documents, an answer. Its
 * model may loop, invent passages or write invalid JSON, so this module limits calls, time and
 * passages itself and never relies on the model. agent.c decides, agent_tools.c searches,
 * agent_trace.c reports to the client. In the request's memory, on the loop's thread.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_AGENT_AGENT_H
#define PARLEY_SERVICES_DOCUMENTS_AGENT_AGENT_H

#include "services/documents/ask/cited_answer.h"
#include "services/documents/ask/model_reply.h"
#include "shared/http/request/stream.h"

enum {
    AGENT_CALLS_MAX = 5,
    AGENT_QUESTION_MAX_CHARS = 2000,
    AGENT_SEARCH_N = 5, /* passages that one search returns */
    AGENT_LINE_MAX_BYTES = 4096,
};

enum agent_state {
    AGENT_FINDING,   /* is there anything to be found? */
    AGENT_PLANNING,  /* a model plans */
    AGENT_STEPPING,  /* a model chooses a tool */
    AGENT_SEARCHING, /* that tool is search_docs */
    AGENT_ANSWERING, /* a model writes the answer */
    AGENT_ENDED,
    AGENT_STATE_NR
};

struct agent {
    struct request *r;
    enum agent_state state;
    uint64_t number; /* for the log of its states */
    struct owner owner;
    struct requester requester;
    struct str question;
    bool returns_trace, is_stream;
    bool is_again; /* the model was informed that its last reply was invalid */
    struct presence presence;
    struct deadline deadline; /* of the whole run */
    struct stream stream;
    struct question *model;
    struct retrieval *first;                     /* of the question itself */
    struct retrieval *searches[AGENT_CALLS_MAX]; /* of the model */
    unsigned search_n;
    const struct retrieve_hit *found[TOP_K_MAX]; /* what tools returned, numbered from 1 */
    bool is_open[TOP_K_MAX];
    unsigned found_n;
    json_t *plan;                      /* texts; NULL: none */
    json_t *trace;                     /* entries */
    struct buf calls[AGENT_CALLS_MAX]; /* the steps so far, as shown to the model */
    struct buf keys[AGENT_CALLS_MAX];  /* the same as compared, to see a loop */
    unsigned call_n;
    struct buf pending_notes; /* of the search under way */
};

/* --- agent_trace.c ---------------------------------------------------------------------------- */

/* Adds an entry; a stream sends it immediately. Texts may have at == NULL: null. `input` is
 * borrowed, NULL for null. */
void agent_trace_plan(struct agent *agent);
void agent_trace_call(struct agent *agent, const char *tool, const json_t *input,
                      struct str summary, struct str notes);
void agent_trace_error(struct agent *agent, struct str tool, const json_t *input,
                       const char *error);
void agent_trace_final(struct agent *agent, struct str summary, struct str notes);
/* Answers with the checked answer and the passages that it cites, in the order of its marks. */
void agent_complete(struct agent *agent, struct str answer, struct str cut_by,
                    const struct citations *citations);
void agent_refuse(struct agent *agent, const struct refusal *refusal);
/* There is something to report: starts the stream, if any. */
void agent_begin(struct agent *agent);

/* --- agent_tools.c ---------------------------------------------------------------------------- */

/* Does what a model chose, and continues with agent_go_on or agent_answer. */
void agent_use_tool(struct agent *agent, const struct agent_step *chosen);
/* Searches for the question as it is, if no tool returned anything. */
void agent_search_plainly(struct agent *agent);

/* --- agent.c ---------------------------------------------------------------------------------- */

void agent_start(struct agent *agent);
void agent_move(struct agent *agent, enum agent_state to);
/* The next step, or the answer when there may be no more steps. */
void agent_go_on(struct agent *agent);
void agent_answer(struct agent *agent);
/* Nobody looks at the clock or after the client any more: before it is answered. */
void agent_end(struct agent *agent);
void agent_fini(struct agent *agent);

#endif
