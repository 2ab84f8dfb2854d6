/* SPDX-License-Identifier: MIT
 * worker.c - see worker.h.
 *
 * Claims may bring anything that waits in the queue: rows that an earlier run left behind, and what
 * people asked if somebody loads a node in use. Every row is answered, with its own Query text
 * handed back as raw JSON, so that nothing claimed here stays pending; only rows of this run count.
 */
#include "services/bench/worker.h"

#include "shared/auth/signed.h"
#include "shared/base/clock.h"

#include <stdarg.h>
#include <stdio.h>

enum { CLAIM_MAX_BYTES = BENCH_BODY_MAX_BYTES, BODY_MAX_BYTES = 8 << 20, RETRY_US = 100000 };
enum { ERRORS_IN_A_ROW_MAX = 1000, DETAIL_MAX_BYTES = 160 };

void bench_worker_init(struct bench_worker *worker, const struct bench *bench, void *owner,
                       struct bench_conn_loop *loop, const struct bench_target *target,
                       const struct bench_conn_handler *handler)
{
    *worker = (struct bench_worker){.bench = bench,
                                    .owner = owner,
                                    .think_json = STR("[\"That is a great question.\"]"),
                                    .text_json = bench->answer_json,
                                    .last_id = STR("")};
    bench_conn_init(&worker->conn, loop, target, handler);
    buf_init(&worker->claim, CLAIM_MAX_BYTES);
}

void bench_worker_fini(struct bench_worker *worker)
{
    bench_conn_fini(&worker->conn);
    buf_fini(&worker->claim);
}

/* The request line and its first headers. `query` begins with '&'. */
static void put_start(struct buf *out, struct str method, const struct bench_worker *worker,
                      bool is_engine, struct str route, struct str query)
{
    const struct bench_target *target = worker->conn.target;
    const struct bench *bench = worker->bench;
    const struct account *account = is_engine ? bench->engine : bench->frontend;
    struct str token = buf_str(is_engine ? &bench->engine_token : &bench->frontend_token);
    buf_put(out, method);
    buf_put(out, str_of(target->prefix));
    buf_put(out, route);
    buf_put_char(out, '?');
    if (token.n == 0)
        signed_put_query(out, account->name, account->secret);
    buf_put(out, query);
    buf_lit(out, " HTTP/1.1\r\nHost: ");
    buf_put(out, str_of(target->host));
    if (token.n > 0) {
        buf_lit(out, "\r\nAuthorization: Bearer ");
        buf_put(out, token);
    }
    buf_lit(out, "\r\n");
}

/* Ends the head of a request without a body, and sends it. */
static void send_head(struct bench_worker *worker)
{
    buf_lit(&worker->conn.out, "\r\n");
    bench_conn_send(&worker->conn);
}

static struct buf *begin_get(struct bench_worker *worker, bool is_engine, struct str route,
                             struct str query)
{
    struct buf *out = bench_conn_begin(&worker->conn);
    put_start(out, STR("GET "), worker, is_engine, route, query);
    return out;
}

static void send_post(struct bench_worker *worker, bool is_engine, struct str route,
                      struct str query, struct str body)
{
    struct buf *out = bench_conn_begin(&worker->conn);
    put_start(out, STR("POST "), worker, is_engine, route, query);
    buf_lit(out, "Content-Type: application/json\r\nContent-Length: ");
    buf_put_u64(out, body.n);
    buf_lit(out, "\r\n\r\n");
    buf_put(out, body);
    bench_conn_send(&worker->conn);
}

/* Bodies are put together here first, because their length comes before them. */
static struct buf *begin_body(void)
{
    static struct buf body;
    body.max = BODY_MAX_BYTES;
    buf_clear(&body);
    return &body;
}

static void send_add(struct bench_worker *worker)
{
    struct buf *body = begin_body();
    buf_lit(body, "{\"Topic\":\"");
    buf_put(body, str_of(worker->topic));
    buf_lit(body, "\",\"User\":\"bench_");
    buf_put_u64(body, worker->user);
    buf_lit(body, "\",\"Query\":");
    buf_put(body, worker->bench->query_json);
    buf_lit(body, ",\"Modifiers\":{},\"Model\":\"default\"}");
    send_post(worker, false, STR("/api/add-query"),
              worker->waits_for_answer ? STR("&Wait=60") : STR(""), buf_str(body));
}

void bench_worker_add(struct bench_worker *worker)
{
    static uint64_t topic_n;
    snprintf(worker->topic, sizeof worker->topic, "%s%llu", worker->bench->run,
             (unsigned long long)++topic_n);
    worker->step = BENCH_STEP_ADD;
    worker->begun_us = clock_mono_us();
    send_add(worker);
}

void bench_worker_claim(struct bench_worker *worker)
{
    worker->step = BENCH_STEP_CLAIM;
    const char *detail = worker->wants_lease ? "&Detail=true" : "";
    char query[48];
    if (worker->wait_s > 0)
        snprintf(query, sizeof query, "&Wait=%u%s", worker->wait_s, detail);
    else
        snprintf(query, sizeof query, "%s", detail);
    begin_get(worker, true, STR("/api/get-new-queries"), str_of(query));
    send_head(worker);
}

/* Which row it is. */
static void put_row(const struct bench_worker *worker, struct buf *body)
{
    buf_lit(body, "\"Topic\":");
    buf_put(body, worker->claim_topic);
    buf_lit(body, ",\"Seq\":");
    buf_put(body, worker->row_seq);
}

void bench_worker_put_partial(const struct bench_worker *worker, struct buf *body)
{
    put_row(worker, body);
    buf_lit(body, ",\"Lease\":");
    buf_put(body, worker->claim_lease);
    buf_lit(body, ",\"Offset\":");
    buf_put_u64(body, worker->offset);
    buf_lit(body, ",\"Answer\":");
    buf_put(body, worker->text_json);
    buf_put_char(body, '}');
}

void bench_worker_put_answer(const struct bench_worker *worker, struct buf *body)
{
    put_row(worker, body);
    buf_lit(body, ",\"Query\":");
    buf_put(body, worker->row_query);
    buf_lit(body, ",\"Think\":");
    buf_put(body, worker->think_json);
    buf_lit(body, ",\"Answer\":[");
    buf_put(body, worker->text_json);
    buf_lit(body, "]}");
}

void bench_worker_partial(struct bench_worker *worker)
{
    struct buf *body = begin_body();
    worker->step = BENCH_STEP_PARTIAL;
    buf_put_char(body, '{');
    bench_worker_put_partial(worker, body);
    send_post(worker, true, STR("/api/give-partial"), STR(""), buf_str(body));
}

void bench_worker_answer(struct bench_worker *worker)
{
    struct buf *body = begin_body();
    worker->step = BENCH_STEP_ANSWER;
    buf_put_char(body, '{');
    bench_worker_put_answer(worker, body);
    struct str query = worker->waits_for_next ? STR("&Next=true&Wait=60")
                       : worker->wants_next   ? STR("&Next=true")
                                              : STR("");
    send_post(worker, true, STR("/api/give-new-answer"), query, buf_str(body));
}

static struct buf *begin_check(struct bench_worker *worker)
{
    char query[BENCH_TOPIC_BYTES + 48];
    snprintf(query, sizeof query, "&Topic=%s&Seq=%llu", worker->topic,
             (unsigned long long)worker->seq);
    return begin_get(worker, false, STR("/api/check-query"), str_of(query));
}

void bench_worker_check(struct bench_worker *worker)
{
    worker->step = BENCH_STEP_CHECK;
    begin_check(worker);
    send_head(worker);
}

void bench_worker_stream(struct bench_worker *worker)
{
    struct buf *out = begin_check(worker);
    worker->step = BENCH_STEP_STREAM;
    buf_lit(out, "Accept: text/event-stream\r\n");
    if (worker->last_id.n > 0) {
        buf_lit(out, "Last-Event-ID: ");
        buf_put(out, worker->last_id);
        buf_lit(out, "\r\n");
    }
    send_head(worker);
}

/* The key is that of RFC 6455: nobody between bench and a node caches responses. */
void bench_worker_socket(struct bench_worker *worker, unsigned slots)
{
    char query[32];
    snprintf(query, sizeof query, "&Slots=%u", slots);
    struct buf *out = begin_get(worker, true, STR("/ws/engine"), str_of(query));
    worker->step = BENCH_STEP_SOCKET;
    worker->slots = slots;
    buf_lit(out, "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
    send_head(worker);
}

void bench_worker_repeat(struct bench_worker *worker)
{
    switch (worker->step) {
    case BENCH_STEP_ADD: send_add(worker); break;
    case BENCH_STEP_CLAIM: bench_worker_claim(worker); break;
    case BENCH_STEP_PARTIAL: bench_worker_partial(worker); break;
    case BENCH_STEP_ANSWER: bench_worker_answer(worker); break;
    case BENCH_STEP_CHECK: bench_worker_check(worker); break;
    case BENCH_STEP_STREAM: bench_worker_stream(worker); break;
    case BENCH_STEP_SOCKET: bench_worker_socket(worker, worker->slots); break;
    }
}

void bench_fault(struct bench_faults *faults, const char *format, ...)
{
    faults->errors++;
    if (faults->first[0] != 0)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(faults->first, sizeof faults->first, format, args);
    va_end(args);
    for (char *p = faults->first; *p != 0; p++)
        if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
            *p = '?'; /* for a terminal */
}

struct str bench_body_detail(struct str body)
{
    struct str detail;
    if (!bench_json_member(body, STR("detail"), &detail))
        return STR("");
    return (struct str){detail.at, detail.n > DETAIL_MAX_BYTES ? DETAIL_MAX_BYTES : detail.n};
}

static const char *route_of(enum bench_step step)
{
    static const char *const routes[] = {"add-query",       "get-new-queries", "give-partial",
                                         "give-new-answer", "check-query",     "check-query",
                                         "/ws/engine"};
    return routes[step];
}

enum bench_verdict bench_worker_judge(struct bench_worker *worker,
                                      const struct bench_response *response,
                                      struct bench_faults *faults)
{
    int status = response->status;
    if (status == 200) {
        faults->in_a_row = 0;
        return BENCH_GOOD;
    }
    bench_fault(faults, "%s answered %d %.*s", route_of(worker->step), status,
                STR_ARG(bench_body_detail(response->body)));
    /* Failed logins lock this address out for a minute: the first one is enough. */
    if (status == 401 || status == 403 || ++faults->in_a_row >= ERRORS_IN_A_ROW_MAX) {
        faults->is_fatal = worker->conn.loop->is_stopped = true;
        return BENCH_FATAL;
    }
    if (status == 429 || status >= 500) {
        bench_conn_again_after(&worker->conn, RETRY_US);
        return BENCH_AGAIN;
    }
    return BENCH_ABANDON;
}

bool bench_worker_take_added(struct bench_worker *worker, struct str body)
{
    struct str seq;
    return bench_json_member(body, STR("Seq"), &seq) && str_parse_u64(seq, &worker->seq);
}

bool bench_worker_next_row(struct bench_worker *worker)
{
    struct str name, row = bench_json_next(&worker->claim_rest);
    if (row.at == NULL || !bench_json_first_member(row, &name, &worker->row_query))
        return false;
    worker->row_seq = (struct str){name.at + 1, name.n - 2};
    uint64_t seq;
    return str_parse_u64(worker->row_seq, &seq);
}

bool bench_worker_take_claim(struct bench_worker *worker, struct str json)
{
    struct str topic, rows, lease;
    if (!bench_json_member(json, STR("Topic"), &topic) || topic.at[0] != '"' ||
        !bench_json_member(json, STR("Queries"), &rows) || rows.at[0] != '[')
        return false;
    buf_clear(&worker->claim);
    if (!bench_json_member(json, STR("Lease"), &lease))
        lease = STR("null");
    buf_put(&worker->claim, topic);
    buf_put(&worker->claim, lease);
    buf_put(&worker->claim, rows);
    if (worker->claim.is_over)
        return false;
    worker->claim_topic = (struct str){worker->claim.at, topic.n};
    worker->claim_lease = (struct str){worker->claim.at + topic.n, lease.n};
    worker->claim_rest = (struct str){worker->claim.at + topic.n + lease.n, rows.n};
    return bench_json_enter_array(&worker->claim_rest) && bench_worker_next_row(worker);
}

bool bench_worker_owns_claim(struct bench_worker *worker)
{
    struct str topic = {worker->claim_topic.at + 1, worker->claim_topic.n - 2};
    if (!str_has_prefix(topic, str_of(worker->bench->run)) || topic.n >= sizeof worker->topic)
        return false;
    memcpy(worker->topic, topic.at, topic.n);
    worker->topic[topic.n] = 0;
    return str_parse_u64(worker->row_seq, &worker->seq);
}

bool bench_body_has_answer(struct str body)
{
    struct str answer;
    return bench_json_member(body, STR("Answer"), &answer) && answer.at[0] == '[';
}

void bench_faults_finish(struct bench_faults *faults, const struct bench_conn_loop *loop)
{
    faults->errors += loop->bad_n;
    faults->reconnects += loop->lost_n;
    faults->is_fatal |= loop->is_unreachable;
    if (faults->first[0] == 0 && loop->bad_n > 0)
        snprintf(faults->first, sizeof faults->first, "a response that is not HTTP/1.1");
    if (faults->first[0] == 0 && loop->last_errno != 0)
        snprintf(faults->first, sizeof faults->first, "cannot connect: %s",
                 strerror(loop->last_errno));
}
