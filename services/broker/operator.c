/* SPDX-License-Identifier: MIT
 * operator.c - what operators see and steer (lua/operator). */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/base/clock.h"

#include <stdio.h>

enum { PAGE = 100, ACCOUNT_MAX_BYTES = 128 };

static void put_number_or_null(struct buf *b, struct str digits, double divisor)
{
    uint64_t number;
    if (!str_parse_u64(digits, &number))
        buf_lit(b, "null");
    else if (divisor == 1)
        buf_put_u64(b, number);
    else
        buf_printf(b, "%.3f", (double)number / divisor);
}

/* When an engine has rested that said so (lua/queue/away.lua); null when that is past. */
static void put_rest(struct buf *b, struct str info)
{
    const struct str head = STR("{\"RestingUntilMs\":");
    uint64_t until_ms = 0;
    if (str_has_prefix(info, head)) {
        struct str digits = {info.at + head.n, info.n - head.n};
        if (!str_parse_u64(str_cut(&digits, ','), &until_ms))
            until_ms = 0;
    }
    if (until_ms <= clock_wall_s() * 1000) {
        buf_lit(b, "null");
        return;
    }
    buf_put_char(b, '"');
    buf_put_timestamp(b, until_ms / 1000);
    buf_lit(b, "Z\"");
}

static void put_engine(struct buf *b, struct lines *lines)
{
    struct str who = lines_next(lines);
    buf_lit(b, "{\"User\":");
    buf_put_json_of_name(b, str_cut(&who, ' '));
    buf_lit(b, ",\"Engine\":");
    if (str_eq(who, STR("-")))
        buf_lit(b, "null");
    else
        buf_put_json_of_name(b, who);
    buf_lit(b, ",\"SeenSecondsAgo\":");
    put_number_or_null(b, lines_next(lines), 1000);
    struct str info = lines_next(lines);
    buf_lit(b, ",\"Info\":");
    buf_put(b, info);
    buf_lit(b, ",\"RestingUntil\":");
    put_rest(b, info);
    buf_lit(b, ",\"Drained\":");
    buf_put(b, str_eq(lines_next(lines), STR("1")) ? STR("true}") : STR("false}"));
}

static void put_node(struct buf *b, struct lines *lines)
{
    buf_lit(b, "{\"Node\":");
    buf_put_json_of_name(b, lines_next(lines));
    buf_lit(b, ",\"SeenSecondsAgo\":");
    put_number_or_null(b, lines_next(lines), 1000);
    buf_lit(b, ",\"Info\":");
    buf_put(b, lines_next(lines));
    buf_put_char(b, '}');
}

static void on_status(struct request *r, enum err error, struct str reply)
{
    static const char *const counts[] = {"Added", "Done", "Failed"};
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"Depth\":");
    put_number_or_null(b, lines_next(&lines), 1);
    buf_put_key(b, "OldestSeconds");
    put_number_or_null(b, lines_next(&lines), 1000);
    buf_put_key(b, "InFlight");
    put_number_or_null(b, lines_next(&lines), 1);
    buf_put_key(b, "OpenLookups");
    put_number_or_null(b, lines_next(&lines), 1);
    buf_put_key(b, "ParkedPolls");
    put_number_or_null(b, lines_next(&lines), 1);
    uint64_t numbers[3];
    for (size_t i = 0; i < 3; i++)
        numbers[i] = lines_next_u64(&lines);
    uint64_t span_s = lines_next_u64(&lines);
    buf_lit(b, ",\"Recent\":{\"Seconds\":");
    buf_put_u64(b, span_s);
    for (size_t i = 0; i < 3; i++)
        buf_printf(b, ",\"%s\":%llu", counts[i], (unsigned long long)numbers[i]);
    buf_printf(b, ",\"DonePerSecond\":%.3f}",
               span_s == 0 ? 0.0 : (double)numbers[1] / (double)span_s);
    uint64_t engine_n = lines_next_u64(&lines);
    buf_lit(b, ",\"Engines\":[");
    for (uint64_t i = 0; i < engine_n && lines_are_left(&lines); i++) {
        if (i > 0)
            buf_put_char(b, ',');
        put_engine(b, &lines);
    }
    buf_lit(b, "],\"Nodes\":[");
    for (bool is_first = true; lines_are_left(&lines); is_first = false) {
        if (!is_first)
            buf_put_char(b, ',');
        put_node(b, &lines);
    }
    buf_printf(b, "],\"Redis\":{\"Status\":\"connected\",\"RoundTripUs\":%llu}}",
               (unsigned long long)turn_took_us(shards_cluster(r->server->shards)));
    respond_json(r, 200, b);
}

void broker_status(struct request *r)
{
    call_status(request_call(r, on_status));
}

static void on_list(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    struct str next = lines_next(&lines);
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"Queries\":[");
    for (bool is_first = true; lines_are_left(&lines); is_first = false) {
        struct str topic = lines_next(&lines);
        uint64_t seq = lines_next_u64(&lines);
        struct outcome o = lines_next_outcome(&lines);
        buf_put(b, is_first ? STR("{\"Topic\":") : STR(",{\"Topic\":"));
        buf_put_json_of_name(b, topic);
        buf_put_key(b, "Seq");
        buf_put_u64(b, seq);
        buf_put_key(b, "User");
        buf_put(b, o.row.user);
        buf_put_key(b, "Model");
        buf_put(b, o.row.model);
        buf_put_key(b, "Query");
        buf_put(b, o.row.query);
        buf_printf(b, ",\"Status\":\"%.*s\",\"Timestamp\":", STR_ARG(o.status));
        buf_put_json_ms(b, o.row.created_ms);
        if (o.reason.n > 0) {
            buf_put_key(b, "Reason");
            buf_put(b, o.reason);
        }
        buf_put_char(b, '}');
    }
    buf_printf(b, "],\"Next\":%s%.*s%s}", next.n > 0 ? "\"" : "null", STR_ARG(next),
               next.n > 0 ? "\"" : "");
    respond_json(r, 200, b);
}

/* Open by default. */
static bool read_state(struct request *r, enum verb_list_state *ret_state)
{
    struct str state = request_param(r, "State");
    if (state.n == 0 || str_eq(state, STR("Open")))
        *ret_state = LIST_OPEN;
    else if (str_eq(state, STR("Pending")))
        *ret_state = LIST_PENDING;
    else if (str_eq(state, STR("Failed")))
        *ret_state = LIST_FAILED;
    else
        return false;
    return true;
}

void broker_queue(struct request *r)
{
    struct str user = request_param(r, "User");
    enum verb_list_state state;
    uint64_t after;
    if (!read_state(r, &state)) {
        respond_error(r, ERR_BAD_REQUEST, "State must be Open, Pending or Failed.");
        return;
    }
    /* User is also who signs: the one to look for stands in OnBehalfOf, or in a second User. */
    struct str wanted = request_param(r, "OnBehalfOf");
    if (wanted.at == NULL && !r->is_signed)
        wanted = user;
    if (wanted.at == NULL && r->is_signed)
        wanted = request_second_param(r, "User");
    if (wanted.n > USER_MAX_BYTES + NAMESPACE_MAX_BYTES + 1) {
        respond_error(r, ERR_BAD_REQUEST, "User must be at most 128 bytes.");
        return;
    }
    if (!request_param_u64(r, "After", 0, UINT32_MAX, 0, &after))
        return;
    struct str name = wanted.n == 0 ? STR("") : names_any_user(r, wanted);
    call_list(request_call(r, on_list), .state = state, .user = name, .skip = after, .page = PAGE);
}

static void on_retried(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (!reply_refuse(r, error, lines_next(&lines), &lines))
        respond_json_fixed(r, 200, STR("{\"Status\":\"Open\"}"));
}

void broker_retry_query(struct request *r)
{
    struct str topic;
    uint64_t seq;
    if (!request_body(r) || !names_topic_member(r, &topic) || !params_seq(r, 1, &seq))
        return;
    call_retry(request_call(r, on_retried), .topic = topic, .seq = seq);
}

static void on_drained(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    const struct json_span *drain = request_member(r, "Drain");
    bool is_off = drain != NULL && drain->raw.at[0] == 'f';
    respond_json_fixed(r, 200, is_off ? STR("{\"Drained\":false}") : STR("{\"Drained\":true}"));
}

void broker_drain_engine(struct request *r)
{
    struct str user;
    bool is_drained;
    if (!request_body(r) || !request_text(r, "User", 1, ACCOUNT_MAX_BYTES, &user) ||
        !request_optional_bool(r, "Drain", true, &is_drained))
        return;
    const struct account *engine = accounts_find(gate_accounts(&r->server->gate), user);
    if (engine == NULL || engine->role != ROLE_ENGINE) {
        respond_error(r, ERR_NOT_FOUND, "There is no engine account of that name.");
        return;
    }
    call_drain(request_call(r, on_drained), .account = engine->name_token,
               .is_drained = is_drained);
}
