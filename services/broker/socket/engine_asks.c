/* SPDX-License-Identifier: MIT
 * engine_asks.c - an engine's socket: sending, requests of the node's own, and slots (see
 * engine_socket.h). */
#include "services/broker/socket/engine_socket.h"

#include "shared/base/mem.h"

#include <stdio.h>

enum {
    TARGET_MAX_BYTES = 4096,
    ASKS_MAX = 64,           /* frames in progress; past that nothing more is read */
    BODIES_BYTES = 64 << 10, /* or with more than this of them, ... */
    TEXT_BYTES = 256 << 10,  /* or of text that is not stored, in all drafts */
    RETRY_MS = 1000,
    CHANGE_MS = 100, /* each poll is a call of Redis, however often an engine changes its slots */
    POLL_S = 120,
    EARLY_MS = 1000 /* a poll with nothing that ended so long before its time was ended */
};

const struct engine_frame_info engine_frames[FRAME_NR] = {
    [FRAME_PARTIAL] = {"partial", "POST", "/api/give-partial"},
    [FRAME_ANSWER] = {"answer", "POST", "/api/give-new-answer"},
    [FRAME_EXTEND] = {"extend", "POST", "/api/extend-claim"},
    [FRAME_RELEASE] = {"release", "POST", "/api/release-claim"},
    [FRAME_REST] = {"rest", "GET", "/api/get-new-queries"},
};

/* --- sending ---------------------------------------------------------------------------------- */

/* A partial answer without an Id is identified by Lease and Seq. */
static void put_reply(struct buf *b, enum engine_frame to, struct str id, uint64_t seq,
                      struct str lease, int status)
{
    buf_printf(b, "{\"Type\":\"reply\",\"To\":\"%s\"", engine_frames[to].type);
    if (id.n > 0)
        buf_printf(b, ",\"Id\":%.*s", STR_ARG(id));
    if (lease.n > 0)
        buf_printf(b, ",\"Lease\":\"%.*s\"", STR_ARG(lease));
    if (to == FRAME_PARTIAL && seq != 0)
        buf_printf(b, ",\"Seq\":%llu", (unsigned long long)seq);
    buf_printf(b, ",\"Status\":%d,\"Body\":", status);
}

void engine_reply(struct engine_socket *s, const struct engine_ask *ask, int status,
                  struct str body)
{
    struct buf b;
    buf_init(&b, ENGINE_FRAME_MAX_BYTES);
    put_reply(&b, ask->frame, str_of(ask->id), ask->seq, str_of(ask->lease), status);
    buf_put(&b, body);
    buf_put_char(&b, '}');
    engine_socket_send(s, &b);
    buf_fini(&b);
}

void engine_reply_stored(struct engine_socket *s, struct str id, uint64_t seq, struct str lease,
                         uint64_t next)
{
    struct buf b;
    buf_init(&b, 1024);
    put_reply(&b, FRAME_PARTIAL, id, seq, lease, 200);
    buf_printf(&b, "{\"Next\":%llu,\"IntervalMs\":%llu,\"Cancelled\":false}}",
               (unsigned long long)next, (unsigned long long)s->drafts.interval_ms);
    engine_socket_send(s, &b);
    buf_fini(&b);
}

void engine_reply_fault(struct engine_socket *s, const char *detail)
{
    struct buf b;
    buf_init(&b, 1024);
    buf_lit(&b, "{\"Type\":\"error\",\"detail\":");
    buf_put_json(&b, str_of(detail));
    buf_put_char(&b, '}');
    engine_socket_send(s, &b);
    buf_fini(&b);
}

void engine_reply_short(struct engine_socket *s, unsigned waiting_n)
{
    char detail[256];
    if (s->is_short)
        return;
    s->is_short = true;
    snprintf(
        detail, sizeof detail,
        "%llu %s of this socket must wait: the account has %llu %s at this thread of the node, "
        "which is its share of %d. Wait for others to end, or connect to another node.",
        COUNTED(waiting_n, "slot"), COUNTED(s->owner->poll_n, "poll"), ENGINE_POLLS_MAX);
    engine_reply_fault(s, detail);
}

void engine_socket_send(struct engine_socket *s, const struct buf *b)
{
    if (!b->is_over)
        websocket_send(s->websocket, buf_str(b));
}

/* The lowest that is free, so that names do not pile up; ENGINE_NAMES_MAX: none. */
static unsigned free_name(const struct engine_socket *s)
{
    uint64_t free_names = ~(s->names | s->claims.names);
    return free_names == 0 ? ENGINE_NAMES_MAX : (unsigned)__builtin_ctzll(free_names);
}

void engine_socket_send_claim(struct engine_socket *s, struct str json, unsigned name)
{
    struct buf b;
    buf_init(&b, CLAIM_REPLY_MAX_BYTES);
    buf_lit(&b, "{\"Type\":\"claim\",\"Body\":");
    buf_put(&b, json);
    buf_put_char(&b, '}');
    engine_socket_send(s, &b);
    buf_fini(&b);
    /* An answer that was sent twice may bring two claims. */
    bool is_free = name < ENGINE_NAMES_MAX && ((s->names | s->claims.names) >> name & 1) == 0;
    engine_claims_add(&s->claims, json, is_free ? name : free_name(s));
}

bool engine_socket_is_claim(struct str json)
{
    return json.n > 0 && !str_has_prefix(json, STR("{\"Topic\":null"));
}

/* --- requests of the node's own --------------------------------------------------------------- */

void engine_socket_pace(struct engine_socket *s)
{
    bool fits = websocket_hold(s->websocket, s->body_bytes + s->drafts.text_n);
    bool is_full = !fits || s->ask_n >= ASKS_MAX || s->body_bytes > BODIES_BYTES ||
                   s->drafts.text_n > TEXT_BYTES || s->drafts.clogged_n > 0;
    if (is_full == s->is_paused || !websocket_is_open(s->websocket))
        return;
    s->is_paused = is_full;
    if (is_full)
        websocket_pause(s->websocket);
    else
        websocket_resume(s->websocket);
}

struct engine_ask *engine_ask_begin(struct engine_socket *s, struct list *list)
{
    struct engine_ask *ask = mem_zeroed(sizeof *ask);
    ask->socket = s;
    ask->since_ms = clock_mono_ms();
    list_append(list, &ask->link);
    if (list == &s->polls) {
        s->poll_n++;
        engine_owner_begin_poll(&s->broker->engines, s->owner);
    } else {
        s->ask_n++;
    }
    return ask;
}

void engine_ask_start(struct engine_ask *ask, const char *method, struct str target,
                      struct str body)
{
    struct engine_socket *s = ask->socket;
    ask->body_n = body.n;
    s->body_bytes += body.n;
    engine_socket_pace(s);
    inner_start(&ask->inner, s->server,
                &(struct inner_call){.account = s->account,
                                     .peer = str_of(s->peer),
                                     .id = str_of(ask->request_id),
                                     .method = method,
                                     .target = target,
                                     .body = body});
}

static void leave_polls(struct engine_ask *poll)
{
    struct engine_socket *s = poll->socket;
    s->poll_n--;
    engine_owner_end_polls(&s->broker->engines, s->owner, 1);
    s->names &= ~(1ull << poll->name);
}

void engine_ask_finish(struct engine_ask *ask)
{
    struct engine_socket *s = ask->socket;
    list_remove(&ask->link);
    list_append(&s->answered, &ask->link);
    if (ask->is_poll) {
        leave_polls(ask);
        return;
    }
    s->ask_n--;
    engine_socket_pace(s);
}

void engine_ask_drop(struct engine_ask *ask, bool is_taken)
{
    list_remove(&ask->link);
    ask->socket->body_bytes -= ask->body_n;
    inner_end(&ask->inner, is_taken);
    free(ask);
}

void engine_asks_sweep(struct engine_socket *s, bool is_written)
{
    list_for_each (struct engine_ask, ask, &s->answered, link)
        if (is_written || !ask->has_claim)
            engine_ask_drop(ask, true);
    engine_socket_pace(s);
}

/* --- slots ------------------------------------------------------------------------------------ */

void engine_socket_fill_soon(struct engine_socket *s, uint64_t after_ms)
{
    loop_set_deadline(s->server->loop, &s->again, after_ms);
}

static void on_polled(struct inner *inner, int status, struct str body)
{
    struct engine_ask *ask = container_of(inner, struct engine_ask, inner);
    struct engine_socket *s = ask->socket;
    uint64_t now_ms = clock_mono_ms();
    engine_ask_finish(ask);
    if (status == 200 && engine_socket_is_claim(body)) {
        ask->has_claim = true;
        engine_socket_send_claim(s, body, ask->name);
    } else if (status == 200) {
        /* A poll that was ended: its engine leaves by the route, and closes the socket next; a poll
         * that began meanwhile would keep it in the lists. Or another engine has its name. */
        if (now_ms + EARLY_MS < ask->since_ms + POLL_S * 1000)
            s->poll_from_ms = now_ms + RETRY_MS;
    } else if (status == 429 || status >= 500) {
        s->poll_from_ms = now_ms + RETRY_MS; /* whatever frames come meanwhile */
    } else {
        s->is_closing = true;
        engine_reply(s, ask, status, body);
        websocket_close(s->websocket, WEBSOCKET_POLICY, "This engine gets no claims.");
    }
    engine_socket_fill_soon(s, 0);
}

void engine_socket_put_engine(const struct engine_socket *s, struct buf *b, unsigned name)
{
    buf_lit(b, "Engine=");
    buf_put_url_encoded(b, str_of(s->engine));
    if (name < ENGINE_NAMES_MAX)
        buf_printf(b, "-%u", name + 1);
}

/* Polls of one socket have different names: a newer one of the same name would end the older. */
void engine_socket_put_poll(struct engine_socket *s, struct buf *b, unsigned name)
{
    buf_put(b, str_of(s->query));
    if (s->engine[0] == 0)
        return;
    buf_put_char(b, '&');
    engine_socket_put_engine(s, b, name);
    buf_lit(b, "&Process=");
    buf_put_url_encoded(b, str_of(s->engine));
}

static void start_poll(struct engine_socket *s, unsigned name)
{
    struct buf target;
    buf_init(&target, TARGET_MAX_BYTES);
    struct engine_ask *ask = engine_ask_begin(s, &s->polls);
    ask->is_poll = true;
    ask->inner.on_answer = on_polled;
    ask->name = name;
    s->names |= 1ull << name;
    buf_printf(&target, "/api/get-new-queries?Wait=%d", POLL_S);
    engine_socket_put_poll(s, &target, ask->name);
    engine_ask_start(ask, "GET", buf_str(&target), STR(""));
    buf_fini(&target);
}

static void fill(struct engine_socket *s)
{
    uint64_t now_ms = clock_mono_ms(), from_ms = s->poll_from_ms;
    if (s->server->is_draining || s->is_closing || !websocket_is_open(s->websocket))
        return;
    from_ms = from_ms > s->rest_until_ms ? from_ms : s->rest_until_ms;
    if (from_ms > now_ms) {
        engine_socket_fill_soon(s, from_ms - now_ms);
        return;
    }
    /* A poll that is answered at once has set the deadline: its slot is looked at again then. */
    for (unsigned i = s->claims.n + s->poll_n; i < s->slots; i++) {
        unsigned name = free_name(s);
        if (name == ENGINE_NAMES_MAX)
            return;
        if (!engine_owner_may_poll(&s->broker->engines, s->owner)) {
            engine_reply_short(s, s->slots - i);
            engine_socket_fill_soon(s, RETRY_MS);
            return;
        }
        start_poll(s, name);
    }
    s->is_short = false;
}

void engine_slots_on_again(struct deadline *deadline)
{
    struct engine_socket *s = container_of(deadline, struct engine_socket, again);
    engine_asks_sweep(s, false);
    fill(s);
}

static void end_polls(struct engine_socket *s, unsigned kept_n)
{
    while (s->poll_n > kept_n) {
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): what is freed has left the list */
        struct engine_ask *poll = list_last(&s->polls, struct engine_ask, link);
        leave_polls(poll);
        engine_ask_drop(poll, false);
        s->poll_from_ms = clock_mono_ms() + CHANGE_MS;
    }
}

void engine_socket_rest(struct engine_socket *s, uint64_t rest_ms)
{
    s->rest_until_ms = rest_ms == 0 ? 0 : clock_mono_ms() + rest_ms;
    if (rest_ms > 0)
        end_polls(s, 0);
    engine_socket_fill_soon(s, 0);
}

void engine_socket_set_slots(struct engine_socket *s, unsigned slots)
{
    s->slots = slots;
    end_polls(s, slots > s->claims.n ? slots - s->claims.n : 0);
    engine_socket_rest(s, 0);
}
