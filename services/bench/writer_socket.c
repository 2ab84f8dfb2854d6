/* SPDX-License-Identifier: MIT
 * writer_socket.c - see writer_socket.h. A claim goes to the first writer that has none; one that
 * is not of this run is answered at once, out of the way. */
#include "services/bench/writer_socket.h"

static struct list *writers_of(struct bench_socket *socket)
{
    return &((struct bench_writer_socket *)socket)->writers;
}

static void on_open(struct bench_socket *socket)
{
    list_for_each (struct bench_writer, writer, writers_of(socket), link) {
        bench_writer_resume(writer);
        writer->events->on_sent(writer); /* what became due while there was no socket */
    }
}

static struct bench_writer *find_unclaimed(struct bench_socket *socket)
{
    list_for_each (struct bench_writer, writer, writers_of(socket), link)
        if (!writer->is_claimed)
            return writer;
    return NULL;
}

static void on_claim(struct bench_socket *socket, struct str json)
{
    struct bench_writer *writer = find_unclaimed(socket);
    if (!bench_worker_take_claim(&socket->worker, json))
        bench_fault(socket->faults, "a claim without a query");
    else if (writer != NULL && bench_worker_owns_claim(&socket->worker))
        bench_writer_take_claim(writer, json);
    else
        bench_socket_answer_all(socket);
}

static struct bench_writer *find_lease(struct bench_socket *socket, struct str lease)
{
    list_for_each (struct bench_writer, writer, writers_of(socket), link)
        if (writer->is_claimed && str_eq(writer->worker.claim_lease, lease))
            return writer;
    return NULL;
}

static void on_reply(struct bench_socket *socket, const struct bench_socket_reply *reply)
{
    struct bench_writer *writer = find_lease(socket, reply->lease);
    if (writer != NULL && !writer->is_over)
        bench_writer_take_reply(writer, reply);
}

static void on_stored(struct bench_socket *socket, struct str lease, uint64_t next)
{
    struct bench_writer *writer = find_lease(socket, lease);
    if (writer != NULL)
        writer->stored_bytes = next;
}

static void on_writable(struct bench_socket *socket)
{
    list_for_each (struct bench_writer, writer, writers_of(socket), link)
        writer->events->on_sent(writer);
}

void bench_writer_socket_init(struct bench_writer_socket *socket, const struct bench *bench,
                              void *owner, struct bench_conn_loop *loop, unsigned slots,
                              struct bench_faults *faults)
{
    static const struct bench_socket_events events = {.on_open = on_open,
                                                      .on_claim = on_claim,
                                                      .on_reply = on_reply,
                                                      .on_stored = on_stored,
                                                      .on_writable = on_writable};
    *socket = (struct bench_writer_socket){0};
    bench_socket_init(&socket->socket, bench, owner, loop, &bench->targets[0], slots, &events,
                      faults);
}

void bench_writer_socket_fini(struct bench_writer_socket *socket)
{
    list_for_each (struct bench_writer, writer, &socket->writers, link)
        list_remove(&writer->link);
    bench_socket_fini(&socket->socket);
}

void bench_writer_socket_add(struct bench_writer_socket *socket, struct bench_writer *writer)
{
    writer->socket = &socket->socket;
    list_append(&socket->writers, &writer->link);
}

void bench_writer_socket_open(struct bench_writer_socket *socket)
{
    bench_socket_open(&socket->socket);
}
