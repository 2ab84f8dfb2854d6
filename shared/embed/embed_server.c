/* SPDX-License-Identifier: MIT
 * embed_server.c - see embed.h: vectors from a server, in one of two dialects that differ in a
 * path, the request and the shape of the answer (struct dialect).
 *
 * Questions are embedded on the caller's loop, one at a time and without a repeat: a person waits,
 * and search works on words alone when it fails. Folders are embedded by a thread that has nothing
 * else to do: it turns a client of its own, in batches, and tries each batch several times. */
#include "shared/embed/embed.h"

#include "shared/base/json.h"
#include "shared/base/log.h"
#include "shared/http/endpoint.h"
#include "shared/text/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    BATCH_TEXTS = 32,
    /* Most embedding models read 512 tokens and more; what is past this is no use to them. */
    TEXT_MAX_BYTES = 8192,
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
};

struct embedding {
    const struct server_embedder *embedder;
    struct http_call *call;
    embed_callback callback;
    void *context;
};

static bool read_vector(const json_t *numbers, float *vector, uint32_t dimension)
{
    if (json_array_size(numbers) != dimension)
        return false;
    for (uint32_t i = 0; i < dimension; i++) {
        const json_t *number = json_array_get(numbers, i);
        if (!json_is_number(number))
            return false;
        vector[i] = (float)json_number_value(number);
        if (!isfinite(vector[i]))
            return false;
    }
    embed_normalise(vector, dimension);
    return true;
}

/* ---- the dialects ---- */

struct vectors {
    float *at;
    size_t n;
    uint32_t dimension;
};

static bool make_room(struct vectors *vectors, size_t n, const json_t *first)
{
    size_t dimension = json_array_size(first);
    *vectors = (struct vectors){.n = n, .dimension = (uint32_t)dimension};
    if (n == 0 || dimension == 0 || dimension > EMBED_DIMENSION_MAX)
        return false;
    vectors->at = calloc(n * dimension, sizeof *vectors->at);
    if (vectors->at == NULL)
        abort();
    return true;
}

static bool put_vector(struct vectors *vectors, size_t place, const json_t *numbers)
{
    return place < vectors->n &&
           read_vector(numbers, vectors->at + place * vectors->dimension, vectors->dimension);
}

static bool take_vectors(struct vectors *vectors, bool is_good, json_t *root, float **ret_vectors,
                         uint32_t *ret_dimension)
{
    json_decref(root);
    if (!is_good) {
        free(vectors->at);
        return false;
    }
    *ret_vectors = vectors->at;
    *ret_dimension = vectors->dimension;
    return true;
}

/* {"data":[{"index":0,"embedding":[...]}, ...]} */
bool embed_read_openai(struct str body, size_t n, float **ret_vectors, uint32_t *ret_dimension)
{
    char reason[160];
    json_t *root;
    struct vectors vectors;
    if (!json_parse(body, reason, sizeof reason, &root))
        return false;
    const json_t *data = json_object_get(root, "data");
    bool is_good = make_room(&vectors, n, json_object_get(json_array_get(data, 0), "embedding")) &&
                   json_array_size(data) == n;
    for (size_t i = 0; is_good && i < n; i++) {
        const json_t *item = json_array_get(data, i);
        const json_t *index = json_object_get(item, "index");
        /* Servers may answer out of order; `index` says what belongs to what. */
        size_t place = json_is_integer(index) ? (size_t)json_integer_value(index) : i;
        is_good = put_vector(&vectors, place, json_object_get(item, "embedding"));
    }
    return take_vectors(&vectors, is_good, root, ret_vectors, ret_dimension);
}

/* {"embeddings":[[...], ...]} */
bool embed_read_ollama(struct str body, size_t n, float **ret_vectors, uint32_t *ret_dimension)
{
    char reason[160];
    json_t *root;
    struct vectors vectors;
    if (!json_parse(body, reason, sizeof reason, &root))
        return false;
    const json_t *rows = json_object_get(root, "embeddings");
    bool is_good = make_room(&vectors, n, json_array_get(rows, 0)) && json_array_size(rows) == n;
    for (size_t i = 0; is_good && i < n; i++)
        is_good = put_vector(&vectors, i, json_array_get(rows, i));
    return take_vectors(&vectors, is_good, root, ret_vectors, ret_dimension);
}

static void put_openai_options(struct buf *b)
{
    buf_lit(b, ",\"encoding_format\":\"float\"");
}

static void put_ollama_options(struct buf *b)
{
    buf_lit(b, ",\"truncate\":true"); /* rather than fail on a text past the model's window */
}

/* ---- a request ---- */

static void put_request(struct buf *b, const struct server_embedder *self, const struct str *texts,
                        size_t n)
{
    buf_lit(b, "{\"model\":");
    buf_put_json(b, str_of(self->model));
    self->dialect->put_options(b);
    buf_lit(b, ",\"input\":[");
    for (size_t i = 0; i < n; i++) {
        struct str text = texts[i];
        text.n = text_floor(text, TEXT_MAX_BYTES);
        if (i > 0)
            buf_put_char(b, ',');
        buf_put_json(b, text.n == 0 ? STR(" ") : text);
    }
    buf_lit(b, "]}");
}

static struct http_call *call_server(struct server_embedder *self, struct http_client *client,
                                     const struct str *texts, size_t n, uint64_t timeout_ms,
                                     const struct http_events *events, void *context)
{
    struct buf body;
    buf_init(&body, SIZE_MAX / 2);
    put_request(&body, self, texts, n);
    struct http_request request = {
        .body = buf_str(&body), .timeout_ms = timeout_ms, .body_max_bytes = ANSWER_MAX_BYTES};
    struct http_call *call = http_endpoint_post(&self->endpoint, client, &request, events, context);
    buf_fini(&body);
    return call;
}

/* ---- one text, on the caller's loop ---- */

static void on_question_done(void *context, const struct http_response *response)
{
    struct embedding *embedding = context;
    float *vector = NULL;
    uint32_t dimension = 0;
    char reason[200] = "the response has no vector";
    bool is_good = response->outcome == HTTP_ANSWERED && response->status == 200 &&
                   embedding->embedder->dialect->read(response->body, 1, &vector, &dimension);
    if (response->outcome != HTTP_ANSWERED)
        snprintf(reason, sizeof reason, "%s", response->reason);
    else if (response->status != 200)
        snprintf(reason, sizeof reason, "status %d", response->status);
    embedding->callback(embedding->context, is_good ? vector : NULL, dimension,
                        is_good ? "" : reason);
    free(vector);
    free(embedding);
}

static struct embedding *server_start(struct embedder *embedder, struct http_client *client,
                                      struct str text, embed_callback callback, void *context)
{
    static const struct http_events events = {.on_done = on_question_done};
    struct embedding *embedding = malloc(sizeof *embedding);
    if (embedding == NULL)
        abort();
    struct server_embedder *self = (struct server_embedder *)embedder;
    *embedding = (struct embedding){.embedder = self, .callback = callback, .context = context};
    embedding->call = call_server(self, client, &text, 1, QUESTION_TIMEOUT_MS, &events, embedding);
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
    bool is_done, is_good, is_hopeless;
    float *vectors;
    uint32_t dimension;
};

static void on_batch_done(void *context, const struct http_response *response)
{
    struct batch *batch = context;
    batch->is_done = true;
    batch->retry_after_s = response->retry_after_s;
    batch->is_good = response->outcome == HTTP_ANSWERED && response->status == 200 &&
                     batch->embedder->dialect->read(response->body, batch->n, &batch->vectors,
                                                    &batch->dimension);
    batch->is_hopeless = response->outcome == HTTP_ANSWERED && response->status >= 400 &&
                         response->status < 500 && response->status != 408 &&
                         response->status != 429;
    if (!batch->is_good)
        log_write(LOG_WARN, "embedding failed",
                  LOG_S("outcome", http_outcome_name(response->outcome)),
                  LOG_U("status", response->status), LOG_S("reason", response->reason));
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

static bool embed_batch(struct server_embedder *self, struct http_client *client,
                        const struct str *texts, size_t n, const atomic_bool *is_stopping,
                        struct batch *batch)
{
    static const struct http_events events = {.on_done = on_batch_done};
    for (int i = 0; i < TRIES && !is_set(is_stopping); i++) {
        *batch = (struct batch){.embedder = self, .n = n};
        struct http_call *call =
            call_server(self, client, texts, n, BATCH_TIMEOUT_MS, &events, batch);
        while (!batch->is_done && !is_set(is_stopping))
            http_client_wait(client, TURN_MS);
        if (!batch->is_done)
            http_call_cancel(call);
        if (batch->is_good)
            return true;
        if (batch->is_hopeless)
            return false;
        if (i + 1 < TRIES)
            pause_before(i, batch->retry_after_s, is_stopping);
    }
    return false;
}

static bool server_embed(struct embedder *embedder, const struct str *texts, size_t n,
                         const atomic_bool *is_stopping, float **ret_vectors,
                         uint32_t *ret_dimension)
{
    struct http_client *client = http_client_create(NULL);
    float *vectors = NULL;
    uint32_t dimension = 0;
    bool is_good = n > 0;
    for (size_t done = 0; is_good && done < n;) {
        struct batch batch;
        size_t take = n - done < BATCH_TEXTS ? n - done : BATCH_TEXTS;
        is_good = embed_batch((struct server_embedder *)embedder, client, texts + done, take,
                              is_stopping, &batch);
        if (!is_good)
            break;
        if (dimension == 0) {
            dimension = batch.dimension;
            vectors = malloc(n * dimension * sizeof *vectors);
            if (vectors == NULL)
                abort();
        }
        is_good = batch.dimension == dimension;
        if (is_good)
            memcpy(vectors + done * dimension, batch.vectors, take * dimension * sizeof *vectors);
        free(batch.vectors);
        done += take;
    }
    http_client_destroy(client);
    if (!is_good) {
        free(vectors);
        return false;
    }
    *ret_vectors = vectors;
    *ret_dimension = dimension;
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
    struct server_embedder *self = calloc(1, sizeof *self);
    if (self == NULL)
        abort();
    self->model = str_copy(str_of(settings->model));
    http_endpoint_init(&self->endpoint, settings->base_url, dialect->path, settings->key);
    self->dialect = dialect;
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
