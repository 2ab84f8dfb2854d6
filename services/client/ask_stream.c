/* SPDX-License-Identifier: MIT
 * ask_stream.c - the events of a node that answers: their texts are put together, and printed as
 * far as they continue with what is printed. A stream that breaks off is asked for again after the
 * id of its last event, from any node.
 *
 * What comes is bounded: an event by EVENT_MAX_BYTES, an answer by TEXT_MAX_BYTES, one connection
 * by STREAM_MAX_BYTES; and a stream in which nothing has come for SILENCE_MS is taken for lost,
 * because nodes send a comment every 15 seconds. */
#include "services/client/ask.h"

#include <stdio.h>

enum {
    EVENT_MAX_BYTES = 32 << 20, /* an answer and its thoughts of 4 MiB, with escapes */
    TEXT_MAX_BYTES = 8 << 20,
    STREAM_MAX_BYTES = 128 << 20,
    SILENCE_MS = 60000,
    REASON_BYTES = 200
};

void ask_stream_init(struct ask *x)
{
    sse_init(&x->sse, EVENT_MAX_BYTES);
    buf_init(&x->text, TEXT_MAX_BYTES);
    buf_init(&x->printed, TEXT_MAX_BYTES);
}

void ask_stream_fini(struct ask *x)
{
    sse_fini(&x->sse);
    buf_fini(&x->text);
    buf_fini(&x->printed);
    json_decref(x->end);
}

/* --- events ----------------------------------------------------------------------------------- */

static void show_place(struct ask *x, const json_t *data)
{
    if (x->printed.n > 0)
        return; /* a line of progress would be drawn over the answer */
    const json_t *position = json_object_get(data, "Position");
    const json_t *eta = json_object_get(data, "EtaSeconds");
    if (json_is_integer(eta))
        status_line_show(&x->calls.progress, "waiting: %lld before it, about %lld s",
                         (long long)json_integer_value(position),
                         (long long)json_integer_value(eta));
    else
        status_line_show(&x->calls.progress, "waiting: %lld before it",
                         (long long)json_integer_value(position));
}

static void take_text(struct ask *x, struct str type, struct str text)
{
    if (str_eq(type, STR("think"))) {
        ask_print_think(x, text);
        return;
    }
    if (str_eq(type, STR("reset")))
        buf_clear(&x->text);
    buf_put(&x->text, text);
    ask_print_text(x);
}

/* Takes over `data`. */
static void take_end(struct ask *x, bool is_done, json_t *data)
{
    x->is_done = is_done;
    x->end = data;
}

static bool on_event(void *context, struct str type, struct str bytes)
{
    struct ask *x = context;
    char reason[REASON_BYTES];
    json_t *data = NULL;
    if (!json_parse(bytes, reason, sizeof reason, &data) || !json_is_object(data)) {
        json_decref(data);
        return false;
    }
    bool is_done = str_eq(type, STR("done")), is_error = str_eq(type, STR("error"));
    struct str text = json_member_str(data, "text");
    if (str_eq(type, STR("restart")))
        buf_clear(&x->text);
    else if (str_eq(type, STR("queue")))
        show_place(x, data);
    else if (text.at != NULL)
        take_text(x, type, text);
    x->progress += x->sse.id.n > 0;
    if (is_done || is_error)
        take_end(x, is_done, data);
    else
        json_decref(data);
    return x->end == NULL && !x->text.is_over && !x->is_unwritable;
}

/* --- the stream ------------------------------------------------------------------------------- */

static bool begin(void *context)
{
    struct ask *x = context;
    sse_begin_again(&x->sse);
    if (x->sse.id.n > 0)
        snprintf(x->resume, sizeof x->resume, "Last-Event-ID: %.*s", STR_ARG(buf_str(&x->sse.id)));
    x->headers[0] = "Accept: text/event-stream";
    x->headers[1] = x->sse.id.n > 0 ? x->resume : NULL;
    x->headers[2] = NULL;
    return true;
}

static bool on_body(void *context, struct str bytes)
{
    struct ask *x = context;
    return sse_feed(&x->sse, bytes, on_event, x);
}

static bool is_whole(void *context)
{
    const struct ask *x = context;
    return x->end != NULL || x->is_unwritable;
}

static uint64_t progress(void *context)
{
    const struct ask *x = context;
    return x->progress;
}

bool ask_stream_follow(struct ask *x, struct node_call *call)
{
    const struct node_stream stream = {.cut_off = "the stream has ended too early",
                                       .begin = begin,
                                       .on_body = on_body,
                                       .is_whole = is_whole,
                                       .progress = progress,
                                       .context = x};
    call->stream = &stream;
    call->headers = x->headers;
    call->max_bytes = STREAM_MAX_BYTES;
    call->attempt_ms = SILENCE_MS;
    bool is_good = node_calls_ask(&x->calls, call, NULL);
    call->stream = NULL;
    return is_good;
}

/* --- its end ---------------------------------------------------------------------------------- */

/* The texts of a list, an empty line between them, as nodes stream them. */
static void put_texts(struct buf *b, const json_t *texts)
{
    size_t i;
    json_t *text;
    if (json_is_string(texts))
        buf_put(b, json_str(texts));
    json_array_foreach(texts, i, text)
    {
        if (i > 0)
            buf_lit(b, "\n\n");
        if (json_is_string(text))
            buf_put(b, json_str(text));
    }
}

static void print_end(struct ask *x)
{
    struct buf answer;
    bool is_queue = x->door == ASK_QUEUE;
    buf_init(&answer, TEXT_MAX_BYTES);
    put_texts(&answer, json_object_get(x->end, is_queue ? "Answer" : "answer"));
    ask_print_answer(x, buf_str(&answer));
    buf_fini(&answer);
    if (!is_queue)
        ask_print_sources(x,
                          json_object_get(x->end, x->door == ASK_PUBLIC ? "sources" : "citations"));
}

/* Reports an `error` event: a question that is Failed or Cancelled, or what the plain route
 * answers. */
static int complain_end(struct ask *x)
{
    struct str status = json_member_str(x->end, "Status");
    struct str reason = json_member_str(x->end, "Reason");
    struct str detail = json_member_str(x->end, "detail");
    if (str_eq(status, STR("Cancelled"))) {
        ask_complain(x, "the question was cancelled", reason.at == NULL ? STR("") : reason);
        return ASK_CANCELLED;
    }
    if (json_is_integer(json_object_get(x->end, "status"))) {
        ask_complain(x, "there is no answer", detail.at == NULL ? STR("") : detail);
        return ASK_REFUSED;
    }
    ask_complain(x, "the question has failed",
                 reason.at != NULL   ? reason
                 : detail.at != NULL ? detail
                                     : STR(""));
    return ASK_FAILED;
}

int ask_stream_end(struct ask *x)
{
    if (x->end != NULL && x->is_json)
        ask_print_json(x, x->end);
    else if (x->is_done)
        print_end(x);
    if (x->is_unwritable) {
        ask_complain(x, "the answer cannot be written to standard output", STR(""));
        return ASK_BROKEN;
    }
    return x->is_done ? ASK_ANSWERED : complain_end(x);
}
