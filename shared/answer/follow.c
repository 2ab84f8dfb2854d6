/* SPDX-License-Identifier: MIT
 * follow.c - see follow.h (lua/queue/partials.lua).
 *
 *   start --partials--> READING --pieces--> SENDING --sent--+
 *                          ^                                |
 *                          |   more pieces, or changed      |
 *                          +--------------------------------+
 *                          |   otherwise                    v
 *                          +---- changed ---- WAITING <-----+
 *   an outcome in READING: the rest of the text, done or error, the end.
 *
 * Pieces are pulled only when the last ones were sent, so a slow reader costs one page of pieces
 * and never more. What was sent is kept, to tell at the end whether it adds up to the stored
 * answer; if it does not, `reset` carries the whole. Looking registers this node as waiting in the
 * same atomic step, so no outcome falls between. */
#include "shared/answer/follow.h"

#include "generated/verbs.h"
#include <stdio.h>

enum { TEXT_MAX = 4 << 20, PIECES_PAGE = 256, ID_MAX = 48 };

/* --- writing ---------------------------------------------------------------------------------- */

/* The event's id, in `text`. */
static struct str put_id(const struct follow *f, char text[ID_MAX])
{
    int n = snprintf(text, ID_MAX, "%llu-%llu", (unsigned long long)f->attempt,
                     (unsigned long long)f->n);
    return (struct str){text, (size_t)n};
}

static void put_event(struct follow *f, const char *name, const struct buf *data)
{
    char id[ID_MAX];
    stream_put_buf(&f->stream, name, put_id(f, id), data);
}

/* Has the client this event already? */
static bool is_seen(const struct follow *f)
{
    return f->attempt < f->seen_attempt || (f->attempt == f->seen_attempt && f->n <= f->seen_n);
}

static void put_text_event(struct follow *f, const char *name, struct str text)
{
    struct buf data;
    if (is_seen(f))
        return;
    buf_init(&data, TEXT_MAX * 6);
    buf_lit(&data, "{\"text\":");
    buf_put_json(&data, text);
    buf_put_char(&data, '}');
    put_event(f, name, &data);
    buf_fini(&data);
}

/* Counts one event more, behind those that the client has: ids only ever rise. */
static void count_last_event(struct follow *f)
{
    if (f->attempt == 0)
        f->attempt = 1;
    if (is_seen(f)) {
        f->attempt = f->seen_attempt;
        f->n = f->seen_n;
    }
    f->n++;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The attempt whose text was shown is lost: the client clears it. */
static void restart(struct follow *f, uint64_t attempt)
{
    bool was_shown = f->has_text || (f->seen_attempt > 0 && f->seen_attempt < attempt);
    f->attempt = attempt;
    f->n = 0;
    f->has_text = false;
    buf_clear(&f->answer);
    if (was_shown) {
        char id[ID_MAX];
        stream_put(&f->stream, "restart", put_id(f, id), STR("{}"));
    }
}

static unsigned read_pieces(struct follow *f, struct lines pieces)
{
    struct str id, kind, text;
    unsigned count = 0;
    while (lines_next_part(&pieces, &id) && lines_next_part(&pieces, &kind) &&
           lines_next_part(&pieces, &text)) {
        uint64_t attempt = 0, n = 0;
        struct str tail = id;
        struct str head = str_cut(&tail, '-');
        if (!str_parse_u64(head, &attempt) || !str_parse_u64(tail, &n))
            break;
        if (attempt > f->attempt)
            restart(f, attempt);
        f->n = n;
        f->has_text = true;
        bool is_answer = kind.n == 1 && kind.at[0] == 'a';
        if (is_answer)
            buf_put(&f->answer, text);
        put_text_event(f, is_answer ? "token" : "think", text);
        count++;
    }
    return count;
}

static void join_texts(struct buf *b, struct str list)
{
    struct json_span text, whole = {.kind = JSON_SPAN_LIST, .raw = list};
    struct str rest = list.n < 2 ? STR("") : json_list_inside(&whole);
    while (json_next_item(&rest, &text))
        if (text.kind == JSON_SPAN_TEXT)
            buf_put_span_text(b, &text);
}

/* The texts put together must equal the stored answer. */
static void complete_text(struct follow *f, const struct outcome *o)
{
    struct buf whole, think;
    buf_init(&whole, TEXT_MAX);
    buf_init(&think, TEXT_MAX);
    join_texts(&whole, o->answer);
    join_texts(&think, o->think);
    struct str shown = buf_str(&f->answer), all = buf_str(&whole);
    if (f->attempt == 0)
        f->attempt = 1;
    if (!f->has_text && f->seen_attempt > 0) {
        /* The pieces are gone, and what the client has of them is not known here. */
        count_last_event(f);
        put_text_event(f, "reset", all);
    } else {
        if (!f->has_text && think.n > 0) {
            f->n++;
            put_text_event(f, "think", buf_str(&think));
        }
        if (!str_eq(all, shown)) {
            f->n++;
            if (str_has_prefix(all, shown))
                put_text_event(f, "token", (struct str){all.at + shown.n, all.n - shown.n});
            else
                put_text_event(f, "reset", all);
        }
    }
    buf_fini(&whole);
    buf_fini(&think);
}

static void end_with(struct follow *f, const struct outcome *o)
{
    struct buf data;
    buf_init(&data, TEXT_MAX * 6);
    bool is_done = o != NULL && o->answer.n > 0;
    if (is_done)
        complete_text(f, o);
    count_last_event(f);
    (is_done ? f->format->put_done : f->format->put_error)(f, o, &data);
    put_event(f, is_done ? "done" : "error", &data);
    buf_fini(&data);
    queue_unwatch(f->queue, &f->watch);
    stream_end(&f->stream);
}

static void tell_position(struct follow *f, struct lines *lines)
{
    struct str position = lines_next(lines), eta = lines_next(lines);
    uint64_t number;
    char data[128];
    if (!str_parse_u64(position, &number) || number + 1 == f->position)
        return;
    f->position = number + 1;
    if (eta.n == 0)
        eta = STR("null");
    int n = snprintf(data, sizeof data, "{\"Position\":%llu,\"EtaSeconds\":%.*s}",
                     (unsigned long long)number, STR_ARG(eta));
    if (n > 0 && (size_t)n < sizeof data)
        stream_put(&f->stream, "queue", STR(""), (struct str){data, (size_t)n});
}

static void pull(struct follow *f);

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
    if (str_parse_u64(o.attempt, &attempt) && attempt > f->attempt)
        restart(f, attempt);
    unsigned count = read_pieces(f, lines_of(pieces));
    if (count == PIECES_PAGE) {
        f->is_again = true;
    } else if (o.answer.n > 0 || o.reason.n > 0) {
        end_with(f, &o);
        return;
    } else if (str_eq(o.status, STR("Open"))) {
        tell_position(f, &lines);
    }
    stream_flush(&f->stream);
    if (f->is_again)
        pull(f);
}

static void on_looked(struct call *call, enum err error, struct str reply)
{
    struct follow *f = H2O_STRUCT_FROM_MEMBER(struct follow, look, call);
    if (stream_is_over(&f->stream))
        return;
    if (error != ERR_OK) /* looked at again once the connection stands */
        f->is_again = false;
    else
        read_reply(f, reply);
}

static void pull(struct follow *f)
{
    char after[ID_MAX];
    if (call_is_under_way(&f->look) || !stream_is_idle(&f->stream)) {
        f->is_again = true;
        return;
    }
    f->is_again = false;
    int n = snprintf(after, sizeof after, "%llu-%llu", (unsigned long long)f->attempt,
                     (unsigned long long)f->n);
    struct turn *turn = queue_turn(f->queue);
    call_partials(turn_call(turn, &f->look, on_looked), .topic = f->watch.topic,
                  .seq = f->watch.seq, .after = ((struct str){after, (size_t)n}));
}

static void on_idle(struct stream *stream)
{
    struct follow *f = H2O_STRUCT_FROM_MEMBER(struct follow, stream, stream);
    if (f->is_again && f->is_started)
        pull(f);
}

static void on_outcome(struct watch *watch, struct str outcome)
{
    (void)outcome; /* its last pieces come first */
    struct follow *f = H2O_STRUCT_FROM_MEMBER(struct follow, watch, watch);
    if (f->is_started)
        pull(f);
}

static void on_changed(struct watch *watch)
{
    struct follow *f = H2O_STRUCT_FROM_MEMBER(struct follow, watch, watch);
    if (!f->is_started)
        return;
    if (f->stream.r->server->is_draining)
        stream_end(&f->stream);
    else
        pull(f);
}

/* --- life ------------------------------------------------------------------------------------- */

static void read_last_id(struct follow *f, struct request *r)
{
    struct str id = request_header(r, "last-event-id");
    if (id.at == NULL)
        id = request_param(r, "after");
    struct str attempt = str_cut(&id, '-');
    if (id.at == NULL || !str_parse_u64(attempt, &f->seen_attempt) ||
        !str_parse_u64(id, &f->seen_n))
        f->seen_attempt = f->seen_n = 0;
}

void follow_init(struct follow *f, struct request *r, struct queue *queue,
                 const struct follow_format *format)
{
    *f = (struct follow){
        .format = format,
        .queue = queue,
        .watch = {.on_outcome = on_outcome, .on_changed = on_changed},
        .answer = {.max = TEXT_MAX},
    };
    stream_init(&f->stream, r, STREAM_EVENT_FIRST, TEXT_MAX * 8);
    f->stream.on_idle = on_idle;
    read_last_id(f, r);
}

void follow_watch(struct follow *f, struct str topic, uint64_t seq)
{
    f->watch.topic = topic;
    f->watch.seq = seq;
    queue_watch(f->queue, &f->watch);
}

void follow_start(struct follow *f)
{
    f->is_started = true;
    stream_flush(&f->stream);
    pull(f);
}

bool follow_is_resumed(const struct follow *f)
{
    return f->seen_attempt > 0;
}

void follow_forget_seen(struct follow *f)
{
    f->seen_attempt = f->seen_n = 0;
}

void follow_fail(struct follow *f, const struct buf *data)
{
    if (stream_is_over(&f->stream))
        return;
    count_last_event(f);
    put_event(f, "error", data);
    queue_unwatch(f->queue, &f->watch);
    stream_end(&f->stream);
}

void follow_fini(struct follow *f)
{
    if (f->queue != NULL)
        queue_unwatch(f->queue, &f->watch);
    call_detach(&f->look);
    stream_fini(&f->stream);
    buf_fini(&f->answer);
}
