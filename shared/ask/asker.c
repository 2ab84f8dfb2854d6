/* SPDX-License-Identifier: MIT
 * asker.c - see asker.h. */
#include "shared/ask/asker.h"

struct asker asker_of(struct request *r, struct queue *queue, const struct on_behalf *whom,
                      struct str scope)
{
    return (struct asker){.queue = queue,
                          .user = whom->user,
                          .user_name = whom->user_name,
                          .account = r->account->name_token,
                          .weight = r->account->weight_text,
                          .traceparent = request_header(r, "traceparent"),
                          .max_waiting = r->account->max_waiting,
                          .scope = scope};
}

void asker_put(const struct asker *asker, struct question_settings *settings)
{
    settings->user = asker->user;
    settings->user_name = asker->user_name;
    settings->account = asker->account;
    settings->weight = asker->weight;
    settings->max_waiting = asker->max_waiting;
    settings->traceparent = asker->traceparent;
}
