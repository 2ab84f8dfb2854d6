/* SPDX-License-Identifier: MIT
 *
 * asker: who puts questions to engines (shared/queue/question.h) on behalf of a request: whose turn
 * they take, and among whose waiting ones they count.
 *
 *     struct asker asker = asker_of(r, queue, &whom, scope);
 *     struct question_settings settings = {.query = ..., .messages = ..., .deadline_ms = ...};
 *     asker_put(&asker, &settings);
 *     question_start(asker.queue, &settings, &events, context);
 */
#ifndef PARLEY_ASK_ASKER_H
#define PARLEY_ASK_ASKER_H

#include "shared/ask/on_behalf.h"
#include "shared/queue/question.h"

/* Texts live as long as the request. */
struct asker {
    struct queue *queue;
    struct str user, user_name, account, weight, traceparent;
    unsigned max_waiting;
    struct str scope; /* who may share its questions */
};

/* A user on whose behalf the request acts; its account's weight and bounds count. */
struct asker asker_of(struct request *r, struct queue *queue, const struct on_behalf *whom,
                      struct str scope);
/* Fills in the user and account. Whether the question is shared is for the caller to say:
 * `settings->scope`. */
void asker_put(const struct asker *asker, struct question_settings *settings);

#endif
