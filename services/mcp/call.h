/* SPDX-License-Identifier: MIT
 *
 * call: answers a message with what a request of the node's own is answered (inner.h): as JSON in
 * one piece, or as server-sent events with notes of its progress before. If the client leaves, that
 * request ends as if its own client had left. In the request's memory, on the loop's thread.
 *
 *   call_start --inner_start--> on_answer ------------------> the result
 *        |                  \-> on_event (progress) -> done -> the result
 *        |  the client leaves, or the account loses its right
 *        +--> on_left / on_gone: inner_end
 */
#ifndef PARLEY_SERVICES_MCP_CALL_H
#define PARLEY_SERVICES_MCP_CALL_H

#include "services/mcp/mcp.h"
#include "shared/http/request/inner.h"
#include "shared/http/request/stream.h"

struct mcp_call;

/* How an answer of the inner request becomes a result. */
struct mcp_call_kind {
    /* Puts the whole message: the answer, or the data of the event `done`. */
    void (*put)(struct mcp_call *call, struct buf *b, struct str body);
    /* Puts why there is none: the route's status, and a sentence. NULL: as a result of a tool. */
    void (*put_failure)(struct mcp_call *call, struct buf *b, int status, struct str text);
    /* An event before the last one; NULL: its events are of no interest, and it answers whole. */
    void (*on_event)(struct mcp_call *call, const char *event, struct str data);
    /* Nobody waits for the answer any more; may be NULL. */
    void (*on_abandoned)(struct mcp_call *call);
};

struct mcp_call {
    struct mcp_message message; /* its params are gone once it has started */
    const struct mcp_call_kind *kind;
    void *about;               /* the kind's own */
    struct str progress_token; /* as JSON, in the request's pool; n == 0: none */
    unsigned progress_n;       /* notes so far */
    struct inner inner;
    struct left_listener left;
    struct stream stream; /* to the client; unused: the answer comes in one piece */
    bool is_streaming, is_answered;
    bool has_begun; /* text has come since the last other event */
};

/* Returns one in the request's pool. */
struct mcp_call *call_create(const struct mcp_message *message, const struct mcp_call_kind *kind,
                             void *about);
/* Starts it. The route must exist on this node and admit the account (call_can). */
void call_start(struct mcp_call *call, const char *method, struct str target, struct str body);

/* Returns whether this node has the route. Paths with `{name}` are as their tables have them. */
bool call_can(const struct server *server, const char *method, const char *path);

/* Reads the person that an account of role frontend names; at == NULL: the account itself.
 * Returns false if such an account names nobody (CALL_NO_PERSON). */
bool call_read_person(const struct mcp_message *message, struct str *ret_user) must_check;
#define CALL_NO_PERSON                                                                             \
    "An account of role frontend names the person it calls for, in 1 to 128 bytes of UTF-8, in "   \
    "the header X-Parley-User."

/* Inside `put`: where the route's list continues, as its parameter `after` takes it; n == 0: it
 * ends here. */
struct str call_next(const struct mcp_call *call);

/* Sends a note of progress, if the client wants them. */
void call_note(struct mcp_call *call, struct str text);

#endif
