/* SPDX-License-Identifier: MIT
 * test_documents_model_reply.c - what models reply where a JSON object was asked for. */
#include "services/documents/ask/model_reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void rewrite(const char *reply, const char *expected)
{
    struct buf query;
    buf_init(&query, 65536);
    bool is_good = model_reply_rewrite(str_of(reply), &query);
    buf_terminate(&query);
    assert_int_equal(is_good, expected != NULL);
    assert_string_equal(query.at, expected == NULL ? "" : expected);
    buf_fini(&query);
}

static void an_object_is_found_in_what_surrounds_it(void **state)
{
    rewrite("{\"rewritten_query\":\"lease time\"}", "lease time");
    rewrite("Sure! ```json\n{\"rewritten_query\": \" lease\\ntime \"}\n``` Bye {x}", "lease time");
    rewrite("{\"thought\":\"hm {\"} {\"rewritten_query\":\"lease\"}", "lease");
    rewrite("{\"outer\":{\"rewritten_query\":\"inner\"}}", "inner");
}

static void a_reply_that_is_no_query_is_none(void **state)
{
    rewrite("", NULL);
    rewrite("lease time", NULL);
    rewrite("{\"rewritten_query\":\"lease", NULL);
    rewrite("{\"rewritten_query\":\" ?! \"}", NULL);
    rewrite("{\"rewritten_query\":5}", NULL);
    rewrite("{\"rewritten_query\":null}", NULL);
    rewrite("{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{\"rewritten_query\":\"deep\"}", NULL);
}

static void rank(const char *reply, bool is_good, const char *expected)
{
    unsigned order[4];
    char text[16];
    assert_int_equal(model_reply_ranking(str_of(reply), order, 4), is_good);
    for (int i = 0; i < 4; i++)
        text[i] = (char)('1' + order[i]);
    text[4] = 0;
    assert_string_equal(text, expected);
}

static void a_ranking_is_a_permutation_whatever_it_says(void **state)
{
    rank("{\"ranking\":[3,1,4,2]}", true, "3142");
    rank("{\"ranking\":[3]}", true, "3124");
    rank("{\"ranking\":[\"[2]\",\"4\",2,9,0,-1,2.5,null]}", true, "2413");
    rank("{\"ranking\":[]}", false, "1234");
    rank("{\"ranking\":\"3\"}", false, "1234");
    rank("{\"ranking\":[99999999999]}", false, "1234");
    rank("no", false, "1234");
}

static void a_plan_has_two_to_five_steps(void **state)
{
    assert_null(model_reply_plan(STR("{\"steps\":[\"one\"]}")));
    assert_null(model_reply_plan(STR("{\"steps\":[\"one\",\" \",3]}")));
    assert_null(model_reply_plan(STR("{\"steps\":\"one, two\"}")));
    assert_null(model_reply_plan(STR("[\"one\",\"two\"]")));
    json_t *steps = model_reply_plan(STR("{\"steps\":[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\"]}"));
    assert_int_equal(json_array_size(steps), 5);
    json_decref(steps);
}

static void step(const char *reply, enum agent_tool tool, const char *query)
{
    struct agent_step found;
    assert_true(model_reply_step(str_of(reply), &found));
    assert_int_equal(found.tool, tool);
    assert_true(str_eq(found.query, str_of(query)));
    assert_non_null(found.input);
    agent_step_fini(&found);
}

static void a_step_names_a_tool(void **state)
{
    struct agent_step none;
    step("{\"tool\":\"search_docs\",\"input\":{\"query\":\" lease \"}}", AGENT_SEARCH, "lease");
    step("{\"tool\":\"Search_Docs\",\"input\":\"lease\"}", AGENT_SEARCH, "lease");
    step("{\"tool\":\"open_citation\",\"input\":{\"citation\":1}}", AGENT_OPEN, "");
    step("{\"tool\":\"final\"}", AGENT_FINAL, "");
    step("{\"tool\":\"rm -rf\",\"input\":7}", AGENT_OTHER, "");
    assert_false(model_reply_step(STR("{\"tool\":\"search_docs\",\"input\":{}}"), &none));
    assert_false(model_reply_step(STR("{\"tool\":3}"), &none));
    assert_false(model_reply_step(STR("{\"tool\":\"final\""), &none));
    assert_false(model_reply_step(STR(""), &none));
}

static void opens(const char *input, unsigned expected)
{
    static const struct agent_found found[] = {
        {STR("aaaaaaaa1111"), STR("aaaaaaaa1111:0"), 0},
        {STR("aaaaaaaa1111"), STR("aaaaaaaa1111:1"), 1},
        {STR("bbbbbbbb2222"), STR("bbbbbbbb2222:10"), 10},
    };
    char reason[100];
    json_t *object;
    struct buf text;
    buf_init(&text, 1000);
    buf_printf(&text, "{\"input\":%s}", input);
    assert_true(json_parse(buf_str(&text), reason, sizeof reason, &object));
    assert_int_equal(agent_find(json_object_get(object, "input"), found, 3), expected);
    json_decref(object);
    buf_fini(&text);
}

static void only_what_a_tool_returned_is_opened(void **state)
{
    opens("{\"citation\":2}", 2);
    opens("{\"citation\":\"[3]\"}", 3);
    opens("3", 3);
    opens("{\"citation\":9}", 0);
    opens("{\"citation\":0}", 0);
    opens("{\"chunkId\":\"aaaaaaaa1111:1\"}", 2);
    opens("{\"chunkId\":\"bbbbbbbb22\"}", 3); /* cut */
    opens("{\"chunkId\":\"aaaaaaaa11\"}", 0); /* of two */
    opens("{\"chunkId\":\"bbb\"}", 0);        /* too little */
    opens("{\"docId\":\"aaaaaaaa11\",\"chunkIndex\":1}", 2);
    opens("{\"docId\":\"cccccccccccc\",\"chunkIndex\":1}", 0);
    opens("\"bbbbbbbb2222:10\"", 3);
    opens("null", 0);
    opens("[1]", 0);
    opens("{}", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_is_found_in_what_surrounds_it),
        cmocka_unit_test(a_reply_that_is_no_query_is_none),
        cmocka_unit_test(a_ranking_is_a_permutation_whatever_it_says),
        cmocka_unit_test(a_plan_has_two_to_five_steps),
        cmocka_unit_test(a_step_names_a_tool),
        cmocka_unit_test(only_what_a_tool_returned_is_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
