/* SPDX-License-Identifier: MIT
 * pipeline.c - see pipeline.h.
 *
 *   job_begin --> PARSE --> CHUNK --> EMBED --> STORE --> DONE
 *                   |         |         |         |
 *                   |  the text is stored already: PARSE is left out
 *                   +---------+----+----+---------+
 *                                  |
 *        ERR_FAILED  a reason for people            --> job_fail    --> FAILED
 *        ERR_DRAINING  the process stops            --> job_release --> RELEASED
 *        ERR_LEASE_LOST  deleted, or another's      --> (nothing)   --> LOST
 *        ERR_REDIS_LOST, ERR_INTERNAL               --> job_release or job_fail, if they get
 * through
 *
 * Each step is a function that returns one of these errors. What cannot be told to Redis is not
 * told: then the lease runs out, and another indexer takes the job with one attempt more. */
#include "services/indexer/pipeline.h"

#include "shared/queue/lines.h"
#include "shared/rag/chunk.h"
#include "shared/rag/extract.h"
#include "shared/rag/pack.h"
#include "shared/rag/text.h"
#include "shared/rag/text_blocks.h"

#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    REASON_MAX_BYTES = 2048,
    EMBED_BATCH = 64,
    VECTOR_BATCH = 8,
    PACK_MAX_BYTES = 256 << 20,
    MESSAGE_BYTES = 160,
    KEY_MAX_BYTES = 1024,
    MIB = 1 << 20,
    DIGEST_BYTES = 2 * SHA_DIGEST_LENGTH + 1,
};
/* Where each stage begins, in percent of the whole. */
static const unsigned stage_percent[JOB_STAGE_NR + 1] = {0, 25, 30, 95, 100};

bool vectors_parse_mode(struct str name, enum vectors_mode *ret_mode)
{
    static const char *const names[] = {"auto", "exact", "set"};
    for (int i = 0; i < 3; i++)
        if (str_eq(name, str_of(names[i]))) {
            *ret_mode = (enum vectors_mode)i;
            return true;
        }
    return false;
}

const char *pipeline_outcome_name(enum pipeline_outcome outcome)
{
    static const char *const names[PIPELINE_NR] = {"done", "failed", "released",
                                                   "cut",  "lost",   "none"};
    return names[outcome];
}

/* Notes why the document cannot be indexed. */
static enum err __attribute__((format(printf, 2, 3)))
refuse(struct pipeline *p, const char *format, ...)
{
    char text[REASON_MAX_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_clear(&p->reason);
    buf_put(&p->reason, str_of(text));
    return ERR_FAILED;
}

/* What to make of a step that was told to stop, or failed by itself. */
static bool must_stop(struct pipeline *p)
{
    return atomic_load(&p->job.must_stop);
}
static enum err stopped(struct pipeline *p)
{
    return atomic_load(&p->is_stopping) ? ERR_DRAINING : ERR_LEASE_LOST;
}

static enum err __attribute__((format(printf, 4, 5)))
tell(struct pipeline *p, enum job_stage stage, unsigned percent_of_stage, const char *format, ...)
{
    char message[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    unsigned from = stage_percent[stage], to = stage_percent[stage + 1];
    unsigned percent = from + (to - from) * percent_of_stage / 100;
    if (p->settings->on_stage != NULL)
        p->settings->on_stage(p->settings->arg, stage, percent);
    enum err error = job_tell(&p->job, stage, percent, message);
    return error == ERR_OK && must_stop(p) ? stopped(p) : error;
}

/* --- what the space is ---------------------------------------------------------------------- */

/* One plain command about a key of the space: empty where there is nothing. */
static enum err ask_space(struct pipeline *p, const char *command, const char *kind,
                          struct str field, struct str *ret_value)
{
    struct buf key;
    buf_init(&key, KEY_MAX_BYTES);
    buf_put(&key, str_of(p->settings->prefix));
    buf_put(&key, str_of(kind));
    buf_put(&key, p->job.facts.space);
    struct str words[] = {str_of(command), buf_str(&key), field};
    enum err error = job_ask(&p->job, words, field.n == 0 ? 2 : 3, ret_value);
    buf_fini(&key);
    return error == ERR_CONFLICT ? ERR_INTERNAL : error;
}

/* Are documents of the space searched, besides this one? */
static enum err has_others(struct pipeline *p, bool *ret_has_others)
{
    struct str value;
    uint64_t n = 0;
    enum err error = ask_space(p, "HLEN", "packs:", STR(""), &value);
    if (error == ERR_OK && !str_parse_u64(value, &n))
        error = ERR_INTERNAL;
    if (error == ERR_OK)
        error = ask_space(p, "HGET", "packs:", p->job.facts.doc, &value);
    *ret_has_others = error == ERR_OK && n > (value.at == NULL ? 0 : 1);
    return error;
}

static enum err knows_vector_sets(struct pipeline *p, bool *ret_knows)
{
    struct str first, words[] = {STR("COMMAND"), STR("INFO"), STR("VADD")};
    enum err error = job_ask(&p->job, words, 3, &first);
    *ret_knows = error == ERR_OK && first.at != NULL;
    return error == ERR_CONFLICT ? ERR_OK : error; /* it may be forbidden: then do without */
}

static enum err refuse_model(struct pipeline *p, struct str model)
{
    return refuse(p,
                  "The documents here were embedded with the model %.*s, this indexer embeds with "
                  "%s: go back to that model, or reindex the documents.",
                  STR_ARG(model), p->settings->embedder->name);
}

/* Where the vectors go: a space keeps the back end of what is searched in it already. */
static enum err choose_vectors(struct pipeline *p, bool is_fixed)
{
    struct str value = STR("");
    bool knows = false;
    enum err error = is_fixed ? ask_space(p, "HGET", "space:", STR("vectors"), &value) : ERR_OK;
    p->is_set = is_fixed ? str_eq(value, STR("set")) : p->settings->vectors != VECTORS_EXACT;
    if (error == ERR_OK && p->is_set)
        error = knows_vector_sets(p, &knows);
    if (error != ERR_OK || !p->is_set || knows)
        return error;
    if (is_fixed || p->settings->vectors == VECTORS_SET)
        return refuse(p,
                      "The vectors of these documents belong into a vector set, which this Redis "
                      "does not know: Redis 8 does.");
    p->is_set = false;
    return ERR_OK;
}

/* Asked before the costly steps. What counts is what job_store compares. */
static enum err look_at_space(struct pipeline *p)
{
    struct str model = STR("");
    bool is_fixed = false;
    enum err error = has_others(p, &is_fixed);
    if (error == ERR_OK && is_fixed)
        error = ask_space(p, "HGET", "space:", STR("model"), &model);
    if (error != ERR_OK)
        return error;
    bool is_other = model.n > 0 && !str_eq(model, str_of(p->settings->embedder->name));
    if (is_other && !p->job.facts.is_reindex)
        return refuse_model(p, model);
    return choose_vectors(p, is_fixed && !is_other);
}

/* --- PARSE ---------------------------------------------------------------------------------- */

static enum err store_text(struct pipeline *p, uint64_t chars)
{
    struct text_blocks blocks;
    char numbers[2][24];
    struct str reply;
    text_blocks_init(&blocks, buf_str(&p->text));
    snprintf(numbers[0], sizeof numbers[0], "%llu", (unsigned long long)chars);
    snprintf(numbers[1], sizeof numbers[1], "%llu", (unsigned long long)p->settings->cap_bytes);
    struct str *args = malloc((blocks.n + 2) * sizeof *args);
    if (args == NULL)
        abort();
    args[0] = str_of(numbers[0]);
    args[1] = str_of(numbers[1]);
    memcpy(args + 2, blocks.at, blocks.n * sizeof *args);
    enum err error = job_call(&p->job, STR("job_parsed"), args, blocks.n + 2, &reply);
    free(args);
    text_blocks_fini(&blocks);
    if (error != ERR_OK)
        return error;
    if (str_has_prefix(reply, STR("full")))
        return refuse(p,
                      "There is no room left: %llu MiB may be stored. Delete what is not needed.",
                      (unsigned long long)p->settings->cap_bytes / MIB);
    return str_eq(reply, STR("ok")) ? ERR_OK : ERR_INTERNAL;
}

/* The renewer keeps the lease while the child works: all there is to tell the child is to stop. */
static enum err extract(struct pipeline *p, struct str bytes)
{
    struct sandbox_wait wait = {.is_stopping = &p->job.must_stop};
    enum extract_kind kind = extract_kind_named(p->job.facts.kind);
    enum extract_fault fault = extract_sniff(kind, bytes);
    if (fault == EXTRACT_FAULT_NONE)
        fault = extract_text(kind, bytes, &wait, &p->text);
    if (fault == EXTRACT_FAULT_NONE)
        return ERR_OK;
    return must_stop(p) ? stopped(p) : refuse(p, "%s", extract_fault_text(fault));
}

static enum err parse(struct pipeline *p)
{
    struct str bytes;
    struct lines reply;
    enum err error = tell(p, JOB_PARSE, 0, "Reading the file");
    if (error != ERR_OK)
        return error;
    error = job_call(&p->job, STR("job_upload"), NULL, 0, &reply.rest);
    if (error != ERR_OK)
        return error;
    if (!lines_next_part(&reply, &bytes))
        return refuse(p, "The file's bytes are not there any more: upload it again.");
    error = extract(p, bytes);
    if (error != ERR_OK)
        return error;
    uint64_t chars = text_length(buf_str(&p->text));
    error = tell(p, JOB_PARSE, 80, "Storing %llu characters", (unsigned long long)chars);
    return error == ERR_OK ? store_text(p, chars) : error;
}

/* The text of an earlier try, or of a document that is indexed again. */
static enum err load_text(struct pipeline *p)
{
    struct str block;
    struct lines reply;
    enum err error = tell(p, JOB_CHUNK, 0, "Reading the stored text");
    if (error == ERR_OK)
        error = job_call(&p->job, STR("job_text"), NULL, 0, &reply.rest);
    if (error != ERR_OK)
        return error;
    while (lines_next_part(&reply, &block))
        if (!text_block_put(&p->text, block))
            return refuse(p, "The stored text is damaged: upload the file again.");
    return ERR_OK;
}

/* --- CHUNK ---------------------------------------------------------------------------------- */

static enum err chunk(struct pipeline *p)
{
    struct chunk_cursor cursor = {.text = buf_str(&p->text)};
    uint32_t cap = 0;
    enum err error = tell(p, JOB_CHUNK, 20, "Cutting the text into passages");
    if (error != ERR_OK)
        return error;
    for (struct chunk next; chunk_next(&cursor, &next);) {
        if (p->chunk_n == cap) {
            cap = cap == 0 ? 256 : cap * 2;
            p->chunks = realloc(p->chunks, cap * sizeof *p->chunks);
            if (p->chunks == NULL)
                abort();
        }
        p->chunks[p->chunk_n++] = next;
    }
    return p->chunk_n == 0 ? refuse(p, "The document holds no text.") : ERR_OK;
}

/* --- EMBED ---------------------------------------------------------------------------------- */

static enum err keep_vectors(struct pipeline *p, uint32_t first, uint32_t n, const float *vectors,
                             uint32_t dimension)
{
    if (p->vectors == NULL) {
        p->dimension = dimension;
        p->vectors = malloc((size_t)p->chunk_n * dimension * sizeof *vectors);
        if (p->vectors == NULL)
            return refuse(p, "The vectors of this document are too large for this machine.");
    }
    if (dimension != p->dimension)
        return refuse(p, "The embedding model %s changed its dimension in the middle.",
                      p->settings->embedder->name);
    memcpy(p->vectors + (size_t)first * dimension, vectors,
           (size_t)n * dimension * sizeof *vectors);
    return ERR_OK;
}

static enum err embed_batch(struct pipeline *p, uint32_t first, uint32_t n)
{
    struct str texts[EMBED_BATCH];
    float *vectors = NULL;
    uint32_t dimension = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct chunk *c = &p->chunks[first + i];
        texts[i] = (struct str){p->text.at + c->start_bytes, c->end_bytes - c->start_bytes};
    }
    if (!embed_texts(p->settings->embedder, texts, n, &p->job.must_stop, &vectors, &dimension))
        return must_stop(p) ? stopped(p)
                            : refuse(p, "The embedding model %s gave no vectors: is its server up?",
                                     p->settings->embedder->name);
    enum err error = keep_vectors(p, first, n, vectors, dimension);
    free(vectors);
    return error;
}

static enum err embed(struct pipeline *p)
{
    for (uint32_t first = 0; first < p->chunk_n; first += EMBED_BATCH) {
        uint32_t left = p->chunk_n - first, n = left < EMBED_BATCH ? left : EMBED_BATCH;
        enum err error = tell(p, JOB_EMBED, (unsigned)(100ULL * first / p->chunk_n),
                              "Embedding passage %u of %u", first + 1, p->chunk_n);
        if (error == ERR_OK)
            error = embed_batch(p, first, n);
        if (error != ERR_OK)
            return error;
    }
    return ERR_OK;
}

/* --- STORE ---------------------------------------------------------------------------------- */

/* What a vector set's key holds of its model's name: hex of its SHA-1, which scripts know too. */
static void digest_model(struct str model, char digest[DIGEST_BYTES])
{
    unsigned char bytes[SHA_DIGEST_LENGTH];
    SHA1((const unsigned char *)model.at, model.n, bytes);
    str_hex(bytes, sizeof bytes, digest);
}

/* Puts the vectors into the space's set, under this job's own names: until STORE nobody looks for
 * them, and what a lost job leaves goes to the trash. */
static enum err store_vectors(struct pipeline *p, struct str digest)
{
    struct str args[2 + VECTOR_BATCH] = {digest};
    char number[16];
    for (uint32_t first = 0; first < p->chunk_n; first += VECTOR_BATCH) {
        uint32_t left = p->chunk_n - first, n = left < VECTOR_BATCH ? left : VECTOR_BATCH;
        snprintf(number, sizeof number, "%u", first);
        args[1] = str_of(number);
        for (uint32_t i = 0; i < n; i++)
            args[2 + i] =
                (struct str){(const char *)(p->vectors + (size_t)(first + i) * p->dimension),
                             p->dimension * sizeof *p->vectors};
        enum err error = job_simple_call(&p->job, STR("job_vectors"), args, 2 + n);
        if (error == ERR_OK)
            error = tell(p, JOB_STORE, (unsigned)(60ULL * first / p->chunk_n),
                         "Storing the vectors of %u passages", p->chunk_n);
        if (error != ERR_OK)
            return error;
    }
    return ERR_OK;
}

static enum err store_pack(struct pipeline *p)
{
    struct buf pack;
    struct str reply;
    char numbers[3][24];
    buf_init(&pack, PACK_MAX_BYTES);
    pack_build(&pack, buf_str(&p->text), p->chunks, p->chunk_n, p->is_set ? NULL : p->vectors,
               p->is_set ? 0 : p->dimension);
    snprintf(numbers[0], sizeof numbers[0], "%u", p->dimension);
    snprintf(numbers[1], sizeof numbers[1], "%u", p->chunk_n);
    snprintf(numbers[2], sizeof numbers[2], "%llu", (unsigned long long)p->settings->cap_bytes);
    struct str args[] = {str_of(p->settings->embedder->name),
                         str_of(numbers[0]),
                         p->is_set ? STR("set") : STR("exact"),
                         str_of(numbers[1]),
                         str_of(numbers[2]),
                         buf_str(&pack)};
    enum err error = pack.is_over ? refuse(p, "The document is too large to be indexed.")
                                  : job_call(&p->job, STR("job_store"), args, 6, &reply);
    buf_fini(&pack);
    if (error != ERR_OK)
        return error;
    struct lines lines = lines_of(reply);
    struct str word = lines_next(&lines);
    if (str_eq(word, STR("mismatch"))) {
        struct str model = lines_next(&lines);
        if (!str_eq(model, str_of(p->settings->embedder->name)))
            return refuse_model(p, model);
        return refuse(p,
                      "Other documents were indexed first, and keep their vectors in another way: "
                      "index this one again.");
    }
    if (str_eq(word, STR("full")))
        return refuse(p,
                      "There is no room left: %llu MiB may be stored. Delete what is not needed.",
                      (unsigned long long)p->settings->cap_bytes / MIB);
    return str_eq(word, STR("ok")) ? ERR_OK : ERR_INTERNAL;
}

static enum err store(struct pipeline *p)
{
    char digest[DIGEST_BYTES];
    enum err error = tell(p, JOB_STORE, 0, "Storing %u passages", p->chunk_n);
    if (error == ERR_OK && p->is_set) {
        digest_model(str_of(p->settings->embedder->name), digest);
        error = store_vectors(p, str_of(digest));
    }
    return error == ERR_OK ? store_pack(p) : error;
}

/* --- one job -------------------------------------------------------------------------------- */

static enum err work(struct pipeline *p)
{
    enum err error = p->job.facts.blocks == 0 ? parse(p) : load_text(p);
    if (error == ERR_OK)
        error = chunk(p);
    if (error == ERR_OK)
        error = look_at_space(p);
    if (error == ERR_OK)
        error = embed(p);
    return error == ERR_OK ? store(p) : error;
}

static enum pipeline_outcome fail(struct pipeline *p)
{
    struct buf json;
    buf_init(&json, REASON_MAX_BYTES * 6);
    buf_put_json(&json, buf_str(&p->reason));
    struct str args[] = {buf_str(&json)};
    enum err error = job_simple_call(&p->job, STR("job_fail"), args, 1);
    buf_fini(&json);
    return error == ERR_OK           ? PIPELINE_FAILED
           : error == ERR_LEASE_LOST ? PIPELINE_LOST
                                     : PIPELINE_RELEASED;
}

static enum pipeline_outcome finish(struct pipeline *p, enum err error)
{
    switch (error) {
    case ERR_OK: return PIPELINE_DONE;
    case ERR_LEASE_LOST: return PIPELINE_LOST;
    case ERR_FAILED: return fail(p);
    case ERR_REDIS_LOST:
        if (!atomic_load(&p->is_stopping))
            return PIPELINE_CUT;
        break;
    case ERR_INTERNAL:
        (void)refuse(p, "Something broke on our side while the document was indexed.");
        return fail(p);
    default: break;
    }
    return job_simple_call(&p->job, STR("job_release"), NULL, 0) == ERR_LEASE_LOST
               ? PIPELINE_LOST
               : PIPELINE_RELEASED;
}

static void forget(struct pipeline *p)
{
    buf_fini(&p->text);
    free(p->chunks);
    free(p->vectors);
    p->chunks = NULL;
    p->vectors = NULL;
    p->chunk_n = p->dimension = 0;
    p->is_set = false;
    buf_init(&p->text, EXTRACT_TEXT_MAX_BYTES);
}

enum pipeline_outcome pipeline_run(struct pipeline *p, struct str entry, struct str id)
{
    buf_clear(&p->reason);
    enum err error = job_begin(&p->job, entry, id, str_of(p->consumer));
    enum pipeline_outcome outcome = PIPELINE_NONE;
    switch (error) {
    case ERR_OK:
        outcome = finish(p, work(p));
        job_end(&p->job);
        forget(p);
        break;
    case ERR_NOT_FOUND: return PIPELINE_NONE;
    case ERR_REDIS_LOST: return PIPELINE_CUT;
    case ERR_FAILED:
        (void)refuse(p, "Its attempts are used up.");
        outcome = PIPELINE_FAILED;
        break;
    default:
        (void)refuse(p, "Something broke on our side before the document was indexed.");
        outcome = PIPELINE_FAILED;
    }
    bool has_failed = outcome == PIPELINE_FAILED;
    log_write(has_failed ? LOG_WARN : LOG_INFO, "indexing ended", LOG_STR("job", id),
              LOG_S("outcome", pipeline_outcome_name(outcome)),
              LOG_STR("reason", has_failed ? buf_str(&p->reason) : STR("")));
    return outcome;
}

void pipeline_stop(struct pipeline *p)
{
    atomic_store(&p->is_stopping, true);
    job_stop(&p->job);
    sync_stop(p->sync);
}

void pipeline_init(struct pipeline *p, const struct pipeline_settings *settings, const char *name,
                   uint64_t patience_ms)
{
    unsigned char random[8];
    char hex[17];
    if (RAND_bytes(random, sizeof random) != 1)
        abort();
    str_hex(random, sizeof random, hex);
    *p = (struct pipeline){.settings = settings};
    snprintf(p->consumer, sizeof p->consumer, "i%s", hex);
    p->sync = sync_create(&(struct sync_config){.address = settings->redis,
                                                .prefix = settings->prefix,
                                                .name = name,
                                                .patience_ms = patience_ms});
    buf_init(&p->reason, REASON_MAX_BYTES);
    buf_init(&p->text, EXTRACT_TEXT_MAX_BYTES);
    job_init(&p->job, p->sync, settings->lease_ms, &p->is_stopping);
}

void pipeline_fini(struct pipeline *p)
{
    job_fini(&p->job);
    forget(p);
    buf_fini(&p->text);
    buf_fini(&p->reason);
    sync_destroy(p->sync);
}
