/* SPDX-License-Identifier: MIT
 * engine_frames.c - reads frames of an engine's socket (engine_socket.h). A frame is the body of
 * its route, with two more members, Type and Id. */
#include "services/broker/socket/engine_members.h"
#include "services/broker/socket/engine_socket.h"

enum { TARGET_MAX_BYTES = 4096, REST_MAX_S = 86400 };

static void copy_text(char *to, size_t room, struct str from)
{
    if (from.n >= room)
        from.n = 0;
    memcpy(to, from.at, from.n);
    to[from.n] = 0;
}

/* The Id as JSON. Returns false if it is neither a number nor a short text. */
static bool read_id(const struct json_span *id, struct str *ret_id)
{
    *ret_id = STR("");
    if (id == NULL || id->kind == JSON_SPAN_NULL)
        return true;
    if (id->kind == JSON_SPAN_NUMBER)
        *ret_id = id->raw;
    else if (id->kind == JSON_SPAN_TEXT)
        *ret_id = (struct str){id->raw.at - 1, id->raw.n + 2}; /* with its quotes */
    return ret_id->n > 0 && ret_id->n <= ENGINE_FRAME_ID_MAX_BYTES;
}

static struct str lease_of(const struct engine_members *m)
{
    struct str lease = engine_member_raw(m, "Lease");
    uint64_t number;
    return str_parse_u64(lease, &number) ? lease : STR("");
}

static uint64_t seq_of(const struct engine_members *m)
{
    uint64_t seq;
    return engine_member_u64(m, "Seq", &seq) ? seq : 0;
}

/* --- to their routes -------------------------------------------------------------------------- */

/* An answer that frees the slot brings the next claim. */
static bool wants_next(const struct engine_socket *s, enum engine_frame frame,
                       const struct engine_members *m)
{
    return frame == FRAME_ANSWER && !s->server->is_draining &&
           s->rest_until_ms <= clock_mono_ms() && s->claims.n + s->poll_n <= s->slots &&
           engine_claims_is_last(&s->claims, lease_of(m), seq_of(m));
}

static void put_target(struct engine_socket *s, enum engine_frame frame,
                       const struct engine_members *m, struct buf *target)
{
    unsigned name = engine_claims_name(&s->claims, lease_of(m));
    buf_put(target, str_of(engine_frames[frame].path));
    if (wants_next(s, frame, m)) { /* its claim is over then, and the next one has its name */
        buf_lit(target, "?Next=true");
        engine_socket_put_poll(s, target, name);
    } else if (s->engine[0] != 0) {
        buf_put_char(target, '?');
        engine_socket_put_engine(s, target, name);
    }
}

static struct engine_ask *begin(struct engine_socket *s, enum engine_frame frame,
                                const struct engine_members *m, struct str id)
{
    struct engine_ask *ask = engine_ask_begin(s, &s->asks);
    ask->frame = frame;
    ask->inner.on_answer = engine_ask_on_answer;
    ask->seq = seq_of(m);
    ask->name = engine_claims_name(&s->claims, lease_of(m));
    ask->is_one = ask->seq != 0 && !engine_member_is(m, "Retry", true);
    copy_text(ask->id, sizeof ask->id, id);
    copy_text(ask->lease, sizeof ask->lease, lease_of(m));
    copy_text(ask->request_id, sizeof ask->request_id, engine_member_raw(m, "RequestId"));
    return ask;
}

static void hand_over(struct engine_ask *ask, const struct engine_members *m, struct str body)
{
    struct buf target;
    buf_init(&target, TARGET_MAX_BYTES);
    put_target(ask->socket, ask->frame, m, &target);
    engine_ask_start(ask, engine_frames[ask->frame].method, buf_str(&target), body);
    buf_fini(&target);
}

/* --- partial answers -------------------------------------------------------------------------- */

static bool read_text(const struct json_span *span, struct buf *decoded, struct str *ret_text)
{
    *ret_text = STR("");
    if (span == NULL || span->kind == JSON_SPAN_NULL)
        return true;
    if (span->kind != JSON_SPAN_TEXT)
        return false;
    *ret_text = span->raw;
    if (span->has_escape) {
        buf_clear(decoded);
        buf_put_span_text(decoded, span);
        *ret_text = buf_str(decoded);
    }
    return true;
}

/* Returns false for a frame that its route has to explain. */
static bool read_piece(struct engine_socket *s, const struct engine_members *m, struct str id,
                       struct draft_frame *ret_frame)
{
    const struct json_span *topic = engine_member(m, "Topic");
    struct draft_frame frame = {.lease = lease_of(m), .id = id, .seq = seq_of(m)};
    if (frame.lease.n == 0 || frame.seq == 0 || topic == NULL || topic->kind != JSON_SPAN_TEXT ||
        !engine_member_u64(m, "Offset", &frame.offset) ||
        (engine_member(m, "Think") == NULL && engine_member(m, "Answer") == NULL) ||
        !read_text(engine_member(m, "Think"), &s->think, &frame.think) ||
        !read_text(engine_member(m, "Answer"), &s->answer, &frame.answer))
        return false;
    frame.topic_json = (struct str){topic->raw.at - 1, topic->raw.n + 2};
    *ret_frame = frame;
    return true;
}

static void take_piece(struct engine_socket *s, const struct engine_members *m, struct str id,
                       struct str json)
{
    struct draft_frame frame;
    bool is_piece = read_piece(s, m, id, &frame);
    bool has_facts = engine_member(m, "FinishReason") != NULL || engine_member(m, "Usage") != NULL;
    is_piece = is_piece && engine_member(m, "Deltas") == NULL;
    if (is_piece && !has_facts && engine_drafts_take(&s->drafts, &frame)) {
        engine_socket_pace(s);
        return;
    }
    struct engine_ask *ask = begin(s, FRAME_PARTIAL, m, id);
    ask->is_of_door = engine_member(m, "Deltas") != NULL;
    ask->is_primed = is_piece && engine_drafts_prime(&s->drafts, &frame);
    hand_over(ask, m, json);
    if (ask->is_primed)
        engine_drafts_note_topic(&s->drafts, &frame, ask->inner.request->about.topic);
}

void engine_frames_refuse_draft(struct engine_socket *s, struct str topic_json, uint64_t seq,
                                struct str lease, uint64_t offset, struct str id)
{
    struct engine_members m;
    struct buf json;
    buf_init(&json, 2048);
    buf_printf(
        &json, "{\"Topic\":%.*s,\"Seq\":%llu,\"Lease\":\"%.*s\",\"Offset\":%llu,\"Answer\":\"\"}",
        STR_ARG(topic_json), (unsigned long long)seq, STR_ARG(lease), (unsigned long long)offset);
    if (engine_members_read(&m, buf_str(&json)))
        hand_over(begin(s, FRAME_PARTIAL, &m, id), &m, buf_str(&json));
    buf_fini(&json);
}

/* --- the others ------------------------------------------------------------------------------- */

static void set_slots(struct engine_socket *s, const struct engine_members *m)
{
    uint64_t slots;
    if (!engine_member_u64(m, "Slots", &slots) || slots > ENGINE_SLOTS_MAX)
        engine_reply_fault(s, "Slots must be a number from 0 to 64.");
    else
        engine_socket_set_slots(s, (unsigned)slots);
}

/* A poll that takes nothing says it (get_new_queries.c). */
static void take_rest(struct engine_socket *s, const struct engine_members *m, struct str id)
{
    struct buf target, reason;
    uint64_t seconds;
    if (s->engine[0] == 0 || !engine_member_u64(m, "Seconds", &seconds) || seconds == 0 ||
        seconds > REST_MAX_S) {
        engine_reply_fault(s, "rest needs Seconds, from 1 to 86400, and a socket with an Engine.");
        return;
    }
    engine_socket_rest(s, seconds * 1000);
    buf_init(&target, TARGET_MAX_BYTES);
    buf_init(&reason, TARGET_MAX_BYTES);
    const struct json_span *why = engine_member(m, "Reason");
    if (why != NULL && why->kind == JSON_SPAN_TEXT)
        buf_put_span_text(&reason, why);
    buf_printf(&target, "%s?Rest=%llu&Reason=", engine_frames[FRAME_REST].path,
               (unsigned long long)seconds);
    buf_put_url_encoded(&target, buf_str(&reason));
    uint64_t slot = 1;
    (void)!engine_member_u64(m, "Slot", &slot);
    engine_socket_put_poll(s, &target, slot >= 1 && slot <= ENGINE_SLOTS_MAX ? slot - 1 : 0);
    engine_ask_start(begin(s, FRAME_REST, m, id), engine_frames[FRAME_REST].method,
                     buf_str(&target), STR(""));
    buf_fini(&reason);
    buf_fini(&target);
}

static enum engine_frame frame_of(struct str type)
{
    enum engine_frame frame = 0;
    while (frame < FRAME_NR && !str_eq(type, str_of(engine_frames[frame].type)))
        frame++;
    return frame;
}

void engine_frames_take(struct engine_socket *s, struct str json)
{
    struct engine_members m;
    struct str id;
    if (!engine_members_read(&m, json)) {
        engine_reply_fault(s, "A frame must be one JSON object with at most 64 members.");
        return;
    }
    struct str type = engine_member_raw(&m, "Type");
    enum engine_frame frame = frame_of(type);
    if (!read_id(engine_member(&m, "Id"), &id))
        engine_reply_fault(s, "Id must be a number, or a text of at most 62 bytes.");
    else if (str_eq(type, STR("slots")))
        set_slots(s, &m);
    else if (frame == FRAME_REST)
        take_rest(s, &m, id);
    else if (frame == FRAME_PARTIAL)
        take_piece(s, &m, id, json);
    else if (frame == FRAME_NR)
        engine_reply_fault(s, "Type must be partial, answer, extend, release, rest or slots.");
    else {
        if (frame != FRAME_EXTEND) /* stored before an answer, forgotten with a release */
            engine_drafts_end(&s->drafts, lease_of(&m), frame == FRAME_ANSWER ? seq_of(&m) : 0,
                              frame == FRAME_ANSWER);
        hand_over(begin(s, frame, &m, id), &m, json);
    }
}
