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
/* The tools of a request by the names that chats call them. Zeroed at the start; built when it is
 * first asked, so that each call of an answer finds its tool at once. */
struct tool_index {
    bool is_built;
    struct tool_entry *entries; /* by name */
    size_t n;
    struct buf names;
};
void tool_index_fini(struct tool_index *index);

struct tool_found {
    struct str namespace, name; /* n == 0: it is in none */
    enum tool_kind kind;
};
/* Finds the tool that a chat has called. TOOL_UNKNOWN: the name is as it was called. `tools`: the
 * list of the request, the same each time, which the result borrows; n == 0: none. */
void tools_find(struct tool_index *index, struct str tools, struct str called,
                struct tool_found *ret_found);

#endif
