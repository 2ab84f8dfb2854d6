/* SPDX-License-Identifier: MIT
 * link_calls.c - how requests over an engine's socket end. */
#include "services/engine/link/link_socket_internal.h"

#include "shared/base/clock.h"

static void leave_counts(struct link_socket *s, const struct link_call *call)
{
    s->poll_n -= call->kind == LINK_POLL;
    s->releasing_n -= call->kind == LINK_RELEASE && s->releasing_n > 0;
}

void link_socket_end_call(struct link_socket *s, struct link_call *call,
                          const struct link_reply *reply)
{
    struct link_reply timed = *reply;
    timed.took_ms = clock_mono_ms() - call->started_ms;
    list_remove(&call->at);
    timer_stop(&call->timer);
    leave_counts(s, call);
    call->callback(call->context, &timed);
    free(call);
}

void link_socket_cancel(struct link_call *call)
{
    list_remove(&call->at);
    timer_stop(&call->timer);
    leave_counts(call->link->socket, call);
    free(call);
}

void link_socket_end_with(struct link_socket *s, struct link_call *call, enum link_verdict verdict,
                          const char *reason)
{
    json_t *json = verdict == LINK_OK ? json_pack("{s:n}", "Topic") : NULL;
    struct link_reply reply = {.verdict = verdict,
                               .status = verdict == LINK_OK ? 200 : 0,
                               .json = json,
                               .code = "",
                               .reason = reason};
    link_socket_end_call(s, call, &reply);
    json_decref(json);
}
