/* SPDX-License-Identifier: MIT
 *
 * answer: a person answers a question that a run waits with. All four ways lead here: the socket's
 * hitl_response, the echo of the deployed chat, HTTP, and a link. An answer reads its question,
 * checks the corrections against its form, and lets the verb decide (lua/workflow/workflow_answer);
 * if that was the decision, this node carries the run on. On the loop's thread.
 *
 * An answer that was begun comes to its end although the client that gave it has left: what the
 * verb decided is carried on, and only the callback does not run.
 */
#ifndef PARLEY_WORKFLOW_APPROVALS_ANSWER_H
#define PARLEY_WORKFLOW_APPROVALS_ANSWER_H

#include "services/workflow/approvals/asked.h"
#include "services/workflow/approvals/form_post.h"
#include "services/workflow/workflow.h"

enum {
    ANSWER_CORRECTIONS_MAX_BYTES = 64 << 10, /* as JSON */
    ANSWER_COMMENT_MAX_BYTES = 4 << 10,
    ANSWER_NOTE_MAX_BYTES = 256, /* of approved_by */
    ANSWER_DETAIL_BYTES = 1200
};

enum answer_way { ANSWER_BY_SOCKET, ANSWER_BY_ECHO, ANSWER_BY_HTTP, ANSWER_BY_LINK };

/* All is borrowed until answer_start returns. */
struct answer {
    enum answer_way way;
    const struct workflow_who *who; /* whose answer it is: its account counts */
    struct question_id question;
    bool is_approved;
    const json_t *corrections; /* an object; NULL or empty: none. Ignored without an approval */
    /* Instead of them, what a browser sent: its corrections depend on the question. NULL: none. */
    const struct form_post *post;
    struct str comment, note; /* n == 0: none. The note is what a client says of itself */
};

/* Its outcome. Valid inside the callback. */
struct answer_end {
    enum err error;     /* ERR_OK: it counts */
    const char *detail; /* a sentence; NULL: the error's own text */
    bool is_decided;    /* the question has ended with this answer */
    bool is_form;       /* ERR_BAD_REQUEST: another answer may be given */
    uint64_t approvals, quorum;
    const struct asked *question; /* as it was read; NULL if it was not */
};

struct answering;
typedef void answer_cb(void *context, const struct answer_end *end);

/* `on_end` runs once, never inside this function, unless answer_leave comes first. */
struct answering *answer_start(struct workflow *workflow, const struct answer *answer,
                               answer_cb *on_end, void *context);
/* Nobody waits for the callback any more. Accepts NULL. */
void answer_leave(struct answering *answering);

/* Reads a text of the deployed chat about an open question: a yes, a no, or a correction of
 * raw_text. Upper and lower case are the same, as are a full stop or an exclamation mark after the
 * word. Pure. */
enum echo { ECHO_YES, ECHO_NO, ECHO_CORRECTION };
enum echo echo_read(struct str raw_text);

#endif
