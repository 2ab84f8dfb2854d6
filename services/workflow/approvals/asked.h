/* SPDX-License-Identifier: MIT
 *
 * asked: a stored question as the verbs return it (lua/workflow/questions.lua), and who may
 * answer it. Borrows from the reply, except for its JSON, which is parsed and owned. Pure
 * functions, any thread.
 *
 * What a stop stores as the verb's argument `question` is `{"reason":"...","form":{...}}`, the form
 * null without one.
 */
#ifndef PARLEY_WORKFLOW_APPROVALS_ASKED_H
#define PARLEY_WORKFLOW_APPROVALS_ASKED_H

#include "services/workflow/approvals/approver.h"
#include "services/workflow/approvals/question_id.h"
#include "services/workflow/workflow.h"
#include "shared/base/json.h"
#include "shared/queue/lines.h"

#define QUESTION_MISSING "No such question: it does not exist, or its run was deleted."
#define QUESTION_FORBIDDEN "Only the approvers of this question may answer it."

struct asked {
    struct str status; /* open, approved, rejected, expired, closed */
    struct question_id id;
    struct str request_id, session_id, verb, agent; /* names */
    struct str account, user_name;                  /* who began the run; names */
    uint64_t asked_ms, deadline_ms, closed_ms;      /* since 1970; 0: none */
    uint64_t quorum, approvals;
    bool is_self_allowed;
    struct str who; /* JSON of who ended it; "": nobody yet */
    struct str reason;
    const json_t *form; /* NULL: none */
    json_t *text, *body;
};

/* Reads 19 lines. Returns false, with nothing to free, if they are no question: an error of ours.
 */
bool asked_read(struct lines *lines, struct asked *ret_question) must_check;
/* Accepts one that was zeroed. */
void asked_fini(struct asked *question);

static inline bool asked_is_open(const struct asked *question)
{
    return str_eq(question->status, STR("open"));
}

/* The names under which `who` may be an approver, for the verbs. Texts are in `at`. */
enum { IDENTITY_N = 3 };
struct identities {
    struct str of[IDENTITY_N];
    char at[3 * APPROVER_NAME_MAX_BYTES];
};
void identities_of(const struct workflow_who *who, struct identities *ret_identities);

/* Returns whether they began the run: that account, or that user by another account. */
bool asked_is_own(const struct asked *question, const struct workflow_who *who);
/* Returns whether an answer of `who` counts: it is among `approvers` (names, by spaces), and it did
 * not begin the run, if the question asks for others. The verb decides; this is for what is shown.
 */
bool asked_may_answer(const struct asked *question, struct str approvers,
                      const struct workflow_who *who, const struct identities *identities);

/* Puts why the question is closed: who answered and when. */
void asked_put_closed(struct buf *b, struct str who, uint64_t closed_ms);

#endif
