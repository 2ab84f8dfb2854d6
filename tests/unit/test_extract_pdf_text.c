/* SPDX-License-Identifier: MIT
 * test_extract_pdf_text.c - the text of a PDF from words and places, which are written here: a line
 * is its left and upper edge, its height and its words; "/" begins a page, "-" a block. */
#include "shared/extract/pdf_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { LETTER_SHARE = 2 }; /* a letter is half as wide as it is high */

static void put_row(struct buf *tsv, int level, double x, double y, double width, double height,
                    const char *text)
{
    buf_printf(tsv, "%d\t1\t0\t0\t0\t0\t%.2f\t%.2f\t%.2f\t%.2f\t100\t%s\n", level, x, y, width,
               height, text);
}

/* Puts the words of a line one after the other; "^" and "_" before one raise and lower it, "~" and
 * "=" put it close to the one before and right after it. */
static void put_words(struct buf *tsv, double x, double y, double height, char *words)
{
    char *rest = words;
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        double size = height, move = 0;
        if (*word == '^' || *word == '_') {
            size = height * 0.6;
            move = *word == '^' ? 0 : height * 0.5;
            x -= height / LETTER_SHARE;
            word++;
        }
        if (*word == '~' || *word == '=') {
            x -= height * (*word == '~' ? 0.42 : 0.5);
            word++;
        }
        double width = (double)strlen(word) * size / LETTER_SHARE;
        put_row(tsv, 5, x, y + move, width, size, word);
        x += width + height / LETTER_SHARE;
    }
}

static void put_line(struct buf *tsv, const char *line)
{
    double x, y, height;
    char words[512];
    if (*line == '/') {
        put_row(tsv, 1, 0, 0, 600, 800, "###PAGE###");
    } else if (*line == '-') {
        put_row(tsv, 3, 0, 0, 0, 0, "###FLOW###");
    } else if (sscanf(line, "%lf %lf %lf %511[^\n]", &x, &y, &height, words) == 4) {
        put_row(tsv, 4, 0, 0, 0, 0, "###LINE###");
        put_words(tsv, x, y, height, words);
    }
}

static void check(const char *lines, const char *expected)
{
    struct buf tsv, text;
    buf_init(&tsv, 1 << 20);
    buf_init(&text, 1 << 20);
    put_line(&tsv, "/");
    for (const char *at = lines; *at != 0; at++) {
        put_line(&tsv, at);
        at = strchrnul(at, '\n');
        if (*at == 0)
            break;
    }
    pdf_put_text(&text, buf_str(&tsv));
    buf_terminate(&text);
    assert_string_equal(text.n == 0 ? "" : text.at, expected);
    buf_fini(&tsv);
    buf_fini(&text);
}

static void lines_that_had_no_room_are_joined(void **state)
{
    check("100 300 10 A pump is checked\n100 312 10 every day.\n100 324 10 Then it runs.",
          "A pump is checked every day.\nThen it runs.\n");
    check("100 300 10 A pump is checked\n-\n100 340 10 Another one",
          "A pump is checked\n\nAnother one\n");
    check("100 300 20 冷却水を交換し\n100 324 20 ます", "冷却水を交換します\n");
}

static void words_that_are_set_tightly_stay_apart(void **state)
{
    check("100 300 10 YOUR ~One-Stop ~parts", "YOUR One-Stop parts\n");
    check("100 300 10 an =other style", "another style\n");
}

static void a_hyphen_at_the_end_of_a_line_is_understood(void **state)
{
    check("100 300 10 the pump needs mainte-\n100 312 10 nance daily",
          "the pump needs maintenance daily\n");
    check("100 300 10 in the years of 1990-\n100 312 10 1995 only",
          "in the years of 1990-1995 only\n");
    check("100 300 10 it is a well-\n100 312 10 known pump and a well-known oil",
          "it is a well-known pump and a well-known oil\n");
    check("100 300 10 as said by Jean-\n100 312 10 Paul today", "as said by Jean-Paul today\n");
    check("100 300 10 alle Druckein-\n100 312 10 und Ausgänge", "alle Druckein- und Ausgänge\n");
    check("100 300 10 the pump needs mainte\xc2\xad\n100 312 10 nance daily",
          "the pump needs maintenance daily\n");
    check("100 300 10 a mixed-\n100 312 10 mode is mixed and a mode",
          "a mixed-mode is mixed and a mode\n");
    check("100 300 10 a tank of well-\n100 312 10 known depth and temperature-\n"
          "100 324 10 driven pumps",
          "a tank of well-known depth and temperature-driven pumps\n");
    check("100 300 10 his well-\n100 312 10 ness and a self-\n100 324 10 adjoint matrix",
          "his wellness and a self-adjoint matrix\n");
    check("100 300 10 it was un-\n100 312 10 known and cor-\n100 324 10 related to it",
          "it was unknown and correlated to it\n");
}

static void sentences_continue_on_the_next_page(void **state)
{
    check("100 300 10 The pump must be checked every\n/\n100 100 10 40 hours by two people.",
          "The pump must be checked every \f40 hours by two people.\n");
    check("100 300 10 The pump must have mainte-\n/\n100 150 10 nance by two people.",
          "The pump must have maintenance \fby two people.\n");
    check("100 300 10 The pump is checked.\n/\n100 150 10 by two people alone",
          "The pump is checked.\n\n\fby two people alone\n");
    check("100 300 10 One\n/\n/\n100 300 10 Three", "One\n\n\f\n\n\fThree\n");
    check("/\n100 300 10 Two", "\fTwo\n");
}

static void what_every_page_repeats_is_there_once(void **state)
{
    check("100 20 10 ACME secret\n-\n100 300 10 One.\n-\n300 780 10 Page 1 of 3\n/\n"
          "100 20 10 ACME secret\n-\n100 300 10 Two.\n-\n300 780 10 Page 2 of 3\n/\n"
          "100 20 10 ACME secret\n-\n100 300 10 Three.\n-\n300 780 10 Page 3 of 3",
          "ACME secret\n\nOne.\n\n\fTwo.\n\n\fThree.\n");
    /* Numbers that do not count the pages, and a text that is not at the edge. */
    check("100 20 10 Valve 7\n-\n100 300 10 One.\n/\n100 20 10 Valve 3\n-\n100 300 10 One.\n/\n"
          "100 20 10 Valve 5\n-\n100 300 10 One.",
          "Valve 7\n\nOne.\n\n\fValve 3\n\nOne.\n\n\fValve 5\n\nOne.\n");
}

static void cells_of_a_table_stay_in_their_rows(void **state)
{
    check("100 300 10 Type\n-\n300 300 10 Pressure\n-\n100 320 10 Alpha\n-\n300 320 10 40 bar",
          "Type | Pressure\nAlpha | 40 bar\n");
    /* A head of two lines, a cell of two lines, an empty cell, and text above and below. */
    check("100 260 10 These pumps are sold in all of the shops\n-\n"
          "100 300 10 Type\n100 340 10 Alpha\n100 352 10 Gamma and\n100 364 10 Delta\n100 390 10 "
          "Beta\n-\n"
          "200 300 10 Pressure in\n200 312 10 bar and more\n200 340 10 40\n200 352 10 50\n-\n"
          "320 300 10 Weight\n320 340 10 7\n320 352 10 9\n320 390 10 1\n-\n"
          "100 500 10 And this is what comes after the table",
          "These pumps are sold in all of the shops\n\n"
          "Type | Pressure in bar and more | Weight\nAlpha | 40 | 7\nGamma and Delta | 50 | "
          "9\nBeta | | 1\n\n"
          "And this is what comes after the table\n");
    check("100 300 10 Serial number:\n-\n300 300 10 ZX-81", "Serial number: ZX-81\n");
    /* A column that is empty below its head, and dots that lead to the next column. */
    check("100 300 10 Name\n-\n200 300 10 Town\n-\n300 300 10 Notes\n-\n"
          "100 320 10 Lind\n-\n200 320 10 Bern\n-\n100 340 10 Roth\n-\n200 340 10 Graz",
          "Name | Town | Notes\nLind | Bern\nRoth | Graz\n");
    check("100 300 10 Action\n-\n200 300 10 Parts\n-\n300 300 10 Cost\n-\n"
          "100 320 10 Wire .....\n-\n200 320 10 $37 ......\n-\n300 320 10 $40\n-\n"
          "100 340 10 Test .....\n-\n200 340 10 $0 .......\n-\n300 340 10 $34",
          "Action | Parts | Cost\nWire | $37 | $40\nTest | $0 | $34\n");
}

/* Its words are above columns, and as far apart as words of that font are. */
static void a_title_above_a_table_is_one_line(void **state)
{
    check("100 280 10 Show Schedule Details\n-\n"
          "100 300 10 Line\n-\n126 300 10 Screen\n-\n172 300 10 Start\n-\n"
          "100 320 10 1\n-\n126 320 10 SCR-1\n-\n172 320 10 12/20\n-\n"
          "100 340 10 2\n-\n126 340 10 SCR-2\n-\n172 340 10 12/26",
          "Show Schedule Details\n\nLine | Screen | Start\n1 | SCR-1 | 12/20\n2 | SCR-2 | 12/26\n");
}

static void prose_in_columns_is_not_a_table(void **state)
{
    check("50 300 10 the left column is a text of lines,\n50 312 10 each of which has many words, "
          "so\n50 324 10 nobody takes it for a cell.\n-\n"
          "350 300 10 and the right column is one, too,\n350 312 10 it comes after the left one "
          "and\n350 324 10 never in between",
          "the left column is a text of lines, each of which has many words, so nobody takes it "
          "for a cell.\n\n"
          "and the right column is one, too, it comes after the left one and never in between\n");
}

static void a_bullet_stands_before_its_item(void **state)
{
    check("80 300 10 •\n-\n80 330 10 •\n-\n100 300 10 Open the lid of the pump\n100 312 10 and "
          "wait.\n100 330 10 Drain it.",
          "• Open the lid of the pump and wait.\n• Drain it.\n");
    check("80 300 10 \xef\x82\xb7 Open it.\n-\n80 320 10 2.\n-\n100 320 10 Close it.",
          "• Open it.\n\n2. Close it.\n");
}

static void a_word_on_top_of_its_copy_is_read_once(void **state)
{
    check("100 300 10 The pump runs\n101 302 10 The pump runs\n100 312 10 daily.",
          "The pump runs daily.\n");
    check("100 300 10 The pump\n-\n99 301 11 The pump\n-\n100 500 10 The pump",
          "The pump\n\nThe pump\n");
    /* As poppler has it: each line ends where the other text has a word. */
    check("100 300 10 The\n100.5 301 10 The pump\n120 300 10 pump runs\n145.5 301 10 runs at",
          "The pump runs at\n");
    check("100 300 10 very very good", "very very good\n");
    check("100 300 10 forty\n100 301 10 ninety", "forty\nninety\n");
    check("100 300 10 same\n/\n100 300 10 same", "same\n\n\fsame\n");
}

static void what_is_raised_or_lowered_stays_distinct(void **state)
{
    check("100 300 10 The tank holds 10 ^6 cells of x _12 each",
          "The tank holds 10^6 cells of x_12 each\n");
}

static void characters_are_those_that_people_write(void **state)
{
    static const char *const cases[][2] = {
        {"a\xef\xac\x83liate", "affiliate\n"},
        {"\xc2\x97\xc2\x9f", ""},
        {"a\xc2\x97\x62", "ab\n"},
        {"main\xc2\xadtenance", "maintenance\n"},
        {"cata\xe2\x80\x8blogue", "catalogue\n"},
        {"Valves . . . . . . 12", "Valves 12\n"},
        {"Valves......12", "Valves 12\n"},
        {"Valves .....12", "Valves 12\n"},
        {"and so on...", "and so on...\n"},
        {"\xef\xba\x94\xef\xbb\xb4\xef\xba\x91\xef\xba\xae\xef\xbb\x8c\xef\xbb\x9f\xd8\xa7",
         "العربية\n"},
        {"םולש 25 םוי", "יום 25 שלום\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[256];
        snprintf(line, sizeof line, "100 300 10 %s", cases[i][0]);
        check(line, cases[i][1]);
    }
}

static void any_bytes_are_safe(void **state)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    pdf_put_text(&text, STR(""));
    pdf_put_text(&text, STR("5\t1\n4\t\t\t\n\t\t\t\t\t\t\t\t\t\t\t\t\n5\t\t\t\t\t\t1\t2\t3\t4\t\two"
                            "rd without a page\n"));
    pdf_put_text(
        &text,
        STR("1\t\t\t\t\t\t\t\t\t\t\t\n5\t\t\t\t\t\t99999999\t-1e9\tnan\t-7.5\t\t\xff\xfe\n"));
    assert_false(text.is_over);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_had_no_room_are_joined),
        cmocka_unit_test(words_that_are_set_tightly_stay_apart),
        cmocka_unit_test(a_hyphen_at_the_end_of_a_line_is_understood),
        cmocka_unit_test(sentences_continue_on_the_next_page),
        cmocka_unit_test(what_every_page_repeats_is_there_once),
        cmocka_unit_test(cells_of_a_table_stay_in_their_rows),
        cmocka_unit_test(a_title_above_a_table_is_one_line),
        cmocka_unit_test(prose_in_columns_is_not_a_table),
        cmocka_unit_test(a_bullet_stands_before_its_item),
        cmocka_unit_test(a_word_on_top_of_its_copy_is_read_once),
        cmocka_unit_test(what_is_raised_or_lowered_stays_distinct),
        cmocka_unit_test(characters_are_those_that_people_write),
        cmocka_unit_test(any_bytes_are_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
