/* SPDX-License-Identifier: MIT
 * get_new_queries.c - GET /api/get-new-queries: an engine's long poll for its next claim.
 *
 *   start --claim--> claimed ----------------+-> (History: thread) --> answer --> gone: confirm
 *            |                               |                            |       or give back
 *            | parked                        |                            +-> client left: give
 *            v          hand-over            |                                back
 *          PARKED ---------------------------+
 *            | deadline, drain, newer poll of that engine: the empty body
 *
 * A claim is never given to a dead socket: the socket is checked before, and once libh2o has sent
 * the answer the claim is confirmed, or given back if the write failed. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "shared/http/request/explain.h"
enum { REST_MAX_S = 86400, REST_REASON_MAX_BYTES = 200 };

struct get_new_queries {
    struct engine_poll engine;
    struct claim_view view;
    bool has_history;
    struct buf text; /* the answer so far, while History is fetched */
};

static void answer_empty(struct request *r)
{
    respond_json_fixed(r, 200, STR("{" EMPTY_CLAIM "}"));
}

static void answer_with_rest(struct request *r, enum err error, struct str reply)
{
    struct get_new_queries *op = r->state;
    if (claim_reply_put_rest(&op->text, r, &op->engine.delivery, error, reply)) {
        buf_put_char(&op->text, '}');
        respond_json(r, 200, &op->text);
    } else if (error == ERR_OK) {
        answer_empty(r);
    } else {
        respond_error(r, error, NULL);
    }
}

static void on_claim(struct engine_poll *p, struct claim *claim)
{
    struct get_new_queries *op = container_of(p, struct get_new_queries, engine);
    struct request *r = p->r;
    bool is_long = claim_reply_is_long(claim);
    struct buf *b = op->has_history || is_long ? &op->text : &r->server->scratch;
    buf_clear(b);
    claim_reply_put(b, r, claim, &op->view, &p->delivery);
    if (!p->delivery.is_long && (!op->has_history || p->delivery.is_of_door)) {
        buf_put_char(b, '}');
        respond_json(r, 200, b);
        return;
    }
    claim_reply_fetch_rest(request_call(r, answer_with_rest), r, claim, &p->delivery);
}

static void on_gone(struct request *r)
{
    struct get_new_queries *op = r->state;
    engine_poll_fini(&op->engine);
    buf_fini(&op->text);
}

void broker_drain(void *state)
{
    struct broker *broker = state;
    queue_end_parked(broker->queue);
    queue_report_delivered(broker->queue);
    queue_each_watch(broker->queue); /* these see the drain and look for the last time */
}

/* --- an engine that takes nothing ------------------------------------------------------------- */

static void on_away(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    queue_forget_engine(broker_of(r)->queue, r->account->name_token,
                        names_of(r, request_param(r, "Engine")));
    respond_json_fixed(r, 200, STR("{" EMPTY_CLAIM "}"));
}

/* Leave=true, or Rest=SECONDS with a Reason for people. What it says of itself needs a name, or it
 * would speak for the others of its account. */
static void take_away(struct request *r, struct str engine, struct str models)
{
    struct str reason = request_param(r, "Reason");
    uint64_t rest_s = 0;
    if (engine.n == 0) {
        respond_error(r, ERR_BAD_REQUEST,
                      "Leave and Rest need Engine: the name of the engine that leaves or rests.");
        return;
    }
    if (reason.n > REST_REASON_MAX_BYTES || !str_is_utf8(reason)) {
        explain(r, ERR_BAD_REQUEST, "Reason must be at most 200 bytes of UTF-8, not %zu.",
                reason.n);
        return;
    }
    if (!request_param_is_true(r, "Leave") &&
        !request_param_u64(r, "Rest", 1, REST_MAX_S, 1, &rest_s))
        return;
    struct str name = names_of(r, engine);
    struct buf *info = &r->server->scratch;
    buf_clear(info);
    buf_lit(info, ",\"Models\":\"");
    buf_put(info, models);
    struct str process = request_param(r, "Process");
    if (process.n > 0 && process.n <= ENGINE_MAX_BYTES) {
        buf_lit(info, "\",\"Process\":\"");
        buf_put(info, names_of(r, process));
    }
    buf_lit(info, "\",\"Reason\":");
    buf_put_json(info, reason);
    buf_put_char(info, '}');
    call_away(request_call(r, on_away), .account = r->account->name_token, .engine = name,
              .rest_ms = rest_s * 1000, .info = buf_str(info));
}

/* Returns whether, with several shards, the nonce is used up first. A poll may look anywhere first,
 * so it uses its nonce up with its claim where that belongs, if it fits: a hop less. A poll that
 * names its engine ends another poll before it claims.
 */
static bool needs_nonce_first(struct request *r, struct str models, bool is_named, uint64_t wait_s)
{
    return r->nonce.is_set && r->server->shards->n > 1 &&
           (is_named || !queue_poll_fits_nonce(broker_of(r)->queue, r->account->name_token, models,
                                               &r->nonce, wait_s > 0));
}

void broker_get_new_queries(struct request *r)
{
    struct str models, engine = request_param(r, "Engine");
    uint64_t wait_s;
    if (!params_wait(r, WAIT_FOR_CLAIM, &wait_s) || !params_models(r, &models))
        return;
    if (engine.n > ENGINE_MAX_BYTES) {
        explain(r, ERR_BAD_REQUEST, "Engine must be at most 64 bytes, not %zu.", engine.n);
        return;
    }
    bool is_away = request_param_is_true(r, "Leave") || request_param(r, "Rest").at != NULL;
    if (needs_nonce_first(r, models, is_away || engine.n > 0, wait_s)) {
        request_handle_after_nonce(r);
        return;
    }
    if (is_away) {
        take_away(r, engine, models);
        return;
    }
    struct get_new_queries *op = request_alloc(r, sizeof *op);
    *op = (struct get_new_queries){.engine = {.on_claim = on_claim, .answer_empty = answer_empty},
                                   .view = {.is_detail = request_param_is_true(r, "Detail"),
                                            .is_deployed = r->account->is_deployed},
                                   .has_history = request_param_is_true(r, "History"),
                                   .text = {.max = CLAIM_REPLY_MAX_BYTES}};
    r->state = op;
    r->on_gone = on_gone;
    if (engine.n > 0)
        op->engine.poll.engine = names_of(r, engine);
    engine_poll_start(&op->engine, r, models, wait_s);
}
