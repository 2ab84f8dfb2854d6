/* SPDX-License-Identifier: MIT
 * embed.c - see embed.h: the common part and the built-in hashing embedder.
 *
 * Feature hashing after Weinberger and others, "Feature Hashing for Large Scale Multitask
 * Learning" (2009): each feature of the text adds +w or -w to the coordinate that its hash names;
 * the sign, another bit of the hash, makes collisions cancel out on average. Counts enter as
 * 1 + log(count), so that one repeated word does not drown the rest. */
#include "shared/embed/embed.h"

#include "shared/base/mem.h"
#include "shared/http/client/endpoint.h"
#include "shared/text/text.h"

#include <math.h>
#include <openssl/sha.h>
#include <stdio.h>

struct feature {
    uint64_t hash;
    float weight;
    uint32_t count;
};

/* The features of one text, counted: `at` in the order in which they came first, `slots` a hash
 * table over them (place in `at` plus 1; 0 is free), never more than half full. */
struct features {
    struct feature *at;
    uint32_t *slots;
    size_t n, slot_n;
};

static void grow(struct features *features)
{
    features->slot_n = features->slot_n == 0 ? 4096 : features->slot_n * 2;
    free(features->slots);
    features->slots = mem_zeroed_n(features->slot_n, sizeof *features->slots);
    features->at = mem_resize(features->at, features->slot_n / 2 * sizeof *features->at);
    for (size_t i = 0; i < features->n; i++) {
        size_t slot = features->at[i].hash & (features->slot_n - 1);
        while (features->slots[slot] != 0)
            slot = (slot + 1) & (features->slot_n - 1);
        features->slots[slot] = (uint32_t)i + 1;
    }
}

static void put_feature(struct features *features, uint64_t hash, float weight)
{
    if (features->n * 2 >= features->slot_n)
        grow(features);
    size_t slot = hash & (features->slot_n - 1);
    while (features->slots[slot] != 0) {
        struct feature *known = &features->at[features->slots[slot] - 1];
        if (known->hash == hash) {
            known->count++;
            return;
        }
        slot = (slot + 1) & (features->slot_n - 1);
    }
    features->at[features->n++] = (struct feature){hash, weight, 1};
    features->slots[slot] = (uint32_t)features->n;
}

static void clear_features(struct features *features)
{
    features->n = 0;
    if (features->slots != NULL)
        memset(features->slots, 0, features->slot_n * sizeof *features->slots);
}

enum { SEED_WORD = 1, SEED_PAIR = 2, SEED_TRIGRAM = 3 };
static const float word_weight = 1.0f, pair_weight = 0.6f, trigram_weight = 0.25f;
static const float stop_weight = 0.1f;

/* "^lease$" gives ^le, lea, eas, ase, se$: forms and misspellings of a word share most of them. */
static void put_trigrams(struct features *features, const struct text_word *word)
{
    char framed[TEXT_WORD_MAX_BYTES + 2];
    size_t n = 0;
    framed[n++] = '^';
    memcpy(framed + n, word->at, word->n);
    n += word->n;
    framed[n++] = '$';
    for (size_t i = 0; i + 3 <= n; i++)
        put_feature(features, text_hash((struct str){framed + i, 3}, SEED_TRIGRAM), trigram_weight);
}

static uint64_t put_word(struct features *features, const struct text_word *word)
{
    uint64_t hash = text_hash((struct str){word->at, word->n}, SEED_WORD);
    put_feature(features, hash, word->is_stop ? stop_weight : word_weight);
    if (!word->is_stop)
        put_trigrams(features, word);
    return hash;
}

static void put_text(struct features *features, struct str text)
{
    struct text_word word, joined;
    struct text_compound compound = {.n = 0};
    uint64_t before = 0;
    bool is_before_stop = true;
    while (text_next_word(&text, &word)) {
        text_word_bare(&word);
        uint64_t hash = put_word(features, &word);
        if (text_compound_next(&compound, word.here, &joined)) {
            text_word_bare(&joined);
            (void)put_word(features, &joined);
        }
        if (before != 0)
            put_feature(
                features,
                text_hash((struct str){(const char *)&hash, sizeof hash}, before ^ SEED_PAIR),
                word.is_stop || is_before_stop ? stop_weight : pair_weight);
        before = hash;
        is_before_stop = word.is_stop;
    }
}

/* 1 + log(count); most counts are small. */
static float damped(uint32_t count)
{
    static const float known[] = {0, 1, 1.6931472f, 2.0986123f, 2.3862944f, 2.6094379f};
    return count < sizeof known / sizeof known[0] ? known[count] : 1.0f + logf((float)count);
}

static void embed_one(struct features *features, struct str text, float *vector)
{
    memset(vector, 0, EMBED_HASH_DIMENSION * sizeof *vector);
    clear_features(features);
    put_text(features, text);
    for (size_t i = 0; i < features->n; i++) {
        const struct feature *f = &features->at[i];
        float value = f->weight * damped(f->count);
        vector[f->hash % EMBED_HASH_DIMENSION] += f->hash >> 63 ? value : -value;
    }
    embed_normalise(vector, EMBED_HASH_DIMENSION);
}

static bool hash_embed(struct embedder *embedder, const struct str *texts, size_t n,
                       const atomic_bool *is_stopping, float **ret_vectors, uint32_t *ret_dimension,
                       struct embed_reason *ret_reason)
{
    float *vectors = mem_alloc((n == 0 ? 1 : n) * EMBED_HASH_DIMENSION * sizeof *vectors);
    struct features features = {0};
    for (size_t i = 0; i < n; i++)
        embed_one(&features, texts[i], vectors + i * EMBED_HASH_DIMENSION);
    free(features.at);
    free(features.slots);
    *ret_vectors = vectors;
    *ret_dimension = EMBED_HASH_DIMENSION;
    return true;
}

static void hash_destroy(struct embedder *embedder)
{
    free(embedder);
}

struct embedder *embed_create_hash(void)
{
    static const struct embedder_ops ops = {.embed = hash_embed, .destroy = hash_destroy};
    struct embedder *embedder = mem_alloc(sizeof *embedder);
    *embedder = (struct embedder){.ops = &ops, .name = "hash-512-2", .is_quick = true};
    return embedder;
}

static const char *after(const char *setting, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(setting, prefix, n) == 0 ? setting + n : NULL;
}

/* NULL when `setting` is sound, else what it takes. */
static const char *judge_server(const char *server)
{
    if (server == NULL)
        return "takes hash, openai:<URL>#<model> or ollama:<URL>#<model>";
    const char *mark = strchr(server, '#');
    struct str url = {server, mark == NULL ? strlen(server) : (size_t)(mark - server)};
    if (!http_is_base_url(url))
        return "takes a URL such as http://127.0.0.1:11434 after the colon, without user "
               "information or a query";
    if (mark == NULL || mark[1] == 0 || !str_is_utf8(str_of(mark)))
        return "takes #<model> after the URL";
    return NULL;
}

struct embedder *embed_create(const char *setting, const char *key, char *reason,
                              size_t reason_size)
{
    const char *openai = after(setting, "openai:"), *ollama = after(setting, "ollama:");
    const char *server = openai != NULL ? openai : ollama;
    if (strcmp(setting, "hash") == 0)
        return embed_create_hash();
    const char *wrong = judge_server(server);
    if (wrong != NULL) {
        snprintf(reason, reason_size, "%s", wrong);
        return NULL;
    }
    const char *mark = strchr(server, '#');
    char *url = strndup(server, (size_t)(mark - server));
    if (url == NULL)
        abort();
    struct embed_server_settings settings = {.base_url = url, .model = mark + 1, .key = key};
    struct embedder *embedder =
        openai != NULL ? embed_create_openai(&settings) : embed_create_ollama(&settings);
    free(url);
    return embedder;
}

bool embed_texts(struct embedder *embedder, const struct str *texts, size_t n,
                 const atomic_bool *is_stopping, float **ret_vectors, uint32_t *ret_dimension,
                 struct embed_reason *ret_reason)
{
    struct embed_reason reason = {""};
    bool is_good =
        embedder->ops->embed(embedder, texts, n, is_stopping, ret_vectors, ret_dimension, &reason);
    if (ret_reason != NULL)
        *ret_reason = reason;
    return is_good;
}

struct embedding *embed_start(struct embedder *embedder, struct http_client *client,
                              struct str text, embed_callback callback, void *context)
{
    return embedder->ops->start(embedder, client, text, callback, context);
}

void embed_cancel(struct embedder *embedder, struct embedding *embedding)
{
    if (embedding != NULL)
        embedder->ops->cancel(embedding);
}

void embed_destroy(struct embedder *embedder)
{
    if (embedder != NULL)
        embedder->ops->destroy(embedder);
}

void embed_digest(const char *model, uint32_t dimension, char ret_digest[EMBED_DIGEST_BYTES])
{
    unsigned char bytes[SHA_DIGEST_LENGTH];
    struct buf text;
    buf_init(&text, SIZE_MAX / 2);
    buf_printf(&text, "%s %u", model, dimension);
    SHA1((const unsigned char *)text.at, text.n, bytes);
    str_hex(bytes, sizeof bytes, ret_digest);
    buf_fini(&text);
}

void embed_normalise(float *vector, uint32_t dimension)
{
    double sum = 0;
    for (uint32_t i = 0; i < dimension; i++)
        sum += (double)vector[i] * (double)vector[i];
    if (!(sum > 0))
        return;
    float scale = (float)(1.0 / sqrt(sum));
    for (uint32_t i = 0; i < dimension; i++)
        vector[i] *= scale;
}
