/* SPDX-License-Identifier: MIT
 * link_claims.c - claims that come over an engine's socket, the polls that wait for them, and for
 * how many there is room. */
#include "services/engine/link/link_socket_internal.h"

#include "shared/base/log.h"
#include "shared/base/mem.h"

enum {
    RELEASE_MAX_BYTES = 4096,
    UNTAKEN_MS = 300 /* a slot that has answered polls within this */
};

/* A claim that came while no poll waited. */
struct untaken {
    struct list_link at;
    struct link_socket *socket;
    struct timer timer;
    unsigned number;
    json_t *json;
};

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
    buf_init(&body, RELEASE_MAX_BYTES);
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

void link_socket_on_claim(struct link_socket *s, json_t *json)
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

void link_socket_on_unreadable(struct link_socket *s, struct str text, const char *reason)
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
        link_socket_end_with(s, poll, LINK_OK, "");
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

/* --- polls ------------------------------------------------------------------------------------ */

void link_socket_start_poll(struct link_socket *s, struct link_call *call)
{
    call->timer.fire = on_poll_timer;
    list_append(&s->polls, &call->at);
    s->poll_n++;
    if (s->claim_n > 0)
        timer_set(s->settings.timers, &call->timer, 0);
}

void link_socket_end_poll(struct link_socket *s, const void *context)
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
        link_socket_end_poll(s, poll->context);
}

unsigned link_socket_count(const struct link_socket *s, unsigned poll_n)
{
    unsigned coming_n = 0;
    list_for_each (struct untaken, claim, &s->claims, at)
        coming_n += list_is_linked(&claim->timer.link);
    return s->held_n + s->claim_n + poll_n - (coming_n < poll_n ? coming_n : poll_n);
}

void link_socket_put_slots(struct link_socket *s)
{
    struct buf b;
    unsigned slots = link_socket_count(s, s->poll_n);
    slots -= s->releasing_n < slots ? s->releasing_n : slots;
    if (slots == s->reported_slots || s->client == NULL)
        return;
    s->reported_slots = slots;
    buf_init(&b, 64);
    buf_printf(&b, "{\"Type\":\"slots\",\"Slots\":%u}", slots);
    websocket_client_send(s->client, buf_str(&b));
    buf_fini(&b);
}
