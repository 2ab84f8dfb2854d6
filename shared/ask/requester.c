/* SPDX-License-Identifier: MIT
 * requester.c - see requester.h. */
#include "shared/ask/requester.h"

struct requester requester_of(struct request *r, struct queue *queue,
                              const struct on_behalf *person, struct str scope)
{
    return (struct requester){.queue = queue,
                              .user = person->user,
                              .user_name = person->user_name,
                              .account = r->account->name_token,
                              .weight = r->account->weight_text,
                              .traceparent = request_header(r, "traceparent"),
                              .request_id = r->id,
                              .max_waiting = r->account->max_waiting,
                              .scope = scope};
}

void requester_put(const struct requester *requester, struct question_settings *settings)
{
    settings->user = requester->user;
    settings->user_name = requester->user_name;
    settings->account = requester->account;
    settings->weight = requester->weight;
    settings->max_waiting = requester->max_waiting;
    settings->max_of_all = requester->max_of_all;
    settings->traceparent = requester->traceparent;
    settings->request_id = requester->request_id;
}
