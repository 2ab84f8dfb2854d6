/* SPDX-License-Identifier: MIT
 * test_text_fold.c - characters and words as search compares them. */
#include "shared/text/fold.h"
#include "shared/text/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* The words of a text as they are looked for, "+" before those that compounds also are. */
static void check_words(const char *text, const char *expected)
{
    struct buf list;
    struct str rest = str_of(text);
    struct text_word word, joined;
    struct text_compound compound = {.n = 0};
    buf_init(&list, 4096);
    while (text_next_word(&rest, &word)) {
        buf_put(&list, list.n > 0 ? STR(" ") : STR(""));
        text_word_bare(&word);
        buf_put(&list, (struct str){word.at, word.n});
        if (text_compound_next(&compound, word.here, &joined)) {
            buf_lit(&list, " +");
            text_word_bare(&joined);
            buf_put(&list, (struct str){joined.at, joined.n});
        }
    }
    buf_terminate(&list);
    assert_string_equal(list.at, expected);
    buf_fini(&list);
}

static void what_people_cannot_see_is_folded(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"The main\u00adten\u00adance costs", "the maintenanc cost"},
        {"The cata\u200blogue, Cata\u2060LOGUE", "the catalogu catalogu"},
        {"a\ufb03liate", "affiliat"},
        {"\uff30\uff38\uff0d\uff19\uff10", "px 90 +px90"},
        {"\uff53\uff45\uff52\uff56\uff45\uff52\uff53", "server"},
        {"\uff76\uff9e\uff7d", "\u30ac \u30b9"}, /* half-width katakana with a voiced mark */
        {"\u30ab\u3099", "\u30ac"},
        {"cafe\u0301 caf\u00e9 CAF\u00c9S cafe", "cafe cafe cafe cafe"},
        {"Stra\u00dfe STRASSE stra\u1e9ee", "strass strass strass"},
        {"\u0130zmir izmir \u0131zgara", "izmir izmir izgara"},
        {"\u039f\u03b4\u03cc\u03c2 \u039f\u0394\u039f\u03a3",
         "\u03bf\u03b4\u03bf\u03c3 \u03bf\u03b4\u03bf\u03c3"},
        {"\u0401\u043b\u043a\u0430 \u0435\u043b\u043a\u0430",
         "\u0435\u043b\u043a\u0430 \u0435\u043b\u043a\u0430"},
        {"\u0643\u0650\u062a\u064e\u0627\u0628 \u0643\u062a\u0640\u0640\u0627\u0628 "
         "\u0643\u062a\u0627\u0628",
         "\u0643\u062a\u0627\u0628 \u0643\u062a\u0627\u0628 \u0643\u062a\u0627\u0628"},
        {"\u0623\u062d\u0645\u062f \ufe8e", "\u0627\u062d\u0645\u062f \u0627"},
        {"\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "\u05e9\u05dc\u05d5\u05dd"},
        {"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
         "\u0645\u06cc\u062e\u0648\u0627\u0647\u0645"},
        {"\u0e01\u0e32\u0e23\u200b\u0e41\u0e1b\u0e25", "\u0e01\u0e32\u0e23 \u0e41\u0e1b\u0e25"},
        {"\uac00\u1112\u1161\u11ab", "\uac00 \ud55c"}, /* Hangul from its letters */
        {"\u4eba\u3005", "\u4eba \u3005"},
        {"\u0141\u00f3d\u017a, \u00d8l, \u00c6on", "lodz ol aon"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_words(cases[i].text, cases[i].words);
}

static void symbols_are_no_words_and_superscripts_are_words_of_their_own(void **state)
{
    check_words("Parley\u2122 \u00a9 2026 \u20ac40 \U0001f600x\U0001f600", "parley 2026 40 x");
    check_words("10\u2076 cm\u00b3 10^6", "10 6 cm 3 10 6");
    check_words("H\u2082O CO_2", "h2o co 2 +co2");
    check_words("\u2460 \u00bd", "1 1\u20442");
    check_words("engine's don\u2019t l'eau", "engin dont leau");
}

static void compounds_are_also_one_word(void **state)
{
    check_words("e-mail, e\u2010mail e\u2011mails", "e mail +email e mail +email e mail +email");
    check_words("state-of-the-art", "stat of +stateof the +stateofth art +stateoftheart");
    check_words("a-b-c-d-e", "a b +ab c +abc d +abcd e");
    check_words("1990-1995 x - y w--z PX-90", "1990 1995 x y w z px 90 +px90");
    check_words("\u65e5-\u672c", "\u65e5 \u672c");
    check_words("re-used reused", "re used +reus reus");
}

static size_t bytes_of(const char *text)
{
    struct str rest = str_of(text);
    size_t n = 0;
    struct folded c;
    for (size_t step; (step = fold_next(rest, &c)) != 0; rest.at += step, rest.n -= step)
        n += step;
    return n;
}

static void any_bytes_are_read_to_their_end(void **state)
{
    char marks[4002] = "a";
    for (size_t i = 1; i + 2 < sizeof marks; i += 2)
        memcpy(marks + i, "\xcc\x81", 2);
    assert_int_equal(bytes_of(marks), strlen(marks));
    assert_int_equal(bytes_of("\xff\xfe a\xc3"), 5);
    assert_int_equal(bytes_of("\ufdfa\ufdfa"), 6);
    check_words("\xff\xfe\xc3", "");
    check_words("", "");
}

static void the_place_of_a_word_is_without_what_is_around_it(void **state)
{
    struct str rest = STR("\u00adcata\u00adlogue\u00ad.");
    struct text_word word;
    assert_true(text_next_word(&rest, &word));
    assert_true(str_eq(word.here, STR("cata\u00adlogue")));
    assert_false(text_next_word(&rest, &word));
}

static void check_normal(const char *text, const char *expected)
{
    struct buf b;
    buf_init(&b, 4096);
    text_put_normal(&b, str_of(text));
    buf_terminate(&b);
    assert_string_equal(b.at, expected);
    buf_fini(&b);
}

static void texts_are_compared_as_they_look(void **state)
{
    check_normal("  The\u00a0Cata\u00adlogue \u3000of\n\uff30\uff38 ", "the catalogue of px");
    check_normal("\ufb01re \u201cnow\u201d\u2026", "fire \u201cnow\u201d...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_people_cannot_see_is_folded),
        cmocka_unit_test(symbols_are_no_words_and_superscripts_are_words_of_their_own),
        cmocka_unit_test(compounds_are_also_one_word),
        cmocka_unit_test(any_bytes_are_read_to_their_end),
        cmocka_unit_test(the_place_of_a_word_is_without_what_is_around_it),
        cmocka_unit_test(texts_are_compared_as_they_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
