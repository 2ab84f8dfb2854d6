/* SPDX-License-Identifier: MIT
 *
 * topic_name: topics between requests and Redis (ADR 36). On the loop's thread.
 */
#ifndef PARLEY_ASK_TOPIC_NAME_H
#define PARLEY_ASK_TOPIC_NAME_H

#include "shared/http/request/explain.h"

enum { TOPIC_MAX_BYTES = 128 };

/* Gives the name of a topic, in the namespace of the request's account, in the request's pool, and
 * notes it as what the request is about. Answers with `explain_topic` of `member`, or 400, and
 * returns false if it is none, or is within another namespace. */
bool topic_name(struct request *r, struct str topic, explain_cb *explain_topic, const char *member,
                struct str *ret_name) must_check;

#endif
