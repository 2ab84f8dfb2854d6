/* SPDX-License-Identifier: MIT
 *
 * embed: turns texts into vectors of length 1, so that a dot product is the cosine similarity.
 * Three implementations behind one table of functions: `hash`, built in, needs nothing and takes
 * microseconds; `openai`, any server with OpenAI's /v1/embeddings; `ollama`, a server with Ollama's
 * /api/embed. Vectors of different models cannot be compared: `name` identifies the model and must
 * be stored with its vectors.
 *
 * Several threads may use an embedder at once. It only changes in how many texts it has found its
 * server to take.
 */
#ifndef PARLEY_EMBED_EMBED_H
#define PARLEY_EMBED_EMBED_H

#include "shared/http/client/client.h"

#include <stdatomic.h>

enum { EMBED_HASH_DIMENSION = 512, EMBED_DIMENSION_MAX = 8192, EMBED_DIGEST_BYTES = 41 };

/* Identifies vectors that may be compared: hex of the SHA-1 of "<model> <dimension>", ended by a
 * 0. Scripts make it too (embedding_of in lua/documents/documents.lua). */
void embed_digest(const char *model, uint32_t dimension, char ret_digest[EMBED_DIGEST_BYTES]);

enum { EMBED_REASON_BYTES = 400 };

struct embedder;
struct embedding;

/* The reason why texts were not embedded, as a clause for people: what the server said, or what to
 * check. */
struct embed_reason {
    char text[EMBED_REASON_BYTES];
};

/* Runs once: `vector` has `dimension` numbers and is borrowed; NULL, with a reason, on failure. */
typedef void (*embed_callback)(void *context, const float *vector, uint32_t dimension,
                               const char *reason);

struct embedder_ops {
    /* Embeds one text. NULL where `is_quick`. */
    struct embedding *(*start)(struct embedder *embedder, struct http_client *client,
                               struct str text, embed_callback callback, void *context);
    void (*cancel)(struct embedding *embedding);
    /* Embeds `n` texts and waits. The caller frees `*ret_vectors` (n * dimension). */
    bool (*embed)(struct embedder *embedder, const struct str *texts, size_t n,
                  const atomic_bool *is_stopping, float **ret_vectors, uint32_t *ret_dimension,
                  struct embed_reason *ret_reason);
    void (*destroy)(struct embedder *embedder);
};

struct embedder {
    const struct embedder_ops *ops;
    const char *name; /* "hash-512-2", or the model's name */
    bool is_quick;    /* `embed` takes microseconds: no need to wait for `start` */
};

/* Feature hashing of words, pairs of words and character trigrams: good at finding the same words
 * and their forms, blind to synonyms. */
struct embedder *embed_create_hash(void) must_check;

struct embed_server_settings {
    const char *base_url; /* "http://host:11434/v1" for OpenAI's, "http://host:11434" for Ollama's;
                             slashes at its end do not count */
    const char *model;
    const char *key; /* NULL: no Authorization header */
};
/* Both copy `settings`. Many texts go in batches, each tried up to 5 times with growing pauses,
 * which a Retry-After may lengthen to half a minute. A batch that is too large for the server is
 * halved, and so is a single text; what the server refuses otherwise is not repeated. */
struct embedder *embed_create_openai(const struct embed_server_settings *settings) must_check;
struct embedder *embed_create_ollama(const struct embed_server_settings *settings) must_check;

/* Makes the embedder that a setting names: `hash`, `openai:<base URL>#<model>` or
 * `ollama:<base URL>#<model>`. `key` may be NULL. Otherwise returns NULL with a human-readable
 * reason that continues the setting's name. */
struct embedder *embed_create(const char *setting, const char *key, char *reason,
                              size_t reason_size) must_check;

/* Embeds and waits; false, after a log line, when it failed or `*is_stopping` (may be NULL) became
 * true. `*ret_vectors` has n * *ret_dimension numbers; the caller frees it. `ret_reason` may be
 * NULL. */
bool embed_texts(struct embedder *embedder, const struct str *texts, size_t n,
                 const atomic_bool *is_stopping, float **ret_vectors, uint32_t *ret_dimension,
                 struct embed_reason *ret_reason) must_check;
/* Embeds one text (copied) on a loop that turns `client`; the callback runs there, never before
 * this returns, and the embedding is freed after it. Not for quick embedders. */
struct embedding *embed_start(struct embedder *embedder, struct http_client *client,
                              struct str text, embed_callback callback, void *context) must_check;
/* No callback runs any more. Accepts NULL. */
void embed_cancel(struct embedder *embedder, struct embedding *embedding);
/* Accepts NULL. */
void embed_destroy(struct embedder *embedder);

/* Scales `vector` to length 1; a zero vector stays. */
void embed_normalise(float *vector, uint32_t dimension);
/* Read the vectors out of a response's body. False when it is not `n` vectors of one dimension. The
 * caller frees. */
bool embed_read_openai(struct str body, size_t n, float **ret_vectors,
                       uint32_t *ret_dimension) must_check;
bool embed_read_ollama(struct str body, size_t n, float **ret_vectors,
                       uint32_t *ret_dimension) must_check;

#endif
