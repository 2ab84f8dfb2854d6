/* SPDX-License-Identifier: MIT
 * test_engine_asked.c - what kind of thing a question asks for, and whether a text says one. */
#include "services/engine/models/asked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void questions_ask_for_kinds_of_things_in_several_languages(void **state)
{
    static const struct {
        const char *question;
        enum asked asked;
    } cases[] = {
        {"How many chairs are there?", ASKED_AMOUNT},
        {"And how long is a lease?", ASKED_AMOUNT},
        {"Wie viele Stunden sind es?", ASKED_AMOUNT},
        {"Combien de temps faut-il ?", ASKED_AMOUNT},
        {"\xe5\x80\x9f\xe9\x98\x85\xe8\xaf\x81\xe6\x9c\x89\xe6\x95\x88\xe6\x9c\x9f"
         "\xe6\x98\xaf\xe5\xa4\x9a\xe4\xb9\x85",
         ASKED_AMOUNT},
        {"How much does an oak board weigh?", ASKED_WEIGHT},
        {"How deep is the lake?", ASKED_LENGTH},
        {"What does an oak board cost?", ASKED_PRICE},
        {"Was kostet der Eintritt?", ASKED_PRICE},
        {"By when must the rent be paid?", ASKED_TIME},
        {"Wann macht es auf?", ASKED_TIME},
        {"What happens when Redis dies?", ASKED_ANYTHING},
        {"How do I change the port?", ASKED_WAY},
        {"Who is the treasurer?", ASKED_ANYTHING},
        {"", ASKED_ANYTHING},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(asked_of(str_of(cases[i].question)), cases[i].asked);
}

static void texts_say_a_thing_of_the_kind_or_do_not(void **state)
{
    static const struct {
        enum asked asked;
        const char *text;
        bool is_said;
    } cases[] = {
        {ASKED_AMOUNT, "There are 36 chairs.", true},
        {ASKED_AMOUNT, "There are forty-eight chairs.", true},
        {ASKED_AMOUNT, "Entry is free.", true},
        {ASKED_AMOUNT, "There are chairs.", false},
        {ASKED_AMOUNT, "2. Put the chairs away.", false},
        {ASKED_PRICE, "It costs 41 coins.", true},
        {ASKED_PRICE, "KV-3244 Rubber foot 6.40", true},
        {ASKED_PRICE, "The guarantee lasts 3 years.", false},
        {ASKED_TIME, "After the first frost.", true},
        {ASKED_TIME, "The taps are brass.", false},
        {ASKED_WAY, "To change the port, use --listen.", true},
        {ASKED_WAY, "1. Open it.\n2. Drain it.", true},
        {ASKED_WAY, "The port is 8080.", false},
        {ASKED_ANYTHING, "", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(asked_is_said(cases[i].asked, str_of(cases[i].text), NULL),
                         cases[i].is_said);
    struct str heads = STR("Wood | Weight in kg");
    assert_true(asked_is_said(ASKED_PRICE, STR("Oak | 38"), &heads));
    assert_true(asked_is_said(ASKED_WEIGHT, STR("Oak | 38"), &heads));
    assert_false(asked_is_said(ASKED_LENGTH, STR("Oak | 38"), &heads));
}

static void what_is_counted_is_the_word_after_how_many(void **state)
{
    assert_true(str_eq(asked_counted(STR("And how many chairs did she order?")), STR("chairs")));
    assert_true(str_eq(asked_counted(STR("Combien de colis ?")), STR("colis")));
    assert_int_equal(asked_counted(STR("How much is it?")).n, 0);
    assert_int_equal(asked_counted(STR("How many?")).n, 0);
}

static void what_was_done_is_the_word_after_who(void **state)
{
    assert_true(str_eq(asked_deed(STR("Who approved the order?")), STR("approved")));
    assert_true(str_eq(asked_deed(STR("Wer unterschrieb?")), STR("unterschrieb")));
    assert_int_equal(asked_deed(STR("Whom did she ask?")).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_ask_for_kinds_of_things_in_several_languages),
        cmocka_unit_test(what_is_counted_is_the_word_after_how_many),
        cmocka_unit_test(what_was_done_is_the_word_after_who),
        cmocka_unit_test(texts_say_a_thing_of_the_kind_or_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
