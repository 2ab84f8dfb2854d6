/* SPDX-License-Identifier: MIT
 *
 * settings: the settings of a request for a response, as the response repeats them. Pure, any
 * thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_RESPONSES_SETTINGS_H
#define PARLEY_SERVICES_OPENAI_RESPONSES_SETTINGS_H

#include "services/openai/members.h"

/* Puts `,"background":...` and the others that each response has before its output. `members`: of a
 * request that translate_request has accepted; one of the wrong kind counts as absent, since its
 * engine decides about it. */
void settings_put(struct buf *b, const struct json_member *members, size_t n, bool is_kept);
/* Returns the list of its tools as it was sent; n == 0: none. */
struct str settings_tools(const struct json_member *members, size_t n);

#endif
