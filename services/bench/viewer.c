/* SPDX-License-Identifier: MIT
 * viewer.c - see viewer.h. What it has so far needs no memory: its text is equal to the first
 * `offset` bytes of the stream's, or the viewer is not equal. */
#include "services/bench/viewer.h"

#include "services/bench/token_text.h"
#include "shared/queue/piece.h"

enum { AGAIN_US = 100000 };

/* The text of an event, as its JSON has it: ours needs no escapes, so another one differs. */
static struct str text_of(struct str data)
{
    struct str text;
    if (!bench_json_member(data, STR("text"), &text) || text.n < 2 || text.at[0] != '"')
        return STR("");
    return (struct str){text.at + 1, text.n - 2};
}

static void note_text(struct bench_viewer *viewer, uint64_t from, struct str text)
{
    uint64_t had = viewer->offset;
    viewer->is_unequal |= !bench_token_text_has(viewer->stream, from, text);
    viewer->offset = from + text.n;
    if (viewer->offset > had)
        viewer->events->on_text(viewer, had, viewer->offset);
}

static void take_token(struct bench_viewer *viewer, struct str data)
{
    struct piece_id id;
    struct str text = text_of(data);
    if (!piece_id_parse(buf_str(&viewer->sse.id), &id) || id.offset != viewer->offset + text.n ||
        (viewer->claim != 0 && viewer->claim != id.claim)) {
        viewer->is_unequal = true;
        return;
    }
    viewer->claim = id.claim;
    note_text(viewer, viewer->offset, text);
}

/* Its text begins again: it has none, or all of it so far. */
static void begin_again(struct bench_viewer *viewer, bool has_all, struct str data)
{
    viewer->reset_n++;
    if (has_all)
        note_text(viewer, 0, text_of(data));
    else
        viewer->claim = viewer->offset = 0;
}

static void end(struct bench_viewer *viewer, bool is_done, struct str data)
{
    viewer->is_over = true;
    if (is_done)
        viewer->events->on_done(viewer);
    else
        bench_fault(viewer->faults, "a stream ended with an error %.*s",
                    STR_ARG(bench_body_detail(data)));
}

static bool on_event(void *context, struct str type, struct str data)
{
    struct bench_viewer *viewer = context;
    if (str_eq(type, STR("token")))
        take_token(viewer, data);
    else if (str_eq(type, STR("restart")) || str_eq(type, STR("reset")))
        begin_again(viewer, str_eq(type, STR("reset")), data);
    else if (str_eq(type, STR("done")))
        end(viewer, true, data);
    else if (str_eq(type, STR("error")))
        end(viewer, false, data);
    return true;
}

static void on_part(struct bench_conn *conn, struct str part)
{
    struct bench_viewer *viewer = (struct bench_viewer *)conn;
    if (!viewer->is_open) {
        viewer->is_open = true;
        viewer->events->on_open(viewer);
    }
    viewer->is_unequal |= !sse_feed(&viewer->sse, part, on_event, viewer);
    if (part.n == 0 && !viewer->is_over)
        bench_conn_again_after(conn, AGAIN_US); /* its node ends, for instance */
}

/* Not a stream: a refusal, or something that nobody asked for. */
static void on_response(struct bench_conn *conn, const struct bench_response *response)
{
    struct bench_viewer *viewer = (struct bench_viewer *)conn;
    if (bench_worker_judge(&viewer->worker, response, viewer->faults) == BENCH_GOOD)
        bench_fault(viewer->faults, "check-query answered with something that is no stream");
}

static void on_again(struct bench_conn *conn)
{
    struct bench_viewer *viewer = (struct bench_viewer *)conn;
    if (viewer->is_over)
        return; /* the connection broke after the last event */
    sse_begin_again(&viewer->sse);
    viewer->worker.last_id = buf_str(&viewer->sse.id);
    bench_worker_stream(&viewer->worker);
}

static const struct bench_conn_handler handler = {
    .on_response = on_response, .on_again = on_again, .on_part = on_part};

void bench_viewer_init(struct bench_viewer *viewer, const struct bench *bench, void *owner,
                       struct bench_conn_loop *loop, const struct bench_target *target,
                       const struct bench_viewer_events *events, struct bench_faults *faults)
{
    *viewer = (struct bench_viewer){.events = events, .faults = faults};
    bench_worker_init(&viewer->worker, bench, owner, loop, target, &handler);
    sse_init(&viewer->sse, BENCH_BODY_MAX_BYTES);
}

void bench_viewer_fini(struct bench_viewer *viewer)
{
    bench_worker_fini(&viewer->worker);
    sse_fini(&viewer->sse);
}

void bench_viewer_begin(struct bench_viewer *viewer, const struct bench_worker *writer,
                        uint64_t stream)
{
    viewer->stream = stream;
    viewer->worker.seq = writer->seq;
    memcpy(viewer->worker.topic, writer->topic, sizeof viewer->worker.topic);
    bench_worker_stream(&viewer->worker);
}
