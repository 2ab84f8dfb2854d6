/* SPDX-License-Identifier: MIT
 *
 * translate: the body of POST /v1/messages as the body of a chat completion, which engines serve.
 * Pure, any thread.
 *
 * Texts of a system prompt and of tool results are joined by newlines. Results of tools become
 * messages of their own, before the rest of their message; their images become part of it. Thinking
 * is passed on as reasoning_content, and redacted thinking left out. cache_control and members that
 * chat engines do not know are left out.
 */
#ifndef PARLEY_SERVICES_OPENAI_MESSAGES_TRANSLATE_H
#define PARLEY_SERVICES_OPENAI_MESSAGES_TRANSLATE_H

#include "services/openai/messages/blocks.h"

enum { TRANSLATE_MAX_BYTES = 9 << 20 }; /* of a chat request */

/* Puts the chat request. `body`: a JSON object that json_scan takes. `is_count`: its tokens are to
 * be counted, so max_tokens may be absent. Returns false if a member is wrong: the fault is then a
 * sentence that names it, and what was put is of no use. */
bool translate_messages(struct buf *b, struct str body, bool is_count,
                        char ret_fault[MESSAGE_FAULT_BYTES]) must_check;
/* Finds the text of the last message of a user, its last block of text. Leaves *ret_text as it is
 * if there is none. */
void translate_title(struct str body, struct json_span *ret_text);

#endif
