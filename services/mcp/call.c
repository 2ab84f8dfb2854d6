/* SPDX-License-Identifier: MIT
 * call.c - see call.h. */
#include "services/mcp/call.h"

#include "shared/ask/refusal.h"
#include "shared/base/json.h"
#include "shared/http/request/peer.h"
#include "shared/http/request/respond.h"
#include "shared/http/request/router.h"

bool call_can(const struct server *server, const char *method, const char *path)
{
    const char *allow;
    return router_find(server->router, str_of(method), str_of(path), &allow) != NULL;
}

void call_put_error_text(struct buf *b, const struct inner *inner, struct str body)
{
    char reason[160];
    json_t *tree = NULL;
    struct str wait = inner_header(inner, "retry-after");
    struct str detail = {NULL, 0};
    if (json_parse(body, reason, sizeof reason, &tree))
        detail = json_member_str(tree, "detail");
    buf_put(b, detail.at != NULL ? detail : STR("The request failed."));
    if (wait.at != NULL)
        buf_printf(b, " Retry after %.*s s.", STR_ARG(wait));
    json_decref(tree);
}

static void on_answer(struct inner *inner, int status, struct str body)
{
    struct mcp_call *call = container_of(inner, struct mcp_call, inner);
    struct buf b;
    call->is_answered = true;
    request_off_left(call->message.r, &call->left);
    buf_init(&b, MCP_RESULT_MAX_BYTES);
    call->kind->put(call, &b, status, body);
    respond_json(call->message.r, 200, &b);
    buf_fini(&b);
}

static void on_left(struct left_listener *listener)
{
    struct mcp_call *call = container_of(listener, struct mcp_call, left);
    struct refusal refusal;
    inner_end(&call->inner, false);
    refusal_of_drain(&refusal);
    refusal_respond(call->message.r, &refusal);
}

static void on_gone(struct request *r)
{
    struct mcp_call *call = r->state;
    inner_end(&call->inner, call->is_answered);
}

struct mcp_call *call_create(const struct mcp_message *message, const struct mcp_call_kind *kind,
                             const void *about)
{
    struct mcp_call *call = request_alloc(message->r, sizeof *call);
    *call = (struct mcp_call){.message = *message,
                              .kind = kind,
                              .about = about,
                              .inner = {.on_answer = on_answer},
                              .left = {.on_left = on_left}};
    call->message.params = NULL;
    return call;
}

void call_start(struct mcp_call *call, const char *method, struct str target, struct str body)
{
    struct request *r = call->message.r;
    r->state = call;
    r->on_gone = on_gone;
    request_on_left(r, &call->left);
    inner_start(&call->inner, r->server,
                &(struct inner_call){.account = r->account,
                                     .peer = peer_address(r),
                                     .id = r->id,
                                     .method = method,
                                     .target = target,
                                     .body = body});
}
