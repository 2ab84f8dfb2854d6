/* SPDX-License-Identifier: MIT
 * give_new_answer.c - POST /api/give-new-answer: an engine's answer, stored once
 * (lua/queue/complete.lua); with Next=true the same request takes the engine's next claim, and with
 * Wait it waits for that. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
#include "services/broker/token_counts.h"
#include "shared/base/json_fault.h"
#include "shared/http/access/gate.h"
#include "shared/http/access/rates.h"
#include "shared/http/request/explain.h"

enum {
    ANSWER_MAX_BYTES = 8 << 20 /* as lua/queue/complete.lua takes it */
};

struct give_new_answer {
    struct engine_poll next;
    struct claim_view view;
    struct str models;
    bool wants_next, has_history;
    struct buf text; /* the response so far, while History is fetched */
    uint64_t wait_s;
    uint64_t seq, answered_ms;
};

static void put_answered(struct buf *b, struct request *r)
{
    const struct give_new_answer *op = r->state;
    buf_clear(b);
    buf_lit(b, "{\"Topic\":");
    buf_put_span(b, request_member(r, "Topic"));
    buf_put_key(b, "Seq");
    buf_put_u64(b, op->seq);
    buf_lit(b, ",\"Status\":\"Done\",\"Timestamp\":");
    buf_put_json_time(b, op->answered_ms);
}

/* No claim, for whatever reason: the answer is stored, and that is what counts. */
static void answer_empty(struct request *r)
{
    struct buf *b = &r->server->scratch;
    put_answered(b, r);
    buf_lit(b, ",\"Next\":{" EMPTY_CLAIM "}}");
    respond_json(r, 200, b);
}

static void answer_with_rest(struct request *r, enum err error, struct str reply)
{
    struct give_new_answer *op = r->state;
    if (!claim_reply_put_rest(&op->text, r, &op->next.delivery, error, reply)) {
        answer_empty(r);
        return;
    }
    buf_lit(&op->text, "}}");
    respond_json(r, 200, &op->text);
}

static void on_claim(struct engine_poll *p, struct claim *claim)
{
    struct give_new_answer *op = container_of(p, struct give_new_answer, next);
    bool is_long = claim_reply_is_long(claim);
    struct buf *b = op->has_history || is_long ? &op->text : &p->r->server->scratch;
    put_answered(b, p->r);
    buf_put_key(b, "Next");
    claim_reply_put(b, p->r, claim, &op->view, &p->delivery);
    if (p->delivery.is_long || (op->has_history && !p->delivery.is_of_door)) {
        claim_reply_fetch_rest(request_call(p->r, answer_with_rest), p->r, claim, &p->delivery);
        return;
    }
    buf_lit(b, "}}");
    respond_json(p->r, 200, b);
}

static void on_gone(struct request *r)
{
    struct give_new_answer *op = r->state;
    engine_poll_fini(&op->next);
    buf_fini(&op->text);
}

/* "<prompt> <completion> <model> <account>", where the engine's own word for the model counts
 * more. */
static void note_tokens(struct request *r, struct str used)
{
    uint64_t prompt, completion;
    struct str model, prompt_text = str_cut(&used, ' '), completion_text = str_cut(&used, ' ');
    struct str asked = str_cut(&used, ' ');
    if (!str_parse_u64(prompt_text, &prompt) || !str_parse_u64(completion_text, &completion) ||
        !request_optional_text(r, "Model", MODEL_MAX_BYTES, &model))
        return;
    token_counts_add(used, model.n > 0 ? names_of(r, model) : asked, prompt, completion);
}

/* False when it is not stored, and its request is answered. */
static bool note_answered(struct request *r, enum err error, struct lines *reply)
{
    struct give_new_answer *op = r->state;
    struct str tag = lines_next(reply);
    if (error == ERR_OK && str_eq(tag, STR("gap"))) {
        claims_explain_gap(r, lines_next(reply));
        return false;
    }
    if (reply_refuse(r, error, tag, reply)) {
        metrics_add(r->server->metrics, METRIC_ANSWERS_REFUSED, 1);
        return false;
    }
    op->seq = r->about.seq = lines_next_u64(reply);
    op->answered_ms = lines_next_u64(reply);
    if (str_eq(tag, STR("ok"))) {
        struct metrics *metrics = r->server->metrics;
        metrics_observe_ms(metrics, METRIC_HISTOGRAM_ANSWER, lines_next_u64(reply),
                           op->answered_ms);
        struct str used = lines_next(reply), lease = str_cut(&used, ' ');
        if (used.at != NULL)
            note_tokens(r, used);
        if (!str_eq(lease, STR("-"))) {
            metrics_add(metrics, METRIC_LEASES_ANSWERED, 1);
            queue_claim_ended(broker_of(r)->queue, r->about.topic, lease);
        }
        queue_count_done(broker_of(r)->queue, r->about.topic);
    }
    op->next.is_extra = true;
    return true;
}

static bool on_joined(struct engine_poll *p, enum err error, struct lines *reply)
{
    if (error == ERR_OK && str_eq(reply->rest, STR("replay"))) {
        metrics_add(p->r->server->metrics, METRIC_NONCES_REUSED, 1);
        rates_return_nonce(p->r->server->gate->rates, p->r->account);
        respond_error(p->r, ERR_NONCE_USED, NULL);
        return false;
    }
    return note_answered(p->r, error, reply);
}

static void on_completed(struct request *r, enum err error, struct str reply)
{
    struct give_new_answer *op = r->state;
    struct lines lines = lines_of(reply);
    if (!note_answered(r, error, &lines))
        return;
    if (op->wants_next) {
        op->next.poll.after = r->about.topic; /* so that no shard waits for another to be empty */
        engine_poll_start(&op->next, r, op->models, op->wait_s);
        return;
    }
    struct buf *b = &r->server->scratch;
    put_answered(b, r);
    buf_put_char(b, '}');
    respond_json(r, 200, b);
}

static void on_released(struct request *r, enum err error, struct str reply)
{
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
        return;
    }
    /* The deployed engine does not care whether it still held the query. */
    if (str_eq(reply, STR("ok")))
        metrics_add(r->server->metrics, METRIC_LEASES_RELEASED, 1);
    respond_json_fixed(r, 200, STR("{\"status\":\"OK\"}"));
}

/* A list of texts; *ret_n is how many. */
static bool is_text_list(const struct json_span *value, size_t *ret_n)
{
    struct json_span item;
    *ret_n = 0;
    if (value == NULL || value->kind != JSON_SPAN_LIST)
        return false;
    for (struct str rest = json_list_inside(value); json_next_item(&rest, &item); ++*ret_n)
        if (item.kind != JSON_SPAN_TEXT)
            return false;
    return true;
}

static void put_text_list(struct buf *b, const struct json_span *value)
{
    if (value == NULL) {
        buf_lit(b, "null");
    } else if (value->kind == JSON_SPAN_TEXT) {
        buf_put_char(b, '[');
        buf_put_span(b, value);
        buf_put_char(b, ']');
    } else {
        buf_put_span(b, value);
    }
}

/* Puts members that may hold the text that Answer should. */
static size_t put_unknown(struct buf *b, struct request *r)
{
    static const char *const known[] = {"Query",  "Topic",  "Seq",    "Think",
                                        "Answer", "Lease",  "Model",  "FinishReason",
                                        "Usage",  "Deltas", "Offset", NULL};
    buf_init(b, 1024);
    return json_put_unknown(b, r->members, r->member_n, known);
}

static bool refuse_answer(struct request *r)
{
    static const char expected[] = "a non-empty list of strings, or a string";
    struct buf unknown;
    if (request_member(r, "Answer") != NULL)
        return explain_member(r, "Answer", expected);
    size_t n = put_unknown(&unknown, r);
    if (n > 0)
        explain(r, ERR_BAD_REQUEST,
                "Answer is missing, but there is %.*s, which this route does not know. Answer must "
                "be %s.",
                STR_ARG(buf_str(&unknown)), expected);
    buf_fini(&unknown);
    return n == 0 ? explain_member(r, "Answer", expected) : false;
}

/* "answer\nthink\nmodel" as lua/queue/complete.lua stores it. False after a 400. */
static bool put_answer(struct buf *b, struct request *r)
{
    const struct json_span *answer = request_member(r, "Answer"),
                           *think = request_member(r, "Think");
    struct str model;
    size_t n;
    bool is_list = is_text_list(answer, &n) && n > 0;
    if (!is_list && (answer == NULL || answer->kind != JSON_SPAN_TEXT))
        return refuse_answer(r);
    if (think != NULL && think->kind != JSON_SPAN_TEXT && !is_text_list(think, &n))
        return explain_member(r, "Think", "null, a string or a list of strings");
    if (!request_optional_text(r, "Model", MODEL_MAX_BYTES, &model))
        return false;
    put_text_list(b, answer);
    buf_put_char(b, '\n');
    put_text_list(b, think);
    buf_put_char(b, '\n');
    if (model.n > 0)
        buf_put_json(b, model);
    else
        buf_lit(b, "null");
    return true;
}

/* The deployed engines give a claim back by posting Seq 0 with empty lists. */
static bool is_deployed_release(struct request *r, uint64_t seq)
{
    const struct json_span *answer = request_member(r, "Answer");
    struct buf unknown;
    size_t n;
    if (!r->account->is_deployed || seq != 0)
        return false;
    if (answer != NULL)
        return is_text_list(answer, &n) && n == 0;
    n = put_unknown(&unknown, r);
    buf_fini(&unknown);
    return n == 0;
}

static void release(struct request *r, struct str topic, struct str query)
{
    call_release(request_call(r, on_released), .topic = topic, .lease = STR(""),
                 .holder = r->account->name_token, .query = query,
                 .reason = STR("\"The engine gave it back.\""), .outcome = RELEASE_RETRY,
                 .seq = STR(""), .fault = STR(""));
}

/* An answer with Deltas is known by Seq and Lease: *ret_offset is then a number. False after a 400.
 */
static bool read_offset(struct request *r, struct str lease, uint64_t *ret_offset)
{
    int64_t offset;
    *ret_offset = NO_NUMBER;
    if (request_member(r, "Deltas") == NULL)
        return true;
    if (!request_number(r, "Offset", 0, DELTAS_MAX_BYTES, &offset))
        return false;
    if (lease.n == 0)
        return explain_member(r, "Lease", "the Lease of a claim, a string of digits");
    *ret_offset = (uint64_t)offset;
    return true;
}

void broker_give_new_answer(struct request *r)
{
    struct str topic, query, lease;
    uint64_t seq, offset;
    bool is_more; /* it is the end: nothing is to be continued */
    if (!request_body(r) || !names_topic_member(r, &topic) ||
        (request_member(r, "Deltas") == NULL &&
         !request_text(r, "Query", 1, QUERY_MAX_BYTES, &query)) ||
        !params_seq(r, 0, &seq) || !request_optional_text(r, "Lease", 20, &lease) ||
        !read_offset(r, lease, &offset))
        return;
    struct buf *b = &r->server->scratch;
    if (is_deployed_release(r, seq)) {
        buf_clear(b);
        buf_put_span(b, request_member(r, "Query"));
        release(r, topic, buf_str(b));
        return;
    }
    struct give_new_answer *op = request_alloc(r, sizeof *op);
    *op = (struct give_new_answer){.next = {.r = r,
                                            .on_claim = on_claim,
                                            .answer_empty = answer_empty,
                                            .on_joined = on_joined},
                                   .view = {.is_detail = request_param_is_true(r, "Detail"),
                                            .is_deployed = r->account->is_deployed},
                                   .wants_next =
                                       request_param_is_true(r, "Next") && !r->server->is_draining,
                                   .has_history = request_param_is_true(r, "History"),
                                   .text = {.max = CLAIM_REPLY_MAX_BYTES}};
    /* Parameters are decoded in the scratch: before Query and the answer are put there. */
    if (!params_models(r, &op->models) ||
        !request_param_u64(r, "Wait", 0, WAIT_MAX_S, 0, &op->wait_s))
        return;
    struct str engine = request_param(r, "Engine");
    if (engine.n > 0 && engine.n <= ENGINE_MAX_BYTES)
        op->next.poll.engine = names_of(r, engine);
    if (r->exchange.held_bytes > 0)
        op->wait_s = 0; /* its body would be kept as long as it waits */
    buf_clear(b);
    if (offset == NO_NUMBER)
        buf_put_span(b, request_member(r, "Query"));
    size_t query_n = b->n;
    if (!put_answer(b, r))
        return;
    size_t answer_n = b->n - query_n;
    if (!facts_put(b, r))
        return;
    size_t facts_n = b->n - query_n - answer_n;
    if (!deltas_put(b, r, &is_more))
        return;
    if (b->is_over || answer_n > ANSWER_MAX_BYTES) {
        explain(r, ERR_TOO_LARGE,
                "Answer, Think and Model take %llu %s as JSON: at most 8 MiB are stored.",
                COUNTED(answer_n, "byte"));
        return;
    }
    r->state = op;
    r->on_gone = on_gone;
    struct poll_join join;
    bool has_joined =
        op->wants_next && engine_poll_join(&op->next, r, op->models, op->wait_s, &join);
    if (!has_joined)
        join = (struct poll_join){request_call(r, on_completed), STR(""), STR(""), 0};
    call_complete(join.start, .topic = topic, .seq = seq,
                  .lease = lease.at == NULL ? STR("") : lease, .holder = r->account->name_token,
                  .query = ((struct str){b->at, query_n}),
                  .answer = ((struct str){b->at + query_n, answer_n}),
                  .facts = ((struct str){b->at + query_n + answer_n, facts_n}),
                  .deltas = ((struct str){b->at + query_n + answer_n + facts_n,
                                          b->n - query_n - answer_n - facts_n}),
                  .offset = offset, .by_text = r->account->is_deployed, .class = join.class,
                  .is_parking = op->next.poll.may_park, .engine = join.engine, .poll = join.number);
}
