/* SPDX-License-Identifier: MIT
 * follow.c - see follow.h (lua/queue/partials.lua).
 *
 *   FRESH --start--> WAITING --changed, or more pieces, and ready--> READING --outcome--> OVER
 *                       ^                                              |
 *                       +----------------- pieces are given -----------+
 *   An outcome comes with the rest of the text. Its owner may stop it in any of them: OVER.
 *
 * What was given is kept, to see at the end whether it adds up to the stored answer; if it does
 * not, FOLLOW_RESET carries the whole. Reading registers this node as waiting in the same atomic
 * step, so no outcome falls between. */
#include "shared/queue/follow.h"

#include "generated/verbs.h"
#include "shared/base/sm.h"
#include "shared/queue/core.h"

#include <stdio.h>

enum {
    PIECES_PAGE = 256, /* lua/queue/partials.lua */
    AGAIN_MS = 1000,
};

static const struct sm_state states[] = {
    [FOLLOW_FRESH] = {"FRESH", SM(FOLLOW_WAITING) | SM(FOLLOW_OVER)},
    [FOLLOW_WAITING] = {"WAITING", SM(FOLLOW_READING) | SM(FOLLOW_OVER)},
    [FOLLOW_READING] = {"READING", SM(FOLLOW_WAITING) | SM(FOLLOW_OVER)},
    [FOLLOW_OVER] = {"OVER", 0},
};
static const struct sm sm = SM_OF("follow", states);

static void move(struct follow *f, enum follow_state to)
{
    f->state = sm_move(&sm, f->number, f->state, to);
}

/* --- ids -------------------------------------------------------------------------------------- */

struct str follow_id_put(struct follow_id id, char bytes[FOLLOW_ID_BYTES])
{
    int n = snprintf(bytes, FOLLOW_ID_BYTES, "%llu-%llu", (unsigned long long)id.attempt,
                     (unsigned long long)id.n);
    return (struct str){bytes, (size_t)n};
}

bool follow_id_parse(struct str text, struct follow_id *ret_id)
{
    struct follow_id id;
    struct str n = text, attempt = str_cut(&n, '-');
    if (n.at == NULL || !str_parse_u64(attempt, &id.attempt) || !str_parse_u64(n, &id.n))
        return false;
    *ret_id = id;
    return true;
}

/* Has the reader this event already? */
static bool is_seen(const struct follow *f)
{
    return f->id.attempt < f->seen.attempt ||
           (f->id.attempt == f->seen.attempt && f->id.n <= f->seen.n);
}

/* Counts one event more, after those that the reader has: ids only ever rise. */
static void count_last_event(struct follow *f)
{
    if (f->id.attempt == 0)
        f->id.attempt = 1;
    if (is_seen(f))
        f->id = f->seen;
    f->id.n++;
}

/* --- giving ----------------------------------------------------------------------------------- */

static void give(struct follow *f, enum follow_kind kind, struct str text)
{
    if (!is_seen(f))
        f->events->on_piece(f, kind, text, f->id);
}

/* The attempt whose text was given is lost. */
static void restart(struct follow *f, uint64_t attempt)
{
    bool was_given = f->has_text || (f->seen.attempt > 0 && f->seen.attempt < attempt);
    f->id = (struct follow_id){attempt, 0};
    f->has_text = false;
    buf_clear(&f->answer);
    if (was_given)
        f->events->on_restart(f, f->id);
}

static unsigned read_pieces(struct follow *f, struct lines pieces)
{
    struct str id_text, kind, text;
    unsigned count = 0;
    while (lines_next_part(&pieces, &id_text) && lines_next_part(&pieces, &kind) &&
           lines_next_part(&pieces, &text)) {
        struct follow_id id;
        if (!follow_id_parse(id_text, &id))
            break;
        if (id.attempt > f->id.attempt)
            restart(f, id.attempt);
        f->id.n = id.n;
        f->has_text = true;
        bool is_answer = kind.n == 1 && kind.at[0] == 'a';
        if (is_answer)
            buf_put(&f->answer, text);
        give(f, is_answer ? FOLLOW_ANSWER : FOLLOW_THINK, text);
        count++;
    }
    return count;
}

/* The texts put together must equal the stored answer. */
static void complete_text(struct follow *f, const struct outcome *o)
{
    struct buf whole, think;
    buf_init(&whole, FOLLOW_TEXT_MAX_BYTES);
    buf_init(&think, FOLLOW_TEXT_MAX_BYTES);
    buf_put_json_texts(&whole, o->answer);
    buf_put_json_texts(&think, o->think);
    struct str given = buf_str(&f->answer), all = buf_str(&whole);
    if (f->id.attempt == 0)
        f->id.attempt = 1;
    if (!f->has_text && f->seen.attempt > 0) {
        /* The pieces are gone, and what the reader has of them is not known here. */
        count_last_event(f);
        give(f, FOLLOW_RESET, all);
    } else {
        if (!f->has_text && think.n > 0) {
            f->id.n++;
            give(f, FOLLOW_THINK, buf_str(&think));
        }
        if (!str_eq(all, given)) {
            f->id.n++;
            if (str_has_prefix(all, given))
                give(f, FOLLOW_ANSWER, (struct str){all.at + given.n, all.n - given.n});
            else
                give(f, FOLLOW_RESET, all);
        }
    }
    buf_fini(&whole);
    buf_fini(&think);
}

static void give_position(struct follow *f, struct lines *lines)
{
    struct str position = lines_next(lines), eta = lines_next(lines);
    uint64_t number;
    if (!str_parse_u64(position, &number) || number + 1 == f->position)
        return;
    f->position = number + 1;
    f->events->on_position(f, number, eta.n > 0 ? eta : STR("null"));
}

struct follow_id follow_stop(struct follow *f)
{
    queue_unwatch(f->queue, &f->watch);
    call_detach(&f->check);
    loop_cancel_deadline(f->queue->loop, &f->again);
    if (f->state != FOLLOW_OVER)
        move(f, FOLLOW_OVER);
    count_last_event(f);
    return f->id;
}

static void end_with(struct follow *f, const struct outcome *o)
{
    if (o != NULL && o->answer.n > 0)
        complete_text(f, o);
    struct follow_id id = follow_stop(f);
    f->events->on_end(f, o, id);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void read_reply(struct follow *f, struct str reply)
{
    if (str_eq(reply, STR("missing"))) { /* the topic was deleted */
        end_with(f, NULL);
        return;
    }
    const char *nul = memchr(reply.at, 0, reply.n);
    size_t head_n = nul == NULL ? reply.n : (size_t)(nul - reply.at);
    struct lines lines = lines_of((struct str){reply.at, head_n});
    struct outcome o = lines_next_outcome(&lines);
    struct str pieces = {nul == NULL ? "" : nul + 1, nul == NULL ? 0 : reply.n - head_n - 1};
    uint64_t attempt;
    if (str_parse_u64(o.attempt, &attempt) && attempt > f->id.attempt)
        restart(f, attempt);
    unsigned count = read_pieces(f, lines_of(pieces));
    if (count == PIECES_PAGE) {
        f->is_again = true;
    } else if (o.answer.n > 0 || o.reason.n > 0) {
        end_with(f, &o);
        return;
    } else if (str_eq(o.status, STR("Open"))) {
        give_position(f, &lines);
    }
    if (f->events->on_given != NULL)
        f->events->on_given(f);
    follow_resume(f);
}

static void on_checked(struct call *call, enum err error, struct str reply)
{
    struct follow *f = container_of(call, struct follow, check);
    move(f, FOLLOW_WAITING);
    if (error == ERR_OK) {
        read_reply(f, reply);
    } else {
        f->is_again = false;
        if (!err_is_outage(error)) /* else it is read again once the connection is up */
            loop_set_deadline(f->queue->loop, &f->again, AGAIN_MS);
    }
}

static void on_again(struct deadline *deadline)
{
    follow_check(container_of(deadline, struct follow, again));
}

void follow_check(struct follow *f)
{
    char after[FOLLOW_ID_BYTES];
    if (f->state == FOLLOW_OVER)
        return;
    if (f->state != FOLLOW_WAITING || (f->events->is_ready != NULL && !f->events->is_ready(f))) {
        f->is_again = true;
        return;
    }
    f->is_again = false;
    move(f, FOLLOW_READING);
    call_partials(shards_call(queue_shards(f->queue), &f->check, on_checked),
                  .topic = f->watch.topic, .seq = f->watch.seq,
                  .after = follow_id_put(f->id, after));
}

void follow_resume(struct follow *f)
{
    if (f->is_again && f->state != FOLLOW_FRESH)
        follow_check(f);
}

static void on_changed(struct watch *watch)
{
    struct follow *f = container_of(watch, struct follow, watch);
    if (f->state == FOLLOW_FRESH)
        return;
    if (f->events->on_changed != NULL)
        f->events->on_changed(f);
    else
        follow_check(f);
}

static void on_outcome(struct watch *watch, struct str outcome)
{
    (void)outcome; /* its last pieces come first */
    struct follow *f = container_of(watch, struct follow, watch);
    if (f->state != FOLLOW_FRESH)
        follow_check(f);
}

/* --- life ------------------------------------------------------------------------------------- */

void follow_init(struct follow *f, struct queue *queue, const struct follow_events *events,
                 struct follow_id seen)
{
    *f = (struct follow){
        .events = events,
        .queue = queue,
        .number = sm_number(),
        .watch = {.on_outcome = on_outcome, .on_changed = on_changed},
        .again = {.on_expire = on_again},
        .seen = seen,
        .answer = {.max = FOLLOW_TEXT_MAX_BYTES},
    };
}

void follow_watch(struct follow *f, struct str topic, uint64_t seq)
{
    f->watch.topic = topic;
    f->watch.seq = seq;
    queue_watch(f->queue, &f->watch);
}

void follow_start(struct follow *f)
{
    move(f, FOLLOW_WAITING);
    follow_check(f);
}

bool follow_is_resumed(const struct follow *f)
{
    return f->seen.attempt > 0;
}

void follow_forget_seen(struct follow *f)
{
    f->seen = (struct follow_id){0, 0};
}

void follow_fini(struct follow *f)
{
    if (f->queue != NULL) {
        queue_unwatch(f->queue, &f->watch);
        loop_cancel_deadline(f->queue->loop, &f->again);
    }
    call_detach(&f->check);
    buf_fini(&f->answer);
}
