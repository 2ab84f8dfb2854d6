/* SPDX-License-Identifier: MIT
 * bench_relay.c - the least that can be between an engine and those who follow its answers: one
 * process that turns each frame `partial` of a WebSocket into one server-sent event. It stores
 * nothing, checks nobody, has no Redis and no second node. Beside it, in the same run and with the
 * same client, tests/bench/tokens.mjs shows what Parley adds to the delay of a token.
 *
 *   build/release/bench_relay PORT
 *
 * In C over libh2o, as Parley is: a relay in Node.js takes several times as long for each event and
 * would be no bound. It serves as much of Parley's routes as `parley bench --mode tokens
 * --engine-socket on` uses, for one viewer of each answer. */
#include "services/bench/response.h"
#include "shared/base/buf.h"
#include "shared/base/list.h"
#include "shared/base/mem.h"

#include <arpa/inet.h>
#include <h2o.h>
#include <h2o/websocket.h>
#include <signal.h>
#include <stdio.h>

enum { TEXT_MAX_BYTES = 16 << 20, STREAMS_MAX = 10000, BACKLOG = 4096 };

struct engine {
    struct list_link link;
    h2o_websocket_conn_t *websocket;
    unsigned free_slots;
};

/* An answer. `waiting` is written while nothing is under way; `writing` is. */
struct answer {
    char topic[64];
    bool is_claimed, is_done, is_writing;
    h2o_req_t *viewer; /* NULL: none */
    struct buf waiting, writing;
};

struct viewer {
    h2o_generator_t generator; /* first */
    struct answer *answer;
};

static h2o_globalconf_t config;
static h2o_context_t context;
static h2o_accept_ctx_t accepting;
static struct list engines;
static struct answer answers[STREAMS_MAX];
static size_t answer_n, claimed_n;

static struct str member(struct str json, const char *name)
{
    struct str value;
    return bench_json_member(json, str_of(name), &value) ? value : STR("");
}

/* The text of a JSON string without escapes. */
static struct str text_of(struct str json)
{
    return json.n < 2 ? STR("") : (struct str){json.at + 1, json.n - 2};
}

/* The value of a parameter. */
static struct str param(h2o_req_t *req, const char *name)
{
    struct str query = {req->path.base, req->path.len}, value = STR("");
    str_cut(&query, '?');
    while (query.at != NULL) {
        struct str rest = str_cut(&query, '&');
        if (str_eq(str_cut(&rest, '='), str_of(name)) && rest.at != NULL)
            value = rest;
    }
    return value;
}

static int send_json(h2o_req_t *req, const char *json)
{
    size_t n = strlen(json);
    req->res.status = 200;
    req->res.reason = "OK";
    req->res.content_length = n;
    h2o_send_inline(req, json, n);
    return 0;
}

/* --- viewers ---------------------------------------------------------------------------------- */

static void write_events(struct answer *answer)
{
    if (answer->viewer == NULL || answer->is_writing || answer->waiting.n == 0)
        return;
    struct buf empty = answer->writing;
    answer->writing = answer->waiting;
    answer->waiting = empty;
    buf_clear(&answer->waiting);
    answer->is_writing = true;
    h2o_iovec_t bytes = h2o_iovec_init(answer->writing.at, answer->writing.n);
    h2o_send(answer->viewer, &bytes, 1,
             answer->is_done ? H2O_SEND_STATE_FINAL : H2O_SEND_STATE_IN_PROGRESS);
}

static void on_proceed(h2o_generator_t *generator, h2o_req_t *req)
{
    struct answer *answer = ((struct viewer *)generator)->answer;
    (void)req;
    answer->is_writing = false;
    write_events(answer);
}

static void on_stop(h2o_generator_t *generator, h2o_req_t *req)
{
    (void)req;
    ((struct viewer *)generator)->answer->viewer = NULL;
}

static void on_viewer_gone(void *viewer)
{
    ((struct viewer *)viewer)->answer->viewer = NULL;
}

static struct answer *find_answer(struct str topic)
{
    for (size_t i = 0; i < answer_n; i++)
        if (str_eq(str_of(answers[i].topic), topic))
            return &answers[i];
    return NULL;
}

static int on_check(h2o_handler_t *handler, h2o_req_t *req)
{
    (void)handler;
    struct answer *answer = find_answer(param(req, "Topic"));
    if (answer == NULL)
        return -1;
    struct viewer *viewer = h2o_mem_alloc_shared(&req->pool, sizeof *viewer, on_viewer_gone);
    *viewer =
        (struct viewer){.generator = {.proceed = on_proceed, .stop = on_stop}, .answer = answer};
    answer->viewer = req;
    req->res.status = 200;
    req->res.reason = "OK";
    h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL,
                   H2O_STRLIT("text/event-stream"));
    h2o_start_response(req, &viewer->generator);
    buf_lit(&answer->waiting, ": \n\n");
    write_events(answer);
    return 0;
}

/* --- engines ---------------------------------------------------------------------------------- */

static void send_frame(struct engine *engine, const struct buf *frame)
{
    struct wslay_event_msg message = {WSLAY_TEXT_FRAME, (const uint8_t *)frame->at, frame->n};
    if (wslay_event_queue_msg(engine->websocket->ws_ctx, &message) != 0)
        abort();
}

/* Hands out answers that no engine writes yet, in turn. An answer's lease is its number. */
static void fill(struct engine *engine)
{
    for (; engine->free_slots > 0 && claimed_n < answer_n; engine->free_slots--, claimed_n++) {
        struct buf frame;
        buf_init(&frame, 1024);
        buf_printf(&frame,
                   "{\"Type\":\"claim\",\"Body\":{\"Topic\":\"%s\",\"Queries\":[{\"1\":\"?\"}],",
                   answers[claimed_n].topic);
        buf_printf(&frame, "\"Lease\":\"%zu\"}}", claimed_n + 1);
        send_frame(engine, &frame);
        buf_fini(&frame);
    }
}

static void take_partial(struct answer *answer, uint64_t lease, struct str json)
{
    uint64_t offset = 0;
    struct str text = member(json, "Answer");
    if (!str_parse_u64(member(json, "Offset"), &offset))
        abort();
    buf_printf(&answer->waiting,
               "id: %llu-%llu\nevent: token\ndata: {\"text\":", (unsigned long long)lease,
               (unsigned long long)(offset + text_of(text).n));
    buf_put(&answer->waiting, text);
    buf_lit(&answer->waiting, "}\n\n");
}

static void take_answer(struct engine *engine, struct answer *answer, uint64_t lease)
{
    struct buf frame;
    buf_init(&frame, 1024);
    buf_printf(
        &frame,
        "{\"Type\":\"reply\",\"To\":\"answer\",\"Lease\":\"%llu\",\"Status\":200,\"Body\":{}}",
        (unsigned long long)lease);
    send_frame(engine, &frame);
    buf_fini(&frame);
    buf_lit(&answer->waiting, "event: done\ndata: {}\n\n");
    answer->is_done = true;
    engine->free_slots++;
    fill(engine);
}

static void take_frame(struct engine *engine, struct str json)
{
    uint64_t lease = 0;
    if (!str_parse_u64(text_of(member(json, "Lease")), &lease) || lease == 0 || lease > answer_n)
        abort();
    struct answer *answer = &answers[lease - 1];
    if (str_eq(member(json, "Type"), STR("\"answer\"")))
        take_answer(engine, answer, lease);
    else
        take_partial(answer, lease, json);
    write_events(answer);
}

static void on_message(h2o_websocket_conn_t *websocket,
                       const struct wslay_event_on_msg_recv_arg *arg)
{
    struct engine *engine = websocket->data;
    if (arg != NULL) {
        if (arg->opcode == WSLAY_TEXT_FRAME)
            take_frame(engine, (struct str){(const char *)arg->msg, arg->msg_length});
        return;
    }
    list_remove(&engine->link);
    free(engine);
    h2o_websocket_close(websocket);
}

static int on_engine(h2o_handler_t *handler, h2o_req_t *req)
{
    const char *key = NULL;
    uint64_t slots = 0;
    (void)handler;
    if (h2o_is_websocket_handshake(req, &key) != 0 || key == NULL ||
        !str_parse_u64(param(req, "Slots"), &slots))
        return -1;
    struct engine *engine = mem_zeroed(sizeof *engine);
    engine->free_slots = (unsigned)slots;
    list_append(&engines, &engine->link);
    engine->websocket = h2o_upgrade_to_websocket(req, key, engine, on_message);
    fill(engine);
    return 0;
}

/* --- frontends -------------------------------------------------------------------------------- */

static int on_add(h2o_handler_t *handler, h2o_req_t *req)
{
    (void)handler;
    struct str topic = text_of(member((struct str){req->entity.base, req->entity.len}, "Topic"));
    if (answer_n == STREAMS_MAX || topic.n >= sizeof answers[0].topic)
        return -1;
    struct answer *answer = &answers[answer_n++];
    memcpy(answer->topic, topic.at, topic.n);
    buf_init(&answer->waiting, TEXT_MAX_BYTES);
    buf_init(&answer->writing, TEXT_MAX_BYTES);
    list_for_each (struct engine, engine, &engines, link) {
        fill(engine);
        if (engine->websocket->sock != NULL)
            h2o_websocket_proceed(engine->websocket);
    }
    return send_json(req, "{\"Seq\":1}");
}

static int on_login(h2o_handler_t *handler, h2o_req_t *req)
{
    (void)handler;
    return send_json(req, "{\"Token\":\"anybody\"}");
}

/* --- the process ------------------------------------------------------------------------------ */

static void on_connection(h2o_socket_t *listener, const char *error)
{
    h2o_socket_t *socket = error == NULL ? h2o_evloop_socket_accept(listener) : NULL;
    if (socket != NULL)
        h2o_accept(&accepting, socket);
}

static bool listen_at(uint16_t port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, BACKLOG) != 0)
        return false;
    h2o_socket_t *listener = h2o_evloop_socket_create(context.loop, fd, H2O_SOCKET_FLAG_DONT_READ);
    h2o_socket_read_start(listener, on_connection);
    return true;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *path;
        int (*handle)(h2o_handler_t *, h2o_req_t *);
    } routes[] = {{"/api/login", on_login},
                  {"/api/add-query", on_add},
                  {"/api/check-query", on_check},
                  {"/ws/engine", on_engine}};
    uint64_t port;
    if (argc != 2 || !str_parse_u64(str_of(argv[1]), &port) || port > UINT16_MAX) {
        fputs("usage: bench_relay PORT\n", stderr);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    h2o_config_init(&config);
    h2o_hostconf_t *host =
        h2o_config_register_host(&config, h2o_iovec_init(H2O_STRLIT("default")), UINT16_MAX);
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        h2o_create_handler(h2o_config_register_path(host, routes[i].path, 0), sizeof(h2o_handler_t))
            ->on_req = routes[i].handle;
    h2o_context_init(&context, h2o_evloop_create(), &config);
    accepting = (h2o_accept_ctx_t){.ctx = &context, .hosts = config.hosts};
    if (!listen_at((uint16_t)port)) {
        perror("bench_relay");
        return 1;
    }
    for (;;)
        h2o_evloop_run(context.loop, INT32_MAX);
}
