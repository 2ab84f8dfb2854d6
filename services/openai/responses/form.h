/* SPDX-License-Identifier: MIT
 *
 * form: the form of the answers of /v1/responses (job_form.h): the deltas of a chat as the items
 * and events of a response (events.h). What it keeps of a response that has ended, it packs
 * (keeper.h). On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_RESPONSES_FORM_H
#define PARLEY_SERVICES_OPENAI_RESPONSES_FORM_H

#include "services/openai/job.h"

/* A job's (job_settings.of_form); lives as long as the request. */
struct response_settings {
    const struct json_member *members; /* of the request for the response */
    size_t member_n;
    int64_t after; /* events up to this number are not given; -1: all are */
};

extern const struct job_form response_form;

/* Puts what a response begins with, up to its model. */
void response_put_head(struct buf *b, struct str id, uint64_t created_s, struct str model);

#endif
