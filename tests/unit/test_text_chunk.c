/* SPDX-License-Identifier: MIT
 * test_text_chunk.c - words, sentences and chunks. */
#include "shared/text/chunk.h"
#include "shared/text/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CHUNKS_MAX = 4096 };

static size_t cut(struct str text, struct chunk chunks[CHUNKS_MAX])
{
    struct chunk_cursor cursor = {.text = text};
    size_t n = 0;
    while (chunk_next(&cursor, &chunks[n]))
        assert_true(++n < CHUNKS_MAX);
    return n;
}

/* What must hold of any text: order, sizes, nothing lost, offsets that agree. */
static size_t check(struct str text)
{
    static struct chunk chunks[CHUNKS_MAX];
    size_t n = cut(text, chunks), covered = 0;
    for (size_t i = 0; i < n; i++) {
        const struct chunk *c = &chunks[i];
        assert_true(c->start_bytes < c->end_bytes && c->end_bytes <= text.n);
        assert_int_equal(c->start_chars, text_length((struct str){text.at, c->start_bytes}));
        assert_int_equal(c->end_chars, text_length((struct str){text.at, c->end_bytes}));
        assert_true(c->end_chars - c->start_chars <= CHUNK_MAX_CHARS);
        assert_true(
            str_is_utf8((struct str){text.at + c->start_bytes, c->end_bytes - c->start_bytes}));
        if (i > 0)
            assert_true(c->start_bytes > chunks[i - 1].start_bytes);
        if (i > 0 && chunks[i - 1].end_chars > c->start_chars)
            assert_true(chunks[i - 1].end_chars - c->start_chars <= CHUNK_OVERLAP_CHARS);
        for (size_t k = covered; k < c->start_bytes; k++)
            assert_non_null(strchr(" \n\t\r\xc2\xa0\xe3\x80", text.at[k]));
        covered = c->end_bytes;
    }
    for (size_t k = covered; k < text.n; k++)
        assert_non_null(strchr(" \n\t\r\xc2\xa0\xe3\x80", text.at[k]));
    return n;
}

static struct str repeat(const char *piece, size_t n)
{
    size_t length = strlen(piece);
    char *text = malloc(n * length + 1);
    for (size_t i = 0; i < n; i++)
        memcpy(text + i * length, piece, length);
    text[n * length] = 0;
    return (struct str){text, n * length};
}

static void a_short_text_is_one_chunk(void **state)
{
    struct chunk chunks[CHUNKS_MAX];
    assert_int_equal(cut(STR("  One sentence.\n"), chunks), 1);
    assert_int_equal(chunks[0].start_bytes, 2);
    assert_int_equal(chunks[0].end_bytes, 15);
    assert_int_equal(cut(STR(""), chunks), 0);
    assert_int_equal(cut(STR(" \n\n\t "), chunks), 0);
}

static void every_kind_of_text_is_covered(void **state)
{
    static const char *const pieces[] = {"A sentence of eight words stands right here. ",
                                         "word ",
                                         "x",
                                         "\xc3\xbc",
                                         "\xe6\xbc\xa2",
                                         "\xf0\x9f\x98\x80",
                                         "line\n",
                                         "A paragraph.\n\n",
                                         "\xe6\xbc\xa2\xe5\xad\x97\xe3\x80\x82",
                                         "# Heading\n\nText below it, rather short.\n\n",
                                         "a\r\nb\r\n"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        for (size_t n = 1; n < 3000; n = n * 3 + 1) {
            struct str text = repeat(pieces[i], n);
            size_t chunks = check(text);
            assert_true(chunks >= text_length(text) / (CHUNK_MAX_CHARS + 1));
            free((char *)text.at);
        }
}

static void the_same_text_gives_the_same_chunks(void **state)
{
    static struct chunk first[CHUNKS_MAX], second[CHUNKS_MAX];
    struct str text = repeat("Some words, then more of them. ", 500);
    size_t n = cut(text, first);
    assert_int_equal(cut(text, second), n);
    assert_memory_equal(first, second, n * sizeof first[0]);
    free((char *)text.at);
}

static void a_cut_prefers_paragraphs_then_sentences(void **state)
{
    static struct chunk chunks[CHUNKS_MAX];
    struct str words = repeat("word ", 130);
    char *text = NULL;
    assert_true(asprintf(&text, "%s\n\n%s. %s %s", words.at, words.at, words.at, words.at) > 0);
    size_t n = cut(str_of(text), chunks);
    assert_true(n >= 2);
    /* The first chunk ends where its paragraph does, though more would have fitted. */
    assert_int_equal(chunks[0].end_bytes, words.n - 1);
    free(text);
    free((char *)words.at);
}

static void a_passage_begins_at_a_heading_and_is_not_tiny(void **state)
{
    struct str words = repeat("word ", 100), few = repeat("few ", 10);
    struct buf text;
    static struct chunk chunks[CHUNKS_MAX];
    buf_init(&text, 65536);
    buf_printf(&text, "# One\n\n%.*s\n\n## Two\n\n%.*s\n\n### Three\n\n%.*s\n#no heading",
               STR_ARG(words), STR_ARG(few), STR_ARG(words));
    size_t n = cut(buf_str(&text), chunks);
    assert_int_equal(n, 2);
    assert_true(chunks[1].start_bytes > chunks[0].end_bytes);
    assert_memory_equal(text.at + chunks[1].start_bytes, "## Two", 6);
    (void)check(buf_str(&text));
    free((char *)(uintptr_t)words.at);
    free((char *)(uintptr_t)few.at);
    buf_fini(&text);
}

static void words_are_folded_and_cut_to_stems(void **state)
{
    static const char *const same[][2] = {{"Employees", "employee"},
                                          {"accrues", "accrued"},
                                          {"queries", "query"},
                                          {"stopped", "stopping"},
                                          {"\xc3\x9c"
                                           "BER",
                                           "\xc3\xbc"
                                           "ber"},
                                          {"engine's", "engines"},
                                          {"Fairly", "fair"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        struct text_word a, b;
        struct str x = str_of(same[i][0]), y = str_of(same[i][1]);
        assert_true(text_next_word(&x, &a));
        assert_true(text_next_word(&y, &b));
        if (i != 5) /* the apostrophe goes, the ending stays the same word's */
            assert_string_equal(a.at, b.at);
    }
    struct str rest = STR("the \xe6\xbc\xa2\xe5\xad\x97 lease");
    struct text_word word;
    assert_true(text_next_word(&rest, &word) && word.is_stop);
    assert_true(text_next_word(&rest, &word) && word.n == 3);
    assert_true(text_next_word(&rest, &word) && word.n == 3);
    assert_true(text_next_word(&rest, &word) && !word.is_stop);
    assert_false(text_next_word(&rest, &word));
}

static void sentences_end_where_people_see_it(void **state)
{
    struct str rest =
        STR("See e.g. Dr. Who at 3.5 km. \"Really?\" he said.\n- a list item\n# Head\n"
            "A line\nthat goes on.");
    static const char *const expected[] = {
        "See e.g. Dr. Who at 3.5 km.", "\"Really?\"", "he said.", "- a list item", "# Head",
        "A line\nthat goes on."};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct str sentence = text_next_sentence(&rest);
        assert_int_equal(sentence.n, strlen(expected[i]));
        assert_memory_equal(sentence.at, expected[i], sentence.n);
    }
    assert_int_equal(text_next_sentence(&rest).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_text_is_one_chunk),
        cmocka_unit_test(every_kind_of_text_is_covered),
        cmocka_unit_test(the_same_text_gives_the_same_chunks),
        cmocka_unit_test(a_cut_prefers_paragraphs_then_sentences),
        cmocka_unit_test(a_passage_begins_at_a_heading_and_is_not_tiny),
        cmocka_unit_test(words_are_folded_and_cut_to_stems),
        cmocka_unit_test(sentences_end_where_people_see_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
