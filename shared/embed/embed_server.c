/* SPDX-License-Identifier: MIT
 * embed_server.c - see embed.h: vectors from a server, in one of two dialects that differ in a
 * path, the request and the shape of the answer (struct dialect).
 *
 * Questions are embedded on the caller's loop, one at a time and without a repeat: a person waits,
 * and search works on words alone when it fails. Folders are embedded by a thread that has nothing
 * else to do: it turns a client of its own, in batches, and tries each batch several times. */
#include "shared/embed/embed.h"

#include "shared/base/log.h"
#include "shared/base/mem.h"
#include "shared/http/client/endpoint.h"
#include "shared/http/request/error_text.h"
#include "shared/text/text.h"

#include <stdio.h>
#include <time.h>

enum {
    BATCH_TEXTS = 32,
    /* Most embedding models read 512 tokens and more; what is past this is no use to them. */
    TEXT_MAX_BYTES = 8192,
    TEXT_MIN_BYTES = 256, /* a text that is too long for the server is not cut below that */
    TRIES = 5,
    FIRST_PAUSE_MS = 500,
    PAUSE_MAX_MS = 30000,
    ANSWER_MAX_BYTES = 32 << 20,
    BATCH_TIMEOUT_MS = 120000,
    QUESTION_TIMEOUT_MS = 10000,
    TURN_MS = 200
};

struct dialect {
    const char *path;
    void (*put_options)(struct buf *b); /* members of the request beside "model" and "input" */
    bool (*read)(struct str body, size_t n, float **ret_vectors, uint32_t *ret_dimension);
};

struct server_embedder {
    struct embedder base;
    const struct dialect *dialect;
    struct http_endpoint endpoint;
    char *model;
    atomic_size_t batch_texts; /* how many texts of one request its server was found to take */
};

struct embedding {
    const struct server_embedder *embedder;
    struct http_call *call;
    embed_callback callback;
    void *context;
};

/* ---- the dialects ---- */

static void put_openai_options(struct buf *b)
{
    buf_lit(b, ",\"encoding_format\":\"float\"");
}

static void put_ollama_options(struct buf *b)
{
    buf_lit(b, ",\"truncate\":true"); /* rather than fail on a text past the model's window */
}

/* ---- a request ---- */

/* Texts as they are sent, each cut to `text_max` bytes. */
struct batch_texts {
    const struct str *at;
    size_t n, text_max;
};

static struct str cut_text(struct str text, size_t most)
{
    return (struct str){text.at, text_floor(text, most)};
}

static void put_request(struct buf *b, const struct server_embedder *self,
                        const struct batch_texts *texts)
{
    buf_lit(b, "{\"model\":");
    buf_put_json(b, str_of(self->model));
    self->dialect->put_options(b);
    buf_lit(b, ",\"input\":[");
    for (size_t i = 0; i < texts->n; i++) {
        struct str text = cut_text(texts->at[i], texts->text_max);
        if (i > 0)
            buf_put_char(b, ',');
        buf_put_json(b, text.n == 0 ? STR(" ") : text);
    }
    buf_lit(b, "]}");
}

static struct http_call *call_server(struct server_embedder *self, struct http_client *client,
                                     const struct batch_texts *texts, uint64_t timeout_ms,
                                     const struct http_events *events, void *context)
{
    struct buf body;
    buf_init(&body, SIZE_MAX / 2);
    put_request(&body, self, texts);
    struct http_request request = {
        .body = buf_str(&body), .timeout_ms = timeout_ms, .body_max_bytes = ANSWER_MAX_BYTES};
    struct http_call *call = http_endpoint_post(&self->endpoint, client, &request, events, context);
    buf_fini(&body);
    return call;
}

/* ---- a response ---- */

enum verdict {
    EMBEDDED,
    TRY_AGAIN, /* the same may work later */
    TOO_LARGE, /* less of it may work */
    HOPELESS,
};

/* Also of a response whose end did not come: JSON shows by itself whether it is whole. */
static bool is_success(const struct http_response *response)
{
    return response->status >= 200 && response->status <= 299;
}

/* Returns whether a refusal is about how much was sent. Servers that do not use 413 say so in
 * words. */
static bool is_about_size(int status, const char *said)
{
    static const char *const words[] = {"batch",    "maximum",   "max_",     "exceed",
                                        "too long", "too large", "too many", "limit"};
    if (status == 413)
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if ((status == 400 || status == 422) && strcasestr(said, words[i]) != NULL)
            return true;
    return false;
}

/* Puts what the server says, or what was wrong, into `ret_reason`. */
static void explain(const struct http_response *response, struct embed_reason *ret_reason)
{
    struct buf said;
    buf_init(&said, SIZE_MAX / 2);
    if (response->status != 401 && response->status != 403) /* some repeat the key */
        http_put_error_text(&said, response->body);
    const char *colon = said.n > 0 ? ": " : "";
    if (response->outcome != HTTP_ANSWERED)
        snprintf(ret_reason->text, sizeof ret_reason->text, "%.300s: check that its server is up",
                 response->reason);
    else if (is_success(response))
        snprintf(ret_reason->text, sizeof ret_reason->text, "the response has no vectors%s%.*s",
                 colon, STR_ARG(buf_str(&said)));
    else
        snprintf(ret_reason->text, sizeof ret_reason->text, "status %d%s%.*s", response->status,
                 colon, STR_ARG(buf_str(&said)));
    buf_fini(&said);
}

static enum verdict judge(const struct http_response *response, size_t n, const char *reason)
{
    int status = response->status;
    if (response->outcome != HTTP_ANSWERED || status == 408 || status == 429 || status >= 500)
        return TRY_AGAIN;
    /* Some servers embed one text only, however many they get. */
    if (is_about_size(status, reason) || (is_success(response) && n > 1))
        return TOO_LARGE;
    return HOPELESS;
}

/* ---- one text, on the caller's loop ---- */

static void on_question_done(void *context, const struct http_response *response)
{
    struct embedding *embedding = context;
    float *vector = NULL;
    uint32_t dimension = 0;
    struct embed_reason reason = {""};
    bool is_good = is_success(response) &&
                   embedding->embedder->dialect->read(response->body, 1, &vector, &dimension);
    if (!is_good)
        explain(response, &reason);
    embedding->callback(embedding->context, is_good ? vector : NULL, dimension, reason.text);
    free(vector);
    free(embedding);
}

static struct embedding *server_start(struct embedder *embedder, struct http_client *client,
                                      struct str text, embed_callback callback, void *context)
{
    static const struct http_events events = {.on_done = on_question_done};
    struct embedding *embedding = mem_alloc(sizeof *embedding);
    struct server_embedder *self = (struct server_embedder *)embedder;
    *embedding = (struct embedding){.embedder = self, .callback = callback, .context = context};
    struct batch_texts texts = {&text, 1, TEXT_MAX_BYTES};
    embedding->call = call_server(self, client, &texts, QUESTION_TIMEOUT_MS, &events, embedding);
    return embedding;
}

static void server_cancel(struct embedding *embedding)
{
    http_call_cancel(embedding->call);
    free(embedding);
}

/* ---- many texts, waiting ---- */

struct batch {
    const struct server_embedder *embedder;
    size_t n;
    uint64_t retry_after_s; /* 0: as the server likes */
    bool is_done;
    enum verdict verdict;
    struct embed_reason reason;
    float *vectors;
    uint32_t dimension;
};

static void on_batch_done(void *context, const struct http_response *response)
{
    struct batch *batch = context;
    batch->is_done = true;
    batch->retry_after_s = response->retry_after_s;
    if (is_success(response) && batch->embedder->dialect->read(
                                    response->body, batch->n, &batch->vectors, &batch->dimension)) {
        batch->verdict = EMBEDDED;
        return;
    }
    explain(response, &batch->reason);
    batch->verdict = judge(response, batch->n, batch->reason.text);
    log_write(LOG_WARN, "embedding failed", LOG_S("outcome", http_outcome_name(response->outcome)),
              LOG_U("status", response->status), LOG_U("texts", batch->n),
              LOG_S("reason", batch->reason.text));
}

static bool is_set(const atomic_bool *flag)
{
    return flag != NULL && atomic_load(flag);
}

/* The `i`-th pause doubles, unless the server asked for a longer one. */
static void pause_before(int i, uint64_t retry_after_s, const atomic_bool *is_stopping)
{
    uint64_t ms = (uint64_t)FIRST_PAUSE_MS << i;
    uint64_t asked_ms = retry_after_s < PAUSE_MAX_MS / 1000 ? retry_after_s * 1000 : PAUSE_MAX_MS;
    struct timespec nap = {.tv_nsec = 50 * 1000000};
    ms = asked_ms > ms ? asked_ms : ms;
    for (uint64_t slept = 0; slept < ms && !is_set(is_stopping); slept += 50)
        nanosleep(&nap, NULL);
}

/* Tries again what may work later. */
static void embed_batch(struct server_embedder *self, struct http_client *client,
                        const struct batch_texts *texts, const atomic_bool *is_stopping,
                        struct batch *batch)
{
    static const struct http_events events = {.on_done = on_batch_done};
    *batch = (struct batch){.verdict = HOPELESS};
    for (int i = 0; i < TRIES && !is_set(is_stopping); i++) {
        *batch = (struct batch){.embedder = self, .n = texts->n, .verdict = TRY_AGAIN};
        struct http_call *call = call_server(self, client, texts, BATCH_TIMEOUT_MS, &events, batch);
        while (!batch->is_done && !is_set(is_stopping))
            http_client_wait(client, TURN_MS);
        if (!batch->is_done)
            http_call_cancel(call);
        if (batch->verdict != TRY_AGAIN)
            return;
        if (i + 1 < TRIES)
            pause_before(i, batch->retry_after_s, is_stopping);
    }
}

/* Makes a batch that was too large smaller: half as many texts, or half of a single one. False if
 * it is as small as it gets. */
static bool halve(struct batch_texts *texts, size_t *most)
{
    size_t bytes = cut_text(texts->at[0], texts->text_max).n;
    if (texts->n > 1)
        *most = (texts->n + 1) / 2;
    else if (bytes > TEXT_MIN_BYTES)
        texts->text_max = bytes / 2;
    else
        return false;
    return true;
}

struct all_vectors {
    float *at;
    size_t n, done;
    uint32_t dimension;
};

static bool keep(struct all_vectors *all, struct batch *batch)
{
    if (all->at == NULL) {
        all->dimension = batch->dimension;
        all->at = mem_alloc(all->n * all->dimension * sizeof *all->at);
    }
    bool is_same = batch->dimension == all->dimension;
    if (is_same) {
        memcpy(all->at + all->done * all->dimension, batch->vectors,
               batch->n * all->dimension * sizeof *all->at);
        all->done += batch->n;
    }
    free(batch->vectors);
    return is_same;
}

static bool server_embed(struct embedder *embedder, const struct str *texts, size_t n,
                         const atomic_bool *is_stopping, float **ret_vectors,
                         uint32_t *ret_dimension, struct embed_reason *ret_reason)
{
    struct server_embedder *self = (struct server_embedder *)embedder;
    struct http_client *client = http_client_create(NULL);
    struct all_vectors all = {.n = n};
    size_t most = atomic_load(&self->batch_texts);
    struct batch_texts next = {.text_max = TEXT_MAX_BYTES};
    while (all.done < n) {
        struct batch batch;
        next.at = texts + all.done;
        next.n = n - all.done < most ? n - all.done : most;
        embed_batch(self, client, &next, is_stopping, &batch);
        if (batch.verdict == TOO_LARGE && halve(&next, &most))
            continue;
        *ret_reason = batch.reason;
        if (batch.verdict != EMBEDDED)
            break;
        if (most < atomic_load(&self->batch_texts))
            atomic_store(&self->batch_texts, most);
        next.text_max = TEXT_MAX_BYTES;
        if (!keep(&all, &batch)) {
            snprintf(ret_reason->text, sizeof ret_reason->text, "its vectors differ in dimension");
            break;
        }
    }
    http_client_destroy(client);
    if (n == 0 || all.done < n) {
        free(all.at);
        return false;
    }
    *ret_vectors = all.at;
    *ret_dimension = all.dimension;
    return true;
}

static void server_destroy(struct embedder *embedder)
{
    struct server_embedder *self = (struct server_embedder *)embedder;
    http_endpoint_fini(&self->endpoint);
    free(self->model);
    free(self);
}

static struct embedder *create(const struct embed_server_settings *settings,
                               const struct dialect *dialect)
{
    static const struct embedder_ops ops = {.start = server_start,
                                            .cancel = server_cancel,
                                            .embed = server_embed,
                                            .destroy = server_destroy};
    struct server_embedder *self = mem_zeroed(sizeof *self);
    self->model = str_copy(str_of(settings->model));
    http_endpoint_init(&self->endpoint, settings->base_url, dialect->path, settings->key);
    self->dialect = dialect;
    atomic_init(&self->batch_texts, BATCH_TEXTS);
    self->base = (struct embedder){.ops = &ops, .name = self->model};
    return &self->base;
}

struct embedder *embed_create_openai(const struct embed_server_settings *settings)
{
    static const struct dialect openai = {
        .path = "/embeddings", .put_options = put_openai_options, .read = embed_read_openai};
    return create(settings, &openai);
}

struct embedder *embed_create_ollama(const struct embed_server_settings *settings)
{
    static const struct dialect ollama = {
        .path = "/api/embed", .put_options = put_ollama_options, .read = embed_read_ollama};
    return create(settings, &ollama);
}
