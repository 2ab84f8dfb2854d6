/* SPDX-License-Identifier: MIT
 *
 * input: reads what the routes of OpenAI's interface have in common. When a member is wrong, each
 * answers 400, names the member, and returns false. `null` counts as absent.
 */
#ifndef PARLEY_SERVICES_OPENAI_INPUT_H
#define PARLEY_SERVICES_OPENAI_INPUT_H

#include "services/openai/job.h"
#include "services/openai/members.h"

/* model, stream, stream_options, n, and the person: for role frontend the header x-parley-user or
 * `user`; accounts of role user ask for themselves. */
bool input_read(struct request *r, struct job_settings *settings) must_check;
/* The same of a message of Anthropic's interface, whose person is `metadata.user_id`. */
bool input_read_message(struct request *r, struct job_settings *settings) must_check;
/* The person alone. `member`: the body's `user`, or at == NULL. */
bool input_person(struct request *r, struct str member, struct on_behalf *ret_person) must_check;
/* Checks that the member is a list that is not empty. */
bool input_list(struct request *r, const char *name) must_check;
/* Returns a text without its escapes, in the request's pool. */
struct str input_text(struct request *r, const struct json_span *text);
/* Returns the first 200 characters of a text, in the request's pool. */
struct str input_title(struct request *r, const struct json_span *text);
/* The same of a text, or of the last text in a list; "" if there is none. */
struct str input_title_of(struct request *r, const struct json_span *value);
/* The same of the last message of a user in a list; its last part that is a text. */
struct str input_title_of_messages(struct request *r, const struct json_span *messages);
/* Returns the list `messages` of the body of a chat; absent if it has none. */
struct json_span input_messages(struct str body);

#endif
