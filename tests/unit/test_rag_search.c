/* SPDX-License-Identifier: MIT
 * test_rag_search.c - embedding, passages and search. */
#include "shared/rag/search.h"

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
    assert_true(embed_texts(embedder, &s, 1, NULL, &vector, &dimension));
    assert_int_equal(dimension, EMBED_HASH_DIMENSION);
    return vector;
}

static struct passages *make_set(const char *const *texts, size_t n)
{
    static const char *const names[] = {"a.md", "b.md", "c.md", "d.md", "e.md"};
    struct passages *set = passages_create();
    for (size_t i = 0; i < n; i++) {
        struct passage_document document = {
            .name = (char *)names[i], .text = (char *)texts[i], .text_bytes = strlen(texts[i])};
        assert_true(passages_add(set, &document));
    }
    assert_true(passages_finish(set, 0, embedder, NULL));
    return set;
}

static const char *const texts[] = {
    "A lease is renewed by partial answers and by heartbeats.",
    "Bananas are yellow fruits that grow in the tropics all year round.",
    "The nonce of a signed request works once per account for a day.",
    "Redis holds every fact; nodes are stateless programs behind a load balancer."};

static struct search search_for(const char *question, const struct passages *const *sets, size_t n,
                                float **vector)
{
    *vector = embed(question);
    return (struct search){.sets = sets,
                           .set_n = n,
                           .question = str_of(question),
                           .vector = *vector,
                           .dimension = EMBED_HASH_DIMENSION};
}

static void the_best_passage_comes_first(void **state)
{
    static const struct {
        const char *question, *name;
    } cases[] = {{"What renews a lease?", "a.md"},
                 {"When do bananas grow?", "b.md"},
                 {"How often may a nonce be used?", "c.md"},
                 {"Are the nodes stateless?", "d.md"}};
    struct passages *set = make_set(texts, 4);
    const struct passages *sets[] = {NULL, set};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float *vector;
        struct search_hit hits[4];
        struct search search = search_for(cases[i].question, sets, 2, &vector);
        assert_true(search_best(&search, 4, hits) >= 1);
        assert_string_equal(passages_name(hits[0].set, hits[0].passage), cases[i].name);
        assert_true(hits[0].coverage > 0.2f && hits[0].coverage <= 1.0f);
        free(vector);
    }
    passages_destroy(set);
}

static void words_find_where_there_is_no_vector(void **state)
{
    struct passages *set = make_set(texts, 4);
    const struct passages *sets[] = {set};
    struct search search = {.sets = sets, .set_n = 1, .question = STR("stateless nodes")};
    struct search_hit hits[4];
    assert_int_equal(search_best(&search, 4, hits), 1);
    assert_string_equal(passages_name(hits[0].set, hits[0].passage), "d.md");
    assert_int_equal(search_nearest(&search, 4, 2.0, hits), 0);
    passages_destroy(set);
}

static void nearest_respects_count_and_threshold(void **state)
{
    struct passages *set = make_set(texts, 4);
    const struct passages *sets[] = {set};
    struct search_hit hits[SEARCH_MAX];
    float *vector;
    struct search search = search_for(texts[2], sets, 1, &vector);
    assert_int_equal(search_nearest(&search, 3, 2.0, hits), 3);
    assert_float_equal(hits[0].distance, 0.0, 1e-4);
    assert_true(hits[0].distance <= hits[1].distance && hits[1].distance <= hits[2].distance);
    assert_int_equal(search_nearest(&search, SEARCH_MAX, 0.01, hits), 1);
    assert_int_equal(search_nearest(&search, 0, 2.0, hits), 0);
    free(vector);
    passages_destroy(set);
}

static void flagged_passages_are_left_out(void **state)
{
    struct passages *set = make_set(texts, 4);
    const struct passages *sets[] = {set};
    struct search_hit hits[4];
    float *vector;
    struct search search = search_for("yellow bananas", sets, 1, &vector);
    assert_int_equal(passages_leave_out(set, STR("a")), 0);
    assert_int_equal(passages_leave_out(set, STR("  BANANAS are\nyellow   fruits ")), 1);
    size_t n = search_best(&search, 4, hits);
    for (size_t i = 0; i < n; i++)
        assert_string_not_equal(passages_name(hits[i].set, hits[i].passage), "b.md");
    assert_int_equal(search_nearest(&search, 4, 2.0, hits), 3);
    free(vector);
    passages_destroy(set);
}

static void a_copied_document_keeps_its_vectors(void **state)
{
    struct passages *set = make_set(texts, 4), *twin = passages_create();
    assert_true(passages_add_copy(twin, set, 2));
    assert_true(passages_add_copy(twin, set, 0));
    uint32_t first = twin->n;
    struct passage_document document = {
        .name = "e.md", .text = (char *)texts[1], .text_bytes = strlen(texts[1])};
    assert_true(passages_add(twin, &document));
    assert_true(passages_finish(twin, first, embedder, NULL));
    assert_int_equal(twin->n, 3);
    assert_memory_equal(twin->vectors, set->vectors + 2 * EMBED_HASH_DIMENSION,
                        EMBED_HASH_DIMENSION * sizeof(float));
    assert_memory_equal(twin->vectors + 2 * EMBED_HASH_DIMENSION,
                        set->vectors + EMBED_HASH_DIMENSION, EMBED_HASH_DIMENSION * sizeof(float));
    passages_destroy(set);
    passages_destroy(twin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_passage_comes_first),
        cmocka_unit_test(words_find_where_there_is_no_vector),
        cmocka_unit_test(nearest_respects_count_and_threshold),
        cmocka_unit_test(flagged_passages_are_left_out),
        cmocka_unit_test(a_copied_document_keeps_its_vectors),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
