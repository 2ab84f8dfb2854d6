/* SPDX-License-Identifier: MIT
 * claims.c - an engine's requests during a claim: partial answers, heartbeats, giving it back
 * (lua/queue/partial.lua, extend.lua, release.lua). */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/base/json_fault.h"
#include "shared/http/request/explain.h"

#include <stdio.h>

enum {
    LEASE_MAX_BYTES = 20,
    PARTIAL_INTERVAL_MS = 100,
    PARTIALS_MAX_BYTES = 1 << 20,
    FAULT_MAX_BYTES = 8 << 10,
    FAULT_MEMBERS_MAX = 64,
    REASON_MAX_BYTES = 1024
};

/* A lease as it was given out, a string of digits; clients that made a number of it are understood.
 */
static bool read_lease(struct request *r, struct str *ret_lease)
{
    const struct json_span *lease = request_member(r, "Lease");
    uint64_t number;
    *ret_lease = STR("");
    if (lease == NULL || (lease->kind != JSON_SPAN_TEXT && lease->kind != JSON_SPAN_NUMBER) ||
        lease->raw.n > LEASE_MAX_BYTES || !str_parse_u64(lease->raw, &number))
        return explain_member(r, "Lease", "the Lease of a claim, a string of digits");
    *ret_lease = lease->raw;
    return true;
}

static bool has_text(struct request *r, const char *name)
{
    const struct json_span *span = request_member(r, name);
    return span != NULL && span->kind == JSON_SPAN_TEXT && span->raw.n > 0;
}

/* The engine that holds the claim is there, if it says which it is. */
static void note_beat(struct request *r)
{
    struct str engine = request_param(r, "Engine");
    if (engine.n > 0 && engine.n <= ENGINE_MAX_BYTES)
        queue_note_beat(broker_of(r)->queue, r->account->name_token, names_of(r, engine));
}

void claims_explain_gap(struct request *r, struct str expected)
{
    char detail[192], members[64];
    snprintf(detail, sizeof detail,
             "Text is missing before Offset %.*s: the node has %.*s bytes of this claim. Send "
             "again from `expected`.",
             STR_ARG(request_member(r, "Offset")->raw), STR_ARG(expected));
    snprintf(members, sizeof members, "\"expected\":%.*s", STR_ARG(expected));
    respond_error_more(r, ERR_PARTIAL_GAP, detail, members, 0);
}

static void on_partial(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    bool is_cancelled = str_eq(tag, STR("cancelled"));
    if (error == ERR_OK && str_eq(tag, STR("gap"))) {
        struct str expected = lines_next(&lines);
        claims_explain_gap(r, expected);
        return;
    }
    if (!(error == ERR_OK && is_cancelled) && reply_refuse(r, error, tag, &lines))
        return;
    note_beat(r);
    if (!is_cancelled &&
        (has_text(r, "Think") || has_text(r, "Answer") || request_member(r, "Deltas") != NULL))
        metrics_add(r->server->metrics, METRIC_PIECES_STORED, 1);
    struct str next = lines_next(&lines), age_ms = lines_next(&lines);
    uint64_t age;
    if (str_parse_u64(age_ms, &age))
        metrics_observe_ms(r->server->metrics, METRIC_HISTOGRAM_FIRST_TOKEN, 0, age);
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_printf(b, "{\"Next\":%.*s,\"IntervalMs\":%d,\"Cancelled\":%s", STR_ARG(next),
               PARTIAL_INTERVAL_MS, is_cancelled ? "true" : "false");
    if (r->inner != NULL && !is_cancelled) { /* socket/engine_drafts.h */
        struct str claim = lines_next(&lines), nodes = lines_next(&lines);
        buf_printf(b, ",\"Claim\":%.*s,\"Nodes\":", STR_ARG(claim));
        buf_put_json(b, nodes);
    }
    buf_put_char(b, '}');
    respond_json(r, 200, b);
}

/* A partial answer without text is a heartbeat, unless it has text by another name, which would be
 * lost. */
static bool check_text(struct request *r)
{
    static const char *const known[] = {"Topic",        "Seq",    "Lease",  "Offset",
                                        "Think",        "Answer", "Query",  "Model",
                                        "FinishReason", "Usage",  "Deltas", NULL};
    if (request_member(r, "Think") != NULL || request_member(r, "Answer") != NULL ||
        request_member(r, "Deltas") != NULL)
        return true;
    struct buf unknown;
    buf_init(&unknown, 1024);
    size_t n = json_put_unknown(&unknown, r->members, r->member_n, known);
    if (n > 0)
        explain(r, ERR_BAD_REQUEST,
                "There is neither Think nor Answer, but %.*s, which this route does not know: new "
                "text must be in Think or Answer.",
                STR_ARG(buf_str(&unknown)));
    buf_fini(&unknown);
    return n == 0;
}

void broker_give_partial(struct request *r)
{
    struct str topic, lease, think, answer;
    uint64_t seq;
    int64_t offset;
    bool is_more;
    if (!request_body(r))
        return;
    bool has_deltas = request_member(r, "Deltas") != NULL;
    if (!names_topic_member(r, &topic) || !params_seq(r, 1, &seq) || !read_lease(r, &lease) ||
        !request_number(r, "Offset", 0, has_deltas ? DELTAS_MAX_BYTES : PARTIALS_MAX_BYTES,
                        &offset) ||
        !request_optional_text(r, "Think", PARTIALS_MAX_BYTES, &think) ||
        !request_optional_text(r, "Answer", PARTIALS_MAX_BYTES, &answer) || !check_text(r))
        return;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    if (!deltas_put(b, r, &is_more))
        return;
    size_t deltas_n = b->n;
    if (!facts_put(b, r))
        return;
    queue_claim_lives(broker_of(r)->queue, topic, lease);
    call_partial(request_call(r, on_partial), .topic = topic, .seq = seq, .lease = lease,
                 .offset = (uint64_t)offset, .think = has_deltas ? STR("") : think,
                 .answer = has_deltas ? STR("") : answer, .max_bytes = PARTIALS_MAX_BYTES,
                 .holder = r->account->name_token,
                 .mode = r->inner != NULL && !has_deltas ? PARTIAL_FIRST : PARTIAL_WHOLE,
                 .facts = ((struct str){b->at + deltas_n, b->n - deltas_n}),
                 .deltas = ((struct str){b->at, deltas_n}), .is_more = is_more);
}

static void on_extended(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    note_beat(r);
    struct str cancelled = lines_next(&lines);
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"LeaseSeconds\":");
    buf_put_u64(b, queue_lease_ms(broker_of(r)->queue) / 1000);
    buf_lit(b, ",\"Cancelled\":[");
    buf_put(b, cancelled);
    buf_lit(b, "]}");
    respond_json(r, 200, b);
}

void broker_extend_claim(struct request *r)
{
    struct str topic, lease;
    if (!request_body(r) || !names_topic_member(r, &topic) || !read_lease(r, &lease))
        return;
    queue_claim_lives(broker_of(r)->queue, topic, lease);
    call_extend(request_call(r, on_extended), .topic = topic, .lease = lease,
                .holder = r->account->name_token);
}

/* An error has a status from 400 to 599, if it has one. */
static bool has_error_status(struct str fault)
{
    struct json_member members[FAULT_MEMBERS_MAX];
    const char *reason;
    size_t n, at;
    bool is_object;
    uint64_t status;
    if (!json_scan_object(fault, members, FAULT_MEMBERS_MAX, &n, &reason, &at, &is_object) ||
        n > FAULT_MEMBERS_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct json_span *value = &members[i].value;
        if (!str_eq(members[i].name.raw, STR("status")) || value->kind == JSON_SPAN_NULL)
            continue;
        if (value->kind != JSON_SPAN_NUMBER || !str_parse_u64(value->raw, &status) ||
            status < 400 || status > 599)
            return false;
    }
    return true;
}

/* The member Error, which is stored with a query that failed. */
static bool read_fault(struct request *r, bool is_retry, struct buf *b)
{
    const struct json_span *fault = request_member(r, "Error");
    size_t start = b->n;
    if (fault == NULL)
        return true;
    if (fault->kind != JSON_SPAN_OBJECT)
        return explain_member(r, "Error", "an object with status, message, type, param and code");
    if (!has_error_status(fault->raw))
        return explain_member(r, "Error",
                              "an object whose status is a whole number from 400 to 599");
    if (!is_retry)
        buf_put_span(b, fault);
    if (b->n - start <= FAULT_MAX_BYTES)
        return true;
    explain(r, ERR_TOO_LARGE, "Error takes %llu %s as JSON: at most 8 KiB are kept.",
            COUNTED(b->n - start, "byte"));
    return false;
}

static void on_released(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    if (!str_eq(lines_next(&lines), STR("-")))
        metrics_add(r->server->metrics, METRIC_LEASES_RELEASED, 1);
    respond_json_fixed(r, 200, STR("{\"status\":\"OK\"}"));
}

void broker_release_claim(struct request *r)
{
    struct str topic, lease, reason, seq = STR("");
    bool is_retry, is_away;
    int64_t number;
    if (!request_body(r) || !names_topic_member(r, &topic) || !read_lease(r, &lease) ||
        !request_optional_text(r, "Reason", REASON_MAX_BYTES, &reason) ||
        !request_optional_bool(r, "Retry", true, &is_retry) ||
        !request_optional_bool(r, "Away", false, &is_away))
        return;
    if (request_member(r, "Seq") != NULL) {
        if (!request_number(r, "Seq", 1, INT32_MAX, &number))
            return;
        seq = request_member(r, "Seq")->raw;
    }
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_put_json(b, reason.n > 0 ? reason : STR("The engine gave it back."));
    size_t reason_n = b->n;
    if (!read_fault(r, is_retry, b))
        return;
    call_release(request_call(r, on_released), .topic = topic, .lease = lease,
                 .holder = r->account->name_token, .query = STR(""),
                 .reason = ((struct str){b->at, reason_n}), .seq = seq,
                 .fault = ((struct str){b->at + reason_n, b->n - reason_n}),
                 .outcome = !is_retry ? RELEASE_FAIL
                            : is_away ? RELEASE_AWAY
                                      : RELEASE_RETRY);
}
