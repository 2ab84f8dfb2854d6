/* SPDX-License-Identifier: MIT
 * engine_draft.c - see engine_draft.h. */
#include "services/broker/socket/engine_draft.h"

#include "generated/verbs.h"
#include "shared/base/mem.h"

enum {
    STORE_STEP_MS = 50,        /* all drafts of a thread are stored at its multiples, in one call */
    STORE_BYTES = 4 << 10,     /* or with so much text */
    CLOG_BYTES = 64 << 10,     /* with so much that is not stored the engine waits, ... */
    CLOG_RUNS = 256,           /* in so many runs, ... */
    CLOG_ACKS_BYTES = 8 << 10, /* or with such Ids to be answered */
    RETRY_MS = 1000,           /* Redis was away */
    NODES_MAX_BYTES = 8 << 10,
    ACKS_MAX_BYTES = 16 << 10,
    SLOW_MS = 100,          /* a store that takes longer lets the engine send less often, ... */
    INTERVAL_MAX_MS = 5000, /* but as often as this */
};

static struct queue *queue_of(const struct engine_draft *d)
{
    return d->all->queue;
}

static struct loop *loop_of(const struct engine_draft *d)
{
    return d->all->queue->loop;
}

static void set_clogged(struct engine_draft *d, bool is_clogged)
{
    if (d->is_clogged == is_clogged)
        return;
    d->is_clogged = is_clogged;
    d->all->clogged_n += is_clogged ? 1u : -1u;
    d->all->events->on_clogged(d->all);
}

static bool is_too_much(const struct engine_draft *d)
{
    return d->text.n >= CLOG_BYTES || d->run_n >= CLOG_RUNS || d->acks.n >= CLOG_ACKS_BYTES;
}

/* --- storing ---------------------------------------------------------------------------------- */

/* A piece that comes before its predecessor is stored only lengthens the queue of Redis. */
void engine_draft_note_store(struct engine_drafts *drafts, uint64_t took_ms)
{
    uint64_t most_ms = took_ms < INTERVAL_MAX_MS ? took_ms : INTERVAL_MAX_MS;
    drafts->interval_ms = took_ms < SLOW_MS ? 0 : most_ms;
}

/* A call stores one thought and one text after it. */
struct stretch {
    struct str think, answer;
    size_t run_n;
};

static struct stretch stretch_at(const struct engine_draft *d, size_t run, size_t at)
{
    struct stretch stretch = {STR(""), STR(""), 0};
    if (run < d->run_n && !d->runs[run].is_answer) {
        stretch.think = (struct str){d->text.at + at, d->runs[run].n};
        stretch.run_n++;
    }
    if (run + stretch.run_n < d->run_n && d->runs[run + stretch.run_n].is_answer) {
        stretch.answer =
            (struct str){d->text.at + at + stretch.think.n, d->runs[run + stretch.run_n].n};
        stretch.run_n++;
    }
    return stretch;
}

static void call_store(struct call_start start, const struct engine_draft *d, uint64_t offset,
                       const struct stretch *stretch)
{
    metrics_add(queue_of(d)->metrics, METRIC_PIECES_STORED, 1);
    call_partial(start, .topic = str_of(d->topic), .seq = d->seq, .lease = d->lease,
                 .offset = offset, .think = stretch->think, .answer = stretch->answer,
                 .max_bytes = DRAFT_TEXT_MAX, .holder = d->all->holder, .mode = PARTIAL_SHOWN,
                 .facts = STR(""), .deltas = STR(""), .is_more = false);
}

void engine_draft_store_now(struct engine_draft *d)
{
    size_t at = d->storing_n, run = d->storing_run_n;
    while (run < d->run_n) {
        struct stretch stretch = stretch_at(d, run, at);
        call_store(shards_forget(queue_shards(queue_of(d))), d, d->stored + at, &stretch);
        at += stretch.think.n + stretch.answer.n;
        run += stretch.run_n;
    }
    call_detach(&d->call);
    d->stored += d->text.n;
    d->all->text_n -= d->text.n;
    d->storing_n = d->storing_run_n = d->run_n = 0;
    buf_clear(&d->text);
}

static void remove_stored(struct engine_draft *d)
{
    size_t n = d->storing_n, run_n = d->storing_run_n;
    memmove(d->text.at, d->text.at + n, d->text.n - n);
    d->text.n -= n;
    d->all->text_n -= n;
    memmove(d->runs, d->runs + run_n, (d->run_n - run_n) * sizeof *d->runs);
    d->run_n -= run_n;
    d->storing_n = d->storing_run_n = 0;
}

static void report(struct engine_draft *d)
{
    struct lines acks = lines_of(buf_str(&d->acks));
    bool is_whole = d->run_n == 0;
    while (is_whole && lines_are_left(&acks)) {
        struct str id = lines_next(&acks);
        if (id.n > 0)
            d->all->events->on_acknowledged(d->all, id, d->seq, d->lease, d->stored);
    }
    if (is_whole)
        buf_clear(&d->acks);
    d->all->events->on_stored(d->all, str_of(d->topic_json), d->seq, d->lease, d->stored);
}

void engine_draft_set_nodes(struct engine_draft *d, struct str nodes)
{
    buf_clear(&d->nodes);
    buf_put(&d->nodes, nodes);
    if (nodes.n > 0)
        buf_put_char(&d->nodes, ' ');
}

static void store(struct engine_draft *d);

/* Stores again if there is enough, or later. */
static void continue_storing(struct engine_draft *d)
{
    uint64_t now_ms = clock_mono_ms(), due_ms = d->stored_at_ms + DRAFT_STORE_MS;
    due_ms -= due_ms % STORE_STEP_MS;
    if (d->run_n == 0 || d->priming_n > 0 || call_is_under_way(&d->call))
        return;
    if (d->text.n >= STORE_BYTES || d->acks.n > 0 || due_ms <= now_ms)
        store(d);
    else if (!deadline_is_set(&d->store_by))
        loop_set_deadline(loop_of(d), &d->store_by, due_ms - now_ms);
}

void engine_draft_refuse(struct engine_draft *d, bool has_news)
{
    struct engine_drafts *all = d->all;
    struct buf acks = d->acks;
    char *topic_json = d->topic_json, *lease = str_copy(d->lease);
    uint64_t seq = d->seq, offset = d->stored;
    d->topic_json = NULL;
    d->acks = (struct buf){.max = 0};
    engine_draft_drop(d);
    for (struct lines ids = lines_of(buf_str(&acks)); has_news || lines_are_left(&ids);) {
        struct str id = lines_next(&ids);
        if (id.n > 0 || has_news)
            all->events->on_refused(all, str_of(topic_json), seq, str_of(lease), offset, id);
        has_news = false;
    }
    buf_fini(&acks);
    free(topic_json);
    free(lease);
}

static void on_stored(struct call *call, enum err error, struct str reply)
{
    struct engine_draft *d = container_of(call, struct engine_draft, call);
    struct lines lines = lines_of(reply);
    if (err_is_outage(error)) {
        d->storing_n = d->storing_run_n = 0;
        loop_set_deadline(loop_of(d), &d->store_by, RETRY_MS);
        return;
    }
    if (error != ERR_OK || !str_eq(lines_next(&lines), STR("ok"))) {
        engine_draft_refuse(d, true);
        return;
    }
    d->stored += d->storing_n;
    d->stored_at_ms = clock_mono_ms();
    engine_draft_note_store(d->all, d->stored_at_ms - d->store_began_ms);
    remove_stored(d);
    (void)lines_next(&lines); /* the offset */
    (void)lines_next(&lines); /* the age: it is not the first text */
    (void)lines_next(&lines); /* the claim */
    engine_draft_set_nodes(d, lines_next(&lines));
    report(d);
    set_clogged(d, is_too_much(d));
    d->all->events->on_clogged(d->all);
    continue_storing(d);
}

static void store(struct engine_draft *d)
{
    struct stretch stretch = stretch_at(d, 0, 0);
    loop_cancel_deadline(loop_of(d), &d->store_by);
    d->store_began_ms = clock_mono_ms();
    d->storing_n = stretch.think.n + stretch.answer.n;
    d->storing_run_n = stretch.run_n;
    call_store(shards_call(queue_shards(queue_of(d)), &d->call, on_stored), d, d->stored, &stretch);
}

static void on_store_by(struct deadline *deadline)
{
    struct engine_draft *d = container_of(deadline, struct engine_draft, store_by);
    if (d->run_n > 0 && !call_is_under_way(&d->call))
        store(d);
}

/* --- showing ---------------------------------------------------------------------------------- */

static void show_to_all(struct engine_draft *d, const struct piece *piece)
{
    struct str rest = buf_str(&d->nodes);
    while (rest.n > 0) {
        struct str node = str_cut(&rest, ' ');
        if (node.n > 0)
            queue_show(queue_of(d), &d->shower, node, piece);
    }
}

static bool is_shown_to(const struct engine_draft *d, struct str node)
{
    struct str rest = buf_str(&d->nodes);
    while (rest.n > 0)
        if (str_eq(str_cut(&rest, ' '), node))
            return true;
    return false;
}

/* All that is not stored. */
static void show_runs(struct engine_draft *d, struct str node)
{
    size_t at = 0;
    for (size_t i = 0; i < d->run_n; i++) {
        struct piece piece = {.id = {d->claim, d->stored + at + d->runs[i].n},
                              .is_answer = d->runs[i].is_answer,
                              .text = {d->text.at + at, d->runs[i].n}};
        queue_show(queue_of(d), &d->shower, node, &piece);
        at += d->runs[i].n;
    }
}

static void on_watched(struct shower *shower, struct str node)
{
    struct engine_draft *d = container_of(shower, struct engine_draft, shower);
    if (!is_shown_to(d, node)) {
        buf_put(&d->nodes, node);
        buf_put_char(&d->nodes, ' ');
    }
    if (d->priming_n == 0)
        show_runs(d, node);
}

static void append_run(struct engine_draft *d, bool is_answer, struct str text)
{
    if (text.n == 0)
        return;
    if (d->run_n == d->storing_run_n || d->runs[d->run_n - 1].is_answer != is_answer) {
        d->runs = mem_grow(d->runs, d->run_n, sizeof *d->runs);
        d->runs[d->run_n++] = (struct run){is_answer, 0};
    }
    d->runs[d->run_n - 1].n += text.n;
    buf_put(&d->text, text);
    d->all->text_n += text.n;
    if (d->priming_n > 0)
        return;
    struct piece piece = {
        .id = {d->claim, d->stored + d->text.n}, .is_answer = is_answer, .text = text};
    show_to_all(d, &piece);
    if (d->nodes.n > 0)
        metrics_add(queue_of(d)->metrics, METRIC_PIECES_SHOWN, 1);
}

void engine_draft_append(struct engine_draft *d, struct str think, struct str answer, struct str id)
{
    append_run(d, false, think);
    append_run(d, true, answer);
    if (id.n > 0) {
        buf_put(&d->acks, id);
        buf_put_char(&d->acks, '\n');
    }
    set_clogged(d, is_too_much(d));
    continue_storing(d);
}

/* --- life ------------------------------------------------------------------------------------- */

struct engine_draft *engine_draft_create(struct engine_drafts *drafts,
                                         const struct draft_frame *frame)
{
    struct engine_draft *d = mem_zeroed(sizeof *d);
    d->all = drafts;
    d->seq = frame->seq;
    memcpy(d->lease_bytes, frame->lease.at, frame->lease.n);
    d->lease = (struct str){d->lease_bytes, frame->lease.n};
    d->topic_json = str_copy(frame->topic_json);
    d->store_by.on_expire = on_store_by;
    d->shower.on_watched = on_watched;
    buf_init(&d->text, DRAFT_TEXT_MAX);
    buf_init(&d->nodes, NODES_MAX_BYTES);
    buf_init(&d->acks, ACKS_MAX_BYTES);
    list_append(&drafts->list, &d->link);
    drafts->n++;
    return d;
}

void engine_draft_drop(struct engine_draft *d)
{
    set_clogged(d, false);
    list_remove(&d->link);
    d->all->n--;
    d->all->text_n -= d->text.n;
    queue_show_stop(queue_of(d), &d->shower);
    loop_cancel_deadline(loop_of(d), &d->store_by);
    call_detach(&d->call);
    buf_fini(&d->text);
    buf_fini(&d->nodes);
    buf_fini(&d->acks);
    free(d->runs);
    free(d->topic);
    free(d->topic_json);
    free(d);
}

void engine_draft_prime(struct engine_draft *d, const struct draft_frame *frame)
{
    bool follows = d->claim == 0 || frame->offset == d->stored + d->text.n;
    d->keeps = follows && d->priming_n == 0 && frame->offset <= DRAFT_TEXT_MAX;
    if (d->run_n > 0) /* what precedes it is stored first */
        engine_draft_store_now(d);
    loop_cancel_deadline(loop_of(d), &d->store_by);
    d->priming_n++;
    if (d->keeps)
        d->stored = frame->offset + frame->think.n + frame->answer.n;
}

void engine_draft_open(struct engine_draft *d, uint64_t claim)
{
    struct str rest = buf_str(&d->nodes);
    d->keeps = false;
    if (d->claim == 0) {
        d->claim = claim;
        d->shower.topic = str_of(d->topic);
        d->shower.seq = d->seq;
        queue_show_start(queue_of(d), &d->shower);
    }
    while (rest.n > 0) {
        struct str node = str_cut(&rest, ' ');
        if (node.n > 0)
            show_runs(d, node);
    }
    report(d);
    continue_storing(d);
}
