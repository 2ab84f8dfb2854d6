/* SPDX-License-Identifier: MIT
 * test_text_statements.c - texts as what they state: headings, lists, tables, sentences. */
#include "shared/text/statements.h"

#include "shared/text/fit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void put_flat(struct buf *b, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        buf_put_char(b, text.at[i] == '\n' ? '/' : text.at[i]);
}

/* One line per statement: kind, heading, lead, text. */
static void check(const char *text, const char *expected)
{
    static const char kinds[] = "SLIRHCD";
    struct statements statements;
    struct statement statement;
    struct buf out;
    buf_init(&out, 65536);
    statements_start(&statements, str_of(text));
    while (statements_next(&statements, &statement)) {
        buf_put_char(&out, kinds[statement.kind]);
        buf_put_char(&out, ' ');
        put_flat(&out, statement.heading);
        buf_put_char(&out, '<');
        put_flat(&out, statement.lead);
        buf_put_char(&out, '<');
        put_flat(&out, statement.text);
        buf_put(&out, statement.code.n > 0 ? STR(">") : STR(""));
        put_flat(&out, statement.code);
        buf_put_char(&out, '\n');
    }
    buf_terminate(&out);
    assert_string_equal(out.at, expected);
    buf_fini(&out);
}

static void sentences_stand_under_their_heading(void **state)
{
    check("# A\n\nOne is. Two is.\n\n## B ##\nThree.", "S A<<One is.\nS A<<Two is.\nS B<<Three.\n");
    check("# 4. Deposit\n\nThe tenant pays.", "S 4. Deposit<<The tenant pays.\n");
    check("Only words", "S <<Only words\n");
    check("", "");
    check("#\n\n##", "");
}

static void a_short_line_by_itself_is_a_heading_where_the_next_word_had_room(void **state)
{
    check("Annual leave\nEvery employee accrues 27 days of paid leave per\ncalendar year.",
          "H <<Annual leave\n"
          "S Annual leave<<Every employee accrues 27 days of paid leave per/calendar year.\n");
    check("Every employee accrues 27\ndays of leave.", "S <<Every employee accrues 27/days of "
                                                       "leave.\n");
    check("Every employee of Parley\nGeneral accrues days.",
          "S <<Every employee of Parley/General accrues days.\n");
}

static void sentences_of_one_line_are_no_headings(void **state)
{
    check("\xe4\xb8\x80\xe3\x80\x82\xe4\xba\x8c\xe3\x80\x82 Three",
          "S <<\xe4\xb8\x80\xe3\x80\x82\nS <<\xe4\xba\x8c\xe3\x80\x82\nS <<Three\n");
}

static void a_list_is_one_statement_with_its_lead_and_then_its_items(void **state)
{
    check("The box holds:\n\n- a pump\n- two tyres\n\nThat is all.",
          "L <<The box holds://- a pump/- two tyres\nI <The box holds:<- a pump\n"
          "I <The box holds:<- two tyres\nS <<That is all.\n");
    check("# Stock\n\n- salt\n- flour\n",
          "L Stock<<- salt/- flour\nI Stock<<- salt\nI Stock<<- flour\n");
    check("It covers\n\na. boats, and\nb. oars.\n",
          "S <<It covers\nL <<a. boats, and/b. oars.\nI <<a. boats, and\nI <<b. oars.\n");
    check("Do so:\n1. Fill it.\n2. Press it.",
          "L <<Do so:/1. Fill it./2. Press it.\nI <Do so:<1. Fill it.\nI <Do so:<2. Press it.\n");
}

static void a_row_is_a_statement_with_the_first_row_as_its_lead(void **state)
{
    check("Code | Means\nE1 | Hot\nE2 | Cold", "R <<Code | Means\nR <Code | Means<E1 | Hot\n"
                                               "R <Code | Means<E2 | Cold\n");
    check("| Code | Means |\n|---|---|\n| E1 | Hot |\n\nSo it is.",
          "R <<| Code | Means |\nR <| Code | Means |<|---|---|\n"
          "R <| Code | Means |<| E1 | Hot |\nS <<So it is.\n");
}

static void a_line_within_a_paragraph_or_a_list_is_no_heading(void **state)
{
    check("The club was founded by fourteen railway workers in 1926.\n"
          "It lets 87 plots between the canal and\nGasworks Lane.",
          "S <<The club was founded by fourteen railway workers in 1926.\n"
          "S <<It lets 87 plots between the canal and/Gasworks Lane.\n");
    check("Title\n\nFirst part\nOne is here, in a line that is rather long.",
          "H <<Title\nH Title<<First part\n"
          "S First part<<One is here, in a line that is rather long.\n");
}

static void lines_that_end_before_they_are_full_are_statements(void **state)
{
    check("07:02 started by Hanna\n09:47 vent closed\n16:30 thermocouple lost, program aborted",
          "S <<07:02 started by Hanna\nS <<09:47 vent closed\n"
          "S <<16:30 thermocouple lost, program aborted\n");
    check("def code(failed):\n    \"0: well. 3: not moved.\"\n    return 3",
          "S <<def code(failed):\nS <<\"0: well. 3: not moved.\"\nS <<return 3\n");
    check("Shore times\nEvery member rows for eight hours. Who opens the\nsluice pays a fine.",
          "H <<Shore times\nS Shore times<<Every member rows for eight hours.\n"
          "S Shore times<<Who opens the/sluice pays a fine.\n");
}

static void lines_of_a_name_and_a_value_are_records(void **state)
{
    check("# Clocks\n\nname: Scale\nyear: 1904\nname: Clock\nyear: 1781. Old.\n\nThat is all.",
          "D Clocks<<name: Scale/year: 1904\nD Clocks<<name: Clock/year: 1781. Old.\n"
          "S Clocks<<That is all.\n");
    check("Note: one line.", "S <<Note: one line.\n");
}

static void a_sentence_has_some_of_the_one_before_it(void **state)
{
    struct terms terms;
    struct fit fit;
    terms_read(&terms, STR("chairs ordered"), STR(""));
    struct str text = STR("You charge for 36 chairs. We ordered 30.");
    terms_learn(&terms, text);
    fit_passage(&terms, STR(""), text, &fit);
    assert_true(fit.best > 0.69 && fit.best < 0.71);
    fit_passage(&terms, STR(""), STR("You charge for 36 chairs.\n\nWe ordered 30."), &fit);
    assert_true(fit.best < 0.51);
}

static void a_number_at_the_end_of_a_sentence_is_no_ordinal(void **state)
{
    check("Students pay 7. Tickets are sold here.",
          "S <<Students pay 7.\nS <<Tickets are sold here.\n");
}

static void a_year_at_the_start_of_a_line_is_no_list_mark(void **state)
{
    check("The pump was built in\n2021. It still runs.",
          "S <<The pump was built in/2021.\nS <<It still runs.\n");
}

static void a_block_of_code_is_a_statement_or_belongs_to_the_words_before_it(void **state)
{
    check("# A\n\nDo this:\n\n```sh\n# no heading\nls\n```\nThen that.",
          "S A<<Do this:>```sh/# no heading/ls/```\nS A<<Then that.\n");
    check("One is.\n\n~~~\nls\n~~~\n", "S <<One is.\nC <<~~~/ls/~~~\n");
    check("# A\n```sh\nls", "C A<<```sh/ls\n");
    check("rm\n```\nOne is.\n\n```sh\nls\n```\n", "S <<One is.\nC <<```sh/ls/```\n");
    check("Do this:\n```\nls\n```", "S <<Do this:>```/ls/```\n");
}

static void an_ordinal_ends_no_sentence(void **state)
{
    check("Er steigt ab 1. Januar auf 3 Euro. Gut so.",
          "S <<Er steigt ab 1. Januar auf 3 Euro.\nS <<Gut so.\n");
}

static void a_long_list_is_cut_between_items(void **state)
{
    struct statements statements;
    struct statement statement;
    struct buf text;
    buf_init(&text, 1 << 20);
    buf_lit(&text, "All of them:\n");
    for (int i = 0; i < 5000; i++)
        buf_printf(&text, "- item number %d\n", i);
    statements_start(&statements, buf_str(&text));
    assert_true(statements_next(&statements, &statement));
    assert_int_equal(statement.kind, STATEMENT_LIST);
    assert_true(statement.text.n <= STATEMENT_LIST_MAX_BYTES);
    size_t n = 1;
    while (statements_next(&statements, &statement))
        n++;
    assert_true(n >= 5000);
    buf_fini(&text);
}

static void a_passage_fits_by_its_best_statement_and_as_a_whole(void **state)
{
    struct terms terms;
    struct fit fit;
    terms_read(&terms, STR("When are the taps turned off?"), STR(""));
    struct str text =
        STR("# Plots\n\nThere are 87 plots.\n\n## Water {#water}\n\nThe taps are turned "
            "off in November.");
    terms_learn(&terms, text);
    fit_passage(&terms, STR("allotments.md"), text, &fit);
    assert_true(fit.best > 0.99 && fit.whole > 0.99 && fit.agrees);
    assert_true(str_eq(fit.anchor, STR("Water {#water}")));
    fit_passage(&terms, STR("allotments.md"), STR("Sheds are green."), &fit);
    assert_true(fit.best < 0.01 && fit.whole < 0.01 && !fit.agrees && fit.anchor.n == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_stand_under_their_heading),
        cmocka_unit_test(a_short_line_by_itself_is_a_heading_where_the_next_word_had_room),
        cmocka_unit_test(sentences_of_one_line_are_no_headings),
        cmocka_unit_test(a_list_is_one_statement_with_its_lead_and_then_its_items),
        cmocka_unit_test(a_row_is_a_statement_with_the_first_row_as_its_lead),
        cmocka_unit_test(a_line_within_a_paragraph_or_a_list_is_no_heading),
        cmocka_unit_test(lines_that_end_before_they_are_full_are_statements),
        cmocka_unit_test(lines_of_a_name_and_a_value_are_records),
        cmocka_unit_test(a_sentence_has_some_of_the_one_before_it),
        cmocka_unit_test(a_number_at_the_end_of_a_sentence_is_no_ordinal),
        cmocka_unit_test(an_ordinal_ends_no_sentence),
        cmocka_unit_test(a_year_at_the_start_of_a_line_is_no_list_mark),
        cmocka_unit_test(a_block_of_code_is_a_statement_or_belongs_to_the_words_before_it),
        cmocka_unit_test(a_long_list_is_cut_between_items),
        cmocka_unit_test(a_passage_fits_by_its_best_statement_and_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
