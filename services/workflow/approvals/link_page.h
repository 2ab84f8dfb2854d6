/* SPDX-License-Identifier: MIT
 *
 * link_page: the page of a question for the approver who follows a link. It works without scripts:
 * the form is posted to the page's own address (form_post.h). Pure functions, any thread. The build
 * puts the page's frame together from link_page.html, services/web/page.css and link_page.css
 * (cmake/html_frame.pl).
 */
#ifndef PARLEY_WORKFLOW_APPROVALS_LINK_PAGE_H
#define PARLEY_WORKFLOW_APPROVALS_LINK_PAGE_H

#include "services/workflow/approvals/form_post.h"
#include "shared/http/request/html_frame.h"

extern const struct html_frame link_frame;

enum { LINK_PAGE_MAX_BYTES = 4 << 20 };

/* All is borrowed. */
struct link_question {
    struct str verb, agent, reason, account, user;
    struct str description;    /* of what the agent does; n == 0: none */
    const json_t *form, *body; /* form: NULL without one (form_post_default) */
    uint64_t deadline_ms;      /* since 1970; 0: none */
    uint64_t approvals, quorum;
};

/* Puts the question with its form. `account` is the one as which an answer counts. `fault`: why an
 * earlier attempt was refused, NULL for none; `post` is that attempt, whose texts the fields keep,
 * or NULL. */
void link_page_put_question(struct buf *b, const struct link_question *question, struct str account,
                            const char *fault, const struct form_post *post);
/* Puts a page that only says something. */
void link_page_put_notice(struct buf *b, const char *heading, const char *text);

#endif
