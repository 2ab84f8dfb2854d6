/* SPDX-License-Identifier: MIT
 * test_text_find.c - shared/text/find.h: what is found in JSON strings, compared with the plain
 * definition on many small texts, and on long ones that repeat themselves. */
#include "shared/text/find.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct find find;

/* Cut into two parts at each place, with an empty one in between. */
static bool is_found(const char *text, const char *in)
{
    size_t n = strlen(in), found_n = 0;
    find_init(&find, str_of(text));
    for (size_t cut = 0; cut <= n; cut++) {
        struct find_place place = {0};
        found_n += find_read(&find, &place, (struct str){in, cut}) ||
                   find_read(&find, &place, STR("")) ||
                   find_read(&find, &place, (struct str){in + cut, n - cut});
    }
    assert_true(found_n == 0 || found_n == n + 1);
    return found_n > 0;
}

static void ascii_is_found_in_either_case_and_nothing_else_is_folded(void **state)
{
    (void)state;
    assert_true(is_found("house", "\"The LightHouse\""));
    assert_true(is_found("HOUSE", "lighthouse"));
    assert_true(is_found("\\u00e9", "caf\\u00E9"));
    assert_true(is_found("\xc3\xa9", "caf\xc3\xa9"));
    assert_false(is_found("\xc3\xa9", "CAF\xc3\x89"));
    assert_false(is_found("[", "{"));
    assert_false(is_found("@", "`"));
    assert_false(is_found("houses", "house"));
    assert_false(is_found("x", ""));
}

static void the_second_half_of_an_escape_is_no_text(void **state)
{
    (void)state;
    assert_false(is_found("nb", "a\\nb"));
    assert_true(is_found("nb", "a\\nb nb"));
    assert_true(is_found("nb", "a\\\\nb"));
    assert_false(is_found("nb", "a\\\\\\nb"));
    assert_true(is_found("\\nb", "a\\nb"));
    assert_false(is_found("\\nb", "a\\\\nb"));
    assert_true(is_found("\\\\", "\\\\"));
    assert_false(is_found("\\\"", "\\\\\""));
    assert_false(is_found("n\\n", "\\n\\n\\n"));
}

/* The definition: some place before which there is an even number of backslashes. */
static bool is_there(const char *text, const char *in)
{
    size_t text_n = strlen(text), in_n = strlen(in), backslashes = 0;
    for (size_t i = 0; i + text_n <= in_n; i++) {
        bool is_same = true;
        for (size_t k = 0; k < text_n; k++)
            is_same = is_same && (in[i + k] | 0x20) == (text[k] | 0x20);
        if (is_same && backslashes % 2 == 0)
            return true;
        backslashes = in[i] == '\\' ? backslashes + 1 : 0;
    }
    return false;
}

/* `n` bytes of a few, made from a number. */
static void put_text(char *at, unsigned n, unsigned number)
{
    for (; n > 0; n--, number /= 4)
        *at++ = "aNn\\"[number % 4];
    *at = 0;
}

static void short_texts_are_found_where_the_definition_says(void **state)
{
    char text[8], in[16];
    unsigned found_n = 0;
    (void)state;
    srand(1);
    for (unsigned i = 0; i < 200000; i++) {
        put_text(text, 1 + (unsigned)rand() % 5, (unsigned)rand());
        put_text(in, (unsigned)rand() % 11, (unsigned)rand());
        size_t backslashes = 0;
        for (const char *end = text + strlen(text); end > text && end[-1] == '\\'; end--)
            backslashes++;
        if (backslashes % 2 == 1) /* half an escape */
            continue;
        bool is = is_there(text, in);
        found_n += is;
        if (is_found(text, in) != is)
            fail_msg("'%s' in '%s'", text, in);
    }
    assert_true(found_n > 10000);
}

/* With every byte compared with every byte it would take an hour. */
static void a_long_text_that_repeats_itself_is_searched_in_linear_time(void **state)
{
    enum { TEXT_N = 2000, IN_N = 32 << 20 };
    char *text = malloc(TEXT_N + 1), *in = malloc(IN_N);
    struct find_place place = {0};
    (void)state;
    assert_non_null(text);
    assert_non_null(in);
    for (size_t i = 0; i < TEXT_N; i++)
        text[i] = i % 2 == 0 ? 'n' : '\\';
    text[TEXT_N - 1] = 'n';
    for (size_t i = 0; i < IN_N; i++)
        in[i] = i % 2 == 0 ? '\\' : 'n';
    find_init(&find, (struct str){text, TEXT_N});
    assert_false(find_read(&find, &place, (struct str){in, IN_N}));
    memset(text, 'a', TEXT_N);
    text[TEXT_N - 1] = 'b';
    memset(in, 'a', IN_N);
    find_init(&find, (struct str){text, TEXT_N});
    place = (struct find_place){0};
    assert_false(find_read(&find, &place, (struct str){in, IN_N}));
    assert_true(find_read(&find, &place, STR("b")));
    free(text);
    free(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ascii_is_found_in_either_case_and_nothing_else_is_folded),
        cmocka_unit_test(the_second_half_of_an_escape_is_no_text),
        cmocka_unit_test(short_texts_are_found_where_the_definition_says),
        cmocka_unit_test(a_long_text_that_repeats_itself_is_searched_in_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
