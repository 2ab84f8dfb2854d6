/* SPDX-License-Identifier: MIT
 * test_bots_annex_words.c - what is a command to the main bot, and which words it has. */
#include "services/bots/rooms/annex_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void expect(const char *text, const char *name, size_t n, const char *const *words)
{
    struct annex_words got;
    assert_true(annex_words_read(str_of(text), false, &got));
    assert_false(got.is_over);
    assert_true(str_eq(got.name, str_of(name)));
    assert_int_equal(got.n, n);
    for (size_t i = 0; i < n; i++)
        assert_true(str_eq(got.words[i], str_of(words[i])));
}

static void words_are_separated_by_white_space(void **state)
{
    (void)state;
    expect("@annex /help", "/help", 0, NULL);
    expect("  @annex\t/bots \n", "/bots", 0, NULL);
    expect("@annex /register  @echo\nhttps://a.example/b?c \"Ada Lovelace\" zulip", "/register", 4,
           (const char *const[]){"@echo", "https://a.example/b?c", "Ada Lovelace", "zulip"});
    expect("@annex /", "/", 0, NULL);
}

static void what_is_within_quotes_is_one_word(void **state)
{
    struct annex_words got;
    (void)state;
    expect("@annex /x \"\" \"a  b\"\"c\"d", "/x", 4, (const char *const[]){"", "a  b", "c", "d"});
    expect("@annex /x a\"b c\"", "/x", 2, (const char *const[]){"a\"b", "c\""});
    assert_true(annex_words_read(STR("@annex /x \"\" y"), false, &got));
    assert_true(got.is_quoted[0] && !got.is_quoted[1]);
    assert_true(annex_words_read(STR("@annex /x \"a b"), false, &got));
    assert_true(got.is_over);
    assert_true(annex_words_read(STR("@annex /x \""), false, &got));
    assert_true(got.is_over);
}

static void words_may_stand_before_a_command(void **state)
{
    (void)state;
    expect("hi @annex /help", "/help", 0, NULL);
    expect("@annex/help", "/help", 0, NULL);
    expect("@Annex, please:\n/rotate @x", "/rotate", 1, (const char *const[]){"@x"});
    expect("@ada @annex @bob /x y", "/x", 1, (const char *const[]){"y"});
    expect("@\xce\x91nnex /help", "/help", 0, NULL); /* a Greek letter */
}

static void who_tags_the_main_bot_without_a_command_wants_an_answer(void **state)
{
    static const char *const texts[] = {
        "@annex", "@annex help", "/help @annex", "@annex.", "(@annex)", "so, @ANNEX?", NULL};
    struct annex_words got;
    (void)state;
    for (const char *const *text = texts; *text != NULL; text++) {
        assert_true(annex_words_read(str_of(*text), false, &got));
        assert_int_equal(got.name.n, 0);
    }
    assert_true(annex_words_read(STR("go on: /bots"), true, &got));
    assert_true(str_eq(got.name, STR("/bots")));
}

static void other_texts_are_not_for_the_main_bot(void **state)
{
    static const char *const texts[] = {
        "",        "annex /help",    "/help",          "@annexe /help",
        "x@annex", "`@annex /help`", "> @annex /help", NULL};
    struct annex_words got;
    (void)state;
    for (const char *const *text = texts; *text != NULL; text++)
        assert_false(annex_words_read(str_of(*text), false, &got));
}

static void there_is_an_end_to_words(void **state)
{
    struct annex_words got;
    (void)state;
    assert_true(annex_words_read(STR("@annex /x 1 2 3 4 5 6 7 8"), false, &got));
    assert_true(got.n == ANNEX_WORDS_MAX && !got.is_over);
    assert_true(annex_words_read(STR("@annex /x 1 2 3 4 5 6 7 8 9"), false, &got));
    assert_true(got.n == ANNEX_WORDS_MAX && got.is_over);
}

static void names_begin_with_an_at(void **state)
{
    (void)state;
    assert_true(str_eq(annex_name_of(STR("@ada")), STR("ada")));
    assert_int_equal(annex_name_of(STR("ada")).n, 0);
    assert_int_equal(annex_name_of(STR("@")).n, 0);
    assert_int_equal(annex_name_of(STR("")).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_separated_by_white_space),
        cmocka_unit_test(what_is_within_quotes_is_one_word),
        cmocka_unit_test(words_may_stand_before_a_command),
        cmocka_unit_test(who_tags_the_main_bot_without_a_command_wants_an_answer),
        cmocka_unit_test(other_texts_are_not_for_the_main_bot),
        cmocka_unit_test(there_is_an_end_to_words),
        cmocka_unit_test(names_begin_with_an_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
