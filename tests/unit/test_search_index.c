/* SPDX-License-Identifier: MIT
 * test_search_index.c - the index of several documents, and searching it. */
#include "shared/embed/embed.h"
#include "shared/search/dot.h"
#include "shared/search/index.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CHUNKS_MAX = 64 };

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

static float *embed(struct str text)
{
    float *vector;
    uint32_t dimension;
    assert_true(embed_texts(embedder, &text, 1, NULL, &vector, &dimension, NULL));
    assert_int_equal(dimension, EMBED_HASH_DIMENSION);
    return vector;
}

/* The pack of a text, with its vectors where `has_vectors`. */
static void make_pack(struct buf *bytes, struct str text, bool has_vectors)
{
    struct chunk chunks[CHUNKS_MAX];
    struct chunk_cursor cursor = {.text = text};
    struct str texts[CHUNKS_MAX];
    uint32_t n = 0, dimension = 0;
    float *vectors = NULL;
    for (; chunk_next(&cursor, &chunks[n]); n++)
        texts[n] = (struct str){text.at + chunks[n].start_bytes,
                                chunks[n].end_bytes - chunks[n].start_bytes};
    assert_true(n < CHUNKS_MAX);
    if (has_vectors)
        assert_true(embed_texts(embedder, texts, n, NULL, &vectors, &dimension, NULL));
    buf_init(bytes, 1 << 20);
    pack_build(bytes, text, chunks, n, vectors, dimension);
    free(vectors);
}

static void put(struct rag_index *index, const char *id, uint64_t generation, const char *text)
{
    struct buf bytes;
    make_pack(&bytes, str_of(text), true);
    struct rag_parts parts = {.id = str_of(id),
                              .generation = generation,
                              .title_json = STR("\"A title\""),
                              .pack = buf_str(&bytes)};
    assert_true(rag_index_put(index, &parts));
    buf_fini(&bytes);
}

/* With its text, as the engine keeps it. */
static void add(struct rag_index *index, const char *id, const char *text)
{
    struct buf bytes;
    make_pack(&bytes, str_of(text), true);
    struct rag_parts parts = {.id = str_of(id),
                              .generation = 1,
                              .title_json = STR("\"A title\""),
                              .pack = buf_str(&bytes),
                              .text = str_of(text)};
    struct rag_document *document = rag_document_create(&parts);
    assert_non_null(document);
    rag_index_add(index, document);
    rag_document_unref(document);
    buf_fini(&bytes);
}

static const char *const texts[] = {
    "A lease is renewed by partial answers and by heartbeats.",
    "Bananas are yellow fruits that grow in the tropics all year round.",
    "The nonce of a signed request works once per account for a day.",
    "Redis holds every fact; nodes are stateless programs behind a load balancer."};
static const char *const names[] = {"a.md", "b.md", "c.md", "d.md"};

static struct rag_index *make_index(void)
{
    struct rag_index *index = rag_index_create();
    for (size_t i = 0; i < 4; i++)
        add(index, names[i], texts[i]);
    return index;
}

static size_t search(const struct rag_index *index, const char *question, size_t n,
                     struct rag_hit *hits)
{
    float *vector = embed(str_of(question));
    struct rag_query query = {
        .text = str_of(question), .vector = vector, .dimension = EMBED_HASH_DIMENSION};
    size_t found = rag_index_search(index, &query, n, hits);
    free(vector);
    return found;
}

static void assert_id(const struct rag_hit *hit, const char *id)
{
    assert_int_equal(hit->document->id.n, strlen(id));
    assert_memory_equal(hit->document->id.at, id, strlen(id));
}

static void every_way_to_multiply_gives_the_same(void **state)
{
    enum { ROWS = 7, LENGTH = 1029 };
    static const uint32_t dimensions[] = {1, 15, 16, 17, 31, 32, 33, 512, 1029};
    static int8_t rows[ROWS * LENGTH];
    int16_t query[LENGTH];
    int32_t fast[ROWS], plain[ROWS];
    uint32_t seed = 1;
    for (size_t i = 0; i < sizeof rows; i++) {
        seed = seed * 1664525u + 1013904223u;
        rows[i] = i % 5 == 0 ? -128 : (int8_t)((int)(seed >> 24) - 128);
    }
    for (size_t i = 0; i < LENGTH; i++) {
        seed = seed * 1664525u + 1013904223u;
        query[i] = (int16_t)((int)((seed >> 24) % 255) - 127);
    }
    for (size_t i = 0; i < sizeof dimensions / sizeof *dimensions; i++) {
        uint32_t n = dimensions[i];
        dot_rows(query, rows + 1, n, ROWS - 1, fast);
        dot_rows_portable(query, rows + 1, n, ROWS - 1, plain);
        for (uint32_t k = 0; k + 1 < ROWS; k++) {
            int32_t sum = 0;
            for (uint32_t j = 0; j < n; j++)
                sum += query[j] * rows[1 + k * n + j];
            assert_int_equal(fast[k], sum);
            assert_int_equal(plain[k], sum);
        }
    }
}

static void the_best_passage_comes_first(void **state)
{
    static const struct {
        const char *question, *id;
    } cases[] = {{"What renews a lease?", "a.md"},
                 {"When do bananas grow?", "b.md"},
                 {"How often may a nonce be used?", "c.md"},
                 {"Are the nodes stateless?", "d.md"}};
    struct rag_index *index = make_index();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rag_hit hits[4];
        assert_true(search(index, cases[i].question, 4, hits) >= 1);
        assert_id(&hits[0], cases[i].id);
        assert_true(hits[0].coverage > 0.2f && hits[0].coverage <= 1.0f);
        assert_true(hits[0].cosine > 0 && hits[0].bm25 > 0);
    }
    rag_index_destroy(index);
}

static void words_find_where_there_is_no_vector(void **state)
{
    struct rag_index *index = make_index();
    struct rag_query query = {.text = STR("stateless nodes")};
    struct rag_hit hits[4];
    assert_int_equal(rag_index_search(index, &query, 4, hits), 1);
    assert_id(&hits[0], "d.md");
    assert_float_equal(hits[0].cosine, 0, 0);
    assert_int_equal(rag_index_nearest(index, &query, 4, 2.0, hits), 0);
    /* A vector of another model is of no use either. */
    float other[3] = {1, 0, 0};
    query.vector = other;
    query.dimension = 3;
    assert_int_equal(rag_index_search(index, &query, 4, hits), 1);
    assert_int_equal(rag_index_nearest(index, &query, 4, 2.0, hits), 0);
    rag_index_destroy(index);
}

static void nearest_respects_count_and_threshold(void **state)
{
    struct rag_index *index = make_index();
    struct rag_hit hits[RAG_HITS_MAX];
    float *vector = embed(str_of(texts[2]));
    struct rag_query query = {.vector = vector, .dimension = EMBED_HASH_DIMENSION};
    assert_int_equal(rag_index_nearest(index, &query, 3, 2.0, hits), 3);
    assert_id(&hits[0], "c.md");
    assert_float_equal(hits[0].cosine, 1.0, 1e-4);
    assert_true(hits[0].cosine >= hits[1].cosine && hits[1].cosine >= hits[2].cosine);
    assert_int_equal(rag_index_nearest(index, &query, RAG_HITS_MAX, 0.01, hits), 1);
    assert_int_equal(rag_index_nearest(index, &query, 0, 2.0, hits), 0);
    free(vector);
    rag_index_destroy(index);
}

static void small_integers_keep_the_cosine(void **state)
{
    struct rag_index *index = make_index();
    struct rag_hit hits[4];
    float *vector = embed(STR("How long is the lease of an account?"));
    struct rag_query query = {.vector = vector, .dimension = EMBED_HASH_DIMENSION};
    assert_int_equal(rag_index_nearest(index, &query, 4, 2.0, hits), 4);
    for (size_t i = 0; i < 4; i++) {
        float *own = embed(hits[i].document->text), sum = 0;
        for (int k = 0; k < EMBED_HASH_DIMENSION; k++)
            sum += own[k] * vector[k];
        assert_float_equal(hits[i].cosine, sum, 0.01);
        free(own);
    }
    free(vector);
    rag_index_destroy(index);
}

static void flagged_passages_are_left_out(void **state)
{
    struct rag_index *index = make_index();
    struct rag_hit hits[4];
    const struct str all = {NULL, 0}, flag = STR("bananas are yellow fruits");
    assert_int_equal(rag_index_leave_out(index, all, STR("a")), 0);
    assert_int_equal(rag_index_leave_out(index, STR("a.md"), flag), 0);
    assert_int_equal(rag_index_leave_out(index, STR("unknown.md"), flag), 0);
    assert_int_equal(rag_index_leave_out(index, all, STR("  BANANAS are\nyellow   fruits ")), 1);
    size_t n = search(index, "yellow bananas", 4, hits);
    for (size_t i = 0; i < n; i++)
        assert_false(str_eq(hits[i].document->id, STR("b.md")));
    float *vector = embed(STR("yellow bananas"));
    struct rag_near near = {.doc = STR("b.md"), .generation = 1, .chunk = 0, .similarity = 0.9f};
    struct rag_query query = {.vector = vector, .dimension = EMBED_HASH_DIMENSION};
    assert_int_equal(rag_index_nearest(index, &query, 4, 2.0, hits), 3);
    query.near = &near;
    query.near_n = 1;
    assert_int_equal(rag_index_nearest(index, &query, 4, 2.0, hits), 3);
    add(index, "b.md", texts[1]); /* put in again, it is back */
    assert_int_equal(rag_index_nearest(index, &query, 4, 2.0, hits), 4);
    free(vector);
    rag_index_destroy(index);
}

static void equal_texts_come_in_the_order_of_their_ids(void **state)
{
    static const char *const orders[][3] = {{"1", "2", "3"}, {"3", "1", "2"}, {"2", "3", "1"}};
    for (size_t i = 0; i < 3; i++) {
        struct rag_index *index = rag_index_create();
        struct rag_hit hits[3];
        for (size_t k = 0; k < 3; k++)
            put(index, orders[i][k], 1, texts[0]);
        assert_int_equal(search(index, "leases", 3, hits), 3);
        assert_id(&hits[0], "1");
        assert_id(&hits[1], "2");
        assert_id(&hits[2], "3");
        rag_index_destroy(index);
    }
}

static void similarities_of_a_vector_set_stand_for_vectors(void **state)
{
    struct rag_index *index = rag_index_create();
    struct buf bytes;
    struct rag_hit hits[4];
    for (size_t i = 0; i < 4; i++) { /* packs of words alone */
        make_pack(&bytes, str_of(texts[i]), false);
        struct rag_parts parts = {
            .id = str_of(names[i]), .generation = 7, .embedding = 3, .pack = buf_str(&bytes)};
        assert_true(rag_index_put(index, &parts));
        buf_fini(&bytes);
    }
    const struct rag_near near[] = {
        {.doc = STR("c.md"), .generation = 7, .chunk = 0, .similarity = 0.5f},
        {.doc = STR("b.md"), .generation = 7, .chunk = 0, .similarity = 0.8f},
        {.doc = STR("b.md"), .generation = 7, .chunk = 0, .similarity = 0.8f}, /* stated twice */
        {.doc = STR("d.md"), .generation = 6, .chunk = 0, .similarity = 0.9f}, /* an old one */
        {.doc = STR("d.md"), .generation = 7, .chunk = 1, .similarity = 0.9f}, /* no such chunk */
        {.doc = STR("e.md"), .generation = 7, .chunk = 0, .similarity = 0.9f}, /* unknown */
        {.doc = STR("a.md"), .generation = 7, .chunk = 0, .similarity = NAN}};
    struct rag_query query = {
        .text = STR("nonce"), .embedding = 3, .near = near, .near_n = sizeof near / sizeof *near};
    assert_int_equal(rag_index_nearest(index, &query, 4, 2.0, hits), 2);
    assert_id(&hits[0], "b.md");
    assert_int_equal(rag_index_search(index, &query, 4, hits), 2);
    assert_id(&hits[0], "c.md"); /* by its word and its vector */
    assert_float_equal(hits[0].cosine, 0.5, 1e-6);
    assert_true(hits[0].coverage > 0.99f);
    assert_id(&hits[1], "b.md");
    assert_true(hits[1].bm25 < 1e-9 && hits[1].coverage < 1e-9f);
    query.embedding = 4; /* of another model: words alone */
    assert_int_equal(rag_index_nearest(index, &query, 4, 2.0, hits), 0);
    assert_int_equal(rag_index_search(index, &query, 4, hits), 1);
    assert_id(&hits[0], "c.md");
    assert_float_equal(hits[0].cosine, 0, 0);
    rag_index_destroy(index);
}

static void vectors_of_another_model_are_never_compared(void **state)
{
    struct rag_index *index = rag_index_create();
    struct rag_hit hits[4];
    struct buf bytes;
    float *vector = embed(str_of(texts[2]));
    struct rag_query query = {
        .text = STR("bananas"), .vector = vector, .dimension = EMBED_HASH_DIMENSION};
    for (size_t i = 0; i < 4; i++) { /* the same dimension, made by two models in turn */
        make_pack(&bytes, str_of(texts[i]), true);
        struct rag_parts parts = {
            .id = str_of(names[i]), .generation = 1, .embedding = i % 2, .pack = buf_str(&bytes)};
        assert_true(rag_index_put(index, &parts));
        buf_fini(&bytes);
    }
    assert_int_equal(rag_index_count_other_models(index, 0), 2);
    assert_int_equal(rag_index_count_other_models(index, 1), 2);
    assert_int_equal(rag_index_count_other_models(index, 2), 4);
    /* The nearest of its own model's, and the stranger by its word alone. */
    assert_int_equal(rag_index_nearest(index, &query, 4, 2.0, hits), 2);
    assert_id(&hits[0], "c.md");
    assert_id(&hits[1], "a.md");
    size_t n = rag_index_search(index, &query, 4, hits);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++) {
        assert_false(str_eq(hits[i].document->id, STR("d.md")));
        if (str_eq(hits[i].document->id, STR("b.md")))
            assert_float_equal(hits[i].cosine, 0, 0);
    }
    query.embedding = 1;
    assert_int_equal(rag_index_nearest(index, &query, 4, 2.0, hits), 2);
    assert_true(hits[0].cosine < 0.9f); /* c.md, which is the question, is a stranger now */
    free(vector);
    rag_index_destroy(index);
}

static void vectors_in_packs_and_in_a_set_are_ranked_together(void **state)
{
    struct rag_index *index = rag_index_create();
    struct rag_hit hits[4];
    struct buf bytes;
    put(index, "a.md", 1, texts[0]);
    make_pack(&bytes, str_of(texts[1]), false);
    struct rag_parts parts = {.id = STR("b.md"), .generation = 1, .pack = buf_str(&bytes)};
    assert_true(rag_index_put(index, &parts));
    buf_fini(&bytes);
    const struct rag_near near[] = {
        {.doc = STR("b.md"), .generation = 1, .chunk = 0, .similarity = 0.5f},
        {.doc = STR("a.md"), .generation = 1, .chunk = 0, .similarity = 0.1f}}; /* has its own */
    float *vector = embed(str_of(texts[0]));
    struct rag_query query = {
        .vector = vector, .dimension = EMBED_HASH_DIMENSION, .near = near, .near_n = 2};
    assert_int_equal(rag_index_nearest(index, &query, 4, 2.0, hits), 2);
    assert_id(&hits[0], "a.md");
    assert_float_equal(hits[0].cosine, 1, 1e-3);
    assert_id(&hits[1], "b.md");
    assert_float_equal(hits[1].cosine, 0.5, 1e-6);
    free(vector);
    rag_index_destroy(index);
}

static void a_document_is_replaced_removed_and_kept_by_generation(void **state)
{
    struct rag_index *index = rag_index_create();
    struct rag_hit hits[4];
    put(index, "x", 1, texts[0]);
    put(index, "y", 1, texts[1]);
    put(index, "z", 1, texts[2]);
    size_t bytes = rag_index_bytes(index);
    put(index, "x", 2, texts[3]);
    assert_true(rag_index_has(index, STR("x"), 2));
    assert_false(rag_index_has(index, STR("x"), 1));
    assert_int_equal(rag_index_documents(index), 3);
    assert_int_equal(search(index, "stateless nodes", 1, hits), 1);
    assert_id(&hits[0], "x");
    const struct rag_mark marks[] = {
        {STR("z"), 1}, {STR("x"), 2}, {STR("y"), 2}, {STR("unknown"), 1}};
    rag_index_keep(index, marks, 4);
    assert_int_equal(rag_index_documents(index), 2);
    assert_false(rag_index_has(index, STR("y"), 1));
    assert_true(rag_index_has(index, STR("z"), 1));
    rag_index_remove(index, STR("z"));
    rag_index_remove(index, STR("z"));
    assert_int_equal(rag_index_chunks(index), 1);
    assert_true(rag_index_bytes(index) < bytes);
    rag_index_keep(index, NULL, 0);
    assert_int_equal(rag_index_chunks(index), 0);
    assert_int_equal(search(index, "anything", 4, hits), 0);
    rag_index_destroy(index);
}

static void an_unsound_pack_changes_nothing(void **state)
{
    struct rag_index *index = rag_index_create();
    struct buf bytes;
    put(index, "x", 1, texts[0]);
    struct rag_parts parts = {.id = STR("x"), .generation = 2, .pack = STR("PPK1 and no more")};
    assert_false(rag_index_put(index, &parts));
    assert_true(rag_index_has(index, STR("x"), 1));
    /* Chunks that lie outside of the text that comes with them. */
    make_pack(&bytes, str_of(texts[0]), false);
    parts.pack = buf_str(&bytes);
    parts.text = STR("A short text");
    assert_null(rag_document_create(&parts));
    buf_fini(&bytes);
    rag_index_destroy(index);
}

static void a_document_outlives_an_index_that_shares_it(void **state)
{
    struct rag_index *first = make_index(), *second = rag_index_create();
    struct rag_hit hits[1];
    assert_int_equal(search(first, "bananas", 1, hits), 1);
    rag_index_add(second, hits[0].document);
    rag_index_destroy(first);
    assert_int_equal(search(second, "bananas", 1, hits), 1);
    struct str passage = rag_document_passage(hits[0].document, hits[0].chunk);
    assert_int_equal(passage.n, strlen(texts[1]));
    rag_index_destroy(second);
}

static void rare_words_are_worth_more(void **state)
{
    struct rag_index *index = make_index();
    uint64_t hashes[8];
    double weights[8];
    assert_int_equal(
        rag_index_weigh(index, STR("Is the unheard-of nonce near?"), 8, hashes, weights), 4);
    assert_true(weights[0] > weights[2]); /* "unheard" is nowhere, "nonce" in one */
    assert_int_equal(rag_index_weigh(index, STR("one two three"), 1, hashes, weights), 1);
    rag_index_destroy(index);
}

/* Scores by the formula, over chunks of several documents, word by word. */
static void bm25_is_the_formula(void **state)
{
    struct rag_index *index = rag_index_create();
    struct rag_hit hits[4];
    put(index, "1", 1, "lease lease lease");
    put(index, "2", 1, "lease of a claim that ends");
    put(index, "3", 1, "bananas");
    struct rag_query query = {.text = STR("lease")};
    assert_int_equal(rag_index_search(index, &query, 4, hits), 2);
    double idf = 0.470003629; /* log(1 + (3 - 2 + 0.5) / (2 + 0.5)) */
    double mean = 10.0 / 3;   /* 3, 6 and 1 words */
    assert_id(&hits[0], "1");
    assert_float_equal(hits[0].bm25, idf * 3 * 2.2 / (3 + 1.2 * (0.25 + 0.75 * 3 / mean)), 1e-6);
    assert_float_equal(hits[1].bm25, idf * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 6 / mean)), 1e-6);
    assert_float_equal(hits[0].score, 1.0 / 61, 1e-12);
    rag_index_destroy(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_multiply_gives_the_same),
        cmocka_unit_test(the_best_passage_comes_first),
        cmocka_unit_test(words_find_where_there_is_no_vector),
        cmocka_unit_test(nearest_respects_count_and_threshold),
        cmocka_unit_test(small_integers_keep_the_cosine),
        cmocka_unit_test(flagged_passages_are_left_out),
        cmocka_unit_test(equal_texts_come_in_the_order_of_their_ids),
        cmocka_unit_test(similarities_of_a_vector_set_stand_for_vectors),
        cmocka_unit_test(vectors_of_another_model_are_never_compared),
        cmocka_unit_test(vectors_in_packs_and_in_a_set_are_ranked_together),
        cmocka_unit_test(a_document_is_replaced_removed_and_kept_by_generation),
        cmocka_unit_test(an_unsound_pack_changes_nothing),
        cmocka_unit_test(a_document_outlives_an_index_that_shares_it),
        cmocka_unit_test(rare_words_are_worth_more),
        cmocka_unit_test(bm25_is_the_formula),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
