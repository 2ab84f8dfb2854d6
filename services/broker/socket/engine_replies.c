/* SPDX-License-Identifier: MIT
 * engine_replies.c - the answers of routes to the frames of an engine's socket (engine_socket.h),
 * and which of its claims they have ended. */
#include "services/broker/socket/engine_members.h"
#include "services/broker/socket/engine_socket.h"

/* --- its claims ------------------------------------------------------------------------------- */

static void end_one(struct engine_socket *s, struct str lease, uint64_t seq)
{
    engine_claims_end_one(&s->claims, lease, seq);
    engine_drafts_end(&s->drafts, lease, seq, false);
}

static void end_all(struct engine_socket *s, struct str lease)
{
    engine_claims_end(&s->claims, lease);
    engine_drafts_end(&s->drafts, lease, 0, false);
}

/* `Cancelled` is true or false for a partial answer, and a list of Seqs for a heartbeat. */
static void note_cancelled(struct engine_socket *s, const struct engine_ask *ask,
                           const struct engine_members *m)
{
    struct json_span item;
    uint64_t seq;
    const struct json_span *cancelled = engine_member(m, "Cancelled");
    if (engine_member_is(m, "Cancelled", false))
        end_one(s, str_of(ask->lease), ask->seq);
    if (cancelled == NULL || cancelled->kind != JSON_SPAN_LIST)
        return;
    for (struct str rest = json_list_inside(cancelled); json_next_item(&rest, &item);)
        if (str_parse_u64(item.raw, &seq))
            end_one(s, str_of(ask->lease), seq);
}

/* Notes which of its claims the reply has ended. An answer to a text that its claim does not hold
 * ends none. */
static void note_ends(struct engine_socket *s, const struct engine_ask *ask, int status,
                      const struct engine_members *m)
{
    struct str lease = str_of(ask->lease), code = engine_member_raw(m, "code");
    bool is_over =
        status == 200 || status == 404 || (status == 409 && !str_eq(code, STR("query_mismatch")));
    if (status == 409 && str_eq(code, STR("lease_lost")))
        end_all(s, lease);
    else if (ask->frame == FRAME_ANSWER && is_over)
        end_one(s, lease, ask->seq);
    else if (ask->frame == FRAME_RELEASE && status == 200 && ask->is_one)
        end_one(s, lease, ask->seq);
    else if (ask->frame == FRAME_RELEASE && status == 200)
        end_all(s, lease);
    else if (status == 200)
        note_cancelled(s, ask, m);
}

/* --- answers of the routes -------------------------------------------------------------------- */

/* Sends the reply without Next, which is its last member, and the claim. */
static void send_with_claim(struct engine_socket *s, const struct engine_ask *ask, struct str body,
                            struct str claim)
{
    struct buf b;
    buf_init(&b, ENGINE_FRAME_MAX_BYTES);
    buf_put(&b, (struct str){body.at, (size_t)(claim.at - body.at) - strlen(",\"Next\":")});
    buf_put_char(&b, '}');
    engine_reply(s, ask, 200, buf_str(&b));
    buf_fini(&b);
    engine_socket_send_claim(s, claim, ask->name);
}

/* A piece that went the way of its route: what follows may be shown before it is stored. Without an
 * Id it is not answered if it was stored, unless it is of a door: nothing else reports those. */
static void reply_partial(struct engine_socket *s, const struct engine_ask *ask, int status,
                          const struct engine_members *m, struct str body)
{
    uint64_t claim = 0, next = 0;
    bool is_stored = status == 200 && !engine_member_is(m, "Cancelled", false);
    if (is_stored &&
        (!engine_member_u64(m, "Claim", &claim) || !engine_member_u64(m, "Next", &next)))
        claim = 0;
    if (is_stored)
        engine_draft_note_store(&s->drafts, clock_mono_ms() - ask->since_ms);
    if (ask->is_primed)
        engine_drafts_on_stored(&s->drafts, str_of(ask->lease), ask->seq, claim, next,
                                engine_member_raw(m, "Nodes"));
    if (!is_stored)
        engine_reply(s, ask, status, body);
    else if (ask->id[0] != 0 || ask->is_of_door)
        engine_reply_stored(s, str_of(ask->id), ask->seq, str_of(ask->lease), next);
}

void engine_ask_on_answer(struct inner *inner, int status, struct str body)
{
    struct engine_ask *ask = container_of(inner, struct engine_ask, inner);
    struct engine_socket *s = ask->socket;
    struct engine_members m;
    if (!engine_members_read(&m, body))
        m.n = 0;
    engine_ask_finish(ask);
    const struct json_span *next = engine_member(&m, "Next");
    if (ask->frame == FRAME_PARTIAL) {
        reply_partial(s, ask, status, &m, body);
        note_ends(s, ask, status, &m);
    } else {
        note_ends(s, ask, status, &m);
        ask->has_claim =
            ask->frame == FRAME_ANSWER && next != NULL && engine_socket_is_claim(next->raw);
        if (ask->has_claim)
            send_with_claim(s, ask, body, next->raw);
        else
            engine_reply(s, ask, status, body);
    }
    engine_socket_fill_soon(s, 0);
}
