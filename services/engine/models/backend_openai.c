/* SPDX-License-Identifier: MIT
 * backend_openai.c - asks a server that speaks OpenAI's protocol.
 *
 * A stream is asked for. Servers that answer with one JSON object all the same are understood, and
 * from one that refuses a stream the same is asked once without one; if that works it stays so. The
 * counts of tokens, which are asked for on behalf of clients of a door, are likewise.
 * What comes is read by openai_reply.h; its text passes the filters of stream.h.
 *
 *   start --(stream)--> text, text, ... [DONE], or a finish_reason and the end --> done
 *     \--(no streams)--> start without a stream --(JSON)--> text --> done | refused | retry
 *
 * The request of a client of a door is passed on as it came, and what comes back is handed on as
 * deltas (openai_delta.h) as well. */
#include "services/engine/models/openai_check.h"
#include "services/engine/models/openai_internal.h"
#include "services/engine/models/openai_judge.h"
#include "services/engine/models/openai_request.h"

#include "shared/base/clock.h"
#include "shared/base/mem.h"
#include "shared/base/trace.h"

#include <openssl/crypto.h>
#include <stdio.h>

enum {
    REQUEST_MAX_BYTES = 16 << 20,
    RESPONSE_MAX_BYTES = 8 << 20, /* 1 MiB of text in small chunks with much around them */
    PASSED_MAX_BYTES = 64 << 20,  /* 8 MiB of deltas, likewise */
    /* How many times the idle timeout a server may send bytes that say nothing. */
    EMPTY_FACTOR = 4,
    TEXT_MAX_BYTES = 1 << 20,
    MODELS_MAX_BYTES = 256, /* that polls name, as nodes take them */
    HEADER_MAX_BYTES = 160, /* a traceparent and a request id have at most 128 bytes */
    /* After a finish_reason come at most counts of tokens and [DONE], and after an object nothing:
     * servers that keep the connection open are not waited for. */
    LAST_WAIT_MS = 1000,
};

static void start_call(struct completion *completion);

/* Returns whether the same may work with a wish less: the server says so, or not what it refuses.
 */
static bool give_up_wish(struct completion *completion, const struct http_response *response)
{
    const struct openai_wishes *granted = &completion->server->granted;
    struct openai_wishes *wishes = &completion->wishes;
    int status = response->status;
    struct str body = response->body;
    bool is_counting = wishes->usage && !granted->usage,
         is_streaming = wishes->stream && !granted->stream;
    if (is_counting && (openai_is_refusing(status, body, "stream_options") ||
                        openai_is_refusing(status, body, "include_usage"))) {
        wishes->usage = false;
        return true;
    }
    if (is_streaming && (openai_is_refusing(status, body, "stream") ||
                         openai_is_refusing(status, body, "Stream"))) {
        *wishes = (struct openai_wishes){.stream = false};
        return true;
    }
    return false;
}

static void on_waited(void *context)
{
    struct completion *completion = context;
    struct openai_reply *reply = &completion->reply;
    reply_finish(reply, false);
    if (!openai_is_whole(completion) && !reply->is_broken && !completion->is_full)
        return; /* an object that continues */
    http_call_cancel(completion->call);
    completion->call = NULL;
    openai_conclude(completion, NULL);
}

/* Comments keep a connection alive, but not forever. */
static bool note_speech(struct completion *completion, bool has_spoken)
{
    uint64_t now_ms = clock_mono_ms();
    if (has_spoken)
        completion->spoken_ms = now_ms;
    completion->is_empty =
        now_ms - completion->spoken_ms > EMPTY_FACTOR * 1000 * completion->server->idle_timeout_s;
    return !completion->is_empty;
}

static bool on_body(void *context, struct str content_type, struct str bytes)
{
    struct completion *completion = context;
    struct openai_reply *reply = &completion->reply;
    struct openai_wishes *granted = &completion->server->granted;
    uint64_t chunk_n = reply->chunk_n;
    (void)content_type;
    bool goes_on = reply_feed(reply, bytes);
    if (reply->form == REPLY_EVENTS) {
        granted->stream = true;
        granted->usage |= completion->wishes.usage;
    }
    bool is_alone =
        !openai_is_passed(completion) || completion->is_for_one || reply->form == REPLY_OBJECT;
    if (goes_on && is_alone && reply_may_be_whole(reply))
        timer_set(completion->server->timers, &completion->timer, LAST_WAIT_MS);
    return goes_on &&
           note_speech(completion, reply->chunk_n > chunk_n || reply->form == REPLY_OBJECT);
}

/* The server will refuse it again. */
static void note_refused(struct completion *completion)
{
    struct openai_wishes *refused = &completion->server->refused;
    if (!completion->reply.has_choice)
        return;
    refused->stream |= !completion->wishes.stream;
    refused->usage |= openai_is_passed(completion) && !openai_is_of_messages(completion) &&
                      completion->wishes.stream && !completion->wishes.usage;
}

static void on_done(void *context, const struct http_response *response)
{
    struct completion *completion = context;
    bool is_answered = response->outcome == HTTP_ANSWERED;
    completion->call = NULL;
    timer_stop(&completion->timer);
    if (is_answered && give_up_wish(completion, response)) {
        start_call(completion);
        return;
    }
    if (is_answered && (response->status < 200 || response->status > 299)) {
        openai_fail_with_status(completion, response);
        return;
    }
    if (response->outcome == HTTP_UNREACHABLE) {
        openai_set_reason(completion, "the model server is unreachable", str_of(response->reason));
        openai_finish(completion, COMPLETION_AWAY);
        return;
    }
    if (is_answered && completion->prompt->api == API_EMBEDDINGS) {
        openai_conclude_embeddings(completion, response->body);
        return;
    }
    reply_finish(&completion->reply, is_answered);
    note_refused(completion);
    completion->is_full |= response->outcome == HTTP_TOO_LARGE && openai_is_passed(completion);
    /* One that breaks off under a prompt may do so again: that is an attempt. */
    openai_conclude(completion, is_answered ? NULL : response->reason);
}

static bool put_body(struct completion *completion, struct buf *body)
{
    const struct prompt *prompt = completion->prompt;
    const char *model = completion->server->model, *reason;
    if (prompt->api == API_NONE) {
        openai_put_request(body, prompt, model, completion->wishes.stream);
        return true;
    }
    if (openai_put_pass(body, prompt, model, completion->wishes, &reason)) {
        completion->is_for_one = openai_wants_one(prompt);
        if (completion->is_for_one)
            completion->maker.choice_max = 1;
        return true;
    }
    openai_set_reason(completion, reason, STR(""));
    return false;
}

static void on_unsendable(void *context)
{
    openai_refuse(context, 400, NULL);
}

static void start_call(struct completion *completion)
{
    static const struct http_events of_texts = {.on_body = on_body, .on_done = on_done};
    static const struct http_events of_embeddings = {.on_done = on_done};
    struct openai *server = completion->server;
    const struct prompt *prompt = completion->prompt;
    char traceparent[HEADER_MAX_BYTES], id[HEADER_MAX_BYTES];
    const char *headers[5] = {NULL};
    size_t n = 0;
    struct buf body;
    buf_init(&body, REQUEST_MAX_BYTES);
    if (!put_body(completion, &body)) {
        buf_fini(&body);
        completion->timer.fire = on_unsendable;
        timer_set(server->timers, &completion->timer, 0);
        return;
    }
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
    if (openai_is_of_messages(completion)) {
        headers[n++] = "anthropic-version: 2023-06-01";
        if (server->key_header != NULL)
            headers[n++] = server->key_header;
    }
    struct http_request request = {
        .headers = headers,
        .body = buf_str(&body),
        .idle_timeout_s = server->idle_timeout_s,
        .body_max_bytes = openai_is_passed(completion) ? PASSED_MAX_BYTES : RESPONSE_MAX_BYTES};
    completion->spoken_ms = clock_mono_ms();
    completion->call =
        http_endpoint_post(&server->endpoints[prompt->api], server->client, &request,
                           prompt->api == API_EMBEDDINGS ? &of_embeddings : &of_texts, completion);
    buf_fini(&body);
}

static const char *openai_models(const struct backend *backend)
{
    const struct openai *self = (const struct openai *)backend;
    if (self->own != NULL)
        return self->own;
    return self->found.n > 0 ? self->found.at : "";
}

static struct completion *openai_start(struct backend *backend, const struct prompt *prompt,
                                       const struct completion_events *events, void *context)
{
    struct openai *server = (struct openai *)backend;
    bool is_passing = prompt->api != API_NONE, is_text = prompt->api != API_EMBEDDINGS;
    struct completion *completion = mem_zeroed(sizeof *completion);
    *completion = (struct completion){
        .server = server,
        .prompt = prompt,
        .events = events,
        .context = context,
        .wishes = {.stream = is_text && !server->refused.stream,
                   .usage = is_passing && is_text && prompt->api != API_MESSAGES &&
                            !server->refused.stream && !server->refused.usage},
        .timer = {.fire = on_waited, .context = completion},
        .cite = {.source_n = prompt->source_n}};
    if (server->model == NULL) {
        struct str names = str_of(openai_models(backend));
        server->model = str_copy(str_trim(str_cut(&names, ',')));
    }
    reply_init(&completion->reply, openai_on_text, is_passing ? openai_on_chunk : NULL, completion);
    completion->reply.is_of_messages = prompt->api == API_MESSAGES;
    messages_maker_init(&completion->messages, openai_on_delta, completion);
    delta_maker_init(&completion->maker, prompt->api, openai_on_delta, completion);
    buf_init(&completion->think, TEXT_MAX_BYTES);
    buf_init(&completion->answer, TEXT_MAX_BYTES);
    buf_init(&completion->cited, TEXT_MAX_BYTES);
    start_call(completion);
    return completion;
}

static void openai_cancel(struct completion *completion)
{
    http_call_cancel(completion->call);
    openai_free(completion);
}

static struct backend_check *openai_check(struct backend *backend,
                                          backend_checked_callback callback, void *context)
{
    struct openai *self = (struct openai *)backend;
    struct openai_check_settings settings = {.client = self->client,
                                             .endpoint = &self->list_endpoint,
                                             .model = self->own,
                                             .models = self->models,
                                             .found = &self->found};
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
    for (size_t api = 0; api < API_NR; api++)
        http_endpoint_fini(&self->endpoints[api]);
    http_endpoint_fini(&self->list_endpoint);
    buf_fini(&self->found);
    free(self->model);
    if (self->key_header != NULL)
        OPENSSL_cleanse(self->key_header, strlen(self->key_header));
    free(self->key_header);
    free(self->own);
    free(self->models);
    free(self);
}

static char *copy_text(const char *text)
{
    return text == NULL ? NULL : str_copy(str_of(text));
}

struct backend *backend_create_openai(struct timers *timers, struct http_client *client,
                                      const struct backend_openai_settings *settings)
{
    static const char *const paths[API_NR] = {[API_NONE] = "/chat/completions",
                                              [API_CHAT] = "/chat/completions",
                                              [API_COMPLETIONS] = "/completions",
                                              [API_EMBEDDINGS] = "/embeddings",
                                              [API_MESSAGES] = "/messages"};
    static const struct backend_ops ops = {.start = openai_start,
                                           .cancel = openai_cancel,
                                           .check = openai_check,
                                           .check_cancel = openai_check_cancel,
                                           .model = openai_model,
                                           .models = openai_models,
                                           .destroy = openai_destroy,
                                           .is_passing = true};
    struct openai *self = mem_zeroed(sizeof *self);
    const char *list_url =
        settings->base_url != NULL ? settings->base_url : settings->embeddings_url;
    const char *list_key = settings->base_url != NULL ? settings->key : settings->embeddings_key;
    struct str names = str_of(settings->model);
    *self = (struct openai){.base = {&ops},
                            .timers = timers,
                            .client = client,
                            .models = copy_text(settings->models),
                            .own = copy_text(settings->model),
                            .idle_timeout_s = settings->idle_timeout_s};
    if (settings->key != NULL && asprintf(&self->key_header, "x-api-key: %s", settings->key) < 0)
        abort();
    if (settings->model != NULL)
        self->model = str_copy(str_trim(str_cut(&names, ',')));
    buf_init(&self->found, MODELS_MAX_BYTES);
    http_endpoint_init(&self->list_endpoint, list_url, "/models", list_key);
    for (size_t api = 0; api < API_NR; api++)
        if (api != API_EMBEDDINGS && settings->base_url != NULL)
            http_endpoint_init(&self->endpoints[api], settings->base_url, paths[api],
                               settings->key);
    if (settings->embeddings_url != NULL)
        http_endpoint_init(&self->endpoints[API_EMBEDDINGS], settings->embeddings_url,
                           paths[API_EMBEDDINGS], settings->embeddings_key);
    return &self->base;
}
