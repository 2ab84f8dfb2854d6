/* SPDX-License-Identifier: MIT
 * engine_socket.c - GET /ws/engine: claims, partial answers, answers, heartbeats, releases and rests
 * of all slots of one engine, as JSON frames over one WebSocket.
 *
 *   frame of the engine --> request of the node's own (inner.h) to the same route --> `reply`
 *   a slot is free      --> get-new-queries, held -----------------------------------> `claim`
 *
 * So the routes' handlers decide, with their checks, limits, audit and errors, and a frame has the
 * members of its route. An answer that frees a slot takes the next claim in the same step.
 *
 * A claim counts as delivered once all bytes that were sent are written; what a socket that closes
 * has not written is given back, as on a connection that breaks. Claims that were delivered stay
 * with the engine: it may answer them over another socket or the routes. */
#include "services/broker/socket/engine_socket.h"

#include "services/broker/handlers.h"
#include "shared/base/mem.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/peer.h"
#include "shared/http/request/respond.h"

enum {
    NAME_MAX_BYTES = ENGINE_MAX_BYTES - 3, /* `-<slot>` follows */
    TARGET_MAX_BYTES = 4096,
    ASKS_MAX = 64, /* frames under way; past that, or with long ones, nothing more is read */
    LONG_BYTES = 64 << 10,
    RETRY_MS = 1000,
    EARLY_MS = 1000 /* a poll with nothing that was shorter than this came back early */
};

/* --- sending ---------------------------------------------------------------------------------- */

void engine_socket_send(struct engine_socket *s, const struct buf *b)
{
    if (!b->is_over)
        websocket_send(s->websocket, buf_str(b));
}

void engine_socket_send_claim(struct engine_socket *s, struct str json)
{
    struct buf b;
    buf_init(&b, CLAIM_REPLY_MAX_BYTES);
    buf_lit(&b, "{\"Type\":\"claim\",\"Body\":");
    buf_put(&b, json);
    buf_put_char(&b, '}');
    engine_socket_send(s, &b);
    buf_fini(&b);
    engine_claims_add(&s->claims, json);
}

bool engine_socket_is_claim(struct str json)
{
    return json.n > 0 && !str_has_prefix(json, STR("{\"Topic\":null"));
}

/* --- requests of the node's own ----------------------------------------------------------------- */

bool engine_socket_is_full(const struct engine_socket *s)
{
    return s->ask_n >= ASKS_MAX || s->long_bytes > 0;
}

struct engine_ask *engine_ask_begin(struct engine_socket *s, struct list *list)
{
    struct engine_ask *ask = mem_zeroed(sizeof *ask);
    ask->socket = s;
    ask->since_ms = clock_mono_ms();
    list_append(list, &ask->link);
    if (list == &s->polls)
        s->poll_n++;
    else
        s->ask_n++;
    return ask;
}

void engine_ask_start(struct engine_ask *ask, const char *method, struct str target,
                      struct str body)
{
    struct engine_socket *s = ask->socket;
    ask->body_n = body.n;
    s->long_bytes += body.n > LONG_BYTES ? body.n : 0;
    if (!ask->is_poll && engine_socket_is_full(s))
        websocket_pause(s->websocket);
    inner_start(&ask->inner, s->server,
                &(struct inner_call){.account = s->account,
                                     .peer = str_of(s->peer),
                                     .method = method,
                                     .target = target,
                                     .body = body});
}

static void leave_polls(struct engine_ask *poll)
{
    poll->socket->poll_n--;
    poll->socket->names &= ~(1ull << poll->name);
}

void engine_ask_settle(struct engine_ask *ask)
{
    struct engine_socket *s = ask->socket;
    bool was_full = engine_socket_is_full(s);
    list_remove(&ask->link);
    list_append(&s->answered, &ask->link);
    if (ask->is_poll) {
        leave_polls(ask);
        return;
    }
    s->ask_n--;
    s->long_bytes -= ask->body_n > LONG_BYTES ? ask->body_n : 0;
    if (was_full && !engine_socket_is_full(s))
        websocket_resume(s->websocket);
}

static void drop(struct engine_ask *ask, bool is_taken)
{
    list_remove(&ask->link);
    inner_end(&ask->inner, is_taken);
    free(ask);
}

/* Ends what is answered, unless bytes of it wait to be written. */
static void sweep(struct engine_socket *s, bool is_written)
{
    list_for_each (struct engine_ask, ask, &s->answered, link)
        if (is_written || !ask->was_sent)
            drop(ask, true);
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
    uint64_t after_ms = 0;
    engine_ask_settle(ask);
    if (status == 200 && engine_socket_is_claim(body)) {
        ask->was_sent = true;
        engine_socket_send_claim(s, body);
    } else if (status == 200) {
        after_ms = clock_mono_ms() - ask->since_ms < EARLY_MS ? RETRY_MS : 0;
    } else if (status == 429 || status >= 500) {
        after_ms = RETRY_MS;
    } else {
        ask->was_sent = s->is_closing = true;
        engine_frames_reply(s, ask, status, body);
        websocket_close(s->websocket, WEBSOCKET_POLICY, "This engine gets no claims.");
    }
    engine_socket_fill_soon(s, after_ms);
}

/* Polls of one socket have different names: a newer one of the same name would end the older. */
void engine_socket_put_poll(struct engine_socket *s, struct buf *b, unsigned name)
{
    buf_put(b, str_of(s->query));
    if (s->engine[0] == 0)
        return;
    buf_lit(b, "&Engine=");
    buf_put_url_encoded(b, str_of(s->engine));
    buf_printf(b, "-%u&Process=", name + 1);
    buf_put_url_encoded(b, str_of(s->engine));
}

static unsigned free_name(const struct engine_socket *s)
{
    unsigned name = 0;
    while (name < ENGINE_SLOTS_MAX - 1 && (s->names & 1ull << name) != 0)
        name++;
    return name;
}

static void start_poll(struct engine_socket *s)
{
    struct buf target;
    buf_init(&target, TARGET_MAX_BYTES);
    struct engine_ask *ask = engine_ask_begin(s, &s->polls);
    ask->is_poll = true;
    ask->inner.on_answer = on_polled;
    ask->name = free_name(s);
    s->names |= 1ull << ask->name;
    buf_lit(&target, "/api/get-new-queries?Wait=120");
    engine_socket_put_poll(s, &target, ask->name);
    engine_ask_start(ask, "GET", buf_str(&target), STR(""));
    buf_fini(&target);
}

static void fill(struct engine_socket *s)
{
    uint64_t now_ms = clock_mono_ms();
    if (s->server->is_draining || s->is_closing)
        return;
    if (s->rest_until_ms > now_ms) {
        engine_socket_fill_soon(s, s->rest_until_ms - now_ms);
        return;
    }
    /* A poll that is answered at once has set the deadline: its slot is looked at again then. */
    for (unsigned i = s->claims.n + s->poll_n; i < s->slots; i++)
        start_poll(s);
}

static void on_again(struct deadline *deadline)
{
    struct engine_socket *s = container_of(deadline, struct engine_socket, again);
    sweep(s, false);
    fill(s);
}

static void end_polls(struct engine_socket *s, unsigned kept_n)
{
    while (s->poll_n > kept_n) {
        struct engine_ask *poll = list_last(&s->polls, struct engine_ask, link);
        leave_polls(poll);
        drop(poll, false);
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

/* --- life ------------------------------------------------------------------------------------- */

static void on_message(struct websocket *websocket, void *arg, struct str json)
{
    (void)websocket;
    engine_frames_take(arg, json);
}

static void on_idle(struct websocket *websocket, void *arg)
{
    (void)websocket;
    sweep(arg, true);
}

static bool is_busy(struct websocket *websocket, void *arg)
{
    const struct engine_socket *s = arg;
    (void)websocket;
    return s->ask_n > 0 || !list_is_empty(&s->answered);
}

static void leave(struct engine_socket *s)
{
    struct list *const lists[] = {&s->polls, &s->asks, &s->answered};
    loop_cancel_deadline(s->server->loop, &s->again);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        list_for_each (struct engine_ask, ask, lists[i], link)
            drop(ask, false);
    engine_claims_fini(&s->claims);
    free(s->peer);
    free(s->engine);
    free(s->query);
    free(s);
}

static void on_closed(struct websocket *websocket, void *arg, unsigned code)
{
    (void)websocket, (void)code;
    leave(arg);
}

static void put_param(struct buf *b, struct request *r, const char *name)
{
    struct str value = request_param(r, name);
    if (value.n == 0)
        return;
    buf_printf(b, "&%s=", name);
    buf_put_url_encoded(b, value);
}

static char *common_query(struct request *r)
{
    struct buf b;
    buf_init(&b, TARGET_MAX_BYTES);
    buf_lit(&b, "&Detail=true");
    put_param(&b, r, "Models");
    put_param(&b, r, "History");
    char *query = str_copy(buf_str(&b));
    buf_fini(&b);
    return query;
}

static void open_socket(struct request *r)
{
    static const struct websocket_events events = {.message_max_bytes = ENGINE_FRAME_MAX_BYTES,
                                                   .on_message = on_message,
                                                   .on_idle = on_idle,
                                                   .is_busy = is_busy,
                                                   .on_closed = on_closed};
    struct str models, engine = request_param(r, "Engine");
    uint64_t slots;
    if (!params_models(r, &models) || !request_param_u64(r, "Slots", 0, ENGINE_SLOTS_MAX, 1, &slots))
        return;
    if (engine.n > NAME_MAX_BYTES) {
        explain(r, ERR_BAD_REQUEST, "Engine must be at most %d bytes here, not %zu.",
                NAME_MAX_BYTES, engine.n);
        return;
    }
    struct engine_socket *s = mem_zeroed(sizeof *s);
    *s = (struct engine_socket){.server = r->server,
                                .account = r->account,
                                .slots = (unsigned)slots,
                                .again.on_expire = on_again,
                                .peer = str_copy(peer_address(r)),
                                .engine = str_copy(engine),
                                .query = common_query(r)};
    s->websocket = websocket_accept(r, &events, s);
    if (s->websocket == NULL)
        leave(s);
    else
        engine_socket_fill_soon(s, 0);
}

static void on_nonce(struct request *r, enum err error, struct str reply)
{
    (void)reply;
    if (error != ERR_OK)
        respond_error(r, error, NULL);
    else
        open_socket(r);
}

/* Its nonce is used up first: a socket's frames cannot take it back. */
void broker_engine_socket(struct request *r)
{
    if (r->nonce.is_set)
        request_use_nonce(r, on_nonce);
    else
        open_socket(r);
}
