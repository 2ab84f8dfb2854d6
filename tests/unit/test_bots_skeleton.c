/* SPDX-License-Identifier: MIT
 * test_bots_skeleton.c - which names look alike. */
#include "services/bots/skeleton.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void names_that_differ_in_case_look_alike(void **state)
{
    static const char *const pairs[][2] = {{"lee", "Lee"},        {"lee", "LEE"},
                                           {"bill", "BILL"},      {"mim", "MIM"},
                                           {"w0", "W0"},          {"j\xc3\xb6rg", "J\xc3\x96RG"},
                                           {"x-1_y.z", "X-1_Y.Z"}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_true(skeleton_is_same(str_of(pairs[i][0]), str_of(pairs[i][1])));
}

static void names_that_people_take_for_each_other_look_alike(void **state)
{
    static const char *const pairs[][2] = {
        {"annex", "\xce\x91nnex"}, /* a Greek capital alpha */
        {"annex", "an\xf0\x9d\x97\x87"
                  "ex"},                                       /* a mathematical n */
        {"annex", "\xce\x91\xce\x9d\xce\x9d\xce\x95\xce\xa7"}, /* Greek capitals */
        {"lee", "l\xd0\xb5\xd0\xb5"},                          /* Cyrillic */
        {"lee", "Iee"},
        {"lee", "1ee"},
        {"lee", "\xef\xbd\x8c\xef\xbd\x85\xef\xbd\x85"}, /* full width */
        {"lee", "l\xe2\x80\x8d"
                "ee"}, /* a joiner that nobody sees */
        {"modern", "rnodem"}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_true(skeleton_is_same(str_of(pairs[i][0]), str_of(pairs[i][1])));
}

static void others_do_not(void **state)
{
    static const char *const names[] = {"lee",   "leo",  "le", "leee", "l-ee",
                                        "annex", "anne", "",   "x"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < i; k++)
            assert_false(skeleton_is_same(str_of(names[i]), str_of(names[k])));
}

static void any_bytes_have_a_look(void **state)
{
    char text[400], skeleton[SKELETON_CHARS + 1];
    (void)state;
    for (size_t i = 0; i < sizeof text; i += 2)
        memcpy(text + i, "\xef\xb7", 2);
    skeleton_of((struct str){text, sizeof text}, skeleton);
    assert_int_equal(strlen(skeleton), SKELETON_CHARS);
    for (size_t i = 0; i + 3 <= sizeof text; i += 3)
        memcpy(text + i, "\xef\xb7\xba", 3); /* one whose skeleton is long */
    skeleton_of((struct str){text, 399}, skeleton);
    assert_int_equal(strlen(skeleton), SKELETON_CHARS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_differ_in_case_look_alike),
        cmocka_unit_test(names_that_people_take_for_each_other_look_alike),
        cmocka_unit_test(others_do_not),
        cmocka_unit_test(any_bytes_have_a_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
