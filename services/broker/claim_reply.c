/* SPDX-License-Identifier: MIT
 * claim_reply.c - a claim as engines see it, and whether it got there. */
#include "services/broker/broker.h"

#include "generated/verbs.h"
#include "shared/base/clock.h"
#include "shared/http/wire/connection.h"
#include "shared/queue/delta.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_USUAL = 8 }; /* of a claim: so many are read without memory of their own */

struct claim_row {
    struct str seq;
    struct query_row row;
};

/* Returns the model under which the engine serves it: one that it did not name is `default` to it
 * (lua/queue/fallback.lua). */
static struct str model_for(const struct claim *claim, const struct query_row *row)
{
    struct str models = claim->class_name;
    str_cut(&models, '|');
    bool is_named = str_eq(models, STR("*")) || str_is_listed(models, row->model_name);
    return is_named ? row->model : STR("\"default\"");
}

static void put_plain(struct buf *b, const struct claim *claim, const struct claim_row *rows,
                      bool is_deployed)
{
    for (unsigned i = 0; i < claim->n; i++) {
        const struct query_row *row = &rows[i].row;
        buf_put(b, i == 0 ? STR("{\"") : STR(",{\""));
        buf_put(b, rows[i].seq);
        buf_lit(b, "\":");
        if (is_deployed)
            buf_put_char(b, '[');
        buf_put(b, row->query);
        if (is_deployed) {
            buf_put_char(b, ',');
            buf_put(b, row->user);
            buf_put_char(b, ',');
            buf_put(b, model_for(claim, row));
            buf_put_char(b, ']');
        }
        buf_put_char(b, '}');
    }
}

static void put_details(struct buf *b, const struct claim *claim, const struct claim_row *rows)
{
    for (unsigned i = 0; i < claim->n; i++) {
        const struct query_row *row = &rows[i].row;
        buf_put(b, i == 0 ? STR("\"") : STR(",\""));
        buf_put(b, rows[i].seq);
        buf_lit(b, "\":{\"User\":");
        buf_put(b, row->user);
        buf_put_key(b, "Model");
        buf_put(b, model_for(claim, row));
        buf_put_key(b, "Modifiers");
        buf_put(b, row->modifiers);
        buf_put_key(b, "Timestamp");
        buf_put_json_time(b, row->created_ms);
        buf_put_key(b, "Traceparent");
        buf_put(b, row->trace.n > 0 ? row->trace : STR("null")); /* and RequestId */
        struct str api = lines_api_of(row);
        if (api.n > 0) {
            buf_put_key(b, "Api");
            buf_put_json(b, api);
        }
        struct str namespace = lines_namespace_of(row->user_name);
        if (namespace.n > 0) {
            buf_put_key(b, "Namespace");
            buf_put_json(b, namespace);
        }
        if (i + 1 < claim->n)
            buf_put_char(b, '}');
    }
}

/* Returns the line after the row of a claim of one query. */
static struct str request_line_of(const struct claim *claim)
{
    struct lines lines = claim->queries;
    if (claim->n != 1)
        return STR("");
    (void)lines_next(&lines);
    (void)lines_next_row(&lines);
    return lines_next(&lines);
}

bool claim_reply_is_long(const struct claim *claim)
{
    struct str request = request_line_of(claim);
    return request.n > 0 && request.at[0] != '"';
}

/* "<bytes> <offset>": the engine continues an answer. */
static bool has_offset(const struct claim *claim)
{
    struct str line = request_line_of(claim);
    return memchr(line.at, ' ', line.n) != NULL;
}

/* Ends Details, unless a long request is to be read. */
static void put_request(struct buf *b, const struct claim *claim, const struct delivery *delivery)
{
    if (delivery->is_of_door)
        buf_put_key(b, "Request");
    if (delivery->is_long)
        return;
    if (delivery->is_of_door)
        buf_put(b, request_line_of(claim));
    buf_lit(b, "}}");
}

void claim_reply_put(struct buf *b, struct request *r, struct claim *claim,
                     const struct claim_view *view, struct delivery *delivery)
{
    struct claim_row usual[ROWS_USUAL];
    struct claim_row *rows =
        claim->n <= ROWS_USUAL ? usual : request_alloc(r, claim->n * sizeof *rows);
    struct lines lines = claim->queries;
    for (unsigned i = 0; i < claim->n; i++) {
        rows[i].seq = lines_next(&lines);
        rows[i].row = lines_next_row(&lines);
    }
    if (claim->attempt == 1) {
        uint64_t now_ms = clock_wall_ms();
        for (unsigned i = 0; i < claim->n; i++)
            metrics_observe_ms(r->server->metrics, METRIC_HISTOGRAM_QUEUE, rows[i].row.created_ms,
                               now_ms);
    }
    delivery_note(delivery, r, claim);
    if (claim->n == 1)
        request_note_added_by(r, lines_request_id(&rows[0].row));
    if (r->about.topic.at == NULL) { /* not the answer that brought it */
        lines = claim->queries;
        r->about.topic = delivery->topic;
        r->about.seq = claim->n == 1 ? lines_next_u64(&lines) : 0;
    }
    buf_lit(b, "{\"Topic\":");
    buf_put_json_of_name(b, claim->topic);
    buf_lit(b, ",\"Queries\":[");
    put_plain(b, claim, rows, view->is_deployed);
    buf_put_char(b, ']');
    if (!view->is_detail)
        return;
    buf_put_key(b, "Lease");
    buf_put_char(b, '"');
    buf_put(b, claim->lease);
    buf_put_char(b, '"');
    buf_put_key(b, "LeaseSeconds");
    buf_put_u64(b, queue_lease_ms(broker_of(r)->queue) / 1000);
    buf_put_key(b, "Attempt");
    buf_put_u64(b, claim->attempt);
    buf_lit(b, ",\"Details\":{");
    put_details(b, claim, rows);
    delivery->is_of_door = claim->n == 1 && lines_api_of(&rows[0].row).n > 0;
    delivery->is_long = delivery->is_of_door && claim_reply_is_long(claim);
    delivery->continues = delivery->is_long && has_offset(claim);
    put_request(b, claim, delivery);
}

static char *append(char *at, struct str text)
{
    memcpy(at, text.at, text.n);
    at[text.n] = ' ';
    return at + text.n + 1;
}

/* "<holder> <topic> <attempt> <node> <Seqs>" in the request's pool. */
static struct str record_of(struct request *r, const struct claim *claim)
{
    enum { NUMBER_BYTES = 21 };
    struct str holder = claim->class_name, node = queue_node_id(broker_of(r)->queue);
    struct lines lines = claim->queries;
    char number[NUMBER_BYTES];
    int number_n = snprintf(number, sizeof number, "%" PRIu64, claim->attempt);
    holder = str_cut(&holder, '|');
    size_t most = holder.n + claim->topic.n + node.n + (claim->n + 5) * NUMBER_BYTES;
    char *text = request_alloc(r, most), *at = text;
    at = append(at, holder);
    at = append(at, claim->topic);
    at = append(at, (struct str){number, (size_t)number_n});
    at = append(at, node);
    for (unsigned i = 0; i < claim->n; i++) {
        struct str seq = lines_next(&lines);
        (void)lines_next_row(&lines);
        if (seq.n < NUMBER_BYTES)
            at = append(at, seq);
    }
    return (struct str){text, (size_t)(at - text - 1)};
}

void delivery_note(struct delivery *delivery, struct request *r, const struct claim *claim)
{
    *delivery = (struct delivery){.work = claim->work,
                                  .topic = request_copy(r, claim->topic),
                                  .lease = request_copy(r, claim->lease)};
    queue_delivering(broker_of(r)->queue, claim->work, claim->topic, claim->lease,
                     claim->work == WORK_QUERIES ? record_of(r, claim) : STR(""));
}

void claim_reply_fetch_rest(struct call_start start, struct request *r, const struct claim *claim,
                            const struct delivery *delivery)
{
    struct lines lines = claim->queries;
    if (delivery->is_long) {
        call_request(start, .topic = delivery->topic, .seq = lines_next_u64(&lines),
                     .lease = delivery->lease, .continues = delivery->continues);
        return;
    }
    struct str before = request_copy(r, lines_next(&lines));
    call_thread(start, .topic = delivery->topic, .user = STR(""), .after = STR(""),
                .before = before, .limit = NO_NUMBER, .is_whole = false);
}

static void give_back(struct delivery *delivery, struct request *r, bool sent)
{
    queue_give_back(broker_of(r)->queue, delivery->work, delivery->topic, delivery->lease, sent);
    delivery->topic.at = NULL;
}

static void put_history(struct buf *b, bool is_there, struct lines lines)
{
    bool is_first = true;
    buf_lit(b, ",\"History\":[");
    if (is_there) {
        lines_next(&lines); /* a page of the newest is all that History holds */
        while (lines_are_left(&lines)) {
            struct str seq = lines_next(&lines);
            struct outcome o = lines_next_outcome(&lines);
            if (o.answer.n == 0)
                continue;
            buf_put(b, is_first ? STR("{\"Seq\":") : STR(",{\"Seq\":"));
            is_first = false;
            buf_put(b, seq);
            buf_put_key(b, "Query");
            buf_put(b, o.row.query);
            buf_put_key(b, "Answer");
            buf_put(b, o.answer);
            buf_put_char(b, '}');
        }
    }
    buf_put_char(b, ']');
}

bool claim_reply_put_rest(struct buf *b, struct request *r, struct delivery *delivery,
                          enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    bool is_ok = error == ERR_OK && str_eq(lines_next(&lines), STR("ok"));
    if (error != ERR_OK || request_client_left(r) || (delivery->is_long && !is_ok)) {
        give_back(delivery, r, false);
        return false;
    }
    if (!delivery->is_long) {
        put_history(b, is_ok, lines);
        return true;
    }
    struct str request = lines.rest;
    const char *nul = delivery->continues ? memchr(request.at, 0, request.n) : NULL;
    size_t n = nul == NULL ? request.n : (size_t)(nul - request.at);
    buf_put(b, (struct str){request.at, n});
    if (nul != NULL)
        delta_put_continue(b, (struct str){nul + 1, request.n - n - 1});
    buf_lit(b, "}}");
    return true;
}

static void on_reset(void *queue, uint64_t connection, uint32_t stream)
{
    queue_answer_reset(queue, connection, stream);
}

static void note_delivered(struct delivery *delivery, struct request *r)
{
    struct queue *queue = broker_of(r)->queue;
    uint32_t stream;
    uint64_t connection = connection_on_reset(&r->exchange, on_reset, queue, &stream);
    queue_delivered(queue, delivery->work, delivery->topic, delivery->lease, connection, stream);
}

void claim_reply_finish(struct delivery *delivery, struct request *r)
{
    if (delivery->topic.at == NULL)
        return;
    bool is_sent = r->exchange.is_answered && r->revoked == ERR_OK;
    if (!is_sent || request_write_failed(r)) {
        give_back(delivery, r, is_sent);
        return;
    }
    if (connection_was_reset(&r->exchange))
        queue_delivery_reset(broker_of(r)->queue, delivery->work, delivery->topic, delivery->lease);
    else
        note_delivered(delivery, r);
    delivery->topic.at = NULL;
}
