/* SPDX-License-Identifier: MIT
 *
 * model_reply: what models reply where a JSON object was asked for. They wrap it in prose, in code
 * fences and in thoughts, repeat it, break it off and make members up; what is read here is what
 * fits, and nothing else. Pure; the objects are jansson's.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_MODEL_REPLY_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_MODEL_REPLY_H

#include "shared/base/json.h"

enum {
    AGENT_STEPS_MIN = 2,
    AGENT_STEPS_MAX = 5,
    AGENT_STEP_MAX_CHARS = 300,
    AGENT_NOTES_MAX_CHARS = 500,
    QUERY_MAX_CHARS = 1000, /* of a search that a model writes */
};

/* {"rewritten_query"}: puts the query, trimmed, on one line. False when there is none worth a
 * search. */
bool model_reply_rewrite(struct str reply, struct buf *query) must_check;

/* {"ranking"}: order[0] is the best of `n`, counted from 0; those that the reply does not name come
 * last, as they were. False when it names none. */
bool model_reply_ranking(struct str reply, unsigned *order, unsigned n) must_check;

/* {"steps"}: a list of AGENT_STEPS_MIN to AGENT_STEPS_MAX texts, the caller's; NULL when there is
 * no such plan. What is too much is cut off. */
json_t *model_reply_plan(struct str reply) must_check;

enum agent_tool { AGENT_SEARCH, AGENT_OPEN, AGENT_FINAL, AGENT_OTHER, AGENT_TOOL_NR };

struct agent_step {
    json_t *root; /* the reply's object; the texts below are part of it */
    enum agent_tool tool;
    struct str name;     /* of the tool, as it was written */
    const json_t *input; /* never NULL; may be of any kind */
    struct str query;    /* of AGENT_SEARCH: not empty */
    struct str notes;
};
/* {"tool","input","notes"}. False when there is no such object, or a search without a query. */
bool model_reply_step(struct str reply, struct agent_step *ret_step) must_check;
void agent_step_fini(struct agent_step *step);

/* What was found so far, as a tool told the model. */
struct agent_found {
    struct str doc, chunk_id;
    uint64_t chunk;
};
/* Which of the passages found an open_citation means, counted from 1; 0: none of them. By its
 * number, by its chunk's or document's id (models cut them: so much as is unlike any other), or by
 * document and index. */
unsigned agent_find(const json_t *input, const struct agent_found *found, unsigned n);

#endif
