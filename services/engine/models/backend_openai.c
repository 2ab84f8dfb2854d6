/* SPDX-License-Identifier: MIT
 * backend_openai.c - asks a server that speaks OpenAI's /chat/completions.
 *
 * A stream is asked for. Servers that answer with one JSON object all the same are understood, and
 * from one that refuses the request with 400 the same is asked once without a stream; if that works
 * it stays so. Text passes the filters of stream.h on its way out.
 *
 *   start --(stream)--> text, text, ... [DONE] --> done
 *     \--(400)--> start without a stream --(JSON)--> text --> done | refused | retry
 *
 * A stream that breaks off before a finish_reason or [DONE] is a failure: half an answer is none.
 */
#include "services/engine/models/backend.h"
#include "services/engine/models/openai_check.h"
#include "services/engine/models/openai_request.h"
#include "services/engine/models/stream.h"

#include "shared/base/log.h"
#include "shared/base/trace.h"
#include "shared/http/endpoint.h"
#include "shared/text/text.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    REQUEST_MAX_BYTES = 16 << 20,
    RESPONSE_MAX_BYTES = 8 << 20, /* 1 MiB of text in small chunks with much around them */
    TEXT_MAX_BYTES = 1 << 20,
    REASON_MAX_BYTES = 320,
    HEADER_MAX_BYTES = 160, /* a traceparent and a request id have at most 128 bytes */
};

struct openai {
    struct backend base;
    struct http_client *client;
    struct http_endpoint endpoint;
    struct http_endpoint list_endpoint; /* of the models */
    char *model, *models;
    uint64_t idle_timeout_s;
    bool is_plain; /* the server refuses streams */
};

struct completion {
    struct openai *server;
    const struct prompt *prompt;
    const struct completion_events *events;
    void *context;
    struct http_call *call;
    bool is_streaming, is_finished, is_enough, is_broken;
    struct sse sse;
    struct think_split split;
    struct cite_filter cite;
    struct buf think, answer, cited; /* of one piece, on its way through the filters */
    struct buf plain;                /* a response that is no stream */
    char reason[REASON_MAX_BYTES];
};

static void start_call(struct completion *completion);

static void free_completion(struct completion *completion)
{
    sse_fini(&completion->sse);
    buf_fini(&completion->think);
    buf_fini(&completion->answer);
    buf_fini(&completion->cited);
    buf_fini(&completion->plain);
    free(completion);
}

static void finish_after(struct completion *completion, enum completion_outcome outcome,
                         uint64_t retry_after_s)
{
    const struct completion_events *events = completion->events;
    void *context = completion->context;
    char reason[REASON_MAX_BYTES];
    memcpy(reason, completion->reason, sizeof reason);
    free_completion(completion);
    struct completion_end end = {.outcome = outcome,
                                 .reason = outcome == COMPLETION_DONE ? "" : reason,
                                 .retry_after_s = retry_after_s};
    events->on_done(context, &end);
}

static void finish(struct completion *completion, enum completion_outcome outcome)
{
    finish_after(completion, outcome, 0);
}

static void set_reason(struct completion *completion, const char *what, struct str more)
{
    more.n = text_floor(more, more.n < 200 ? more.n : 200);
    snprintf(completion->reason, sizeof completion->reason, "%s%s%.*s", what,
             more.n > 0 ? ": " : "", STR_ARG(more));
}

/* ---- text ---- */

/* Hands on what the filters let through; false when the owner has enough. */
static bool hand_on(struct completion *completion)
{
    struct str think = buf_str(&completion->think), answer = buf_str(&completion->cited);
    bool goes_on = (think.n == 0 && answer.n == 0) ||
                   completion->events->on_text(completion->context, think, answer);
    completion->is_enough = completion->is_enough || !goes_on;
    buf_clear(&completion->think);
    buf_clear(&completion->answer);
    buf_clear(&completion->cited);
    return goes_on;
}

static bool take_piece(struct completion *completion, const json_t *json)
{
    struct openai_piece piece = openai_read_piece(json);
    if (piece.is_error) {
        set_reason(completion, "the model server closed the connection early",
                   openai_read_error(json));
        completion->is_broken = true;
        return false;
    }
    completion->is_finished = completion->is_finished || piece.is_finished;
    buf_put(&completion->think, piece.think);
    think_feed(&completion->split, piece.answer, &completion->think, &completion->answer);
    cite_feed(&completion->cite, buf_str(&completion->answer), &completion->cited);
    return hand_on(completion);
}

/* What the filters held back, and the list of the passages that were cited. */
static void put_rest(struct completion *completion)
{
    const struct prompt *prompt = completion->prompt;
    think_finish(&completion->split, &completion->think, &completion->answer);
    cite_feed(&completion->cite, buf_str(&completion->answer), &completion->cited);
    cite_finish(&completion->cite, &completion->cited);
    bool is_first = true;
    for (size_t i = 0; i < prompt->source_n && prompt->messages == NULL; i++) {
        if (!completion->cite.is_used[i + 1])
            continue;
        if (is_first)
            buf_lit(&completion->cited, "\n\nSources:");
        buf_printf(&completion->cited, "\n[%zu] %s", i + 1, prompt->sources[i].title);
        is_first = false;
    }
    (void)hand_on(completion);
}

static bool on_event(void *context, struct str data)
{
    struct completion *completion = context;
    char reason[160];
    json_t *json;
    if (str_eq(str_trim(data), STR("[DONE]"))) {
        completion->is_finished = true;
        return true;
    }
    if (!json_parse(data, reason, sizeof reason, &json)) {
        set_reason(completion, "the model server sent an event that is not JSON", STR(""));
        completion->is_broken = true;
        return false;
    }
    bool goes_on = take_piece(completion, json);
    json_decref(json);
    return goes_on;
}

static bool on_body(void *context, struct str content_type, struct str bytes)
{
    struct completion *completion = context;
    if (!str_has_prefix(content_type, STR("text/event-stream"))) {
        buf_put(&completion->plain, bytes);
        return !completion->plain.is_over;
    }
    if (sse_feed(&completion->sse, bytes, on_event, completion))
        return true;
    if (!completion->is_enough && !completion->is_broken) {
        set_reason(completion, "the model server sent an event that is too long", STR(""));
        completion->is_broken = true;
    }
    return false;
}

/* ---- the end ---- */

/* What a status says of the next try. 401, 403 and 404 speak of this engine's settings, not of the
 * prompt: another engine may do better, and this one does when they are put right. */
static enum completion_outcome judge(int status)
{
    if (status == 400 || status == 413 || status == 422)
        return COMPLETION_REFUSED;
    return status == 401 || status == 403 || status == 404 || status == 408 || status == 429 ||
                   status >= 500
               ? COMPLETION_AWAY
               : COMPLETION_RETRY;
}

static void fail_with_status(struct completion *completion, const struct http_response *response)
{
    char what[80], reason[160];
    json_t *json = NULL;
    struct str detail = STR("");
    snprintf(what, sizeof what, "the model server returned status %d", response->status);
    /* Some servers repeat the key in their 401. */
    if (response->status != 401 && response->status != 403 &&
        json_parse(response->body, reason, sizeof reason, &json))
        detail = openai_read_error(json);
    set_reason(completion, what, detail);
    json_decref(json);
    finish_after(completion, judge(response->status), response->retry_after_s);
}

static void read_plain(struct completion *completion)
{
    char reason[160];
    json_t *json;
    if (!json_parse(buf_str(&completion->plain), reason, sizeof reason, &json)) {
        set_reason(completion, "the model server sent a response that is not JSON", STR(""));
        completion->is_broken = true;
        return;
    }
    (void)take_piece(completion, json);
    completion->is_finished = !completion->is_broken;
    json_decref(json);
}

static void on_done(void *context, const struct http_response *response)
{
    struct completion *completion = context;
    completion->call = NULL;
    if (response->outcome == HTTP_ANSWERED && response->status == 400 && completion->is_streaming &&
        !completion->server->is_plain) {
        completion->is_streaming = false;
        start_call(completion);
        return;
    }
    if (response->outcome == HTTP_ANSWERED && (response->status < 200 || response->status > 299)) {
        fail_with_status(completion, response);
        return;
    }
    if (response->outcome == HTTP_ANSWERED && completion->plain.n > 0) {
        read_plain(completion);
        completion->server->is_plain =
            completion->server->is_plain || (!completion->is_streaming && completion->is_finished);
    }
    bool is_done = completion->is_enough || (completion->is_finished && !completion->is_broken &&
                                             response->outcome != HTTP_STOPPED);
    if (is_done) {
        put_rest(completion);
        finish(completion, COMPLETION_DONE);
        return;
    }
    if (!completion->is_broken)
        set_reason(completion, "the model server is unreachable or closed the connection",
                   str_of(response->reason));
    /* One that breaks off under a prompt may do so again: that is an attempt. */
    finish(completion, response->outcome == HTTP_UNREACHABLE ? COMPLETION_AWAY : COMPLETION_RETRY);
}

static void start_call(struct completion *completion)
{
    static const struct http_events events = {.on_body = on_body, .on_done = on_done};
    struct openai *server = completion->server;
    const struct prompt *prompt = completion->prompt;
    char traceparent[HEADER_MAX_BYTES], id[HEADER_MAX_BYTES];
    const char *headers[3] = {NULL};
    size_t n = 0;
    /* They join the server's trace and its log to the requester's. */
    if (trace_is_parent(prompt->traceparent)) {
        snprintf(traceparent, sizeof traceparent, "traceparent: %.*s",
                 STR_ARG(prompt->traceparent));
        headers[n++] = traceparent;
    }
    if (prompt->request_id.n > 0) {
        snprintf(id, sizeof id, "X-Request-Id: %.*s", STR_ARG(prompt->request_id));
        headers[n++] = id;
    }
    struct buf body;
    buf_init(&body, REQUEST_MAX_BYTES);
    openai_put_request(&body, completion->prompt, server->model, completion->is_streaming);
    struct http_request request = {.headers = headers,
                                   .body = buf_str(&body),
                                   .idle_timeout_s = server->idle_timeout_s,
                                   .body_max_bytes = RESPONSE_MAX_BYTES};
    completion->call =
        http_endpoint_post(&server->endpoint, server->client, &request, &events, completion);
    buf_fini(&body);
}

static struct completion *openai_start(struct backend *backend, const struct prompt *prompt,
                                       const struct completion_events *events, void *context)
{
    struct completion *completion = calloc(1, sizeof *completion);
    if (completion == NULL)
        abort();
    *completion = (struct completion){.server = (struct openai *)backend,
                                      .prompt = prompt,
                                      .events = events,
                                      .context = context,
                                      .is_streaming = !((struct openai *)backend)->is_plain,
                                      .cite = {.source_n = prompt->source_n}};
    sse_init(&completion->sse);
    buf_init(&completion->think, TEXT_MAX_BYTES);
    buf_init(&completion->answer, TEXT_MAX_BYTES);
    buf_init(&completion->cited, TEXT_MAX_BYTES);
    buf_init(&completion->plain, RESPONSE_MAX_BYTES);
    start_call(completion);
    return completion;
}

static void openai_cancel(struct completion *completion)
{
    http_call_cancel(completion->call);
    free_completion(completion);
}

static struct backend_check *openai_check(struct backend *backend,
                                          backend_checked_callback callback, void *context)
{
    const struct openai *self = (const struct openai *)backend;
    struct openai_check_settings settings = {.client = self->client,
                                             .endpoint = &self->list_endpoint,
                                             .model = self->model,
                                             .models = self->models};
    return openai_check_start(&settings, callback, context);
}

static const char *openai_model(const struct backend *backend, const struct prompt *prompt)
{
    /* A name that was asked for is a whole JSON string: it ends with a NUL. */
    return prompt->model.n > 0 ? prompt->model.at : ((const struct openai *)backend)->model;
}

static void openai_destroy(struct backend *backend)
{
    struct openai *self = (struct openai *)backend;
    http_endpoint_fini(&self->endpoint);
    http_endpoint_fini(&self->list_endpoint);
    free(self->model);
    free(self->models);
    free(self);
}

struct backend *backend_create_openai(struct http_client *client,
                                      const struct backend_openai_settings *settings)
{
    static const struct backend_ops ops = {.start = openai_start,
                                           .cancel = openai_cancel,
                                           .check = openai_check,
                                           .check_cancel = openai_check_cancel,
                                           .model = openai_model,
                                           .destroy = openai_destroy};
    struct openai *self = calloc(1, sizeof *self);
    if (self == NULL)
        abort();
    *self = (struct openai){.base = {&ops},
                            .client = client,
                            .model = str_copy(str_of(settings->model)),
                            .models = settings->models == NULL ? NULL
                                                               : str_copy(str_of(settings->models)),
                            .idle_timeout_s = settings->idle_timeout_s};
    http_endpoint_init(&self->list_endpoint, settings->base_url, "/models", settings->key);
    http_endpoint_init(&self->endpoint, settings->base_url, "/chat/completions", settings->key);
    return &self->base;
}
