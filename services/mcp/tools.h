/* SPDX-License-Identifier: MIT
 *
 * tools: the tools that a model may call. Each is a row of a table: its arguments, from which its
 * schema follows, and the route that does the work. A node lists the tools whose routes it has. On
 * the loop's thread.
 */
#ifndef PARLEY_SERVICES_MCP_TOOLS_H
#define PARLEY_SERVICES_MCP_TOOLS_H

#include "services/mcp/call.h"

/* The kinds of arguments; the bounds of texts count characters. */
enum tool_arg_kind { ARG_TEXT, ARG_ID, ARG_NUMBER, ARG_BOOL };

/* An argument has the name that its route has for it, in the path, the query or the body. */
struct tool_arg {
    const char *name;
    enum tool_arg_kind kind;
    bool is_required;
    unsigned min, max;
    const char *description;
    unsigned preset; /* of a number in the query that is absent; 0: none */
};

struct tool {
    const char *name, *title, *description;
    const struct tool_arg *args; /* ends with a NULL name */
    const char *output;          /* schema of its structured content */
    bool is_open;                /* it asks models, which know more than the documents */
    bool stores;                 /* it leaves something behind */
    const char *method, *path;
    const char *query; /* of each request; NULL: none */
    /* How its answer becomes a result. NULL: as it is. */
    const struct mcp_call_kind *kind;
    /* Puts the body, if its members are not the arguments. *ret_about is the call's `about`. */
    void (*put_body)(struct buf *b, const struct mcp_message *message, const json_t *args,
                     struct str user, void **ret_about);
};

void tools_list(const struct mcp_message *message);
void tools_call(const struct mcp_message *message);

/* The table, which ends with a NULL name (tool_table.c). */
extern const struct tool tool_table[];

#endif
