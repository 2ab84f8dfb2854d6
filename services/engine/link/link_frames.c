/* SPDX-License-Identifier: MIT
 * link_frames.c - the frames of an engine's socket: requests, and what the node sends. */
#include "services/engine/link/link_socket_internal.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/mem.h"

static const char *const types[LINK_KIND_NR] = {
    [LINK_REST] = "rest",       [LINK_ANSWER] = "answer",       [LINK_EXTEND] = "extend",
    [LINK_RELEASE] = "release", [LINK_RELEASE_ONE] = "release",
};

/* --- sending ---------------------------------------------------------------------------------- */

static void on_late(void *context)
{
    struct link_call *call = context;
    link_socket_end_with(call->link->socket, call, LINK_RETRY, "the node did not reply");
}

static void send_frame(struct link_socket *s, const struct link_call *call,
                       const struct link_request *request)
{
    struct buf b;
    buf_init(&b, SOCKET_FRAME_MAX_BYTES);
    buf_printf(&b, "{\"Type\":\"%s\",\"Id\":%llu,", types[call->kind],
               (unsigned long long)call->id);
    if (request->request_id.at != NULL) {
        buf_lit(&b, "\"RequestId\":");
        buf_put_json(&b, request->request_id);
        buf_put_char(&b, ',');
    }
    if (call->kind == LINK_REST) {
        buf_printf(&b, "\"Slot\":%u,\"Seconds\":%llu,\"Reason\":", request->home + 1,
                   (unsigned long long)request->rest_s);
        buf_put_json(&b, str_of(request->reason));
        buf_put_char(&b, '}');
    } else {
        buf_put(&b, (struct str){request->body.at + 1, request->body.n - 1});
    }
    websocket_client_send(s->client, buf_str(&b));
    buf_fini(&b);
}

struct link_call *link_socket_start(struct link_socket *s, const struct link_request *request,
                                    link_callback callback, void *context)
{
    struct link_call *call = mem_alloc(sizeof *call);
    *call = (struct link_call){.link = s->link,
                               .callback = callback,
                               .context = context,
                               .started_ms = clock_mono_ms(),
                               .kind = request->kind,
                               .id = ++s->last_id};
    call->timer.context = call;
    if (request->kind == LINK_POLL) {
        link_socket_start_poll(s, call);
    } else {
        call->timer.fire = on_late;
        list_append(&s->calls, &call->at);
        timer_set(s->settings.timers, &call->timer, request->timeout_ms);
        s->releasing_n += request->kind == LINK_RELEASE;
        if (request->kind == LINK_REST)
            link_socket_end_poll(s, context);
        link_socket_put_slots(s); /* first: the release frees a slot at the node */
        send_frame(s, call, request);
    }
    return call;
}

/* --- receiving -------------------------------------------------------------------------------- */

static void on_reply(struct link_socket *s, const json_t *frame)
{
    const json_t *id = json_object_get(frame, "Id");
    int status = (int)json_integer_value(json_object_get(frame, "Status"));
    struct link_reply reply = {
        .verdict = link_judge(status), .status = status, .json = json_object_get(frame, "Body")};
    link_read_problem(&reply);
    if (reply.reason == NULL)
        reply.reason = "";
    if (id == NULL) {
        link_socket_on_piece(s, frame, &reply);
        return;
    }
    list_for_each (struct link_call, call, &s->calls, at)
        if (call->id == (uint64_t)json_integer_value(id)) {
            link_socket_end_call(s, call, &reply);
            return;
        }
}

static void on_frame(struct link_socket *s, json_t *frame)
{
    struct str type = json_member_str(frame, "Type");
    if (str_eq(type, STR("claim"))) {
        link_socket_on_claim(s, json_object_get(frame, "Body"));
    } else if (str_eq(type, STR("reply"))) {
        on_reply(s, frame);
    } else if (str_eq(type, STR("stored"))) {
        struct link_reply reply = {
            .verdict = LINK_OK, .status = 200, .json = frame, .code = "", .reason = ""};
        link_socket_on_piece(s, frame, &reply);
    } else if (str_eq(type, STR("error"))) {
        log_write(LOG_WARN, "the node says of this engine's socket",
                  LOG_STR("detail", json_member_str(frame, "detail")));
    }
}

void link_socket_on_text(void *context, struct str text)
{
    struct link_socket *s = context;
    char reason[160] = "";
    json_t *frame;
    if (!json_parse(text, reason, sizeof reason, &frame)) {
        link_socket_on_unreadable(s, text, reason);
        return;
    }
    on_frame(s, frame);
    json_decref(frame);
}
