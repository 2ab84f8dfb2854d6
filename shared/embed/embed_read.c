/* SPDX-License-Identifier: MIT
 * embed_read.c - see embed.h: vectors out of the responses of servers. */
#include "shared/embed/embed.h"

#include "shared/base/json.h"
#include "shared/base/mem.h"

#include <limits.h>
#include <math.h>
#include <openssl/evp.h>

enum { GROUP_CHARS = 4, GROUP_BYTES = 3 }; /* of base64 */

/* A vector is a list of numbers, or base64 of floats, which some servers send whatever they were
 * asked for. */
static size_t dimension_of(const json_t *numbers)
{
    struct str text = json_str(numbers);
    size_t padding = 0;
    if (text.at == NULL)
        return json_array_size(numbers);
    while (padding < 2 && padding < text.n && text.at[text.n - padding - 1] == '=')
        padding++;
    return (text.n / GROUP_CHARS * GROUP_BYTES - padding) / sizeof(float);
}

static bool read_base64(struct str text, float *vector, uint32_t dimension)
{
    size_t bytes = dimension * sizeof *vector;
    unsigned char *decoded = mem_alloc(text.n + 1);
    bool is_good =
        text.n % GROUP_CHARS == 0 && text.n <= INT_MAX &&
        EVP_DecodeBlock(decoded, (const unsigned char *)text.at, (int)text.n) >= (int)bytes;
    if (is_good)
        memcpy(vector, decoded, bytes);
    free(decoded);
    for (uint32_t i = 0; i < dimension && is_good; i++)
        is_good = isfinite(vector[i]);
    return is_good;
}

static bool read_vector(const json_t *numbers, float *vector, uint32_t dimension)
{
    if (dimension_of(numbers) != dimension)
        return false;
    if (json_is_string(numbers)) {
        if (!read_base64(json_str(numbers), vector, dimension))
            return false;
        embed_normalise(vector, dimension);
        return true;
    }
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

struct vectors {
    float *at;
    bool *is_there; /* by place: a vector that came twice leaves another one out */
    size_t n;
    uint32_t dimension;
};

static bool make_room(struct vectors *vectors, size_t n, const json_t *first)
{
    size_t dimension = dimension_of(first);
    *vectors = (struct vectors){.n = n, .dimension = (uint32_t)dimension};
    if (n == 0 || dimension == 0 || dimension > EMBED_DIMENSION_MAX)
        return false;
    vectors->at = mem_zeroed_n(n * dimension, sizeof *vectors->at);
    vectors->is_there = mem_zeroed_n(n, sizeof *vectors->is_there);
    return true;
}

static bool put_vector(struct vectors *vectors, size_t place, const json_t *numbers)
{
    if (place >= vectors->n || vectors->is_there[place])
        return false;
    vectors->is_there[place] = true;
    return read_vector(numbers, vectors->at + place * vectors->dimension, vectors->dimension);
}

static bool take_vectors(struct vectors *vectors, bool is_good, json_t *root, float **ret_vectors,
                         uint32_t *ret_dimension)
{
    json_decref(root);
    free(vectors->is_there);
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
