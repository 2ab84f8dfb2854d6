/* SPDX-License-Identifier: MIT
 * test_embed.c - embedders, and what servers answer. */
#include "shared/embed/embed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct embedder *embedder;

static int set_up(void **state)
{
    embedder = embed_create_hash();
    return 0;
}

static int tear_down(void **state)
{
    embed_destroy(embedder);
    return 0;
}

static float *embed(const char *text)
{
    struct str s = str_of(text);
    float *vector;
    uint32_t dimension;
    assert_true(embed_texts(embedder, &s, 1, NULL, &vector, &dimension, NULL));
    assert_int_equal(dimension, EMBED_HASH_DIMENSION);
    return vector;
}

static float similarity(const char *a, const char *b)
{
    float *x = embed(a), *y = embed(b), sum = 0;
    for (int i = 0; i < EMBED_HASH_DIMENSION; i++)
        sum += x[i] * y[i];
    free(x);
    free(y);
    return sum;
}

static void vectors_have_length_one_and_are_stable(void **state)
{
    assert_float_equal(similarity("The lease ends.", "The lease ends."), 1.0, 1e-5);
    assert_float_equal(similarity("The lease ends.", "the LEASE ends"), 1.0, 1e-5);
    assert_float_equal(similarity("", "word"), 0.0, 1e-6);
    /* Files hold vectors: a change of this number means a new name for the embedder. */
    float *vector = embed("lease");
    double sum = 0;
    for (int i = 0; i < EMBED_HASH_DIMENSION; i++)
        sum += (double)vector[i] * (i + 1);
    free(vector);
    assert_float_equal(sum, 186.9353, 0.01);
}

static void nearer_texts_are_nearer(void **state)
{
    float same = similarity("How long is a lease?", "The lease of a claim is 150 seconds long.");
    float other = similarity("How long is a lease?", "Bananas are yellow fruits of the tropics.");
    assert_true(same > other + 0.1f);
    assert_true(similarity("embedding", "embeddings") > 0.6f);
}

static void openai_responses_are_read_strictly(void **state)
{
    float *vectors;
    uint32_t dimension;
    assert_true(embed_read_openai(STR("{\"data\":[{\"index\":1,\"embedding\":[0,2]},"
                                      "{\"index\":0,\"embedding\":[3,4]}]}"),
                                  2, &vectors, &dimension));
    assert_int_equal(dimension, 2);
    assert_float_equal(vectors[0], 0.6, 1e-6);
    assert_float_equal(vectors[3], 1.0, 1e-6);
    free(vectors);
    assert_true(embed_read_openai(STR("{\"data\":[{\"embedding\":\"AABAQAAAgEA=\"}]}"), 1, &vectors,
                                  &dimension)); /* 3, 4 */
    assert_int_equal(dimension, 2);
    assert_float_equal(vectors[0], 0.6, 1e-6);
    free(vectors);
    assert_false(embed_read_openai(STR("{\"data\":[{\"index\":0,\"embedding\":[0,2]},"
                                       "{\"index\":0,\"embedding\":[3,4]}]}"),
                                   2, &vectors, &dimension));
    static const char *const bad[] = {"",
                                      "[]",
                                      "{\"data\":[]}",
                                      "{\"data\":[{\"embedding\":\"\"}]}",
                                      "{\"data\":[{\"embedding\":\"====\"}]}",
                                      "{\"data\":[{\"embedding\":\"AABAQ!AAgEA=\"}]}",
                                      "{\"data\":[{\"embedding\":\"AACAfwAAgEA=\"}]}",
                                      "{\"data\":[{\"embedding\":[]}]}",
                                      "{\"data\":[{\"embedding\":[\"x\"]}]}",
                                      "{\"data\":[{\"embedding\":[1e999]}]}",
                                      "{\"data\":[{\"index\":7,\"embedding\":[1]}]}",
                                      "{\"data\":[{\"embedding\":[1]},{\"embedding\":[1]}]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(embed_read_openai(str_of(bad[i]), 1, &vectors, &dimension));
}

static void ollama_responses_are_read_strictly(void **state)
{
    float *vectors;
    uint32_t dimension;
    assert_true(embed_read_ollama(STR("{\"model\":\"m\",\"embeddings\":[[3,4],[0,2]]}"), 2,
                                  &vectors, &dimension));
    assert_int_equal(dimension, 2);
    assert_float_equal(vectors[0], 0.6, 1e-6);
    assert_float_equal(vectors[3], 1.0, 1e-6);
    free(vectors);
    static const char *const bad[] = {"",
                                      "[]",
                                      "{\"embeddings\":[]}",
                                      "{\"embeddings\":[[]]}",
                                      "{\"embeddings\":[[1,2],[3]]}",
                                      "{\"embeddings\":[[1,2]]}",
                                      "{\"embeddings\":[[1],[2],[3]]}",
                                      "{\"embeddings\":[[null],[1]]}",
                                      "{\"embedding\":[[1],[2]]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(embed_read_ollama(str_of(bad[i]), 2, &vectors, &dimension));
}

static void a_setting_names_an_embedder(void **state)
{
    static const struct {
        const char *setting, *name;
    } good[] = {{"hash", "hash-512-2"},
                {"openai:http://127.0.0.1:11434/v1#nomic-embed-text", "nomic-embed-text"},
                {"ollama:https://models.example#a/b:latest", "a/b:latest"}};
    static const char *const bad[] = {"",
                                      "hashing",
                                      "http://127.0.0.1/v1",
                                      "openai:",
                                      "openai:http://127.0.0.1/v1",
                                      "openai:http://127.0.0.1/v1#",
                                      "openai:127.0.0.1#model",
                                      "ollama:http://#model",
                                      "openai:http://u:p@127.0.0.1/v1#model",
                                      "openai:http://127.0.0.1/v1?key=k#model",
                                      "ollama:http://127.0.0.1#\xff",
                                      "llama:http://127.0.0.1#model"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char reason[100];
        struct embedder *made = embed_create(good[i].setting, "key", reason, sizeof reason);
        assert_non_null(made);
        assert_string_equal(made->name, good[i].name);
        embed_destroy(made);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char reason[100] = "";
        assert_null(embed_create(bad[i], NULL, reason, sizeof reason));
        assert_true(strncmp(reason, "takes ", 6) == 0);
    }
}

/* Scripts make the same of what is stored, so it may not change. */
static void a_digest_differs_by_model_and_dimension(void **state)
{
    char digest[EMBED_DIGEST_BYTES], other[EMBED_DIGEST_BYTES];
    embed_digest("hash-512-2", 512, digest);
    assert_string_equal(digest, "1ba7df8c0946c0e4d8577fab2ac62e3cf08e1911");
    embed_digest("hash-512-2", 513, other);
    assert_string_not_equal(digest, other);
    embed_digest("hash-512-3", 512, other);
    assert_string_not_equal(digest, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_have_length_one_and_are_stable),
        cmocka_unit_test(nearer_texts_are_nearer),
        cmocka_unit_test(openai_responses_are_read_strictly),
        cmocka_unit_test(ollama_responses_are_read_strictly),
        cmocka_unit_test(a_setting_names_an_embedder),
        cmocka_unit_test(a_digest_differs_by_model_and_dimension),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
