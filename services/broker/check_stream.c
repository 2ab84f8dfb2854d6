/* SPDX-License-Identifier: MIT
 * check_stream.c - check-query as server-sent events (contract, section 7; lua/queue/partials.lua).
 *
 *   start --check--> registered --partials--> READING --pieces--> SENDING --sent--+
 *                                                ^                                |
 *                                                |   more pieces, or changed      |
 *                                                +--------------------------------+
 *                                                |   otherwise                    v
 *                                                +---- changed ---- WAITING <-----+
 *   an outcome in READING: the rest of the text, done or error, the end.
 *
 * Pieces are pulled only when the last ones were sent, so a slow reader costs one page of pieces
 * and never more. Event ids are the stream's: <attempt>-<n>. What was sent is kept, to tell at the
 * end whether it adds up to the stored answer; if it does not, `reset` carries the whole. */
#include "services/broker/handlers.h"

#include <stdio.h>

enum { COMMENT_EVERY_MS = 15000, TEXT_MAX = 4 << 20, PIECES_PAGE = 256, ID_MAX = 48 };

struct stream {
    h2o_generator_t generator;
    struct request *r;
    struct watch watch;
    struct deadline comment;
    struct str topic;
    uint64_t seq;
    uint64_t attempt, n;           /* of the last piece read */
    uint64_t seen_attempt, seen_n; /* what the client has already (Last-Event-ID) */
    struct buf out, sending;       /* to be sent; being sent */
    struct buf answer;             /* answer text of this attempt so far */
    uint64_t position;             /* last told, plus 1 */
    bool has_text, is_started, is_sending, is_reading, is_again, is_ending, is_ended;
};

static void pull(struct stream *s);

/* --- writing ---------------------------------------------------------------------------------- */

static void flush(struct stream *s)
{
    if (s->is_sending || s->is_ended || (s->out.n == 0 && !s->is_ending))
        return;
    struct buf swap = s->sending;
    s->sending = s->out;
    s->out = swap;
    buf_clear(&s->out);
    s->is_sending = true;
    s->is_ended = s->is_ending;
    h2o_iovec_t bytes = h2o_iovec_init(s->sending.at, s->sending.n);
    h2o_send(s->r->h2o, &bytes, 1,
             s->is_ending ? H2O_SEND_STATE_FINAL : H2O_SEND_STATE_IN_PROGRESS);
}

static void on_proceed(h2o_generator_t *generator, h2o_req_t *h2o)
{
    struct stream *s = H2O_STRUCT_FROM_MEMBER(struct stream, generator, generator);
    (void)h2o;
    s->is_sending = false;
    if (s->out.n > 0 || s->is_ending)
        flush(s);
    else if (s->is_again)
        pull(s);
}

static void put_event(struct stream *s, const char *name, struct str data)
{
    buf_printf(&s->out, "id: %llu-%llu\nevent: %s\ndata: ", (unsigned long long)s->attempt,
               (unsigned long long)s->n, name);
    buf_put(&s->out, data);
    buf_lit(&s->out, "\n\n");
}

static void put_text_event(struct stream *s, const char *name, struct str text)
{
    struct buf data;
    buf_init(&data, TEXT_MAX * 6);
    buf_lit(&data, "{\"text\":");
    buf_put_json(&data, text);
    buf_put_char(&data, '}');
    put_event(s, name, buf_str(&data));
    buf_fini(&data);
}

static void on_comment(struct deadline *deadline)
{
    struct stream *s = H2O_STRUCT_FROM_MEMBER(struct stream, comment, deadline);
    loop_set_deadline(s->r->server->loop, &s->comment, COMMENT_EVERY_MS);
    if (s->out.n == 0 && !s->is_sending) {
        buf_lit(&s->out, ": still here\n\n");
        flush(s);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The attempt whose text was shown is lost: the client clears it. */
static void restart(struct stream *s, uint64_t attempt)
{
    bool was_shown = s->has_text || (s->seen_attempt > 0 && s->seen_attempt < attempt);
    s->attempt = attempt;
    s->n = 0;
    s->has_text = false;
    buf_clear(&s->answer);
    if (was_shown)
        put_event(s, "restart", STR("{}"));
}

static bool next_part(struct str *rest, struct str *ret_part)
{
    uint64_t n;
    struct str digits = str_cut(rest, ':');
    if (rest->at == NULL || !str_parse_u64(digits, &n) || n > rest->n)
        return false;
    *ret_part = (struct str){rest->at, (size_t)n};
    rest->at += n;
    rest->n -= (size_t)n;
    return true;
}

static unsigned read_pieces(struct stream *s, struct str rest)
{
    struct str id, kind, text;
    unsigned count = 0;
    while (rest.n > 0 && next_part(&rest, &id) && next_part(&rest, &kind) &&
           next_part(&rest, &text)) {
        uint64_t attempt = 0, n = 0;
        struct str tail = id;
        struct str head = str_cut(&tail, '-');
        if (!str_parse_u64(head, &attempt) || !str_parse_u64(tail, &n))
            break;
        if (attempt > s->attempt)
            restart(s, attempt);
        s->n = n;
        s->has_text = true;
        bool is_answer = kind.n == 1 && kind.at[0] == 'a';
        if (is_answer)
            buf_put(&s->answer, text);
        bool is_seen = attempt < s->seen_attempt || (attempt == s->seen_attempt && n <= s->seen_n);
        if (!is_seen)
            put_text_event(s, is_answer ? "token" : "think", text);
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
static void complete_text(struct stream *s, const struct outcome *o)
{
    struct buf whole, think;
    buf_init(&whole, TEXT_MAX);
    buf_init(&think, TEXT_MAX);
    join_texts(&whole, o->answer);
    join_texts(&think, o->think);
    bool is_new = !s->has_text && s->seen_n == 0;
    if (s->attempt == 0)
        s->attempt = 1;
    if (is_new && think.n > 0) {
        s->n++;
        put_text_event(s, "think", buf_str(&think));
    }
    struct str shown = buf_str(&s->answer), all = buf_str(&whole);
    bool was_resumed = is_new ? false : !s->has_text; /* what the client has is not known here */
    if (!str_eq(all, shown) || was_resumed) {
        s->n++;
        if (!was_resumed && str_has_prefix(all, shown))
            put_text_event(s, "token", (struct str){all.at + shown.n, all.n - shown.n});
        else
            put_text_event(s, "reset", all);
    }
    buf_fini(&whole);
    buf_fini(&think);
}

static void end_with(struct stream *s, const struct outcome *o)
{
    struct buf data;
    buf_init(&data, TEXT_MAX * 6);
    bool is_done = o->answer.n > 0;
    if (is_done)
        complete_text(s, o);
    if (s->attempt == 0)
        s->attempt = 1;
    s->n++;
    buf_put_char(&data, '{');
    store_put_outcome(&data, s->r, s->topic, s->seq, o, request_param_is_true(s->r, "Detail"),
                      false);
    buf_put_char(&data, '}');
    put_event(s, is_done ? "done" : "error", buf_str(&data));
    buf_fini(&data);
    s->is_ending = true;
    queue_unwatch(broker_of(s->r)->queue, &s->watch);
}

static void tell_position(struct stream *s, struct lines *lines)
{
    struct str position = lines_next(lines), eta = lines_next(lines);
    uint64_t number;
    if (!str_parse_u64(position, &number) || number + 1 == s->position)
        return;
    s->position = number + 1;
    buf_lit(&s->out, "event: queue\ndata: {\"Position\":");
    buf_put(&s->out, position);
    buf_lit(&s->out, ",\"EtaSeconds\":");
    buf_put(&s->out, eta.n > 0 ? eta : STR("null"));
    buf_lit(&s->out, "}\n\n");
}

static void on_partials(struct request *r, enum err error, struct str reply)
{
    struct stream *s = r->state;
    s->is_reading = false;
    if (error != ERR_OK) {
        s->is_again = false; /* looked at again once the connection stands */
        return;
    }
    if (str_eq(reply, STR("missing"))) { /* the topic was deleted */
        put_event(s, "error",
                  STR("{\"detail\":\"There is no such thing here.\",\"code\":\"not_found\"}"));
        s->is_ending = true;
        flush(s);
        return;
    }
    const char *nul = memchr(reply.at, 0, reply.n);
    size_t head_n = nul == NULL ? reply.n : (size_t)(nul - reply.at);
    struct lines lines = lines_of((struct str){reply.at, head_n});
    struct outcome o = lines_next_outcome(&lines);
    struct str pieces = {nul == NULL ? "" : nul + 1, nul == NULL ? 0 : reply.n - head_n - 1};
    uint64_t attempt;
    if (str_parse_u64(o.attempt, &attempt) && attempt > s->attempt)
        restart(s, attempt);
    unsigned count = read_pieces(s, pieces);
    if (count == PIECES_PAGE)
        s->is_again = true;
    else if (o.answer.n > 0 || o.reason.n > 0)
        end_with(s, &o);
    else if (str_eq(o.status, STR("Open")))
        tell_position(s, &lines);
    if (s->out.n > 0 || s->is_ending)
        flush(s);
    else if (s->is_again)
        pull(s);
}

static void pull(struct stream *s)
{
    char after[ID_MAX];
    if (s->is_reading || s->is_sending || s->is_ending || s->r->verb != NULL) {
        s->is_again = true;
        return;
    }
    s->is_again = false;
    s->is_reading = true;
    int n = snprintf(after, sizeof after, "%llu-%llu", (unsigned long long)s->attempt,
                     (unsigned long long)s->n);
    struct turn *turn = request_begin_plain_verb(s->r, LANE_READ, STR("partials"), on_partials);
    turn_put(turn, s->topic);
    turn_put_u64(turn, s->seq);
    turn_put(turn, (struct str){after, (size_t)n});
    turn_end(turn);
}

static void on_outcome(struct watch *watch, struct str outcome)
{
    (void)outcome; /* its last pieces come first */
    struct stream *s = H2O_STRUCT_FROM_MEMBER(struct stream, watch, watch);
    if (s->is_started)
        pull(s);
}

/* A node that shuts down ends its streams between two events: clients go on elsewhere from their
 * last event id. */
static void on_changed(struct watch *watch)
{
    struct stream *s = H2O_STRUCT_FROM_MEMBER(struct stream, watch, watch);
    if (!s->is_started)
        return;
    if (s->r->server->is_draining) {
        s->is_ending = true;
        flush(s);
    } else {
        pull(s);
    }
}

/* --- life ------------------------------------------------------------------------------------- */

static void on_checked(struct request *r, enum err error, struct str reply)
{
    struct stream *s = r->state;
    struct lines lines = lines_of(reply);
    if (store_refuse(r, error, lines_next(&lines), &lines))
        return;
    r->was_parked = true;
    respond_start_stream(r, &s->generator);
    s->is_started = true;
    loop_set_deadline(r->server->loop, &s->comment, COMMENT_EVERY_MS);
    buf_lit(&s->out, ": here\n\n");
    flush(s);
    pull(s);
}

static void on_gone(struct request *r)
{
    struct stream *s = r->state;
    queue_unwatch(broker_of(r)->queue, &s->watch);
    loop_cancel_deadline(r->server->loop, &s->comment);
    buf_fini(&s->out);
    buf_fini(&s->sending);
    buf_fini(&s->answer);
}

/* `<attempt>-<n>` of Last-Event-ID or the parameter after. */
static void read_last_id(struct stream *s)
{
    struct str id = request_header(s->r, "last-event-id");
    if (id.at == NULL)
        id = request_param(s->r, "after");
    struct str attempt = str_cut(&id, '-');
    if (id.at == NULL || !str_parse_u64(attempt, &s->seen_attempt) ||
        !str_parse_u64(id, &s->seen_n))
        s->seen_attempt = s->seen_n = 0;
}

void check_stream_start(struct request *r, struct str topic, uint64_t seq)
{
    struct stream *s = request_alloc(r, sizeof *s);
    *s = (struct stream){.generator = {on_proceed, NULL},
                         .r = r,
                         .comment = {.on_expire = on_comment},
                         .topic = topic,
                         .seq = seq,
                         .out = {.max = TEXT_MAX * 8},
                         .sending = {.max = TEXT_MAX * 8},
                         .answer = {.max = TEXT_MAX}};
    read_last_id(s);
    s->watch = (struct watch){
        .topic = topic, .seq = seq, .on_outcome = on_outcome, .on_changed = on_changed};
    r->state = s;
    r->on_gone = on_gone;
    queue_watch(broker_of(r)->queue, &s->watch);
    struct turn *turn = request_begin_verb(r, LANE_READ, STR("check"), on_checked);
    turn_put(turn, topic);
    turn_put_u64(turn, seq);
    turn_put(turn, store_viewer(r));
    turn_put(turn, STR("1"));
    turn_end(turn);
}
