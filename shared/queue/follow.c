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
 * step, so no outcome falls between.
 *
 * A piece that comes while Redis is asked, or while the reader is not ready, is kept and given
 * after what was read: it may not be stored yet, and reading again would not bring it. */
#include "shared/queue/follow.h"

#include "generated/verbs.h"
#include "shared/base/sm.h"
#include "shared/queue/core.h"

enum {
    PIECES_PAGE = 256,    /* lua/queue/partials.lua */
    PAGE_BYTES = 1 << 20, /* or pieces with so many bytes of text */
    AGAIN_MS = 1000,
    BEHIND_MS = 250,          /* by then what is shown is stored (ADR 94) */
    KEPT_MAX_BYTES = 72 << 10 /* more than a message brings */
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

/* --- giving ----------------------------------------------------------------------------------- */

/* Gives what the reader does not have of it: nothing, the end, or all. */
static void give(struct follow *f, struct piece piece)
{
    f->id = piece.id;
    if (piece.is_delta && !f->takes_deltas)
        return;
    f->has_text = true;
    f->has_deltas |= piece.is_delta;
    if (piece.is_answer)
        buf_put(&f->answer, piece.text);
    if (!piece_id_is_before(f->seen, piece.id))
        return;
    if (f->seen.claim == piece.id.claim && !piece.is_delta)
        piece_cut(&piece, f->seen.offset);
    if (piece.text.n > 0)
        f->events->on_piece(f,
                            piece.is_delta    ? FOLLOW_DELTA
                            : piece.is_answer ? FOLLOW_ANSWER
                                              : FOLLOW_THINK,
                            piece.text, piece.id);
}

static void give_whole(struct follow *f, struct str text)
{
    f->events->on_piece(f, FOLLOW_RESET, text, f->id);
}

/* A claim has begun, and nothing of it was read yet. */
static void begin_claim(struct follow *f, uint64_t claim)
{
    bool was_given = f->has_text || (f->seen.claim > 0 && f->seen.claim < claim);
    f->id = (struct piece_id){claim, 0};
    f->has_text = f->has_deltas = false;
    buf_clear(&f->answer);
    if (was_given)
        f->events->on_restart(f);
}

/* Takes off what was read already. Returns false if that is all, or if what precedes it is
 * missing. */
static bool fits(struct follow *f, struct piece *piece)
{
    if (piece->id.claim > f->id.claim && piece->id.offset == piece->text.n)
        begin_claim(f, piece->id.claim);
    if (!piece_id_is_before(f->id, piece->id) || piece->id.claim != f->id.claim ||
        piece->id.offset - piece->text.n > f->id.offset)
        return false;
    piece_cut(piece, f->id.offset);
    return true;
}

/* Returns whether the page may not be the last one. */
static bool read_pieces(struct follow *f, struct lines pieces)
{
    struct piece piece;
    unsigned count = 0;
    size_t bytes = 0;
    while (piece_next(&pieces, &piece)) {
        count++;
        bytes += piece.text.n;
        if (fits(f, &piece))
            give(f, piece);
    }
    return count == PIECES_PAGE || bytes >= PAGE_BYTES;
}

/* Gives what no piece has brought of the thoughts or the answer. */
static void give_rest(struct follow *f, bool is_answer, struct str text)
{
    if (text.n > 0)
        give(f, (struct piece){.id = {f->id.claim, f->id.offset + text.n},
                               .is_answer = is_answer,
                               .text = text});
}

/* Has the reader something that is not known here? */
static bool is_ahead(const struct follow *f)
{
    return f->seen.claim == f->id.claim && f->seen.offset > f->id.offset;
}

/* The texts put together must equal the stored answer. Without a piece it is not known what the
 * reader has. */
static void complete_text(struct follow *f, struct str think, struct str all)
{
    bool is_unknown = !f->has_text && is_ahead(f);
    if (!f->has_text)
        give_rest(f, false, think);
    struct str given = buf_str(&f->answer);
    bool is_more = str_has_prefix(all, given);
    if (is_more && !is_unknown)
        give_rest(f, true, (struct str){all.at + given.n, all.n - given.n});
    if (!is_more || is_unknown || is_ahead(f))
        give_whole(f, all);
}

static void complete(struct follow *f, const struct outcome *o)
{
    struct buf all, think;
    buf_init(&all, FOLLOW_TEXT_MAX_BYTES);
    buf_init(&think, FOLLOW_TEXT_MAX_BYTES);
    buf_put_json_texts(&all, o->answer);
    buf_put_json_texts(&think, o->think);
    complete_text(f, buf_str(&think), buf_str(&all));
    buf_fini(&all);
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

void follow_stop(struct follow *f)
{
    queue_unwatch(f->queue, &f->watch);
    call_detach(&f->check);
    loop_cancel_deadline(f->queue->loop, &f->again);
    if (f->state != FOLLOW_OVER)
        move(f, FOLLOW_OVER);
}

static void end_with(struct follow *f, const struct outcome *o)
{
    if (o != NULL && o->answer.n > 0 && !f->has_deltas)
        complete(f, o);
    follow_stop(f);
    f->events->on_end(f, o);
}

/* --- pieces that are kept --------------------------------------------------------------------- */

static bool is_ready(struct follow *f)
{
    return f->events->is_ready == NULL || f->events->is_ready(f);
}

/* If they become too many, they are forgotten. */
static void keep(struct follow *f, const struct piece *piece)
{
    if (piece_id_is_before(f->told, piece->id))
        f->told = piece->id;
    piece_put(&f->kept, piece);
    if (f->kept.is_over)
        buf_clear(&f->kept);
}

/* Returns whether that is all that messages brought. */
static bool give_kept(struct follow *f)
{
    struct buf kept = f->kept;
    struct piece_id told = f->told;
    f->kept = (struct buf){.max = KEPT_MAX_BYTES};
    f->told = (struct piece_id){0, 0};
    read_pieces(f, lines_of(buf_str(&kept)));
    buf_fini(&kept);
    return !piece_id_is_before(f->id, told);
}

/* A claim that is to be continued has not been counted as ended. */
static void give_loss(struct follow *f, uint64_t claim)
{
    bool is_kept = claim < f->id.claim;
    void (*on_loss)(struct follow *) = is_kept ? f->events->on_paused : f->events->on_lost;
    if (f->has_text && on_loss != NULL)
        on_loss(f);
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
    uint64_t claim = lines_next_u64(&lines);
    struct outcome o = lines_next_outcome(&lines);
    struct str pieces = {nul == NULL ? "" : nul + 1, nul == NULL ? 0 : reply.n - head_n - 1};
    if (f->seen.claim > claim) { /* an id of other data, or of none */
        follow_forget_seen(f);
        f->events->on_restart(f);
    }
    if (claim > f->id.claim)
        begin_claim(f, claim);
    bool has_more = read_pieces(f, lines_of(pieces));
    if (has_more) {
        f->is_again = true;
    } else if (o.answer.n > 0 || o.reason.n > 0) {
        end_with(f, &o);
        return;
    } else if (str_eq(o.status, STR("Open"))) {
        give_loss(f, claim);
        give_position(f, &lines);
    }
    if (!has_more && !give_kept(f))
        loop_set_deadline(f->queue->loop, &f->again, BEHIND_MS);
    f->is_again |= piece_id_is_before(f->id, f->stored);
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
    char after[PIECE_ID_BYTES];
    if (f->state == FOLLOW_OVER)
        return;
    if (f->state != FOLLOW_WAITING || !is_ready(f)) {
        f->is_again = true;
        return;
    }
    f->is_again = false;
    f->stored = (struct piece_id){0, 0};
    move(f, FOLLOW_READING);
    call_partials(shards_call(queue_shards(f->queue), &f->check, on_checked),
                  .topic = f->watch.topic, .seq = f->watch.seq, .after = piece_id_put(f->id, after),
                  .brief = f->skips_position);
}

void follow_resume(struct follow *f)
{
    if (f->state == FOLLOW_FRESH)
        return;
    if (f->told.claim > 0 && !f->is_again && f->state == FOLLOW_WAITING && is_ready(f)) {
        f->is_again = !give_kept(f) || piece_id_is_before(f->id, f->stored);
        if (f->events->on_given != NULL)
            f->events->on_given(f);
    }
    if (f->is_again)
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

/* One without text says how far the text is stored: it may be kept already. */
static void on_stored(struct follow *f, struct piece_id id)
{
    if (piece_id_is_before(f->stored, id))
        f->stored = id;
    if (f->state == FOLLOW_WAITING && f->told.claim == 0)
        follow_check(f);
}

static void on_piece(struct watch *watch, const struct piece *told)
{
    struct follow *f = container_of(watch, struct follow, watch);
    struct piece piece = *told;
    if (f->state == FOLLOW_FRESH || !piece_id_is_before(f->id, piece.id))
        return;
    if (piece.text.n == 0) {
        on_stored(f, piece.id);
    } else if (f->state == FOLLOW_READING || f->told.claim > 0 || !is_ready(f)) {
        keep(f, &piece);
        follow_resume(f);
    } else if (f->is_again || !fits(f, &piece)) {
        follow_check(f);
    } else {
        give(f, piece);
        if (f->events->on_given != NULL)
            f->events->on_given(f);
    }
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
                 struct piece_id seen)
{
    *f = (struct follow){
        .events = events,
        .queue = queue,
        .number = sm_number(),
        .watch = {.on_outcome = on_outcome, .on_changed = on_changed, .on_piece = on_piece},
        .again = {.on_expire = on_again},
        .seen = seen,
        .answer = {.max = FOLLOW_TEXT_MAX_BYTES},
        .kept = {.max = KEPT_MAX_BYTES},
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
    return f->seen.claim > 0;
}

void follow_forget_seen(struct follow *f)
{
    f->seen = (struct piece_id){0, 0};
}

void follow_fini(struct follow *f)
{
    if (f->queue != NULL) {
        queue_unwatch(f->queue, &f->watch);
        loop_cancel_deadline(f->queue->loop, &f->again);
    }
    call_detach(&f->check);
    buf_fini(&f->answer);
    buf_fini(&f->kept);
}
