/* SPDX-License-Identifier: MIT
 * test_search_pack.c - building and reading the search index of one document. */
#include "shared/search/pack.h"
#include "shared/text/text.h"

#include <endian.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CHUNKS_MAX = 64, DIMENSION = 5 };

struct example {
    struct buf bytes;
    struct chunk chunks[CHUNKS_MAX];
    uint32_t n;
};

static void build(struct example *example, struct str text, const float *vectors,
                  uint32_t dimension)
{
    struct chunk_cursor cursor = {.text = text};
    example->n = 0;
    while (chunk_next(&cursor, &example->chunks[example->n])) {
        example->chunks[example->n].page = example->n / 2;
        assert_true(++example->n < CHUNKS_MAX);
    }
    buf_init(&example->bytes, 1 << 20);
    pack_build(&example->bytes, text, example->chunks, example->n, vectors, dimension);
    assert_false(example->bytes.is_over);
}

static uint64_t hash_of(const char *text)
{
    struct str rest = str_of(text);
    struct text_word word;
    assert_true(text_next_word(&rest, &word));
    return text_hash((struct str){word.at, word.n}, 0);
}

static char *long_text(void)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    for (int i = 0; i < 400; i++)
        buf_printf(&text, "Sentence %d speaks of a lease and of word%d.%s", i, i * 7,
                   i % 9 == 8 ? "\n\n" : " ");
    buf_put_char(&text, 0);
    return text.at;
}

static void a_pack_holds_chunks_and_words(void **state)
{
    struct example example;
    struct pack pack;
    char *text = long_text();
    build(&example, str_of(text), NULL, 0);
    assert_true(example.n > 10);
    assert_true(pack_parse(buf_str(&example.bytes), &pack));
    assert_int_equal(pack.chunk_n, example.n);
    assert_null(pack.vectors);
    uint64_t words = 0;
    for (uint32_t i = 0; i < pack.chunk_n; i++) {
        struct pack_chunk chunk = pack_chunk(&pack, i);
        assert_int_equal(chunk.start_bytes, example.chunks[i].start_bytes);
        assert_int_equal(chunk.end_bytes, example.chunks[i].end_bytes);
        assert_int_equal(chunk.start_chars, example.chunks[i].start_chars);
        assert_int_equal(chunk.end_chars, example.chunks[i].end_chars);
        assert_int_equal(chunk.page, i / 2);
        words += chunk.word_n;
    }
    assert_int_equal(pack.word_total, words);
    uint32_t first, n, count;
    assert_true(pack_find(&pack, hash_of("leases"), &first, &n));
    assert_int_equal(n, pack.chunk_n);
    assert_int_equal(pack_posting(&pack, first, &count), 0);
    assert_true(count > 5);
    assert_true(pack_find(&pack, hash_of("word700"), &first, &n));
    assert_true(n == 1 || n == 2); /* two where it is in an overlap */
    assert_false(pack_find(&pack, hash_of("banana"), &first, &n));
    assert_false(pack_find(&pack, hash_of("the"), &first, &n));
    assert_false(pack_find(&pack, 0, &first, &n));
    assert_false(pack_find(&pack, UINT64_MAX, &first, &n));
    buf_fini(&example.bytes);
    free(text);
}

/* Every word of the table is found again, with a directory and without, whatever the values of the
 * hashes: as they are, crowded at the low end, crowded at the high end. */
static void every_word_is_found(void **state)
{
    struct example example;
    struct pack pack;
    char *text = long_text();
    build(&example, str_of(text), NULL, 0);
    assert_true(pack_parse(buf_str(&example.bytes), &pack));
    char *rows = example.bytes.at + (pack.terms - (const unsigned char *)example.bytes.at);
    uint32_t *directory = calloc(pack_directory_n(&pack), sizeof *directory), first, n;
    assert_true(directory != NULL && pack.term_n > 300);
    for (int round = 0; round < 6; round++) {
        for (uint32_t i = 0; round >= 2 && i < pack.term_n; i++) {
            uint64_t hash = htole64(round < 4 ? i * 2u + 1 : UINT64_MAX - 2u * (pack.term_n - i));
            memcpy(rows + i * PACK_TERM_BYTES, &hash, sizeof hash);
        }
        assert_true(pack_parse(buf_str(&example.bytes), &pack));
        if (round % 2 == 1)
            pack_use_directory(&pack, directory);
        for (uint32_t i = 0, wanted; i < pack.term_n; i++) {
            uint64_t hash;
            memcpy(&hash, rows + i * PACK_TERM_BYTES, sizeof hash);
            memcpy(&wanted, rows + i * PACK_TERM_BYTES + 8, sizeof wanted);
            assert_true(pack_find(&pack, le64toh(hash), &first, &n));
            assert_int_equal(first, le32toh(wanted));
            assert_false(pack_find(&pack, le64toh(hash) + 1, &first, &n));
        }
    }
    free(directory);
    buf_fini(&example.bytes);
    free(text);
}

static void vectors_are_kept_as_small_integers(void **state)
{
    static const float vectors[] = {0.5f, -0.5f, 0.5f, -0.5f, 0.0f};
    struct example example;
    struct pack pack;
    build(&example, STR("One chunk."), vectors, DIMENSION);
    assert_true(pack_parse(buf_str(&example.bytes), &pack));
    assert_int_equal(pack.dimension, DIMENSION);
    assert_int_equal(pack.chunk_n, 1);
    for (int i = 0; i < DIMENSION; i++)
        assert_float_equal((float)pack.vectors[i] * pack_scale(&pack, 0), vectors[i], 1e-6);
    buf_fini(&example.bytes);
}

static void a_vector_keeps_its_length_and_its_direction(void **state)
{
    float vector[300];
    int8_t small[300];
    double dot = 0, length = 0, own = 0;
    for (int i = 0; i < 300; i++)
        vector[i] = sinf((float)i * 0.7f) * (i % 17 == 0 ? 3.0f : 0.2f);
    float scale = pack_quantise(vector, 300, small);
    for (int i = 0; i < 300; i++) {
        double back = (double)small[i] * (double)scale;
        dot += back * (double)vector[i];
        own += back * back;
        length += (double)vector[i] * (double)vector[i];
    }
    assert_float_equal(own, length, 1e-4 * length);
    assert_true(dot / length > 0.999);
    float bad[] = {1.0f, NAN, 0.0f}, none[] = {0.0f, 0.0f, 0.0f}, wide[] = {INFINITY, 1.0f, 1.0f};
    assert_true(pack_quantise(bad, 3, small) == 0 && small[0] == 0);
    assert_true(pack_quantise(none, 3, small) == 0 && small[0] == 0);
    assert_true(pack_quantise(wide, 3, small) == 0 && small[1] == 0);
}

static void an_empty_text_has_an_empty_pack(void **state)
{
    struct example example;
    struct pack pack;
    uint32_t first, n;
    build(&example, STR(""), NULL, 0);
    assert_int_equal(example.bytes.n, PACK_HEADER_BYTES);
    assert_true(pack_parse(buf_str(&example.bytes), &pack));
    assert_int_equal(pack.chunk_n, 0);
    assert_false(pack_find(&pack, 7, &first, &n));
    buf_fini(&example.bytes);
}

/* Where a change of one byte must be noticed: everything but vectors, sizes of chunks that stay
 * sound, and hashes that stay in order. */
static void a_damaged_pack_is_refused(void **state)
{
    static const float vectors[DIMENSION] = {1};
    struct example example;
    struct pack pack;
    build(&example, STR("One lease, one chunk, one lease."), vectors, DIMENSION);
    struct str bytes = buf_str(&example.bytes);
    assert_true(pack_parse(bytes, &pack));
    for (size_t n = 0; n < bytes.n; n++)
        assert_false(pack_parse((struct str){bytes.at, n}, &pack));
    for (size_t i = 0; i < PACK_HEADER_BYTES; i++) {
        example.bytes.at[i] ^= 0x41;
        assert_false(pack_parse(bytes, &pack));
        example.bytes.at[i] ^= 0x41;
    }
    /* Of the last posting the count and the chunk, of the last word the postings. */
    size_t postings = (size_t)pack.posting_n * PACK_POSTING_BYTES;
    const struct {
        size_t from_end;
        char value;
    } spots[] = {{4, 0}, {3, 1}, {1, 1}, {postings + 4, 9}, {postings + 8, 9}};
    for (size_t i = 0; i < sizeof spots / sizeof *spots; i++) {
        char *at = example.bytes.at + bytes.n - spots[i].from_end, was = *at;
        *at = spots[i].value;
        assert_false(pack_parse(bytes, &pack));
        *at = was;
        assert_true(pack_parse(bytes, &pack));
    }
    float endless = INFINITY;
    memcpy(example.bytes.at + PACK_HEADER_BYTES + PACK_CHUNK_BYTES, &endless, sizeof endless);
    assert_false(pack_parse(bytes, &pack));
    buf_fini(&example.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pack_holds_chunks_and_words),
        cmocka_unit_test(every_word_is_found),
        cmocka_unit_test(vectors_are_kept_as_small_integers),
        cmocka_unit_test(a_vector_keeps_its_length_and_its_direction),
        cmocka_unit_test(an_empty_text_has_an_empty_pack),
        cmocka_unit_test(a_damaged_pack_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
