/* SPDX-License-Identifier: MIT
 *
 * model_reply: parses model replies to prompts that request a JSON object. Models wrap the object
 * in prose, code fences and thoughts, repeat it, truncate it, and invent members. The parser takes
 * what matches the expected form and ignores the rest. Pure; objects are jansson's.
 */
#ifndef PARLEY_SERVICES_DOCUMENTS_ASK_MODEL_REPLY_H
#define PARLEY_SERVICES_DOCUMENTS_ASK_MODEL_REPLY_H

#include "shared/base/json.h"

enum {
    AGENT_STEPS_MIN = 2,
    AGENT_STEPS_MAX = 5,
    AGENT_STEP_MAX_CHARS = 300,
    AGENT_NOTES_MAX_CHARS = 500,
    QUERY_MAX_CHARS = 1000, /* of a search query that a model writes */
};

/* {"rewritten_query"}: puts the query, trimmed, on one line. Returns false when the reply has no
 * query worth searching for. */
bool model_reply_rewrite(struct str reply, struct buf *query) must_check;

/* {"ranking"}: order[0] is the index of the best of `n` passages, from 0. Passages that the reply
 * does not name come last, in their old order. Returns false when it names none. */
bool model_reply_ranking(struct str reply, unsigned *order, unsigned n) must_check;

/* {"steps"}: returns a list of AGENT_STEPS_MIN to AGENT_STEPS_MAX texts, which the caller owns, or
 * NULL when the reply has no such plan. Cuts off surplus steps and characters. */
json_t *model_reply_plan(struct str reply) must_check;

enum agent_tool { AGENT_SEARCH, AGENT_OPEN, AGENT_FINAL, AGENT_OTHER, AGENT_TOOL_NR };

struct agent_step {
    json_t *root; /* the reply's object, which owns the texts below */
    enum agent_tool tool;
    struct str name;     /* of the tool, as the model wrote it */
    const json_t *input; /* never NULL; may be any JSON type */
    struct str query;    /* AGENT_SEARCH only: not empty */
    struct str notes;
};
/* {"tool","input","notes"}. Returns false when the reply has no such object, or has a search
 * without a query. */
bool model_reply_step(struct str reply, struct agent_step *ret_step) must_check;
void agent_step_fini(struct agent_step *step);

/* A passage found so far, as a tool reported it to the model. */
struct agent_found {
    struct str doc, chunk_id;
    uint64_t chunk;
};
/* Returns which of the found passages an open_citation means, from 1, or 0 for none. A passage can
 * be named by its number, by the id of its chunk or document (models shorten ids, so a unique
 * prefix is enough), or by document and index. */
unsigned agent_find(const json_t *input, const struct agent_found *found, unsigned n);

#endif
