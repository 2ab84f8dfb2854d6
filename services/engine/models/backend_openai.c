/* SPDX-License-Identifier: MIT
 * backend_openai.c - asks a server that speaks OpenAI's /chat/completions.
 *
 * A stream is asked for. Servers that answer with one JSON object all the same are understood, and
 * from one that refuses a stream the same is asked once without one; if that works it stays so.
 * What comes is read by openai_reply.h; its text passes the filters of stream.h.
 *
 *   start --(stream)--> text, text, ... [DONE], or a finish_reason and the end --> done
 *     \--(no streams)--> start without a stream --(JSON)--> text --> done | refused | retry
 *
 * Half an answer is none: what ends without a finish_reason or [DONE] is a failure. A server that
 * has ended its text without any of it will do so again: that refuses the prompt, unless it gave
 * no reason. */
#include "services/engine/models/backend.h"
#include "services/engine/models/openai_check.h"
#include "services/engine/models/openai_piece.h"
#include "services/engine/models/openai_reply.h"
#include "services/engine/models/openai_request.h"

#include "shared/base/log.h"
#include "shared/base/mem.h"
#include "shared/base/trace.h"
#include "shared/http/client/endpoint.h"
#include "shared/http/request/error_text.h"

#include <stdio.h>

enum {
    REQUEST_MAX_BYTES = 16 << 20,
    RESPONSE_MAX_BYTES = 8 << 20, /* 1 MiB of text in small chunks with much around them */
    TEXT_MAX_BYTES = 1 << 20,
    REASON_MAX_BYTES = REPLY_REASON_MAX_BYTES,
    HEADER_MAX_BYTES = 160, /* a traceparent and a request id have at most 128 bytes */
    /* After a finish_reason come at most counts of tokens and [DONE], and after an object nothing:
     * servers that keep the connection open are not waited for. */
    LAST_WAIT_MS = 1000,
};

struct openai {
    struct backend base;
    struct timers *timers;
    struct http_client *client;
    struct http_endpoint endpoint;
    struct http_endpoint list_endpoint; /* of the models */
    char *model, *models;
    uint64_t idle_timeout_s;
    bool is_plain;     /* the server refuses streams */
    bool has_streamed; /* it does not */
};

struct completion {
    struct openai *server;
    const struct prompt *prompt;
    const struct completion_events *events;
    void *context;
    struct http_call *call;
    struct timer timer; /* of LAST_WAIT_MS */
    bool is_streaming, is_enough, has_thoughts, has_answer;
    struct openai_reply reply;
    struct think_split split;
    struct cite_filter cite;
    struct buf think, answer, cited; /* of one piece, on its way through the filters */
    char reason[REASON_MAX_BYTES];
};

static void start_call(struct completion *completion);

static void free_completion(struct completion *completion)
{
    timer_stop(&completion->timer);
    reply_fini(&completion->reply);
    buf_fini(&completion->think);
    buf_fini(&completion->answer);
    buf_fini(&completion->cited);
    free(completion);
}

static void finish_after(struct completion *completion, enum completion_outcome outcome,
                         uint64_t retry_after_s)
{
    const struct completion_events *events = completion->events;
    const struct openai_reply *reply = &completion->reply;
    void *context = completion->context;
    char reason[REASON_MAX_BYTES];
    struct completion_end end = {.outcome = outcome,
                                 .reason = outcome == COMPLETION_DONE ? "" : reason,
                                 .retry_after_s = retry_after_s,
                                 .facts = {.has_usage = reply->has_usage,
                                           .prompt_tokens = reply->prompt_tokens,
                                           .completion_tokens = reply->completion_tokens}};
    snprintf(end.facts.finish, sizeof end.facts.finish, "%s",
             completion->is_enough ? "length" : reply->finish);
    memcpy(reason, completion->reason, sizeof reason);
    free_completion(completion);
    events->on_done(context, &end);
}

static void finish(struct completion *completion, enum completion_outcome outcome)
{
    finish_after(completion, outcome, 0);
}

static void set_reason(struct completion *completion, const char *what, struct str more)
{
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
    completion->has_thoughts = completion->has_thoughts || think.n > 0;
    completion->has_answer = completion->has_answer || answer.n > 0;
    completion->is_enough = completion->is_enough || !goes_on;
    buf_clear(&completion->think);
    buf_clear(&completion->answer);
    buf_clear(&completion->cited);
    return goes_on;
}

static bool on_text(void *context, struct str think, struct str answer)
{
    struct completion *completion = context;
    buf_put(&completion->think, think);
    think_feed(&completion->split, answer, &completion->think, &completion->answer);
    cite_feed(&completion->cite, buf_str(&completion->answer), &completion->cited);
    return hand_on(completion);
}

/* Puts what the filters held back, and the list of the passages that were cited. */
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

/* ---- the end ---- */

/* Judges by a status what the next try may do. Some speak of this engine's settings, not of the
 * prompt: another engine may do better, and this one does when they are put right. */
static enum completion_outcome judge(int status, bool is_about_prompt)
{
    static const int of_prompts[] = {400, 413, 415, 422, 451};
    static const int of_settings[] = {401, 402, 403, 404, 405, 407, 408, 429};
    for (size_t i = 0; i < sizeof of_prompts / sizeof *of_prompts; i++)
        if (is_about_prompt || status == of_prompts[i])
            return COMPLETION_REFUSED;
    for (size_t i = 0; i < sizeof of_settings / sizeof *of_settings; i++)
        if (status == of_settings[i])
            return COMPLETION_AWAY;
    return status < 400 || status >= 500 ? COMPLETION_AWAY : COMPLETION_RETRY;
}

static void fail_with_status(struct completion *completion, const struct http_response *response)
{
    char what[80], reason[160];
    json_t *json = NULL;
    struct buf detail;
    bool is_about_prompt =
        json_parse(response->body, reason, sizeof reason, &json) && openai_is_about_prompt(json);
    json_decref(json);
    buf_init(&detail, SIZE_MAX / 2);
    snprintf(what, sizeof what, "the model server returned status %d", response->status);
    /* Some servers repeat the key in their 401. */
    if (response->status != 401 && response->status != 403)
        http_put_error_text(&detail, response->body);
    set_reason(completion, what, buf_str(&detail));
    buf_fini(&detail);
    finish_after(completion, judge(response->status, is_about_prompt), response->retry_after_s);
}

/* Returns whether the same may work without a stream: the server says so, or not what it refuses.
 */
static bool is_refusing_stream(const struct completion *completion,
                               const struct http_response *response)
{
    struct str body = response->body;
    struct buf detail;
    if (!completion->is_streaming || completion->server->has_streamed ||
        (response->status != 400 && response->status != 422))
        return false;
    buf_init(&detail, SIZE_MAX / 2);
    http_put_error_text(&detail, body);
    bool is_it = detail.n == 0 || str_holds(body, STR("stream")) || str_holds(body, STR("Stream"));
    buf_fini(&detail);
    return is_it;
}

/* The server has ended its answer, of which there is none. */
static enum completion_outcome judge_silence(struct completion *completion)
{
    const struct openai_reply *reply = &completion->reply;
    const char *word = reply->finish;
    if (reply->refusal.n > 0) {
        struct buf line;
        buf_init(&line, SIZE_MAX / 2);
        http_put_one_line(&line, buf_str(&reply->refusal));
        set_reason(completion, "the model refused to answer (refusal)", buf_str(&line));
        buf_fini(&line);
        return COMPLETION_REFUSED;
    }
    bool is_plain_stop = word[0] == 0 || strcmp(word, "stop") == 0;
    if (reply->has_tools && is_plain_stop)
        word = "tool_calls";
    set_reason(completion, "the model returned no text", str_of(word));
    bool is_reasonless = is_plain_stop && !reply->has_tools && !completion->has_thoughts;
    return is_reasonless ? COMPLETION_RETRY : COMPLETION_REFUSED;
}

/* The whole body was read, or as much of it as counts. `lost`: why the rest did not come. */
static void conclude(struct completion *completion, const char *lost)
{
    struct openai_reply *reply = &completion->reply;
    if (completion->is_enough) {
        finish(completion, COMPLETION_DONE);
        return;
    }
    if (!reply_is_whole(reply)) {
        if (reply->is_broken)
            set_reason(completion, reply->reason, STR(""));
        else if (lost != NULL)
            set_reason(completion, "the answer of the model server broke off", str_of(lost));
        else
            set_reason(completion, "the model server ended the answer without a finish_reason",
                       STR(""));
        finish(completion, reply->is_hopeless ? COMPLETION_REFUSED : COMPLETION_RETRY);
        return;
    }
    if (openai_is_failure(str_of(reply->finish))) {
        set_reason(completion, "the model server gave up", str_of(reply->finish));
        finish(completion, COMPLETION_RETRY);
        return;
    }
    put_rest(completion);
    finish(completion, completion->has_answer ? COMPLETION_DONE : judge_silence(completion));
}

static void on_waited(void *context)
{
    struct completion *completion = context;
    struct openai_reply *reply = &completion->reply;
    reply_finish(reply, false);
    if (!reply_is_whole(reply) && !reply->is_broken)
        return; /* an object that continues */
    http_call_cancel(completion->call);
    completion->call = NULL;
    conclude(completion, NULL);
}

static bool on_body(void *context, struct str content_type, struct str bytes)
{
    struct completion *completion = context;
    struct openai_reply *reply = &completion->reply;
    bool goes_on = reply_feed(reply, bytes);
    completion->server->has_streamed |= reply->form == REPLY_EVENTS;
    if (goes_on && reply_may_be_whole(reply))
        timer_set(completion->server->timers, &completion->timer, LAST_WAIT_MS);
    return goes_on;
}

static void on_done(void *context, const struct http_response *response)
{
    struct completion *completion = context;
    bool is_answered = response->outcome == HTTP_ANSWERED;
    completion->call = NULL;
    timer_stop(&completion->timer);
    if (is_answered && is_refusing_stream(completion, response)) {
        completion->is_streaming = false;
        start_call(completion);
        return;
    }
    if (is_answered && (response->status < 200 || response->status > 299)) {
        fail_with_status(completion, response);
        return;
    }
    if (response->outcome == HTTP_UNREACHABLE) {
        set_reason(completion, "the model server is unreachable", str_of(response->reason));
        finish(completion, COMPLETION_AWAY);
        return;
    }
    reply_finish(&completion->reply, is_answered);
    completion->server->is_plain |= !completion->is_streaming && completion->reply.has_choice;
    /* One that breaks off under a prompt may do so again: that is an attempt. */
    conclude(completion, is_answered ? NULL : response->reason);
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
    struct completion *completion = mem_zeroed(sizeof *completion);
    *completion = (struct completion){.server = (struct openai *)backend,
                                      .prompt = prompt,
                                      .events = events,
                                      .context = context,
                                      .is_streaming = !((struct openai *)backend)->is_plain,
                                      .timer = {.fire = on_waited, .context = completion},
                                      .cite = {.source_n = prompt->source_n}};
    reply_init(&completion->reply, on_text, completion);
    buf_init(&completion->think, TEXT_MAX_BYTES);
    buf_init(&completion->answer, TEXT_MAX_BYTES);
    buf_init(&completion->cited, TEXT_MAX_BYTES);
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

struct backend *backend_create_openai(struct timers *timers, struct http_client *client,
                                      const struct backend_openai_settings *settings)
{
    static const struct backend_ops ops = {.start = openai_start,
                                           .cancel = openai_cancel,
                                           .check = openai_check,
                                           .check_cancel = openai_check_cancel,
                                           .model = openai_model,
                                           .destroy = openai_destroy};
    struct openai *self = mem_zeroed(sizeof *self);
    *self = (struct openai){.base = {&ops},
                            .timers = timers,
                            .client = client,
                            .model = str_copy(str_of(settings->model)),
                            .models = settings->models == NULL ? NULL
                                                               : str_copy(str_of(settings->models)),
                            .idle_timeout_s = settings->idle_timeout_s};
    http_endpoint_init(&self->list_endpoint, settings->base_url, "/models", settings->key);
    http_endpoint_init(&self->endpoint, settings->base_url, "/chat/completions", settings->key);
    return &self->base;
}
