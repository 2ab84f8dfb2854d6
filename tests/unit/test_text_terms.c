/* SPDX-License-Identifier: MIT
 * test_text_terms.c - what a question asks for, and what of it a text holds. */
#include "shared/text/terms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void check_terms(const char *question, const char *expected)
{
    struct terms terms;
    struct buf list;
    buf_init(&list, 4096);
    terms_read(&terms, str_of(question), STR(""));
    for (size_t i = 0; i < terms.n; i++) {
        buf_put(&list, i > 0 ? STR(",") : STR(""));
        buf_put(&list, terms.at[i].word.here);
    }
    buf_terminate(&list);
    assert_string_equal(list.at, expected);
    buf_fini(&list);
}

static void a_question_is_read_without_the_stop_words_of_its_language(void **state)
{
    check_terms("What happens when an engine dies?", "engine,dies");
    check_terms("Wann wird dies alles repariert?", "repariert");
    check_terms("Quel jour l\xe2\x80\x99"
                "entr\xc3\xa9"
                "e est-elle gratuite ?",
                "jour,entr\xc3\xa9"
                "e,gratuite");
    check_terms("\xc2\xbfQui\xc3\xa9n da los cursos de nataci\xc3\xb3n?", "cursos,nataci\xc3\xb3n");
    check_terms("Chi \xc3\xa8 il capo dell'ufficio?", "capo,ufficio");
    check_terms("龙井多少钱？", "龙,井");
    check_terms("夕食は何時ですか？", "夕,食");
    check_terms("What is it?", "");
    check_terms("", "");
    check_terms("?!", "");
}

/* What a text holds of the only term of a question, in hundredths. */
static int like(const char *question, const char *text)
{
    struct terms terms;
    struct terms_found found = {{0}};
    terms_read(&terms, str_of(question), STR(""));
    assert_int_equal(terms.n, 1);
    terms_learn(&terms, str_of(text));
    (void)terms_match(&terms, str_of(text), 1, &found);
    return (int)(found.at[0] * 100 + 0.5F);
}

static void words_are_found_in_other_forms_in_compounds_and_misspelt(void **state)
{
    assert_int_equal(like("warranty", "The Warranty ends."), 100);
    assert_int_equal(like("entkalke", "Entkalken Sie das Ger\xc3\xa4t."), 95);
    assert_int_equal(like("bicicletta", "Le biciclette"), 95);
    assert_int_equal(like("Maschine", "Die Kaffeemaschine"), 70);
    assert_int_equal(like("spielen", "Ballspiele sind verboten."), 70);
    assert_int_equal(like("allergy", "alle Arbeiten"), 0);
    assert_int_equal(like("warrenty", "the warranty"), 75);
    assert_int_equal(like("Kautoin", "Die Kaution"), 75);
    assert_int_equal(like("lamp", "the damp room"), 0);
    assert_int_equal(like("warranty", "the army"), 0);
}

static void a_word_that_the_texts_spell_so_is_no_slip_of_another(void **state)
{
    assert_int_equal(like("widows", "the windows"), 75);
    assert_int_equal(like("widows", "the windows; a widow"), 100);
}

static void numbers_and_codes_are_exact(void **state)
{
    assert_int_equal(like("4012", "Error 4012"), 100);
    assert_int_equal(like("4012", "Error 4013, 40123, 401"), 0);
    assert_int_equal(like("E11", "E12, e1, e111"), 0);
    assert_int_equal(like("E11", "code e11"), 100);
}

/* How many of the question's terms the text has, as hundredths of them. */
static int share(const char *question, const char *text)
{
    struct terms terms;
    struct terms_found found = {{0}};
    terms_read(&terms, str_of(question), STR(""));
    terms_learn(&terms, str_of(text));
    (void)terms_match(&terms, str_of(text), 1, &found);
    return (int)(100 * terms_weigh(&terms, &found) / terms_weight(&terms) + 0.5);
}

static void accents_and_hyphens_may_be_left_out(void **state)
{
    assert_int_equal(like("resume", "Her r\u00e9sum\u00e9 is long."), 98);
    assert_int_equal(like("r\u00e9sum\u00e9", "Her resume is long."), 98);
    assert_int_equal(like("maintenance", "The main\u00adten\u00adance"), 100);
    assert_int_equal(like("CO2", "The CO_2 of the room, CO-2"), 98);
    assert_int_equal(share("e-mail address", "Her email address"), 98);
    assert_int_equal(share("email address", "Her e-mail address"), 98);
    assert_int_equal(share("PX-90", "The PX90"), 98);
    assert_int_equal(share("PX90", "The PX-90, not the PX-91"), 98);
    assert_int_equal(share("PX-90", "The PX91"), 0);
}

static bool agree(const char *question, const char *text)
{
    struct terms terms;
    struct terms_found found = {{0}};
    terms_read(&terms, str_of(question), STR(""));
    terms_learn(&terms, str_of(text));
    (void)terms_match(&terms, str_of(text), 1, &found);
    return terms_agree(&terms, &found);
}

static void a_text_without_what_the_question_is_about_does_not_agree(void **state)
{
    assert_true(agree("Which pressure has the tyre?", "The tyre takes 2 bar of pressure."));
    assert_false(agree("What is 2+2?", "The tyre takes 2 bar."));
    assert_false(agree("What is error E99?", "The error E11 means heat."));
    assert_false(agree("Who won in 2018?", "She won in 2017."));
    assert_true(agree("Who is Helen Abara?", "The director is Helen Abara."));
    assert_false(agree("What is the salary of Helen Abara?", "The director is Helen Abara."));
    assert_true(agree("How long does the guarantee of the Nova 130 last?",
                      "The guarantee of the Nova 130 is three years."));
    assert_false(agree("What is the melting point of Nova 130?", "The Nova 130 is a telescope."));
    assert_false(agree("What is the melting point of Nova 130?", "It melts after 130 seconds."));
}

static void a_name_weighs_as_much_as_a_word_and_a_context_half_as_much_as_the_question(void **state)
{
    struct terms terms;
    terms_read(&terms, STR("Where was Ada Mary Byron born?"), STR(""));
    assert_int_equal(terms.n, 4);
    assert_true(terms_weight(&terms) > 1.99 && terms_weight(&terms) < 2.01);
    terms_read(&terms, STR("bicycle lamp"), STR("wheels, brakes, spokes, pedals and the lamp"));
    assert_int_equal(terms.own_n, 2);
    assert_int_equal(terms.n, 6);
    assert_true(terms_weight(&terms) > 2.99 && terms_weight(&terms) < 3.01);
}

static void letters_without_their_accents_are_found(void **state)
{
    assert_true(like("proprietaire", "le propri\xc3\xa9taire") >= 95);
    assert_true(like("Verstoss", "der Versto\xc3\x9f") >= 95);
    assert_true(like("cafeteria", "the cafe\xcc\x81teria") >= 95);
}

static void a_number_within_a_longer_one_is_not_found(void **state)
{
    assert_int_equal(like("600?", "It has 11,600 sheets."), 0);
    assert_int_equal(like("11,600?", "It has 11,600 sheets."), 100);
}

static void any_bytes_and_any_length_are_safe(void **state)
{
    struct terms terms;
    struct terms_found found = {{0}};
    struct buf text;
    buf_init(&text, 4 << 20);
    for (int i = 0; i < 20000; i++)
        buf_printf(&text, "word%c%d\xff\xfe'' ", 'a' + i % 26, i);
    for (int i = 0; i < 5000; i++)
        buf_put_char(&text, 'x');
    terms_read(&terms, buf_str(&text), buf_str(&text));
    assert_int_equal(terms.n, TERMS_MAX);
    terms_learn(&terms, buf_str(&text));
    (void)terms_match(&terms, buf_str(&text), 1, &found);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_is_read_without_the_stop_words_of_its_language),
        cmocka_unit_test(words_are_found_in_other_forms_in_compounds_and_misspelt),
        cmocka_unit_test(a_word_that_the_texts_spell_so_is_no_slip_of_another),
        cmocka_unit_test(numbers_and_codes_are_exact),
        cmocka_unit_test(accents_and_hyphens_may_be_left_out),
        cmocka_unit_test(a_text_without_what_the_question_is_about_does_not_agree),
        cmocka_unit_test(
            a_name_weighs_as_much_as_a_word_and_a_context_half_as_much_as_the_question),
        cmocka_unit_test(letters_without_their_accents_are_found),
        cmocka_unit_test(a_number_within_a_longer_one_is_not_found),
        cmocka_unit_test(any_bytes_and_any_length_are_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
