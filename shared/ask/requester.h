/* SPDX-License-Identifier: MIT
 *
 * requester: on whose behalf a request puts questions to engines (shared/queue/question.h): whose
 * turn they take and whose limits count.
 *
 *     struct requester requester = requester_of(r, queue, &person, scope);
 *     struct question_settings settings = {.query = ..., .messages = ..., .deadline_ms = ...};
 *     requester_put(&requester, &settings);
 *     question_start(requester.queue, &settings, &events, context);
 */
#ifndef PARLEY_ASK_REQUESTER_H
#define PARLEY_ASK_REQUESTER_H

#include "shared/ask/on_behalf.h"
#include "shared/queue/question.h"

/* Texts live as long as the request. */
struct requester {
    struct queue *queue;
    struct str user, user_name, account, weight, traceparent, request_id;
    unsigned max_waiting, max_of_all;
    struct str scope; /* users that may share its questions */
};

/* Returns the requester of a request that acts for `person`, with the weight and limits of its
 * account. */
struct requester requester_of(struct request *r, struct queue *queue,
                              const struct on_behalf *person, struct str scope);
/* Fills in user and account. The caller decides in `settings->scope` whether the question is
 * shared. */
void requester_put(const struct requester *requester, struct question_settings *settings);

#endif
