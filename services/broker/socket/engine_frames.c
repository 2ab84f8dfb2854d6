/* SPDX-License-Identifier: MIT
 * engine_frames.c - frames of an engine's socket (engine_socket.h). A frame is the body of its
 * route, with the members Type and Id besides. */
#include "services/broker/socket/engine_socket.h"

enum { MEMBERS_MAX = 64, TARGET_MAX_BYTES = 4096, REST_MAX_S = 86400 };

static const struct {
    const char *type, *method, *path;
} frames[FRAME_NR] = {
    [FRAME_PARTIAL] = {"partial", "POST", "/api/give-partial"},
    [FRAME_ANSWER] = {"answer", "POST", "/api/give-new-answer"},
    [FRAME_EXTEND] = {"extend", "POST", "/api/extend-claim"},
    [FRAME_RELEASE] = {"release", "POST", "/api/release-claim"},
    [FRAME_REST] = {"rest", "GET", "/api/get-new-queries"},
};

void engine_frames_reply(struct engine_socket *s, const struct engine_ask *ask, int status, struct str body)
{
    struct buf b;
    buf_init(&b, ENGINE_FRAME_MAX_BYTES);
    buf_printf(&b, "{\"Type\":\"reply\",\"To\":\"%s\"", frames[ask->frame].type);
    if (ask->id[0] != 0)
        buf_printf(&b, ",\"Id\":%s", ask->id);
    if (ask->lease[0] != 0)
        buf_printf(&b, ",\"Lease\":\"%s\"", ask->lease);
    buf_printf(&b, ",\"Status\":%d,\"Body\":", status);
    buf_put(&b, body);
    buf_put_char(&b, '}');
    engine_socket_send(s, &b);
    buf_fini(&b);
}

/* A frame that cannot be read. */
static void send_fault(struct engine_socket *s, const char *detail)
{
    struct buf b;
    buf_init(&b, ENGINE_FRAME_MAX_BYTES);
    buf_lit(&b, "{\"Type\":\"error\",\"detail\":");
    buf_put_json(&b, str_of(detail));
    buf_put_char(&b, '}');
    engine_socket_send(s, &b);
    buf_fini(&b);
}

/* --- frames ----------------------------------------------------------------------------------- */

struct members {
    struct json_member at[MEMBERS_MAX];
    size_t n;
};

static const struct json_span *member(const struct members *m, const char *name)
{
    for (size_t i = m->n; i-- > 0;)
        if (str_eq(m->at[i].name.raw, str_of(name)))
            return &m->at[i].value;
    return NULL;
}

static struct str text(const struct members *m, const char *name)
{
    const struct json_span *span = member(m, name);
    bool has_raw = span != NULL && (span->kind == JSON_SPAN_TEXT || span->kind == JSON_SPAN_NUMBER);
    return has_raw ? span->raw : STR("");
}

static bool read_members(struct str json, struct members *m)
{
    const char *reason;
    size_t at;
    bool is_object;
    return json_scan_object(json, m->at, MEMBERS_MAX, &m->n, &reason, &at, &is_object) &&
           m->n <= MEMBERS_MAX;
}

static void note_cancelled(struct engine_socket *s, const struct engine_ask *ask, const struct members *m)
{
    const struct json_span *cancelled = member(m, "Cancelled");
    struct json_span item;
    uint64_t seq;
    if (cancelled == NULL)
        return;
    if (cancelled->kind == JSON_SPAN_BOOL && str_eq(cancelled->raw, STR("true")))
        engine_claims_end_one(&s->claims, str_of(ask->lease), ask->seq);
    for (struct str rest = json_list_inside(cancelled); json_next_item(&rest, &item);)
        if (str_parse_u64(item.raw, &seq))
            engine_claims_end_one(&s->claims, str_of(ask->lease), seq);
}

/* Notes which of its claims the reply has ended. */
static void note_ends(struct engine_socket *s, const struct engine_ask *ask, int status,
                      const struct members *m)
{
    struct str lease = str_of(ask->lease), code = text(m, "code");
    if (status == 200 && ask->frame == FRAME_ANSWER)
        engine_claims_end_one(&s->claims, lease, ask->seq);
    else if (status == 200 && ask->frame == FRAME_RELEASE && ask->is_one)
        engine_claims_end_one(&s->claims, lease, ask->seq);
    else if (status == 200 && ask->frame == FRAME_RELEASE)
        engine_claims_end(&s->claims, lease);
    else if (status == 409 && str_eq(code, STR("lease_lost")))
        engine_claims_end(&s->claims, lease);
    else if (ask->frame == FRAME_ANSWER &&
             (status == 404 || (status == 409 && !str_eq(code, STR("query_mismatch")))))
        engine_claims_end_one(&s->claims, lease, ask->seq);
    else if (status == 200)
        note_cancelled(s, ask, m);
}

/* A partial answer that is stored is reported from time to time only. */
static bool is_worth_a_reply(const struct engine_ask *ask, int status, const struct members *m)
{
    const struct json_span *cancelled = member(m, "Cancelled");
    return ask->frame != FRAME_PARTIAL || status != 200 || ask->id[0] != 0 ||
           (cancelled != NULL && str_eq(cancelled->raw, STR("true")));
}

static void on_answered(struct inner *inner, int status, struct str body)
{
    struct engine_ask *ask = container_of(inner, struct engine_ask, inner);
    struct engine_socket *s = ask->socket;
    struct members m;
    if (!read_members(body, &m))
        m.n = 0;
    note_ends(s, ask, status, &m);
    engine_ask_settle(ask);
    const struct json_span *next = member(&m, "Next");
    bool has_claim = ask->frame == FRAME_ANSWER && next != NULL && engine_socket_is_claim(next->raw);
    ask->was_sent = has_claim || is_worth_a_reply(ask, status, &m);
    if (has_claim) {
        /* The reply without Next, which is its last member. */
        struct buf b;
        buf_init(&b, ENGINE_FRAME_MAX_BYTES);
        buf_put(&b, (struct str){body.at, (size_t)(next->raw.at - body.at) - strlen(",\"Next\":")});
        buf_put_char(&b, '}');
        engine_frames_reply(s, ask, status, buf_str(&b));
        buf_fini(&b);
        engine_socket_send_claim(s, next->raw);
    } else if (ask->was_sent) {
        engine_frames_reply(s, ask, status, body);
    }
    engine_socket_fill_soon(s, 0);
}

static void copy_text(char *to, size_t room, struct str from)
{
    if (from.n >= room)
        from.n = 0;
    memcpy(to, from.at, from.n);
    to[from.n] = 0;
}

/* Returns false for an Id that is neither a number nor a short text. */
static bool read_id(struct engine_ask *ask, const struct json_span *id)
{
    if (id == NULL || id->kind == JSON_SPAN_NULL)
        return true;
    if (id->kind == JSON_SPAN_NUMBER && id->raw.n <= ENGINE_FRAME_ID_MAX_BYTES)
        copy_text(ask->id, sizeof ask->id, id->raw);
    else if (id->kind == JSON_SPAN_TEXT && id->raw.n + 2 <= ENGINE_FRAME_ID_MAX_BYTES)
        copy_text(ask->id, sizeof ask->id, (struct str){id->raw.at - 1, id->raw.n + 2});
    else
        return false;
    return true;
}

static bool is_true(const struct json_span *span, bool fallback)
{
    return span == NULL || span->kind != JSON_SPAN_BOOL ? fallback
                                                        : str_eq(span->raw, STR("true"));
}

static bool is_digits(struct str s)
{
    uint64_t number;
    return str_parse_u64(s, &number);
}

static void read_subject(struct engine_ask *ask, const struct members *m)
{
    struct str lease = text(m, "Lease");
    if (is_digits(lease))
        copy_text(ask->lease, sizeof ask->lease, lease);
    if (!str_parse_u64(text(m, "Seq"), &ask->seq))
        ask->seq = 0;
    ask->is_one = ask->seq != 0 && !is_true(member(m, "Retry"), true);
}

/* An answer that frees the slot brings the next claim. */
static bool wants_next(const struct engine_socket *s, enum engine_frame frame,
                       const struct members *m)
{
    uint64_t seq;
    return frame == FRAME_ANSWER && !s->server->is_draining &&
           s->rest_until_ms <= clock_mono_ms() && s->claims.n + s->poll_n <= s->slots &&
           str_parse_u64(text(m, "Seq"), &seq) &&
           engine_claims_is_last(&s->claims, text(m, "Lease"), seq);
}

static void put_target(struct engine_socket *s, enum engine_frame frame, const struct members *m,
                       struct buf *target)
{
    buf_put(target, str_of(frames[frame].path));
    if (wants_next(s, frame, m)) {
        buf_lit(target, "?Next=true");
        engine_socket_put_poll(s, target, ENGINE_SLOTS_MAX - 1);
    } else if (s->engine[0] != 0) {
        buf_lit(target, "?Engine=");
        buf_put_url_encoded(target, str_of(s->engine));
    }
}

static void hand_over(struct engine_socket *s, enum engine_frame frame, const struct members *m,
                      struct str target, struct str body)
{
    struct engine_ask *ask = engine_ask_begin(s, &s->asks);
    ask->frame = frame;
    ask->inner.on_answer = on_answered;
    read_subject(ask, m);
    if (!read_id(ask, member(m, "Id")))
        send_fault(s, "Id must be a number, or a text of at most 62 bytes.");
    engine_ask_start(ask, frames[frame].method, target, body);
}

static void set_slots(struct engine_socket *s, const struct members *m)
{
    uint64_t slots;
    if (!str_parse_u64(text(m, "Slots"), &slots) || slots > ENGINE_SLOTS_MAX)
        send_fault(s, "Slots must be a number from 0 to 64.");
    else
        engine_socket_set_slots(s, (unsigned)slots);
}

/* The node is told by a poll that takes nothing (get_new_queries.c). */
static void rest(struct engine_socket *s, const struct members *m)
{
    struct buf target, reason;
    uint64_t seconds;
    if (s->engine[0] == 0 || !str_parse_u64(text(m, "Seconds"), &seconds) || seconds == 0 ||
        seconds > REST_MAX_S) {
        send_fault(s, "rest needs Seconds, from 1 to 86400, and a socket with an Engine.");
        return;
    }
    engine_socket_rest(s, seconds * 1000);
    buf_init(&target, TARGET_MAX_BYTES);
    buf_init(&reason, TARGET_MAX_BYTES);
    const struct json_span *why = member(m, "Reason");
    if (why != NULL && why->kind == JSON_SPAN_TEXT)
        buf_put_span_text(&reason, why);
    buf_printf(&target, "%s?Rest=%llu&Reason=", frames[FRAME_REST].path,
               (unsigned long long)seconds);
    buf_put_url_encoded(&target, buf_str(&reason));
    engine_socket_put_poll(s, &target, 0);
    hand_over(s, FRAME_REST, m, buf_str(&target), STR(""));
    buf_fini(&reason);
    buf_fini(&target);
}

void engine_frames_take(struct engine_socket *s, struct str json)
{
    struct members m;
    struct buf target;
    if (!read_members(json, &m)) {
        send_fault(s, "A frame must be one JSON object with at most 64 members.");
        return;
    }
    struct str type = text(&m, "Type");
    enum engine_frame frame = 0;
    while (frame < FRAME_NR && !str_eq(type, str_of(frames[frame].type)))
        frame++;
    if (str_eq(type, STR("slots"))) {
        set_slots(s, &m);
    } else if (frame == FRAME_REST) {
        rest(s, &m);
    } else if (frame == FRAME_NR) {
        send_fault(s, "Type must be partial, answer, extend, release, rest or slots.");
    } else {
        buf_init(&target, TARGET_MAX_BYTES);
        put_target(s, frame, &m, &target);
        hand_over(s, frame, &m, buf_str(&target), json);
        buf_fini(&target);
    }
}
