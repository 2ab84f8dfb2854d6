/* SPDX-License-Identifier: MIT
 * link_frames.c - the frames of an engine's socket: requests and their replies, claims, and pieces
 * of text with what the node has stored of them. */
#include "services/engine/link/link_socket_internal.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/mem.h"

enum {
    FRAME_MAX_BYTES = 2 << 20, /* the body of a route, and more members */
    LEASE_MAX_BYTES = 32,
    UNTAKEN_MS = 300 /* a slot that has answered polls within this */
};

static const char *const types[LINK_KIND_NR] = {
    [LINK_REST] = "rest",       [LINK_ANSWER] = "answer",       [LINK_EXTEND] = "extend",
    [LINK_RELEASE] = "release", [LINK_RELEASE_ONE] = "release",
};

/* A claim that came while no poll waited. */
struct untaken {
    struct list_link at;
    struct link_socket *socket;
    struct timer timer;
    unsigned number;
    json_t *json;
};

/* Hears what becomes of the text of one claim. */
struct piece_listener {
    struct list_link at;
    char lease[LEASE_MAX_BYTES];
    link_callback callback;
    void *context;
};

/* --- calls ------------------------------------------------------------------------------------ */

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

static void end_with(struct link_socket *s, struct link_call *call, enum link_verdict verdict,
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

/* --- claims ----------------------------------------------------------------------------------- */

static void forget(struct untaken *claim)
{
    list_remove(&claim->at);
    timer_stop(&claim->timer);
    claim->socket->claim_n--;
    json_decref(claim->json);
    free(claim);
}

static void give_claim(struct link_socket *s, struct link_call *poll, const json_t *json,
                       unsigned number)
{
    struct link_reply reply = {.verdict = LINK_OK,
                               .status = 200,
                               .json = json,
                               .code = "",
                               .reason = "",
                               .socket = number};
    s->held_n += number == s->number;
    link_socket_end_call(s, poll, &reply);
}

static void on_released(void *context, const struct link_reply *reply)
{
    struct untaken *claim = context;
    if (reply->verdict != LINK_OK)
        log_write(LOG_INFO, "claim not given back: its lease will expire",
                  LOG_STR("topic", json_member_str(claim->json, "Topic")),
                  LOG_S("reason", reply->reason));
    forget(claim);
}

/* No attempt is used up: nobody has looked at it. */
static void release(void *context)
{
    struct untaken *claim = context;
    struct buf body;
    buf_init(&body, FRAME_MAX_BYTES);
    buf_lit(&body, "{\"Topic\":");
    buf_put_json(&body, json_member_str(claim->json, "Topic"));
    buf_lit(&body, ",\"Lease\":");
    buf_put_json_value(&body, json_object_get(claim->json, "Lease"));
    buf_lit(&body, ",\"Reason\":\"the engine has no free slot\",\"Retry\":true,\"Away\":true}");
    struct link_request request = {.path = "/api/release-claim",
                                   .body = buf_str(&body),
                                   .timeout_ms = 15000,
                                   .home = claim->socket->home,
                                   .kind = LINK_RELEASE};
    timer_stop(&claim->timer);
    (void)!link_start(claim->socket->link, &request, on_released, claim);
    buf_fini(&body);
}

/* NULL: all slots work, or have a claim or an end coming. */
static struct link_call *waiting_poll(struct link_socket *s)
{
    list_for_each (struct link_call, poll, &s->polls, at)
        if (!list_is_linked(&poll->timer.link))
            return poll;
    return NULL;
}

static void on_claim(struct link_socket *s, json_t *json)
{
    struct link_call *poll = waiting_poll(s);
    if (poll != NULL) {
        give_claim(s, poll, json, s->number);
        return;
    }
    struct untaken *claim = mem_zeroed(sizeof *claim);
    claim->socket = s;
    claim->number = s->number;
    claim->json = json_incref(json);
    claim->timer = (struct timer){.fire = release, .context = claim};
    list_append(&s->claims, &claim->at);
    s->claim_n++;
    timer_set(s->settings.timers, &claim->timer, s->is_leaving ? 0 : UNTAKEN_MS);
}

/* A claim whose JSON cannot be read: the slot finds its topic and lease in the text. */
static void on_unreadable(struct link_socket *s, struct str text, const char *reason)
{
    static const struct str before = STR("{\"Type\":\"claim\",\"Body\":");
    struct link_call *poll = waiting_poll(s);
    if (poll == NULL || !str_has_prefix(text, before)) {
        log_write(LOG_ERROR, "a frame of the node cannot be read", LOG_S("reason", reason));
        return;
    }
    struct link_reply reply = {.verdict = LINK_UNREADABLE,
                               .status = 200,
                               .body = {text.at + before.n, text.n - before.n - 1},
                               .code = "",
                               .reason = reason,
                               .socket = s->number};
    s->held_n++;
    link_socket_end_call(s, poll, &reply);
}

/* A poll that found a claim waiting, or that a slot ends because it leaves. */
static void on_poll_timer(void *context)
{
    struct link_call *poll = context;
    struct link_socket *s = poll->link->socket;
    struct untaken *claim = list_first(&s->claims, struct untaken, at);
    if (poll->is_ended) {
        end_with(s, poll, LINK_OK, "");
        return;
    }
    if (claim == NULL || !list_is_linked(&claim->timer.link))
        return;
    json_t *json = json_incref(claim->json);
    unsigned number = claim->number;
    forget(claim);
    give_claim(s, poll, json, number);
    json_decref(json);
}

void link_socket_release_claims(struct link_socket *s)
{
    list_for_each (struct untaken, claim, &s->claims, at)
        if (list_is_linked(&claim->timer.link))
            timer_set(s->settings.timers, &claim->timer, 0);
}

void link_socket_drop_claims(struct link_socket *s)
{
    struct untaken *claim;
    while ((claim = list_first(&s->claims, struct untaken, at)) != NULL)
        forget(claim);
}

void link_end_claim(struct link *link, unsigned socket)
{
    if (link->socket != NULL && socket != 0 && socket == link->socket->number &&
        link->socket->held_n > 0)
        link->socket->held_n--;
}

void link_socket_put_slots(struct link_socket *s)
{
    struct buf b;
    unsigned slots = s->poll_n + s->claim_n + s->held_n;
    slots -= s->releasing_n < slots ? s->releasing_n : slots;
    if (slots == s->reported_slots || s->client == NULL)
        return;
    s->reported_slots = slots;
    buf_init(&b, 64);
    buf_printf(&b, "{\"Type\":\"slots\",\"Slots\":%u}", slots);
    websocket_client_send(s->client, buf_str(&b));
    buf_fini(&b);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void on_late(void *context)
{
    struct link_call *call = context;
    end_with(call->link->socket, call, LINK_RETRY, "the node did not reply");
}

static void send_frame(struct link_socket *s, const struct link_call *call,
                       const struct link_request *request)
{
    struct buf b;
    buf_init(&b, FRAME_MAX_BYTES);
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

static void start_poll(struct link_socket *s, struct link_call *call)
{
    call->timer.fire = on_poll_timer;
    list_append(&s->polls, &call->at);
    s->poll_n++;
    if (s->claim_n > 0)
        timer_set(s->settings.timers, &call->timer, 0);
}

/* The slot's poll, of which there is one at most. */
static void end_poll(struct link_socket *s, const void *context)
{
    list_for_each (struct link_call, poll, &s->polls, at)
        if (poll->context == context) {
            poll->is_ended = true;
            timer_set(s->settings.timers, &poll->timer, 0);
        }
}

void link_socket_end_polls(struct link_socket *s)
{
    list_for_each (struct link_call, poll, &s->polls, at)
        end_poll(s, poll->context);
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
        start_poll(s, call);
    } else {
        call->timer.fire = on_late;
        list_append(&s->calls, &call->at);
        timer_set(s->settings.timers, &call->timer, request->timeout_ms);
        s->releasing_n += request->kind == LINK_RELEASE;
        if (request->kind == LINK_REST)
            end_poll(s, context);
        link_socket_put_slots(s); /* first: the release frees a slot at the node */
        send_frame(s, call, request);
    }
    return call;
}

/* --- pieces ----------------------------------------------------------------------------------- */

static void copy_lease(const json_t *lease, char room[LEASE_MAX_BYTES])
{
    struct buf b;
    buf_init(&b, LEASE_MAX_BYTES);
    if (json_is_string(lease))
        buf_put(&b, json_str(lease));
    else if (lease != NULL)
        buf_put_json_value(&b, lease);
    size_t n = b.is_over || b.n >= LEASE_MAX_BYTES ? 0 : b.n;
    memcpy(room, b.at == NULL ? "" : b.at, n);
    room[n] = 0;
    buf_fini(&b);
}

static struct piece_listener *find_listener(struct link_socket *s, const void *context)
{
    list_for_each (struct piece_listener, listener, &s->pieces, at)
        if (listener->context == context)
            return listener;
    return NULL;
}

bool link_send_piece(struct link *link, const json_t *lease, struct str body,
                     link_callback callback, void *context)
{
    struct link_socket *s = link->socket;
    struct buf b;
    if (s == NULL || s->state != SOCKET_OPEN)
        return false;
    struct piece_listener *listener = find_listener(s, context);
    if (listener == NULL) {
        listener = mem_zeroed(sizeof *listener);
        listener->context = context;
        list_append(&s->pieces, &listener->at);
    }
    listener->callback = callback;
    copy_lease(lease, listener->lease);
    buf_init(&b, FRAME_MAX_BYTES);
    buf_lit(&b, "{\"Type\":\"partial\",");
    buf_put(&b, (struct str){body.at + 1, body.n - 1});
    websocket_client_send(s->client, buf_str(&b));
    buf_fini(&b);
    return true;
}

static void remove_listener(struct piece_listener *listener)
{
    list_remove(&listener->at);
    free(listener);
}

void link_end_pieces(struct link *link, const void *context)
{
    struct piece_listener *listener =
        link->socket == NULL ? NULL : find_listener(link->socket, context);
    if (listener != NULL)
        remove_listener(listener);
}

/* A listener may end itself or others. */
void link_socket_lose_pieces(struct link_socket *s, const struct link_reply *reply)
{
    struct piece_listener *listener;
    while ((listener = list_first(&s->pieces, struct piece_listener, at)) != NULL) {
        struct piece_listener lost = *listener;
        remove_listener(listener);
        lost.callback(lost.context, reply);
    }
}

static void on_piece(struct link_socket *s, const json_t *frame, const struct link_reply *reply)
{
    char lease[LEASE_MAX_BYTES];
    copy_lease(json_object_get(frame, "Lease"), lease);
    list_for_each (struct piece_listener, listener, &s->pieces, at)
        if (lease[0] != 0 && strcmp(listener->lease, lease) == 0) {
            listener->callback(listener->context, reply);
            return;
        }
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
        on_piece(s, frame, &reply);
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
        on_claim(s, json_object_get(frame, "Body"));
    } else if (str_eq(type, STR("reply"))) {
        on_reply(s, frame);
    } else if (str_eq(type, STR("stored"))) {
        struct link_reply reply = {
            .verdict = LINK_OK, .status = 200, .json = frame, .code = "", .reason = ""};
        on_piece(s, frame, &reply);
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
        on_unreadable(s, text, reason);
        return;
    }
    on_frame(s, frame);
    json_decref(frame);
}
