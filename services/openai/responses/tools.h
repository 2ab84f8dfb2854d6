/* SPDX-License-Identifier: MIT
 *
 * tools: the tools of a request for a response as functions of a chat. Chats have no namespaces: a
 * function of one is called `<namespace>__<function>` there. A custom tool, which takes a text, is
 * a function with one parameter, CUSTOM_INPUT: few engines have such tools. Names are as they are
 * escaped. Pure, any thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_RESPONSES_TOOLS_H
#define PARLEY_SERVICES_OPENAI_RESPONSES_TOOLS_H

#include "services/openai/responses/translate_input.h"

enum tool_kind { TOOL_UNKNOWN, TOOL_FUNCTION, TOOL_CUSTOM };

/* Puts `,"tools":[...]`, nothing if none is left: those that may not be called (t->allowed) are
 * left out, and searches of the web, since no model could run them. */
bool tools_put(struct translation *t, const struct json_span *tools) must_check;
/* Checks that each tool that may be called is one of t->tools. */
bool tools_check_allowed(struct translation *t) must_check;
/* Returns whether a tool is a namespace of functions. */
bool tools_is_namespace(const struct members *tool);
/* Returns whether a tool takes a text. */
bool tools_is_custom(const struct members *tool);
/* Finds the namespace of a function that a chat has called, n == 0 if it has none, and its name
 * there. `tools`: the list of the request, which the namespace borrows; n == 0: none. */
void tools_split_name(struct str tools, struct str called, struct str *ret_namespace,
                      struct str *ret_name);
/* Returns which kind of tool that is. `namespace`: n == 0: it is in none. */
enum tool_kind tools_kind(struct str tools, struct str namespace, struct str name);

#endif
