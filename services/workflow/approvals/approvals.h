/* SPDX-License-Identifier: MIT
 *
 * approvals: the routes by which people find the questions that wait for them and answer them, with
 * credentials (questions.c) or by a signed link (link_routes.c). On the loop's thread.
 */
#ifndef PARLEY_WORKFLOW_APPROVALS_APPROVALS_H
#define PARLEY_WORKFLOW_APPROVALS_APPROVALS_H

#include "generated/routes_workflow.h"
#include "services/workflow/approvals/answer.h"
#include "services/workflow/approvals/link.h"

enum { APPROVAL_MAX_BYTES = 128 << 10 }; /* of a body */

/* Everybody may follow a link: it is its own credential (struct route). */
bool approvals_link_is_open(const struct request *r);

/* --public-url: what precedes the paths of links, without a slash at its end; "" without it. */
extern const struct config_group approvals_options;
/* Returns false after one line on standard error. The result is the caller's (free). */
bool approvals_read_url(const struct config *config, char **ret_url) must_check;

/* The key of links. Answers 503 and returns false while the cluster's key is not known yet. */
bool approvals_key(struct request *r, struct link_key *ret_key) must_check;

/* Reads the answer in a JSON body; `corrections` is to be freed with json_decref. Otherwise answers
 * 400 and returns false. */
bool approvals_read_body(struct request *r, struct answer *ret_answer,
                         json_t **ret_corrections) must_check;
/* Puts the answer to an answer that counts. */
void approvals_put_answered(struct buf *b, const struct question_id *id,
                            const struct answer *answer, const struct answer_end *end);

#endif
