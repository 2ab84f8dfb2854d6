/* SPDX-License-Identifier: MIT
 * Corrections that fit a form, and those that do not: the answer names the member. */
#include "services/workflow/trees/form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static json_t *json_of(const char *text)
{
    char reason[200];
    json_t *json = NULL;
    if (!json_parse(str_of(text), reason, sizeof reason, &json))
        fail_msg("%s: %s", text, reason);
    return json;
}

static const struct check {
    const char *form, *corrections;
    const char *why; /* NULL: they fit */
} checks[] = {
    {"{}", "{\"a\":1}", NULL},
    {"{\"type\":\"object\"}", "{}", NULL},
    {"{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"a\":\"x\",\"b\":2}", NULL},
    {"{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"a\":1}", "'a' must be of type string"},
    {"{\"properties\":{\"a\":{\"type\":[\"string\",\"null\"]}}}", "{\"a\":null}", NULL},
    {"{\"properties\":{\"a\":{\"type\":[\"string\",\"null\"]}}}", "{\"a\":[]}",
     "'a' must be of type string or null"},
    {"{\"properties\":{\"a\":{\"type\":\"integer\"}}}", "{\"a\":1.0}", NULL},
    {"{\"properties\":{\"a\":{\"type\":\"integer\"}}}", "{\"a\":1.5}",
     "'a' must be of type integer"},
    {"{\"properties\":{\"a\":{\"type\":\"number\"}}}", "{\"a\":\"1\"}",
     "'a' must be of type number"},
    {"{\"properties\":{\"a\":{\"type\":\"boolean\"}}}", "{\"a\":false}", NULL},
    {"{\"required\":[\"a\"]}", "{}", "'a' is missing"},
    {"{\"required\":[\"a\"]}", "{\"a\":null}", NULL},
    {"{\"properties\":{\"a\":{}},\"additionalProperties\":false}", "{\"a\":1,\"b\":1}",
     "'b' is not a member of the form"},
    {"{\"additionalProperties\":true}", "{\"b\":1}", NULL},
    {"{\"properties\":{\"a\":{\"enum\":[\"x\",1]}}}", "{\"a\":1.0}", NULL},
    {"{\"properties\":{\"a\":{\"enum\":[\"x\",1]}}}", "{\"a\":\"y\"}", "'a' must be \"x\" or 1"},
    {"{\"properties\":{\"a\":{\"const\":true}}}", "{\"a\":1}", "'a' must be true"},
    {"{\"properties\":{\"a\":{\"const\":true}}}", "{\"a\":true}", NULL},
    /* Characters, not bytes. */
    {"{\"properties\":{\"a\":{\"maxLength\":2}}}", "{\"a\":\"\xc3\xa4\xf0\x9f\x99\x82\"}", NULL},
    {"{\"properties\":{\"a\":{\"maxLength\":2}}}", "{\"a\":\"abc\"}",
     "'a' must have at most 2 characters"},
    {"{\"properties\":{\"a\":{\"minLength\":2}}}", "{\"a\":\"\xc3\xa4\"}",
     "'a' must have at least 2 characters"},
    {"{\"properties\":{\"a\":{\"minLength\":2}}}", "{\"a\":1}", NULL},
    {"{\"properties\":{\"a\":{\"minimum\":-1.5}}}", "{\"a\":-2}", "'a' must be at least -1.5"},
    {"{\"properties\":{\"a\":{\"maximum\":3}}}", "{\"a\":3.5}", "'a' must be at most 3"},
    {"{\"properties\":{\"a\":{\"minimum\":1,\"maximum\":3}}}", "{\"a\":3}", NULL},
    {"{\"properties\":{\"a\":{\"minItems\":1}}}", "{\"a\":[]}", "'a' must have at least 1 items"},
    {"{\"properties\":{\"a\":{\"maxItems\":1}}}", "{\"a\":[1,2]}", "'a' must have at most 1 items"},
    {"{\"properties\":{\"a\":{\"items\":{\"type\":\"string\"}}}}", "{\"a\":[\"x\",2]}",
     "'a[1]' must be of type string"},
    {"{\"properties\":{\"a\":{\"items\":{\"properties\":{\"b\":{\"required\":[\"c\"]}}}}}}",
     "{\"a\":[{},{\"b\":{}}]}", "'a[1].b.c' is missing"},
    /* What nobody sees does not reach a line of a log or a terminal. */
    {"{\"additionalProperties\":false}", "{\"\\u202ea\\nb\":1}",
     "'ab' is not a member of the form"},
    {"{}", "[]", "corrections must be of type object"},
};

static void a_correction_that_does_not_fit_is_named(void **state)
{
    unsigned wrong_n = 0;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        const struct check *expected = &checks[i];
        json_t *form = json_of(expected->form), *corrections = json_of(expected->corrections);
        struct buf why;
        buf_init(&why, FORM_WHY_MAX_BYTES);
        bool fits = form_check(form, corrections, &why);
        if (fits != (expected->why == NULL) ||
            (!fits && !str_eq(buf_str(&why), str_of(expected->why)))) {
            print_error("%s of %s: %.*s\nexpected: %s\n", expected->corrections, expected->form,
                        STR_ARG(buf_str(&why)), expected->why == NULL ? "fits" : expected->why);
            wrong_n++;
        }
        buf_fini(&why);
        json_decref(form);
        json_decref(corrections);
    }
    assert_int_equal(wrong_n, 0);
}

static void without_a_form_every_object_fits(void **state)
{
    struct buf why;
    json_t *corrections = json_of("{\"a\":[1,{\"b\":null}]}");
    buf_init(&why, FORM_WHY_MAX_BYTES);
    assert_true(form_check(NULL, corrections, &why));
    assert_int_equal(why.n, 0);
    buf_fini(&why);
    json_decref(corrections);
}

/* A name of the client's that fills the reason does not make it overflow. */
static void the_longest_names_are_cut(void **state)
{
    struct buf why, text;
    json_t *form = json_of("{\"additionalProperties\":false}");
    buf_init(&why, FORM_WHY_MAX_BYTES);
    buf_init(&text, 1 << 20);
    buf_lit(&text, "{\"");
    for (unsigned i = 0; i < 100000; i++)
        buf_put_char(&text, 'a');
    buf_lit(&text, "\":1}");
    buf_terminate(&text);
    json_t *corrections = json_of(text.at);
    assert_false(form_check(form, corrections, &why));
    assert_false(why.is_over);
    assert_true(why.n < 200);
    buf_fini(&why);
    buf_fini(&text);
    json_decref(form);
    json_decref(corrections);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_correction_that_does_not_fit_is_named),
        cmocka_unit_test(without_a_form_every_object_fits),
        cmocka_unit_test(the_longest_names_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
