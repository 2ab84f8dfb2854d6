/* SPDX-License-Identifier: MIT
 * check_query.c - GET /api/check-query: the outcome of a query, waited for (lua/queue/check.lua).
 *
 *   broker_check_query --check--> has an outcome ---------------------------> answer
 *                          |                                                    ^
 *                          | wait                                               |
 *                          v                 outcome pushed                     |
 *                        PARKED ------------------------------------------------+
 *                          ^  | changed: check again (after a lost connection)   |
 *                          |  +--------------------------------------------------+
 *                          |  v deadline: check once more without waiting, answer with nulls
 *   add-query?Wait= --add--+
 *
 * The watch is set before the verb is sent, and the verb registers this node in the same atomic
 * step in which it checks or adds, so no outcome is lost in between. Of a query that is being added
 * the watch does not know the Seq: what it hears before the verb's reply makes it check again. */
#include "services/broker/added.h"
#include "services/broker/handlers.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/stream.h"

#include "generated/verbs.h"

enum { ROW_MAX = 3 << 20 };

struct check {
    struct request *r;
    struct watch watch;
    struct deadline deadline;
    struct left_listener left;
    struct str topic;
    uint64_t seq;      /* 0: it is being added */
    uint64_t added_ms; /* when this request has added it, or an equal one before; 0: it checks */
    struct nonce_id nonce; /* for a check that has to be sent again */
    bool is_detail, is_last, is_again, is_asking;
    bool is_nonce_fresh; /* a check has come back: the nonce was not used before */
    bool was_up; /* Redis was there when the request came: a loss from then on is waited out */
};

static void ask(struct check *check);

/* Nothing more is waited for. */
static void end(struct check *check)
{
    queue_unwatch(broker_of(check->r)->queue, &check->watch);
    loop_cancel_deadline(check->r->server->loop, &check->deadline);
}

static void answer(struct check *check, struct str text)
{
    struct request *r = check->r;
    struct lines lines = lines_of(text);
    struct outcome o = lines_next_outcome(&lines);
    request_note_added_by(r, lines_request_id(&o.row));
    struct str position = lines_next(&lines), eta = lines_next(&lines);
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_put_char(b, '{');
    outcome_put(b, r, check->topic, check->seq, &o, check->is_detail, false);
    if (check->is_detail && str_eq(o.status, STR("Open"))) {
        buf_put_key(b, "Position");
        buf_put(b, position.n > 0 ? position : STR("null"));
        buf_put_key(b, "EtaSeconds");
        buf_put(b, eta.n > 0 ? eta : STR("null"));
    }
    buf_put_char(b, '}');
    end(check);
    respond_json(r, 200, b);
}

/* Redis is away at the end of the wait. The query is stored, so its client must not read that it
 * was refused, and send it again: it gets what is known here. */
static void answer_as_added(struct check *check)
{
    struct buf b;
    buf_init(&b, ROW_MAX);
    buf_lit(&b, "Open\n");
    buf_put_u64(&b, check->added_ms);
    buf_lit(&b, "\n\n");
    added_put_tail(&b, check->r);
    buf_lit(&b, "\n\n\n\n\n\n\n");
    answer(check, buf_str(&b));
    buf_fini(&b);
}

static void on_checked(struct request *r, enum err error, struct str reply)
{
    struct check *check = r->state;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    check->is_asking = false;
    if (r->exchange.is_answered)
        return;
    if (err_is_outage(error) && check->was_up && !check->is_last) {
        /* It stays parked: checked again once the connection is up. Whether its nonce was stored
         * is not known, so it is stored then. */
        if (!r->was_parked) {
            r->nonce = check->nonce;
            r->nonce.is_record_only = true;
        }
        r->was_parked = true;
        return;
    }
    if (err_is_outage(error) && check->added_ms != 0) {
        answer_as_added(check);
        return;
    }
    check->is_nonce_fresh |= error == ERR_OK;
    if (error == ERR_OK && str_eq(tag, STR("wait"))) {
        request_park(r);
        if (check->is_again || check->is_last)
            ask(check);
        return;
    }
    if (reply_refuse(r, error, tag, &lines)) {
        end(check);
        return;
    }
    answer(check, reply);
}

static void ask(struct check *check)
{
    struct request *r = check->r;
    check->is_again = false;
    check->is_asking = true;
    call_check(request_call(r, on_checked), .topic = check->topic, .seq = check->seq,
               .user = names_viewer(r),
               .mode = !check->is_last    ? CHECK_WAIT
                       : check->is_detail ? CHECK_POSITION
                                          : CHECK_BRIEF);
}

static void on_changed(struct watch *watch)
{
    struct check *check = container_of(watch, struct check, watch);
    check->is_last |= check->r->server->is_draining;
    if (check->is_asking)
        check->is_again = true;
    else
        ask(check);
}

/* An outcome may come before the first check has: a client that sent a used nonce must not get it.
 */
static void on_outcome(struct watch *watch, struct str outcome)
{
    struct check *check = container_of(watch, struct check, watch);
    if (check->r->exchange.is_answered)
        return;
    if (check->is_nonce_fresh)
        answer(check, outcome);
    else
        on_changed(watch);
}

static void on_deadline(struct deadline *deadline)
{
    struct check *check = container_of(deadline, struct check, deadline);
    check->is_last = true;
    if (!check->is_asking)
        ask(check);
}

/* Answers with what there is by then, for a client that only ended its sending side. */
static void on_left(struct left_listener *listener)
{
    struct check *check = container_of(listener, struct check, left);
    loop_cancel_deadline(check->r->server->loop, &check->deadline);
    on_deadline(&check->deadline);
}

static void on_gone(struct request *r)
{
    end(r->state);
}

static struct check *create(struct request *r, struct str topic, uint64_t seq, uint64_t wait_s)
{
    struct queue *queue = broker_of(r)->queue;
    struct check *check = request_alloc(r, sizeof *check);
    *check = (struct check){.r = r,
                            .topic = topic,
                            .seq = seq,
                            .nonce = r->nonce,
                            .was_up = !redis_trouble_is_outage(queue_trouble(queue, topic)),
                            .is_detail = request_param_is_true(r, "Detail"),
                            .is_last = wait_s == 0 || r->server->is_draining};
    r->state = check;
    r->on_gone = on_gone;
    if (check->is_last)
        return check;
    check->watch = (struct watch){
        .topic = topic, .seq = seq, .on_outcome = on_outcome, .on_changed = on_changed};
    queue_watch(queue, &check->watch);
    check->deadline.on_expire = on_deadline;
    loop_set_deadline(r->server->loop, &check->deadline, wait_s * 1000);
    check->left.on_left = on_left;
    request_on_left(r, &check->left);
    return check;
}

void check_begin_add(struct request *r, struct str topic, uint64_t wait_s)
{
    create(r, topic, 0, wait_s)->is_asking = true;
}

void check_on_added(struct request *r, enum err error, struct str reply)
{
    struct check *check = r->state;
    struct queue *queue = broker_of(r)->queue;
    struct added added;
    check->is_asking = false;
    if (!added_read(r, error, reply, &added)) {
        end(check);
        return;
    }
    r->was_parked = check->is_nonce_fresh = true;
    check->seq = added.seq;
    check->added_ms = added.ms;
    if (list_is_linked(&check->watch.link)) {
        queue_unwatch(queue, &check->watch);
        check->watch.seq = added.seq;
        queue_watch(queue, &check->watch);
    }
    if (added.is_again || check->is_again || check->is_last)
        ask(check);
}

void broker_check_query(struct request *r)
{
    struct str topic;
    uint64_t seq, wait_s;
    if (!names_topic_param(r, &topic) || !request_param_u64(r, "Seq", 1, INT32_MAX, 0, &seq) ||
        !params_wait(r, WAIT_FOR_OUTCOME, &wait_s))
        return;
    if (seq == 0) {
        (void)explain_param(r, "Seq", "a whole number from 1: that of add-query's response");
        return;
    }
    r->about.seq = seq;
    if (stream_is_wanted(r)) {
        check_stream_start(r, topic, seq);
        return;
    }
    ask(create(r, topic, seq, wait_s));
}
