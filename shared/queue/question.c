/* SPDX-License-Identifier: MIT
 * question.c - see question.h.
 *
 *   start --ask--> ASKING --made, joined--> WAITING --outcome--> ENDED
 *                    |  \--done--------------------------------->  ^
 *                    |                         |  ^                |
 *                    | no_engine, full, lost   |  | nothing yet    |
 *                    +-------------------------|--|--------------->|
 *                                 changed, up  v  |                |
 *                                          CHECKING --outcome------'
 *   (any) --the deadline--> ENDED;  (any) --cancel--> ENDED, without on_end
 *
 * If `ask` returns "maybe", the question is WAITING, and after DOUBT_MS all shards are asked
 * whether they know an engine: if none does, it is ENDED. If `ask` returns "unseen", they are asked
 * at once, and "maybe" then ends nothing. The owner is notified that the question is in the queue
 * only after they have replied, so a stream whose question ends here has not begun.
 *
 * At the deadline its state is read once more, in case a message was lost. Of a question that its
 * owner follows, the owner reads at the same time, and gets LAST_CHECK_MS for what it finds.
 *
 * The watch is set before `ask` is sent, which registers this node as waiting in the same atomic
 * step in which it adds, so no outcome falls between; after a lost connection it is looked for
 * again. A question that is joined has another topic, known and watched from the reply on only: its
 * outcome may have come before, on the other connection, and is looked for once. When the question
 * ends while `ask` is under way its memory is left to the reply: if that says that the question is
 * in the queue now, it is taken out again. */
#include "shared/queue/question.h"

#include "generated/verbs.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"
#include "shared/queue/core.h"
#include "shared/queue/engines_check.h"
#include "shared/queue/row.h"

#include <openssl/sha.h>
#include <stdio.h>

enum {
    TOPIC_RANDOM_BYTES = 12,
    TOPIC_BYTES = 4 + 2 * TOPIC_RANDOM_BYTES,
    DIGEST_BYTES = 16,
    TAIL_MAX = 4 << 20,
    TEXT_MAX = 4 << 20,
    DOUBT_MS = 5000, /* engines poll again at once, after a trouble with a node within seconds */
    DOUBT_AGAIN_MS = 200,
    LAST_CHECK_MS = 500, /* after the deadline, for an answer, or whether an engine has it */
};

enum state { ASKING, WAITING, CHECKING, ENDED };

static const struct sm_state states[] = {
    [ASKING] = {"ASKING", SM(WAITING) | SM(ENDED)},
    [WAITING] = {"WAITING", SM(CHECKING) | SM(ENDED)},
    [CHECKING] = {"CHECKING", SM(WAITING) | SM(ENDED)},
    [ENDED] = {"ENDED", 0},
};
static const struct sm sm = SM_OF("question", states);

struct question {
    struct queue *queue;
    const struct question_events *events;
    void *context;
    struct watch watch;
    struct deadline deadline, doubt;
    struct call call;
    enum state state;
    uint64_t number;  /* for the log of its states */
    uint64_t keep_ms; /* of a question that ended in ASKING */
    char topic[TOPIC_BYTES + 1];
    char digest[2 * DIGEST_BYTES + 1]; /* "": not shared */
    bool is_in_queue, is_followed, is_again, is_new;
    bool is_over;      /* its deadline has passed: it looks once more */
    bool is_announced; /* its owner knows that it is in the queue */
    /* While it is in doubt whether an engine is there: */
    struct engines_check check;
    bool is_last_doubt;
};

static void move(struct question *q, enum state to)
{
    q->state = sm_move(&sm, q->number, q->state, to);
}

/* --- leaving ---------------------------------------------------------------------------------- */

static void leave(struct queue *queue, struct str topic, uint64_t keep_ms)
{
    struct turn *turn = shards_turn(queue_shards(queue), topic);
    if (!turn_is_up(turn))
        return; /* what a node leaves there is swept (lua/queue/sweep_asks.lua) */
    call_ask_leave(turn_forget(turn), .topic = topic, .keep_ms = keep_ms, .ended_ms = NO_NUMBER);
}

/* It ended before it was known to be in the queue. */
static void on_asked_in_vain(void *context, enum err error, struct str reply);

static void dispose(struct question *q, uint64_t keep_ms)
{
    queue_unwatch(q->queue, &q->watch);
    loop_cancel_deadline(q->queue->loop, &q->deadline);
    loop_cancel_deadline(q->queue->loop, &q->doubt);
    if (q->digest[0] == 0)
        keep_ms = 0;
    if (q->is_in_queue)
        leave(q->queue, q->watch.topic, keep_ms);
    bool was_asking = q->state == ASKING && call_is_under_way(&q->call);
    move(q, ENDED);
    if (was_asking) {
        q->keep_ms = keep_ms;
        call_leave(&q->call, on_asked_in_vain, q);
        return;
    }
    call_detach(&q->call);
    engines_check_cancel(&q->check);
    free(q);
}

static void end_with(struct question *q, const struct question_end *end)
{
    const struct question_events *events = q->events;
    void *context = q->context;
    dispose(q, end->outcome == QUESTION_TIMEOUT ? QUESTION_KEEP_MS : 0);
    events->on_end(context, end);
}

static void end_timeout(struct question *q, enum question_progress progress)
{
    struct question_end end = {.outcome = QUESTION_TIMEOUT, .progress = progress};
    end_with(q, &end);
}

static void end_lost(struct question *q, enum err error)
{
    struct question_end end = {.outcome = QUESTION_LOST, .error = error};
    end_with(q, &end);
}

/* --- outcomes --------------------------------------------------------------------------------- */

/* `text` may belong to the queue and is valid during the call. */
static void end_with_outcome(struct question *q, struct str text)
{
    struct lines lines = lines_of(text);
    struct outcome o = lines_next_outcome(&lines);
    struct question_end end = {.outcome = o.answer.n > 0 ? QUESTION_DONE : QUESTION_FAILED,
                               .cut_by = outcome_cut_by(&o)};
    struct buf answer, think, model, reason;
    buf_init(&answer, TEXT_MAX);
    buf_init(&think, TEXT_MAX);
    buf_init(&model, TEXT_MAX);
    buf_init(&reason, TEXT_MAX);
    buf_put_json_texts(&answer, o.answer);
    buf_put_json_texts(&think, o.think);
    buf_put_json_text(&model, o.model);
    buf_put_json_text(&reason, o.reason);
    end.answer = buf_str(&answer);
    end.think = buf_str(&think);
    end.model = buf_str(&model);
    end.reason = buf_str(&reason);
    end_with(q, &end);
    buf_fini(&answer);
    buf_fini(&think);
    buf_fini(&model);
    buf_fini(&reason);
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void check(struct question *q);

/* The last check: an answer that came just now, or what its client reads instead. */
static void end_late(struct question *q, enum err error, struct str tag, struct str reply)
{
    if (error != ERR_OK)
        end_timeout(q, QUESTION_UNKNOWN);
    else if (str_eq(tag, STR("Pending")))
        end_timeout(q, QUESTION_CLAIMED);
    else if (str_eq(tag, STR("Open")))
        end_timeout(q, QUESTION_OPEN);
    else if (!q->is_followed) /* otherwise its owner finds it, too */
        end_with_outcome(q, reply);
}

static void on_checked(struct call *call, enum err error, struct str reply)
{
    struct question *q = container_of(call, struct question, call);
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    move(q, WAITING);
    if (q->is_over && !str_eq(tag, STR("missing"))) {
        end_late(q, error, tag, reply);
    } else if (err_is_outage(error)) { /* looked for again once the connection is up */
        q->is_again = false;
    } else if (error != ERR_OK) {
        end_lost(q, error);
    } else if (str_eq(tag, STR("missing"))) {
        q->is_in_queue = false;
        struct question_end end = {.outcome = QUESTION_FAILED, .reason = STR("question dropped")};
        end_with(q, &end);
    } else if (!str_eq(tag, STR("wait"))) {
        end_with_outcome(q, reply);
    } else if (q->is_again) {
        check(q);
    }
}

static void check(struct question *q)
{
    move(q, CHECKING);
    q->is_again = false;
    call_check(shards_call(queue_shards(q->queue), &q->call, on_checked), .topic = q->watch.topic,
               .seq = 1, .user = STR(""), .mode = q->is_over ? CHECK_BRIEF : CHECK_WAIT);
}

static void on_outcome(struct watch *watch, struct str outcome)
{
    struct question *q = container_of(watch, struct question, watch);
    end_with_outcome(q, outcome);
}

static void on_changed(struct watch *watch)
{
    struct question *q = container_of(watch, struct question, watch);
    if (call_is_under_way(&q->call))
        q->is_again = true;
    else
        check(q);
}

static void on_deadline(struct deadline *deadline)
{
    struct question *q = container_of(deadline, struct question, deadline);
    if (q->is_over || call_is_under_way(&q->call)) {
        end_timeout(q, QUESTION_UNKNOWN);
        return;
    }
    q->is_over = true;
    loop_set_deadline(q->queue->loop, &q->deadline, LAST_CHECK_MS);
    if (q->is_followed && q->events->on_last_check != NULL)
        q->events->on_last_check(q->context);
    check(q);
}

/* --- is an engine there? ---------------------------------------------------------------------- */

static void end_no_engine(struct question *q, uint64_t rest_s)
{
    struct question_end end = {.outcome = QUESTION_NO_ENGINE, .eta_s = rest_s};
    end_with(q, &end);
}

/* The owner may cancel the question in its callback. */
static void announce(struct question *q)
{
    if (q->is_announced)
        return;
    q->is_announced = true;
    if (q->events->on_asked != NULL)
        q->events->on_asked(q->context, q->watch.topic, q->is_new);
}

static void on_all_asked(struct engines_check *check)
{
    struct question *q = container_of(check, struct question, check);
    bool may_come = check->may_come && !q->is_last_doubt, is_unknown = check->is_unknown;
    if (!check->is_there && !is_unknown && !may_come) {
        end_no_engine(q, check->rest_s);
        return;
    }
    if (!check->is_there)
        loop_set_deadline(q->queue->loop, &q->doubt, is_unknown ? DOUBT_AGAIN_MS : DOUBT_MS);
    if (!is_unknown)
        announce(q);
}

static void ask_for_engines(struct question *q, bool is_last)
{
    if (q->check.left_n > 0)
        return;
    q->is_last_doubt = is_last;
    q->check.on_known = on_all_asked;
    engines_check_start(&q->check, q->queue, q->watch.topic, is_last ? DOUBT_MS : 0);
}

/* When it was asked, no engine was there that one could be sure of. */
static void on_doubt(struct deadline *deadline)
{
    ask_for_engines(container_of(deadline, struct question, doubt), true);
}

/* --- asking ----------------------------------------------------------------------------------- */

static void end_full(struct question *q, struct lines *lines)
{
    struct question_end end = {.outcome = QUESTION_FULL, .depth = lines_next_u64(lines)};
    end.eta_s = lines_next_u64(lines);
    end.shard = shard_of(q->watch.topic, queue_shards(q->queue)->n);
    end_with(q, &end);
}

/* The question that we have now may be another one's: it is known by that topic. */
static bool take_topic(struct question *q, struct str topic)
{
    if (str_eq(topic, q->watch.topic))
        return true;
    if (topic.n != TOPIC_BYTES)
        return false;
    queue_unwatch(q->queue, &q->watch);
    memcpy(q->topic, topic.at, TOPIC_BYTES);
    if (!q->is_followed)
        queue_watch(q->queue, &q->watch);
    return true;
}

/* The reply of `ask` about the question. */
struct asked {
    struct lines lines; /* after the tag */
    struct str tag;
    bool is_made, is_done, is_joined;
    bool is_in_queue; /* by any of these */
};

static struct asked read_asked(const struct question *q, struct str reply)
{
    struct asked asked = {.lines = lines_of(reply)};
    asked.tag = lines_next(&asked.lines);
    asked.is_made = str_eq(asked.tag, STR("ok"));
    asked.is_done = str_eq(asked.tag, STR("done"));
    asked.is_joined = str_eq(asked.tag, STR("joined"));
    asked.is_in_queue = asked.is_made || asked.is_done || asked.is_joined;
    if (asked.is_made)
        queue_count_added(q->queue, str_of(q->topic));
    return asked;
}

static void on_asked_in_vain(void *context, enum err error, struct str reply)
{
    struct question *q = context;
    struct asked asked = read_asked(q, reply);
    if (asked.is_in_queue)
        leave(q->queue, lines_next(&asked.lines), q->keep_ms);
    free(q);
}

static void on_asked(struct call *call, enum err error, struct str reply)
{
    struct question *q = container_of(call, struct question, call);
    struct asked asked = read_asked(q, reply);
    struct lines lines = asked.lines;
    q->is_in_queue = asked.is_in_queue;
    if (asked.is_in_queue && !take_topic(q, lines_next(&lines))) {
        q->is_in_queue = false;
        end_lost(q, ERR_REDIS_LOST);
    } else if (asked.is_done && !q->is_followed) {
        end_with_outcome(q, lines.rest);
    } else if (asked.is_in_queue) {
        move(q, WAITING);
        if (log_is_on(LOG_DEBUG))
            log_write(LOG_DEBUG, "question queued or joined", LOG_STR("topic", q->watch.topic),
                      LOG_U("seq", 1), LOG_STR("found", asked.tag));
        struct str doubt = lines_next(&lines);
        bool is_unseen = !asked.is_done && str_eq(doubt, STR("unseen"));
        q->is_new = asked.is_made;
        if (!asked.is_done && str_eq(doubt, STR("maybe")))
            loop_set_deadline(q->queue->loop, &q->doubt, DOUBT_MS);
        else if (is_unseen)
            ask_for_engines(q, false);
        if ((q->is_again || asked.is_joined) && !q->is_followed)
            check(q);
        if (!is_unseen)
            announce(q);
    } else if (error != ERR_OK) {
        end_lost(q, error);
    } else if (str_eq(asked.tag, STR("no_engine"))) {
        end_no_engine(q, lines_next_u64(&lines));
    } else {
        end_full(q, &lines);
    }
}

static void put_tail(struct buf *tail, const struct question_settings *s)
{
    row_put_who(tail, s->user, s->model);
    buf_lit(tail, "{\"Messages\":");
    buf_put(tail, s->messages);
    if (s->temperature >= 0)
        buf_printf(tail, ",\"temperature\":%g", s->temperature);
    if (s->max_tokens > 0)
        buf_printf(tail, ",\"max_tokens\":%u", s->max_tokens);
    buf_put_char(tail, '}');
    row_put_trace(tail, s->traceparent, s->request_id);
    buf_put_json(tail, s->query);
}

/* Puts a digest of what engines are given and of who may share it: the marks of a shared answer
 * then name the same passages for all who share it. */
static void put_digest(char *hex, const struct question_settings *s)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    struct buf b;
    struct question_settings same = *s;
    same.traceparent = same.request_id = STR("");
    buf_init(&b, TAIL_MAX);
    buf_put_json(&b, s->scope);
    buf_put_char(&b, '\n');
    put_tail(&b, &same);
    SHA256((const unsigned char *)b.at, b.n, digest);
    buf_fini(&b);
    str_hex(digest, DIGEST_BYTES, hex);
}

static void ask(struct question *q, const struct question_settings *s)
{
    struct buf tail, model;
    buf_init(&tail, TAIL_MAX);
    buf_init(&model, 1024);
    put_tail(&tail, s);
    buf_put_name(&model, s->model.n > 0 ? s->model : STR("default"));
    call_ask(shards_call(queue_shards(q->queue), &q->call, on_asked), .digest = str_of(q->digest),
             .topic = q->watch.topic, .user = s->user_name, .account = s->account,
             .model = buf_str(&model), .weight = s->weight.n > 0 ? s->weight : STR("1"),
             .tail = buf_str(&tail), .max_waiting = s->max_waiting > 0 ? s->max_waiting : NO_NUMBER,
             .max_of_all = s->max_of_all > 0 ? s->max_of_all : NO_NUMBER,
             .grant = s->grant.n > 0 ? s->grant : STR(""));
    buf_fini(&tail);
    buf_fini(&model);
}

/* A random one, of the digest's shard: who asks the same looks for it there. */
static void choose_topic(struct question *q)
{
    unsigned n = queue_shards(q->queue)->n;
    memcpy(q->topic, "ask.", 4);
    q->watch.topic = (struct str){q->topic, TOPIC_BYTES};
    do
        str_random_hex(TOPIC_RANDOM_BYTES, q->topic + 4);
    while (q->digest[0] != 0 && shard_of(q->watch.topic, n) != shard_of(str_of(q->digest), n));
}

struct question *question_start(struct queue *queue, const struct question_settings *settings,
                                const struct question_events *events, void *context)
{
    struct question *q = mem_zeroed(sizeof *q);
    *q = (struct question){.queue = queue,
                           .events = events,
                           .context = context,
                           .number = sm_number(),
                           .watch = {.seq = 1, .on_outcome = on_outcome, .on_changed = on_changed},
                           .deadline = {.on_expire = on_deadline},
                           .doubt = {.on_expire = on_doubt},
                           .is_followed = settings->is_followed};
    if (settings->scope.n > 0)
        put_digest(q->digest, settings);
    choose_topic(q);
    if (!q->is_followed)
        queue_watch(queue, &q->watch);
    loop_set_deadline(queue->loop, &q->deadline, settings->deadline_ms);
    ask(q, settings);
    return q;
}

void question_cancel(struct question *question, uint64_t keep_ms)
{
    if (question != NULL)
        dispose(question, keep_ms);
}
