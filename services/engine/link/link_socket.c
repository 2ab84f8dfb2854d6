/* SPDX-License-Identifier: MIT
 * link_socket.c - see link_socket.h. */
#include "services/engine/link/link_socket_internal.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"

#include <stdio.h>

enum {
    OPEN_MS = 5000,
    WATCH_MS = 10000,
    SILENCE_MS = 60000, /* nodes ping every 20 s */
    AGAIN_MS = 200,     /* at most, after a loss */
    REFUSED_FIRST_MS = 60000,
    REFUSED_LONGEST_MS = 600000,
    MESSAGE_MAX_BYTES = 64 << 20, /* a claim may hold a hundred queries of 256 KiB, and history */
    QUERY_MAX_BYTES = 2048
};

static const struct sm_state states[] = {
    [SOCKET_DOWN] = {"DOWN", SM(SOCKET_OPENING)},
    [SOCKET_OPENING] = {"OPENING", SM(SOCKET_OPEN) | SM(SOCKET_DOWN)},
    [SOCKET_OPEN] = {"OPEN", SM(SOCKET_CLOSING) | SM(SOCKET_DOWN)},
    [SOCKET_CLOSING] = {"CLOSING", SM(SOCKET_DOWN)},
};
static const struct sm sm = SM_OF("engine socket", states);

static void move(struct link_socket *s, enum socket_state to)
{
    s->state = sm_move(&sm, 0, s->state, to);
}

static void set_timer(struct link_socket *s, uint64_t after_ms)
{
    timer_set(s->settings.timers, &s->timer, after_ms);
}

/* --- opening ---------------------------------------------------------------------------------- */

static void on_open(void *context, const struct websocket_client_fault *fault)
{
    struct link_socket *s = context;
    if (fault != NULL) {
        s->fault = *fault;
        return; /* the client is over: link_socket_turn sees it */
    }
    move(s, SOCKET_OPEN);
    set_timer(s, WATCH_MS);
    s->number++;
    s->failures = 0;
    s->backoff.failures = 0;
    link_note_success(s->node);
    log_write(s->is_refused_said ? LOG_INFO : LOG_DEBUG, "the engine's socket is open",
              LOG_S("url", s->node->url));
    s->is_refused_said = false;
}

static void open_now(struct link_socket *s)
{
    struct buf url, query;
    move(s, SOCKET_OPENING);
    set_timer(s, OPEN_MS);
    s->has_tried = true;
    s->fault = (struct websocket_client_fault){.status = 0};
    snprintf(s->fault.reason, sizeof s->fault.reason, "no response to the handshake");
    s->node = link_pick_node(s->link, s->home);
    buf_init(&query, QUERY_MAX_BYTES);
    buf_init(&url, 2 * QUERY_MAX_BYTES + LINK_NODE_URL_MAX_BYTES);
    buf_lit(&query, "Slots=0&History=true&Engine=");
    buf_put_url_encoded(&query, str_of(s->settings.engine_id));
    buf_put(&query, str_of(s->settings.serves));
    link_put_url(&url, s->link, s->node, "/ws/engine", buf_str(&query));
    s->client = websocket_client_start(&s->client_settings, s->link->client, url.at);
    buf_fini(&url);
    buf_fini(&query);
}

/* --- losing ----------------------------------------------------------------------------------- */

/* A lost socket is to those who wait the same as a node that does not respond. */
static struct link_reply loss_of(const struct link_socket *s)
{
    return (struct link_reply){
        .verdict = LINK_RETRY, .status = s->fault.status, .code = "", .reason = s->fault.reason};
}

static void end_all(struct link_socket *s, struct list *list)
{
    struct link_reply reply = loss_of(s);
    struct list ended = {0};
    struct link_call *call;
    while ((call = list_first(list, struct link_call, at)) != NULL) {
        list_remove(&call->at);
        list_append(&ended, &call->at);
    }
    while ((call = list_first(&ended, struct link_call, at)) != NULL)
        link_socket_end_call(s, call, &reply);
}

/* A proxy that lets no WebSocket through, or a node without one, will do so for a while. */
static uint64_t pause_after_refusal(struct link_socket *s)
{
    unsigned doublings = s->failures < 4 ? s->failures : 4;
    uint64_t ms = (uint64_t)REFUSED_FIRST_MS << doublings;
    s->failures++;
    ms = ms < REFUSED_LONGEST_MS ? ms : REFUSED_LONGEST_MS;
    return ms / 2 + arc4random_uniform((uint32_t)ms / 2 + 1);
}

static void on_refused(struct link_socket *s)
{
    bool is_spoken_for = s->fault.status != 0; /* something answers there */
    struct link_reply reply = loss_of(s);
    if (is_spoken_for && !s->is_refused_said)
        log_write(LOG_WARN,
                  s->settings.transport == LINK_AUTO
                      ? "no WebSocket to the nodes: using their routes, at a higher cost"
                      : "no WebSocket to the nodes",
                  LOG_S("url", s->node->url), LOG_U("status", s->fault.status),
                  LOG_S("reason", s->fault.reason));
    s->is_refused_said = s->is_refused_said || is_spoken_for;
    if (!is_spoken_for)
        link_note_failure(s->node, &reply);
    set_timer(s, is_spoken_for && s->settings.transport == LINK_AUTO
                     ? pause_after_refusal(s)
                     : backoff_next_ms(&s->backoff, 0));
    if (s->settings.transport == LINK_AUTO)
        end_all(s, &s->polls);
}

static void on_lost(struct link_socket *s, unsigned code)
{
    snprintf(s->fault.reason, sizeof s->fault.reason, "its WebSocket has closed (%u)", code);
    s->fault.status = 0;
    struct link_reply reply = loss_of(s);
    link_note_failure(s->node, &reply);
    end_all(s, &s->calls);
    link_socket_lose_pieces(s, &reply);
    set_timer(s, arc4random_uniform(AGAIN_MS));
}

static void lose(struct link_socket *s)
{
    enum socket_state was = s->state;
    unsigned code = websocket_client_code(s->client);
    websocket_client_close(s->client);
    s->client = NULL;
    timer_stop(&s->timer);
    s->held_n = s->releasing_n = s->reported_slots = 0;
    move(s, SOCKET_DOWN);
    if (was == SOCKET_OPENING)
        on_refused(s);
    else
        on_lost(s, code);
    if (s->is_leaving) {
        timer_stop(&s->timer);
        end_all(s, &s->polls);
    }
}

static void on_timer(void *context)
{
    struct link_socket *s = context;
    uint64_t silent_ms;
    switch (s->state) {
    case SOCKET_DOWN: open_now(s); break;
    case SOCKET_OPENING: lose(s); break;
    default:
        silent_ms = clock_mono_ms() - websocket_client_heard_ms(s->client);
        if (silent_ms > SILENCE_MS)
            lose(s);
        else
            set_timer(s, WATCH_MS);
    }
}

/* --- for link.c ------------------------------------------------------------------------------- */

static bool takes_poll(struct link_socket *s)
{
    if (link_socket_count(s, s->poll_n + 1) > SOCKET_SLOTS_MAX || s->is_leaving)
        return false;
    if (s->state == SOCKET_DOWN && !s->has_tried)
        open_now(s);
    bool is_lost_only = s->failures == 0 && s->backoff.failures == 0;
    return s->state != SOCKET_DOWN || is_lost_only || s->settings.transport == LINK_SOCKET;
}

bool link_socket_takes(struct link_socket *s, const struct link_request *request)
{
    switch (request->kind) {
    case LINK_ROUTE:
    case LINK_LEAVE: return false; /* the route says it to the cluster */
    case LINK_POLL: return takes_poll(s);
    default: return s->state == SOCKET_OPEN;
    }
}

struct pollfd link_socket_poll(const struct link_socket *s)
{
    return s->client == NULL ? (struct pollfd){.fd = -1} : websocket_client_poll(s->client);
}

void link_socket_turn(struct link_socket *s)
{
    if (s->state == SOCKET_OPEN)
        link_socket_put_slots(s);
    bool was_open = s->state == SOCKET_OPEN;
    if (s->client != NULL && !websocket_client_turn(s->client))
        lose(s);
    else if (!was_open && s->state == SOCKET_OPEN)
        link_socket_put_slots(s); /* now: nothing else may wake the loop for seconds */
}

void link_open_socket(struct link *link, const struct link_socket_settings *settings)
{
    if (settings->transport != LINK_ROUTES)
        link->socket = link_socket_create(link, settings);
}

bool link_has_socket(const struct link *link)
{
    return link->socket != NULL && link->socket->state == SOCKET_OPEN;
}

struct pollfd link_poll(const struct link *link)
{
    return link->socket == NULL ? (struct pollfd){.fd = -1} : link_socket_poll(link->socket);
}

void link_turn(struct link *link)
{
    if (link->socket != NULL)
        link_socket_turn(link->socket);
}

void link_leave(struct link *link)
{
    struct link_socket *s = link->socket;
    if (s == NULL || s->is_leaving)
        return;
    s->is_leaving = true;
    if (s->state == SOCKET_OPEN) {
        move(s, SOCKET_CLOSING);
        websocket_client_finish(s->client);
    }
    link_socket_end_polls(s);
    link_socket_release_claims(s);
}

bool link_has_left(const struct link *link)
{
    const struct link_socket *s = link->socket;
    return s == NULL || (s->is_leaving && s->client == NULL && s->claim_n == 0);
}

struct link_socket *link_socket_create(struct link *link,
                                       const struct link_socket_settings *settings)
{
    struct link_socket *s = mem_zeroed(sizeof *s);
    s->link = link;
    s->settings = *settings;
    s->home = arc4random_uniform(link->node_n);
    s->timer = (struct timer){.fire = on_timer, .context = s};
    s->client_settings =
        (struct websocket_client_settings){.user_agent = "parley-engine/" PARLEY_VERSION,
                                           .message_max_bytes = MESSAGE_MAX_BYTES,
                                           .on_text = link_socket_on_text,
                                           .on_open = on_open,
                                           .context = s};
    return s;
}

void link_socket_destroy(struct link_socket *s)
{
    if (s == NULL)
        return;
    timer_stop(&s->timer);
    link_socket_drop_claims(s);
    websocket_client_close(s->client);
    free(s);
}
