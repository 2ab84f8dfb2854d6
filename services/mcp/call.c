/* SPDX-License-Identifier: MIT
 * call.c - see call.h. */
#include "services/mcp/call.h"

#include "services/mcp/result.h"
#include "services/mcp/rpc.h"
#include "shared/ask/on_behalf.h"
#include "shared/ask/refusal.h"
#include "shared/base/json.h"
#include "shared/http/request/peer.h"
#include "shared/http/request/respond.h"
#include "shared/http/request/router.h"

enum { ERROR_MAX_BYTES = 16 << 10 };

bool call_can(const struct server *server, const char *method, const char *path)
{
    const char *allow;
    return router_find(server->router, str_of(method), str_of(path), &allow) != NULL;
}

bool call_read_person(const struct mcp_message *message, struct str *ret_user)
{
    struct str user = request_header(message->r, "x-parley-user");
    if (message->r->account->role == ROLE_USER)
        user = (struct str){NULL, 0};
    else if (user.n < 1 || user.n > USER_MAX_BYTES || !str_is_utf8(user))
        return false;
    *ret_user = user;
    return true;
}

/* The cursor in `<...&after=CURSOR>; rel="next"`. */
struct str call_next(const struct mcp_call *call)
{
    struct str link = inner_header(&call->inner, "link");
    const char *at = link.at == NULL ? NULL : memmem(link.at, link.n, "after=", 6);
    if (at == NULL)
        return STR("");
    struct str rest = {at + 6, link.n - (size_t)(at + 6 - link.at)};
    struct str cursor = str_cut(&rest, '>');
    return str_cut(&cursor, '&');
}

/* The sentence of a problem, or why a question has failed, and when to try again. */
static void put_error(struct mcp_call *call, struct buf *b, int status, struct str body,
                      struct str wait)
{
    char reason[160];
    json_t *tree = NULL;
    struct str detail = {NULL, 0};
    struct buf text;
    buf_init(&text, ERROR_MAX_BYTES);
    if (json_parse(body, reason, sizeof reason, &tree))
        detail = json_member_str(tree, "detail");
    if (detail.at == NULL)
        detail = json_member_str(tree, "Reason");
    buf_put(&text, detail.at != NULL ? detail : STR("The request failed."));
    if (wait.at != NULL)
        buf_printf(&text, " Retry after %.*s s.", STR_ARG(wait));
    if (call->kind->put_failure != NULL)
        call->kind->put_failure(call, b, status, buf_str(&text));
    else
        result_put_failure(b, &call->message, buf_str(&text));
    buf_fini(&text);
    json_decref(tree);
}

static void send_message(struct mcp_call *call, struct buf *b)
{
    struct request *r = call->message.r;
    call->is_answered = true;
    request_off_left(r, &call->left);
    if (!call->is_streaming) {
        respond_json(r, 200, b);
        return;
    }
    if (b->is_over) {
        buf_clear(b);
        b->is_over = false;
        rpc_put_error(b, call->message.id, RPC_INTERNAL, STR("The result is too large."));
    }
    stream_put_buf(&call->stream, "message", STR(""), b);
    stream_end(&call->stream);
}

static void on_answer(struct inner *inner, int status, struct str body)
{
    struct mcp_call *call = container_of(inner, struct mcp_call, inner);
    struct buf b;
    buf_init(&b, MCP_RESULT_MAX_BYTES);
    if (status == 200)
        call->kind->put(call, &b, body);
    else
        put_error(call, &b, status, body, inner_header(inner, "retry-after"));
    send_message(call, &b);
    buf_fini(&b);
}

static void on_event(struct inner *inner, const char *event, struct str data)
{
    struct mcp_call *call = container_of(inner, struct mcp_call, inner);
    bool is_done = strcmp(event, "done") == 0;
    struct buf b;
    if (call->is_answered)
        return;
    if (!is_done && strcmp(event, "error") != 0) {
        call->kind->on_event(call, event, data);
        return;
    }
    buf_init(&b, MCP_RESULT_MAX_BYTES);
    if (is_done)
        call->kind->put(call, &b, data);
    else
        put_error(call, &b, 500, data, (struct str){NULL, 0});
    send_message(call, &b);
    buf_fini(&b);
}

static void abandon(struct mcp_call *call)
{
    if (!call->is_answered && call->kind->on_abandoned != NULL)
        call->kind->on_abandoned(call);
    call->is_answered = true;
}

/* Without an answer: the node drains. */
static void on_end(struct inner *inner)
{
    struct mcp_call *call = container_of(inner, struct mcp_call, inner);
    struct buf b;
    if (call->is_answered)
        return;
    abandon(call);
    buf_init(&b, ERROR_MAX_BYTES);
    result_put_failure(&b, &call->message, STR("This node is shutting down: call again."));
    send_message(call, &b);
    buf_fini(&b);
}

static void on_left(struct left_listener *listener)
{
    struct mcp_call *call = container_of(listener, struct mcp_call, left);
    struct refusal refusal;
    inner_end(&call->inner, false);
    abandon(call);
    if (call->is_streaming) {
        stream_cut(&call->stream);
        return;
    }
    refusal_of_drain(&refusal);
    refusal_respond(call->message.r, &refusal);
}

static void on_gone(struct request *r)
{
    struct mcp_call *call = r->state;
    inner_end(&call->inner, call->is_answered);
    abandon(call);
    stream_fini(&call->stream);
}

void call_note(struct mcp_call *call, struct str text)
{
    struct buf b;
    if (!call->is_streaming || call->progress_token.n == 0)
        return;
    buf_init(&b, ERROR_MAX_BYTES);
    buf_lit(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                "\"progressToken\":");
    buf_put(&b, call->progress_token);
    buf_printf(&b, ",\"progress\":%u,\"message\":", ++call->progress_n);
    buf_put_json(&b, text);
    buf_lit(&b, "}}");
    stream_put_buf(&call->stream, "message", STR(""), &b);
    stream_flush(&call->stream);
    buf_fini(&b);
}

struct mcp_call *call_create(const struct mcp_message *message, const struct mcp_call_kind *kind,
                             void *about)
{
    struct mcp_call *call = request_alloc(message->r, sizeof *call);
    const json_t *meta = json_object_get(message->params, "_meta");
    *call =
        (struct mcp_call){.message = *message,
                          .kind = kind,
                          .about = about,
                          .inner = {.on_answer = on_answer, .on_event = on_event, .on_end = on_end},
                          .left = {.on_left = on_left}};
    (void)!rpc_read_id(message->r, json_object_get(meta, "progressToken"), &call->progress_token);
    call->message.params = NULL;
    return call;
}

void call_start(struct mcp_call *call, const char *method, struct str target, struct str body)
{
    struct request *r = call->message.r;
    r->state = call;
    r->on_gone = on_gone;
    request_park(r);
    request_on_left(r, &call->left);
    if (call->kind->on_event != NULL && stream_is_wanted(r)) {
        call->is_streaming = true;
        stream_init(&call->stream, r, STREAM_EVENT_FIRST, false, 2 * MCP_RESULT_MAX_BYTES);
        stream_start(&call->stream);
    }
    inner_start(&call->inner, r->server,
                &(struct inner_call){.account = r->account,
                                     .peer = peer_address(r),
                                     .id = r->id,
                                     .method = method,
                                     .target = target,
                                     .body = body,
                                     .takes_events = call->kind->on_event != NULL});
}
