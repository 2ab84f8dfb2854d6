/* SPDX-License-Identifier: MIT
 * engine_socket.c - GET /ws/engine: claims, partial answers, answers, heartbeats, releases and
 * rests of all slots of one engine, as JSON frames over one WebSocket.
 *
 *   frame of the engine --> request of the node's own (inner.h) to its route --> `reply`
 *   a slot is free      --> get-new-queries, held --------------------------> `claim`
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
    QUERY_OF_POLLS_MAX_BYTES = 2048
};

/* --- life ------------------------------------------------------------------------------------- */

static void on_message(struct websocket *websocket, void *arg, struct str json)
{
    (void)websocket;
    engine_frames_take(arg, json);
}

static void on_idle(struct websocket *websocket, void *arg)
{
    (void)websocket;
    engine_asks_sweep(arg, true);
}

static bool is_busy(struct websocket *websocket, void *arg)
{
    const struct engine_socket *s = arg;
    (void)websocket;
    return s->ask_n > 0 || !list_is_empty(&s->answered);
}

/* --- drafts ----------------------------------------------------------------------------------- */

static struct engine_socket *of_drafts(struct engine_drafts *drafts)
{
    return container_of(drafts, struct engine_socket, drafts);
}

static void on_stored(struct engine_drafts *drafts, struct str topic_json, uint64_t seq,
                      struct str lease, uint64_t next)
{
    struct buf b;
    buf_init(&b, 2048);
    buf_printf(&b, "{\"Type\":\"stored\",\"Topic\":%.*s,\"Seq\":%llu,\"Lease\":\"%.*s\",",
               STR_ARG(topic_json), (unsigned long long)seq, STR_ARG(lease));
    buf_printf(&b, "\"Next\":%llu,\"IntervalMs\":%llu}", (unsigned long long)next,
               (unsigned long long)drafts->interval_ms);
    engine_socket_send(of_drafts(drafts), &b);
    buf_fini(&b);
}

static void on_acknowledged(struct engine_drafts *drafts, struct str id, uint64_t seq,
                            struct str lease, uint64_t next)
{
    engine_reply_stored(of_drafts(drafts), id, seq, lease, next);
}

static void on_refused(struct engine_drafts *drafts, struct str topic_json, uint64_t seq,
                       struct str lease, uint64_t offset, struct str id)
{
    engine_frames_refuse_draft(of_drafts(drafts), topic_json, seq, lease, offset, id);
}

static void on_clogged(struct engine_drafts *drafts)
{
    engine_socket_pace(of_drafts(drafts));
}

static const struct engine_drafts_events drafts_events = {.on_stored = on_stored,
                                                          .on_acknowledged = on_acknowledged,
                                                          .on_refused = on_refused,
                                                          .on_clogged = on_clogged};

/* --- begin and end ---------------------------------------------------------------------------- */

static void leave(struct engine_socket *s)
{
    struct list *const lists[] = {&s->polls, &s->asks, &s->answered};
    loop_cancel_deadline(s->server->loop, &s->again);
    engine_owner_end_polls(&s->broker->engines, s->owner, s->poll_n);
    engine_owner_leave(s->owner);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        list_for_each (struct engine_ask, ask, lists[i], link)
            engine_ask_drop(ask, false);
    engine_drafts_fini(&s->drafts);
    engine_claims_fini(&s->claims);
    buf_fini(&s->think);
    buf_fini(&s->answer);
    metrics_add(s->server->metrics, METRIC_ENGINE_SOCKETS, -1);
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
    buf_init(&b, QUERY_OF_POLLS_MAX_BYTES);
    buf_lit(&b, "&Detail=true");
    put_param(&b, r, "Models");
    put_param(&b, r, "Apis");
    put_param(&b, r, "Continues");
    put_param(&b, r, "History");
    char *query = str_copy(buf_str(&b));
    buf_fini(&b);
    return query;
}

static void open_socket(struct request *r)
{
    static const struct websocket_events events = {.message_max_bytes = ENGINE_FRAME_MAX_BYTES,
                                                   .queue_max_bytes = ENGINE_QUEUE_MAX_BYTES,
                                                   .on_message = on_message,
                                                   .on_idle = on_idle,
                                                   .is_busy = is_busy,
                                                   .on_closed = on_closed};
    struct str models, engine = request_param(r, "Engine");
    uint64_t slots;
    if (!params_models(r, &models) ||
        !request_param_u64(r, "Slots", 0, ENGINE_SLOTS_MAX, 1, &slots))
        return;
    if (engine.n > NAME_MAX_BYTES) {
        explain(r, ERR_BAD_REQUEST, "Engine must be at most %d bytes here, not %zu.",
                NAME_MAX_BYTES, engine.n);
        return;
    }
    struct engine_socket *s = mem_zeroed(sizeof *s);
    *s = (struct engine_socket){
        .server = r->server,
        .broker = broker_of(r),
        .drafts = {.queue = broker_of(r)->queue,
                   .events = &drafts_events,
                   .holder = r->account->name_token},
        .think.max = ENGINE_FRAME_MAX_BYTES,
        .answer.max = ENGINE_FRAME_MAX_BYTES,
        .account = r->account,
        .owner = engine_owner_enter(&broker_of(r)->engines, r->account->name_token),
        .slots = (unsigned)slots,
        .again.on_expire = engine_slots_on_again,
        .peer = str_copy(peer_address(r)),
        .engine = str_copy(engine),
        .query = common_query(r)};
    metrics_add(r->server->metrics, METRIC_ENGINE_SOCKETS, 1);
    s->websocket = websocket_accept(r, &events, s);
    if (s->websocket == NULL)
        leave(s);
    else
        engine_socket_fill_soon(s, 0);
}

/* Its nonce is used up first: a socket's frames cannot take it back. */
void broker_engine_socket(struct request *r)
{
    if (r->nonce.is_set)
        request_handle_after_nonce(r);
    else
        open_socket(r);
}
