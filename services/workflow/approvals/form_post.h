/* SPDX-License-Identifier: MIT
 *
 * form_post: reads the form that a browser sends from the page of a question (link_page.h), as
 * application/x-www-form-urlencoded: `decision` is `approve` or `reject`, `comment` a text, and
 * `field.<name>` the text in the field of a member of the form. Pure functions, any thread; the
 * caller owns everything.
 */
#ifndef PARLEY_WORKFLOW_APPROVALS_FORM_POST_H
#define PARLEY_WORKFLOW_APPROVALS_FORM_POST_H

#include "shared/base/json.h"

struct form_post {
    bool is_approved;
    char *comment;  /* NUL-terminated UTF-8; NULL: none */
    json_t *fields; /* an object of texts: of fields with several values the last one */
};

/* Reads a body. Returns false, with *ret_reason a sentence and *ret_post untouched, if it is not
 * valid (broken escapes, not UTF-8, a NUL) or decides nothing. The cost is linear in the body. */
bool form_post_read(struct str body, struct form_post *ret_post,
                    const char **ret_reason) must_check;
/* Accepts one that was zeroed. */
void form_post_fini(struct form_post *post);

/* The value that the field of a form's member shows at first: the member `name` of the message
 * body, otherwise the default of its schema, otherwise NULL. Borrowed. */
const json_t *form_post_initial(const json_t *schema, const json_t *body, const char *name);

/* Returns the form of a question that has none, for the page: one field for the request's text, if
 * the body has it. NULL: no field. The caller owns the result. */
json_t *form_post_default(const json_t *body) must_check;

/* Returns whether a member of the form takes values of that type: `type` is a name or a list of
 * names. */
bool form_post_takes(const json_t *schema, const char *type);

/* Returns the corrections that the fields make: NULL if no field differs from what the page showed,
 * otherwise an object with every field that has a value, by the types of the form. A text that is
 * not of its member's type stays a text, which form_check then refuses by its name. The caller owns
 * the result. `form` may be NULL: then it is form_post_default. */
json_t *form_post_corrections(const struct form_post *post, const json_t *form,
                              const json_t *body) must_check;

#endif
