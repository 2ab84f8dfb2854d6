/* SPDX-License-Identifier: MIT
 * claims.c - what an engine says while it works on a claim: partial answers, heartbeats, giving it
 * back (lua/queue/partial.lua, extend.lua, release.lua). */
#include "services/broker/handlers.h"

#include <stdio.h>

enum {
    LEASE_MAX_BYTES = 20,
    PARTIAL_INTERVAL_MS = 100,
    PARTIALS_MAX_BYTES = 1 << 20,
    REASON_MAX_BYTES = 1024
};

/* A lease as it was given out, a string of digits; clients that made a number of it are understood.
 */
static bool read_lease(struct request *r, struct str *ret_lease)
{
    const struct json_span *lease = request_member(r, "Lease");
    uint64_t number;
    if (lease == NULL || (lease->kind != JSON_SPAN_TEXT && lease->kind != JSON_SPAN_NUMBER) ||
        lease->raw.n > LEASE_MAX_BYTES || !str_parse_u64(lease->raw, &number)) {
        respond_error(r, ERR_BAD_REQUEST, "Lease must be the Lease of a claim.");
        return false;
    }
    *ret_lease = lease->raw;
    return true;
}

static void on_partial(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    char text[128];
    bool is_cancelled = str_eq(tag, STR("cancelled"));
    if (error == ERR_OK && str_eq(tag, STR("gap"))) {
        struct str expected = lines_next(&lines);
        snprintf(text, sizeof text, "\"expected\":%.*s", STR_ARG(expected));
        respond_error_more(r, ERR_PARTIAL_GAP, NULL, text, 0);
        return;
    }
    if (!(error == ERR_OK && is_cancelled) && reply_refuse(r, error, tag, &lines))
        return;
    struct str next = lines_next(&lines);
    int n = snprintf(text, sizeof text, "{\"Next\":%.*s,\"IntervalMs\":%d,\"Cancelled\":%s}",
                     STR_ARG(next), PARTIAL_INTERVAL_MS, is_cancelled ? "true" : "false");
    respond_json_fixed(r, 200, (struct str){text, (size_t)n});
}

void broker_give_partial(struct request *r)
{
    struct str topic, lease, think, answer;
    uint64_t seq;
    int64_t offset;
    if (!request_body(r) || !names_topic_member(r, &topic) || !params_seq(r, 1, &seq) ||
        !read_lease(r, &lease) || !request_number(r, "Offset", 0, PARTIALS_MAX_BYTES, &offset) ||
        !request_optional_text(r, "Think", PARTIALS_MAX_BYTES, &think) ||
        !request_optional_text(r, "Answer", PARTIALS_MAX_BYTES, &answer))
        return;
    struct turn *turn = request_begin_verb(r, LANE_FIRST, STR("partial"), on_partial);
    turn_put(turn, topic);
    turn_put_u64(turn, seq);
    turn_put(turn, lease);
    turn_put_u64(turn, (uint64_t)offset);
    turn_put(turn, think);
    turn_put(turn, answer);
    turn_put_u64(turn, PARTIALS_MAX_BYTES);
    turn_put(turn, r->account->name_token);
    turn_end(turn);
}

static void on_extended(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
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
    struct turn *turn = request_begin_verb(r, LANE_FIRST, STR("extend"), on_extended);
    turn_put(turn, topic);
    turn_put(turn, lease);
    turn_put(turn, r->account->name_token);
    turn_end(turn);
}

static void on_released(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (!reply_refuse(r, error, lines_next(&lines), &lines))
        respond_json_fixed(r, 200, STR("{\"status\":\"OK\"}"));
}

void broker_release_claim(struct request *r)
{
    struct str topic, lease, reason;
    bool is_retry, is_away;
    if (!request_body(r) || !names_topic_member(r, &topic) || !read_lease(r, &lease) ||
        !request_optional_text(r, "Reason", REASON_MAX_BYTES, &reason) ||
        !request_optional_bool(r, "Retry", true, &is_retry) ||
        !request_optional_bool(r, "Away", false, &is_away))
        return;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_put_json(b, reason.n > 0 ? reason : STR("The engine gave it back."));
    struct turn *turn = request_begin_verb(r, LANE_FIRST, STR("release"), on_released);
    turn_put(turn, topic);
    turn_put(turn, lease);
    turn_put(turn, r->account->name_token);
    turn_put(turn, STR(""));
    turn_put(turn, buf_str(b));
    turn_put(turn, !is_retry ? STR("fail") : is_away ? STR("away") : STR("retry"));
    turn_end(turn);
}
