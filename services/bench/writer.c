/* SPDX-License-Identifier: MIT
 * writer.c - see writer.h. A request that was lost or refused for a while is repeated; its piece
 * keeps its offset, so the node passes over what it has already. Over a socket all that the node
 * has not reported as stored is sent again, once there is a socket again. */
#include "services/bench/writer.h"

#include "services/bench/token_text.h"

enum { TEXT_MAX_BYTES = 2 << 20 };

/* Its answer is stored, or refused for good: the claim is lost, for instance. */
static void end(struct bench_writer *writer)
{
    writer->is_over = true;
    writer->events->on_over(writer);
}

static void on_claimed(struct bench_writer *writer, struct str claim)
{
    struct bench_worker *worker = &writer->worker;
    if (!bench_worker_take_claim(worker, claim)) {
        writer->faults->empties++;
        bench_worker_claim(worker);
    } else if (!bench_worker_owns_claim(worker)) {
        bench_worker_answer(worker); /* somebody else's: out of the way */
    } else {
        writer->is_claimed = true;
        writer->events->on_claimed(writer);
    }
}

static void on_answered(struct bench_writer *writer)
{
    if (writer->is_claimed)
        end(writer);
    else if (bench_worker_next_row(&writer->worker))
        bench_worker_answer(&writer->worker);
    else
        bench_worker_claim(&writer->worker);
}

static void on_response(struct bench_conn *conn, const struct bench_response *response)
{
    struct bench_writer *writer = (struct bench_writer *)conn;
    struct bench_worker *worker = &writer->worker;
    enum bench_verdict verdict = bench_worker_judge(worker, response, writer->faults);
    writer->refused_n += verdict != BENCH_GOOD && worker->step == BENCH_STEP_PARTIAL;
    if (verdict == BENCH_ABANDON)
        end(writer);
    if (verdict != BENCH_GOOD)
        return;
    if (worker->step == BENCH_STEP_ADD && writer->socket == NULL)
        bench_worker_claim(worker);
    else if (worker->step == BENCH_STEP_ADD)
        return; /* its socket gets claims by itself */
    else if (worker->step == BENCH_STEP_CLAIM)
        on_claimed(writer, response->body);
    else if (worker->step == BENCH_STEP_PARTIAL)
        writer->events->on_sent(writer);
    else
        on_answered(writer);
}

static void on_again(struct bench_conn *conn)
{
    bench_worker_repeat((struct bench_worker *)conn);
}

static const struct bench_conn_handler handler = {.on_response = on_response, .on_again = on_again};

void bench_writer_init(struct bench_writer *writer, const struct bench *bench, void *owner,
                       struct bench_conn_loop *loop, const struct bench_writer_events *events,
                       struct bench_faults *faults)
{
    *writer = (struct bench_writer){.events = events, .faults = faults};
    bench_worker_init(&writer->worker, bench, owner, loop, &bench->targets[0], &handler);
    buf_init(&writer->text, TEXT_MAX_BYTES);
    writer->worker.wants_lease = true;
}

void bench_writer_fini(struct bench_writer *writer)
{
    bench_worker_fini(&writer->worker);
    buf_fini(&writer->text);
}

void bench_writer_begin(struct bench_writer *writer)
{
    bench_worker_add(&writer->worker);
}

bool bench_writer_is_idle(const struct bench_writer *writer)
{
    const struct bench_conn *conn = &writer->worker.conn;
    if (!writer->is_claimed || writer->is_over)
        return false;
    if (writer->socket != NULL)
        return !writer->has_answered && bench_socket_is_writable(writer->socket);
    return !conn->is_waiting && !list_is_linked(&conn->delayed);
}

static void set_text(struct bench_writer *writer, uint64_t stream, uint64_t from, uint64_t to)
{
    buf_clear(&writer->text);
    buf_put_char(&writer->text, '"');
    bench_token_text_put(&writer->text, stream, from, to);
    buf_put_char(&writer->text, '"');
    writer->worker.offset = from;
    writer->worker.text_json = buf_str(&writer->text);
}

void bench_writer_send(struct bench_writer *writer, uint64_t stream, uint64_t from, uint64_t to)
{
    set_text(writer, stream, from, to);
    writer->stream = stream;
    writer->sent_bytes = to;
    if (writer->socket != NULL)
        bench_socket_partial(writer->socket, &writer->worker);
    else
        bench_worker_partial(&writer->worker);
}

void bench_writer_end(struct bench_writer *writer, uint64_t stream, uint64_t to)
{
    set_text(writer, stream, 0, to);
    writer->worker.think_json = STR("null"); /* no piece brought a thought */
    writer->stream = stream;
    writer->sent_bytes = to;
    if (writer->socket != NULL)
        bench_socket_answer(writer->socket, &writer->worker);
    else
        bench_worker_answer(&writer->worker);
    writer->has_answered = true;
}

void bench_writer_take_claim(struct bench_writer *writer, struct str json)
{
    writer->is_claimed =
        bench_worker_take_claim(&writer->worker, json) && bench_worker_owns_claim(&writer->worker);
    if (writer->is_claimed)
        writer->events->on_claimed(writer);
}

void bench_writer_take_reply(struct bench_writer *writer, const struct bench_socket_reply *reply)
{
    writer->refused_n += !str_eq(reply->to, STR("\"answer\""));
    end(writer);
}

void bench_writer_resume(struct bench_writer *writer)
{
    if (!writer->is_claimed || writer->is_over)
        return;
    if (writer->has_answered)
        bench_writer_end(writer, writer->stream, writer->sent_bytes);
    else if (writer->sent_bytes > writer->stored_bytes)
        bench_writer_send(writer, writer->stream, writer->stored_bytes, writer->sent_bytes);
}
