/* SPDX-License-Identifier: MIT
 * lookup_polls.c - engines that wait for fragments to look up, and what they found (lua/lookup). A
 * poll is one of the queue's, as get_new_queries.c has them. */
#include "services/broker/handlers.h"

#include "generated/verbs.h"
enum { MATCHES_MAX = 100, MATCHES_MAX_BYTES = 1 << 20 /* as lua/lookup/match.lua takes them */ };

struct get_new_lookup {
    struct request *r;
    struct poll poll;
    struct deadline deadline;
    struct left_listener left;
    struct delivery delivery;
};

static void answer_none(struct get_new_lookup *op)
{
    loop_cancel_deadline(op->r->server->loop, &op->deadline);
    respond_error(op->r, ERR_NOT_FOUND, "There is no lookup to do.");
}

static void on_claim(struct poll *poll, struct claim *claim)
{
    struct get_new_lookup *op = H2O_STRUCT_FROM_MEMBER(struct get_new_lookup, poll, poll);
    struct buf *b = &op->r->server->scratch;
    struct lines lines = claim->queries;
    loop_cancel_deadline(op->r->server->loop, &op->deadline);
    delivery_note(&op->delivery, op->r, claim);
    buf_clear(b);
    buf_lit(b, "{\"Fragment\":");
    buf_put(b, lines_next(&lines));
    buf_printf(b, ",\"Fingerprint\":\"%.*s\",\"Count\":", STR_ARG(claim->topic));
    buf_put(b, lines_next(&lines));
    buf_put_key(b, "Threshold");
    buf_put(b, lines_next(&lines));
    buf_put_char(b, '}');
    respond_json(op->r, 200, b);
}

static void on_end(struct poll *poll, enum err error)
{
    struct get_new_lookup *op = H2O_STRUCT_FROM_MEMBER(struct get_new_lookup, poll, poll);
    if (error == ERR_OK) {
        answer_none(op);
        return;
    }
    loop_cancel_deadline(op->r->server->loop, &op->deadline);
    if (error == ERR_NOT_FOUND) { /* the client has left: this makes libh2o notice */
        op->r->h2o->http1_is_persistent = 0;
        error = ERR_DRAINING;
    }
    respond_error(op->r, error, NULL);
}

static bool is_alive(struct poll *poll)
{
    return !request_client_left(H2O_STRUCT_FROM_MEMBER(struct get_new_lookup, poll, poll)->r);
}

static void end_poll(struct get_new_lookup *op)
{
    queue_poll_cancel(broker_of(op->r)->queue, &op->poll);
    answer_none(op);
}

static void on_deadline(struct deadline *deadline)
{
    end_poll(H2O_STRUCT_FROM_MEMBER(struct get_new_lookup, deadline, deadline));
}

/* A claim that it has already goes its way: nobody takes its bytes, and it is given back. */
static void on_left(struct left_listener *listener)
{
    struct get_new_lookup *op = H2O_STRUCT_FROM_MEMBER(struct get_new_lookup, left, listener);
    if (op->poll.state != POLL_IDLE)
        end_poll(op);
}

static void on_gone(struct request *r)
{
    struct get_new_lookup *op = r->state;
    queue_poll_cancel(broker_of(r)->queue, &op->poll);
    loop_cancel_deadline(r->server->loop, &op->deadline);
    delivery_settle(&op->delivery, r);
}

void broker_get_new_lookup(struct request *r)
{
    uint64_t wait_s;
    if (!params_wait(r, WAIT_FOR_LOOKUP, &wait_s))
        return;
    struct get_new_lookup *op = request_alloc(r, sizeof *op);
    *op = (struct get_new_lookup){
        .r = r,
        .poll = {.is_alive = is_alive, .on_claim = on_claim, .on_end = on_end},
        .deadline = {.on_expire = on_deadline},
        .left = {.on_left = on_left}};
    r->state = op;
    r->on_gone = on_gone;
    request_on_left(r, &op->left);
    bool may_park = wait_s > 0 && !r->server->is_draining;
    if (may_park) {
        r->was_parked = true;
        loop_set_deadline(r->server->loop, &op->deadline, wait_s * 1000);
    }
    queue_poll_start(broker_of(r)->queue, &op->poll, r->account->name_token, LOOKUPS_OF_ALL,
                     &r->nonce, may_park);
}

static void on_matched(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (!reply_refuse(r, error, lines_next(&lines), &lines))
        respond_json_fixed(r, 200, STR("{\"status\":\"OK\"}"));
}

void broker_give_new_matches(struct request *r)
{
    struct str print;
    if (!request_body(r) || !request_text(r, "Fingerprint", 1, 40, &print))
        return;
    const struct json_span *matches = request_member(r, "Matches");
    bool is_good = matches != NULL && matches->kind == JSON_SPAN_LIST;
    struct json_span item;
    size_t n = 0;
    for (struct str rest = json_list_inside(matches); json_next_item(&rest, &item); n++)
        is_good = is_good && item.kind == JSON_SPAN_TEXT && n < MATCHES_MAX;
    if (!is_good) {
        respond_error(r, ERR_BAD_REQUEST, "Matches must be an array of at most 100 strings.");
        return;
    }
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_put_span(b, matches);
    if (b->is_over || b->n > MATCHES_MAX_BYTES) {
        respond_error(r, ERR_TOO_LARGE, "Matches are larger than 1 MiB as JSON.");
        return;
    }
    struct str name = names_of(r, print);
    call_match(request_call(r, on_matched), .fingerprint = name, .matches = buf_str(b));
}
