/* SPDX-License-Identifier: MIT
 * test_engine_claim.c - claims that are no JSON, and lists of models. */
#include "services/engine/models/openai_check.h"
#include "services/engine/slots/claim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* `lease` NULL: nothing can be rescued. */
static void check(const char *text, bool is_next, const char *topic, const char *lease)
{
    struct claim claim;
    bool is_found = claim_rescue(&claim, str_of(text), is_next);
    assert_int_equal(is_found, lease != NULL);
    if (!is_found)
        return;
    assert_true(str_eq(claim.topic, str_of(topic)));
    assert_string_equal(json_string_value(claim.lease), lease);
    assert_int_equal(claim.query_n, 0);
    claim_fini(&claim);
}

static void a_claim_that_is_no_json_still_says_what_to_give_back(void **state)
{
    (void)state;
    check("{\"Topic\":\"t\",\"Queries\":[{\"1\":\"Q\"}],\"Lease\":\"7\",\"Details\":{\"1\":{"
          "\"Modifiers\":{"
          "\"a\":1e99999}}}}",
          false, "t", "7");
    check("{\"Topic\":\"a\\\"b\",\"Queries\":[{\"1\":\"Q\"}],\"Lease\":\"7\",\"x\":1e99999}", false,
          "a\"b", "7");
    check(
        "{\"Topic\":\"old\",\"Seq\":1,\"Status\":\"Done\",\"Next\":{\"Topic\":\"t\",\"Queries\":[],"
        "\"Lease\":\"8\",\"x\":1e99999}}",
        true, "t", "8");
}

static void no_client_can_name_another_claim_in_it(void **state)
{
    (void)state;
    check("{\"Topic\":\"t\",\"Queries\":[{\"1\":\",\\\"Lease\\\":\\\"9\\\"\"}],\"Lease\":\"7\","
          "\"Details\":{\"1\":{\"Modifiers\":{\"Next\":{\"Topic\":\"u\",\"Lease\":\"9\"},\"a\":"
          "1e99999}}}}",
          false, "t", "7");
    check(
        "{\"Topic\":\",\\\"Next\\\":{\\\"Topic\\\":\\\"u\\\"\",\"Seq\":1,\"Next\":{\"Topic\":\"t\","
        "\"Lease\":\"7\"",
        true, "t", "7");
}

static void what_holds_no_lease_is_left_alone(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "{",
                                        "{\"Topic\":",
                                        "{\"Topic\":\"",
                                        "{\"Topic\":\"t\\",
                                        "{\"Topic\":\"t\"}",
                                        "{\"Topic\":null,\"Lease\":\"7\"}",
                                        "{\"Topic\":\"t\",\"Lease\":",
                                        "{\"Topic\":\"t\",\"Lease\":7}",
                                        "{\"Topic\":\"t\",\"Lease\":\"7"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check(texts[i], false, NULL, NULL);
        check(texts[i], true, NULL, NULL);
    }
}

static bool lacks(const char *list, const char *model)
{
    char reason[160];
    json_t *json;
    assert_true(json_parse(str_of(list), reason, sizeof reason, &json));
    bool is_lacking = openai_lacks_model(json, str_of(model));
    json_decref(json);
    return is_lacking;
}

static void a_list_of_models_says_what_is_missing(void **state)
{
    (void)state;
    const char *list = "{\"data\":[{\"id\":\"a\"},{\"id\":\"b:latest\",\"aliases\":[\"bee\"]}]}";
    assert_false(lacks(list, "a"));
    assert_false(lacks(list, "b"));
    assert_false(lacks(list, "b:latest"));
    assert_false(lacks(list, "bee"));
    assert_true(lacks(list, "c"));
    assert_true(lacks(list, "b:7b"));
    assert_true(lacks("[{\"id\":\"a\"}]", "c"));
}

static void a_list_that_says_nothing_misses_nothing(void **state)
{
    (void)state;
    static const char *const lists[] = {
        "{}",
        "[]",
        "7",
        "{\"data\":[]}",
        "{\"data\":{}}",
        "{\"data\":[1,null,{\"id\":5}]}",
        "{\"data\":null}",
        "{\"data\":[{\"id\":\"/m.gguf\",\"owned_by\":\"llamacpp\"}]}"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (lacks(lists[i], "m"))
            fail_msg("%s", lists[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_that_is_no_json_still_says_what_to_give_back),
        cmocka_unit_test(no_client_can_name_another_claim_in_it),
        cmocka_unit_test(what_holds_no_lease_is_left_alone),
        cmocka_unit_test(a_list_of_models_says_what_is_missing),
        cmocka_unit_test(a_list_that_says_nothing_misses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
