/* SPDX-License-Identifier: MIT
 * test_openai_messages.c - requests of Anthropic's interface as chat requests, and deltas of chat
 * engines as its events and messages. */
#include "services/openai/messages/events.h"
#include "services/openai/messages/translate.h"
#include "services/openai/messages/whole.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- requests ---- */

static void becomes(const char *body, const char *expected)
{
    char fault[MESSAGE_FAULT_BYTES] = "";
    struct buf b;
    buf_init(&b, TRANSLATE_MAX_BYTES);
    if (!translate_messages(&b, str_of(body), false, fault))
        fail_msg("%s", fault);
    buf_terminate(&b);
    assert_string_equal(b.at, expected);
    buf_fini(&b);
}

static void is_refused(const char *body, const char *expected)
{
    char fault[MESSAGE_FAULT_BYTES] = "";
    struct buf b;
    buf_init(&b, TRANSLATE_MAX_BYTES);
    assert_false(translate_messages(&b, str_of(body), false, fault));
    buf_fini(&b);
    assert_non_null(strstr(fault, expected));
    assert_int_equal(fault[strlen(fault) - 1], '.');
}

#define REQUEST(members) "{\"model\":\"m\",\"max_tokens\":9," members "}"
#define CHAT(messages, members)                                                                    \
    "{\"model\":\"m\",\"messages\":[" messages "],\"max_tokens\":9" members "}"
#define HI "\"messages\":[{\"role\":\"user\",\"content\":\"Hi \\\"you\\\"\"}]"
#define HI_CHAT "{\"role\":\"user\",\"content\":\"Hi \\\"you\\\"\"}"

static void texts_and_settings(void **state)
{
    becomes(REQUEST(HI), CHAT(HI_CHAT, ""));
    becomes(REQUEST(HI ",\"system\":\"Be brief.\",\"temperature\":0.5,\"top_p\":1,\"top_k\":4,"
                       "\"stop_sequences\":[\"a\",\"b\"],\"metadata\":{\"user_id\":\"u\"},"
                       "\"stream\":true,\"cache_control\":{},\"container\":null"),
            CHAT("{\"role\":\"system\",\"content\":\"Be brief.\"}," HI_CHAT,
                 ",\"stop\":[\"a\",\"b\"],\"temperature\":0.5,\"top_p\":1,\"top_k\":4,"
                 "\"user\":\"u\""));
    becomes(REQUEST(HI ",\"system\":[{\"type\":\"text\",\"text\":\"A\",\"cache_control\":{}},"
                       "{\"type\":\"text\",\"text\":\"B\"}]"),
            CHAT("{\"role\":\"system\",\"content\":\"A\\nB\"}," HI_CHAT, ""));
    becomes(REQUEST(HI ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":10000}"),
            CHAT(HI_CHAT, ",\"reasoning_effort\":\"medium\""));
    becomes(REQUEST(HI ",\"thinking\":{\"type\":\"disabled\"}"), CHAT(HI_CHAT, ""));
}

static void efforts(void **state)
{
    static const char *const efforts[][2] = {
        {"low", "low"}, {"medium", "medium"}, {"high", "high"}, {"xhigh", "high"}, {"max", "high"}};
    for (size_t i = 0; i < 5; i++) {
        char body[400], expected[400];
        snprintf(body, sizeof body,
                 REQUEST(HI ",\"thinking\":{\"type\":\"adaptive\"},\"output_config\":{\"effort\":"
                            "\"%s\"}"),
                 efforts[i][0]);
        snprintf(expected, sizeof expected, CHAT(HI_CHAT, ",\"reasoning_effort\":\"%s\""),
                 efforts[i][1]);
        becomes(body, expected);
    }
    becomes(REQUEST(HI ",\"output_config\":{\"effort\":null}"), CHAT(HI_CHAT, ""));
    becomes(
        REQUEST(HI ",\"thinking\":{\"type\":\"disabled\"},\"output_config\":{\"effort\":\"low\"}"),
        CHAT(HI_CHAT, ""));
    becomes(REQUEST(HI ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":9},\"output_config\":"
                       "{\"effort\":\"max\"}"),
            CHAT(HI_CHAT, ",\"reasoning_effort\":\"low\""));
}

/* As Claude Code sends them. */
static void messages_of_the_system_stay_in_their_place(void **state)
{
    becomes(REQUEST("\"system\":\"A\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},"
                    "{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"B\","
                    "\"cache_control\":{}}]},{\"role\":\"system\",\"content\":\"C\"}]"),
            CHAT("{\"role\":\"system\",\"content\":\"A\"},{\"role\":\"user\",\"content\":\"Hi\"},"
                 "{\"role\":\"system\",\"content\":\"B\"},{\"role\":\"system\",\"content\":\"C\"}",
                 ""));
}

static void a_search_for_tools_names_them(void **state)
{
    becomes(REQUEST("\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
                    "\"tool_use_id\":\"t\",\"content\":[{\"type\":\"tool_reference\","
                    "\"tool_name\":\"f\"},{\"type\":\"text\",\"text\":\"Found:\"},"
                    "{\"type\":\"tool_reference\",\"tool_name\":\"g\"}]}]}]"),
            CHAT("{\"role\":\"tool\",\"tool_call_id\":\"t\",\"content\":\"Found:\\nf\\ng\"}", ""));
}

static void a_turn_with_tools(void **state)
{
    becomes(
        REQUEST("\"messages\":[{\"role\":\"assistant\",\"content\":["
                "{\"type\":\"thinking\",\"thinking\":\"Hm\",\"signature\":\"\"},"
                "{\"type\":\"redacted_thinking\",\"data\":\"x\"},"
                "{\"type\":\"text\",\"text\":\"I \"},{\"type\":\"text\",\"text\":\"look.\"},"
                "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"read\",\"input\":{\"a\":\"b\"}},"
                "{\"type\":\"tool_use\",\"id\":\"t2\",\"name\":\"now\",\"input\":{}}]},"
                "{\"role\":\"user\",\"content\":["
                "{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"is_error\":true,\"content\":"
                "[{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"text\",\"text\":\"y\"}]},"
                "{\"type\":\"tool_result\",\"tool_use_id\":\"t2\",\"content\":\"noon\"}]}]"),
        CHAT("{\"role\":\"assistant\",\"content\":\"I look.\",\"reasoning_content\":\"Hm\","
             "\"tool_calls\":[{\"id\":\"t1\",\"type\":\"function\",\"function\":{\"name\":\"read\","
             "\"arguments\":\"{\\\"a\\\":\\\"b\\\"}\"}},{\"id\":\"t2\",\"type\":\"function\","
             "\"function\":{\"name\":\"now\",\"arguments\":\"{}\"}}]},"
             "{\"role\":\"tool\",\"tool_call_id\":\"t1\",\"content\":\"Error: x\\ny\"},"
             "{\"role\":\"tool\",\"tool_call_id\":\"t2\",\"content\":\"noon\"}",
             ""));
}

static void images_are_parts_those_of_results_too(void **state)
{
    becomes(
        REQUEST("\"messages\":[{\"role\":\"user\",\"content\":["
                "{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":[{\"type\":\"image\","
                "\"source\":{\"type\":\"url\",\"url\":\"http://x/\"}}]},"
                "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\","
                "\"data\":\"AA==\"}},{\"type\":\"text\",\"text\":\"See?\"}]}]"),
        CHAT("{\"role\":\"tool\",\"tool_call_id\":\"t\",\"content\":\"\"},"
             "{\"role\":\"user\",\"content\":["
             "{\"type\":\"image_url\",\"image_url\":{\"url\":\"http://x/\"}},"
             "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,AA==\"}},"
             "{\"type\":\"text\",\"text\":\"See?\"}]}",
             ""));
}

static void tools_and_their_choice(void **state)
{
    static const char *const choices[][2] = {
        {"{\"type\":\"auto\"}", "\"auto\""},
        {"{\"type\":\"none\"}", "\"none\""},
        {"{\"type\":\"any\",\"disable_parallel_tool_use\":true}",
         "\"required\",\"parallel_tool_calls\":false"},
        {"{\"type\":\"tool\",\"name\":\"f\"}",
         "{\"type\":\"function\",\"function\":{\"name\":\"f\"}}"},
    };
    char body[1000], expected[1000];
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        snprintf(body, sizeof body,
                 REQUEST(HI ",\"tools\":[{\"name\":\"f\",\"description\":\"d\",\"input_schema\":"
                            "{\"type\":\"object\"}}],\"tool_choice\":%s"),
                 choices[i][0]);
        snprintf(expected, sizeof expected,
                 CHAT(HI_CHAT, ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\","
                               "\"description\":\"d\",\"parameters\":{\"type\":\"object\"}}}],"
                               "\"tool_choice\":%s"),
                 choices[i][1]);
        becomes(body, expected);
    }
}

static void faults_name_their_member(void **state)
{
    is_refused("{\"model\":\"m\"," HI "}", "max_tokens");
    is_refused("{\"max_tokens\":1," HI "}", "model");
    is_refused("[]", "body");
    is_refused(REQUEST("\"messages\":[]"), "messages: ");
    is_refused(REQUEST("\"messages\":[1]"), "messages.0: ");
    is_refused(REQUEST("\"messages\":[{\"role\":\"tool\",\"content\":\"\"}]"), "messages.0.role");
    is_refused(REQUEST("\"messages\":[{\"role\":\"system\",\"content\":[{\"type\":\"image\"}]}]"),
               "messages.0.content");
    is_refused(REQUEST("\"messages\":[{\"role\":\"user\",\"content\":7}]"), "messages.0.content");
    is_refused(REQUEST("\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
                       "\"\"},{\"type\":\"document\"}]}]"),
               "messages.0.content.1");
    is_refused(REQUEST(HI ",\"system\":[{\"type\":\"image\"}]"), "system");
    is_refused(REQUEST(HI ",\"stop_sequences\":[1]"), "stop_sequences");
    is_refused(REQUEST(HI ",\"temperature\":\"hot\""), "temperature");
    is_refused(
        REQUEST(HI ",\"tools\":[{\"type\":\"web_search_20250305\",\"name\":\"web_search\"}]"),
        "web_search");
    is_refused(REQUEST(HI ",\"tools\":[{\"name\":\"f\"}]"), "tools.0");
    is_refused(REQUEST(HI ",\"tool_choice\":{\"type\":\"tool\"}"), "tool_choice");
    is_refused(REQUEST(HI ",\"thinking\":{\"type\":\"enabled\"}"), "thinking.budget_tokens");
    is_refused(REQUEST(HI ",\"output_config\":{\"effort\":\"huge\"}"), "output_config.effort");
    is_refused(REQUEST(HI ",\"output_config\":7"), "output_config");
    is_refused(REQUEST("\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
                       "\"tool_use_id\":\"t\",\"content\":[{\"type\":\"tool_reference\"}]}]}]"),
               "tool_reference");
}

/* ---- events ---- */

static void put_event(void *context, const char *event, const struct buf *data)
{
    struct buf *out = context;
    char type[64];
    int n = snprintf(type, sizeof type, "{\"type\":\"%s\"", event);
    assert_memory_equal(data->at, type, n);
    buf_put(out, (struct str){data->at + n, data->n - (size_t)n});
    buf_put_char(out, '\n');
}

static void stream(const char *const *deltas, const char *expected)
{
    struct usage usage;
    struct message_events events;
    struct buf out;
    buf_init(&out, 1 << 20);
    usage_init(&usage, 40);
    message_events_init(&events, put_event, &out, &usage);
    message_events_begin(&events, STR("msg_1"), STR("m"));
    buf_clear(&out);
    for (; *deltas != NULL; deltas++)
        assert_true(message_events_give(&events, str_of(*deltas)));
    message_events_end(&events, STR(""));
    buf_terminate(&out);
    assert_string_equal(out.at, expected);
    message_events_fini(&events);
    usage_fini(&usage);
    buf_fini(&out);
}

#define DELTA(members) "{\"choices\":[{\"index\":0,\"delta\":{" members "}}]}"
#define CALL(index, more) "\"tool_calls\":[{\"index\":" index "," more "}]"

static void blocks_begin_and_end_as_what_they_have_does(void **state)
{
    stream((const char *const[]){DELTA("\"role\":\"assistant\",\"content\":\"\""),
                                 DELTA("\"reasoning\":\"Hm\""), DELTA("\"content\":\"a\\n\""),
                                 DELTA("\"content\":\"b\""),
                                 DELTA(CALL("0", "\"id\":\"t1\",\"function\":{\"name\":\"f\","
                                                 "\"arguments\":\"\"}")),
                                 DELTA(CALL("0", "\"function\":{\"arguments\":\"{}\"}")),
                                 DELTA(CALL("1", "\"id\":\"t2\",\"function\":{\"name\":\"g\"}")),
                                 "{\"choices\":[{\"index\":0,\"delta\":{},"
                                 "\"finish_reason\":\"tool_calls\"}],"
                                 "\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}",
                                 NULL},
           ",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\","
           "\"signature\":\"\"}}\n"
           ",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Hm\"}}\n"
           ",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"\"}}\n"
           ",\"index\":0}\n"
           ",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n"
           ",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\\n\"}}\n"
           ",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"b\"}}\n"
           ",\"index\":1}\n"
           ",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"f\","
           "\"input\":{}}}\n"
           ",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n"
           ",\"index\":2}\n"
           ",\"index\":3,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t2\",\"name\":\"g\","
           "\"input\":{}}}\n"
           ",\"index\":3}\n"
           ",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":null},"
           "\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}\n"
           "}\n");
}

static void tokens_are_estimated_and_nothing_is_an_answer(void **state)
{
    stream((const char *const[]){NULL},
           ",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},"
           "\"usage\":{\"input_tokens\":11,\"output_tokens\":1}}\n}\n");
    stream((const char *const[]){"no JSON",
                                 "{\"choices\":[1,{\"index\":1,\"delta\":{\"content\":"
                                 "\"x\"}},{\"delta\":[]}]}",
                                 NULL},
           ",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},"
           "\"usage\":{\"input_tokens\":11,\"output_tokens\":1}}\n}\n");
}

static void calls_out_of_order_are_refused(void **state)
{
    struct usage usage;
    struct message_events events;
    struct buf out;
    buf_init(&out, 1 << 20);
    usage_init(&usage, 0);
    message_events_init(&events, put_event, &out, &usage);
    assert_true(message_events_give(&events, STR(DELTA(CALL("0", "\"id\":\"t1\"")))));
    assert_true(message_events_give(&events, STR(DELTA(CALL("1", "\"id\":\"t2\"")))));
    assert_false(
        message_events_give(&events, STR(DELTA(CALL("0", "\"function\":{\"arguments\":\"{}\"}")))));
    message_events_fini(&events);
    usage_fini(&usage);
    buf_fini(&out);
}

static void a_message_in_one_piece(void **state)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    assert_true(message_put_whole(
        &b, STR("msg_1"), STR("m"),
        STR("{\"choices\":[{\"message\":{\"content\":\"Yes.\",\"reasoning\":\"Hm\",\"tool_calls\":["
            "{\"id\":\"t1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}},"
            "{\"id\":\"t2\",\"function\":{\"name\":\"g\",\"arguments\":\"{broken\"}}]},"
            "\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":"
            "3}}")));
    buf_terminate(&b);
    assert_string_equal(
        b.at, "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\","
              "\"content\":[{\"type\":\"thinking\",\"thinking\":\"Hm\",\"signature\":\"\"},"
              "{\"type\":\"text\",\"text\":\"Yes.\"},"
              "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"f\",\"input\":{\"a\":1}},"
              "{\"type\":\"tool_use\",\"id\":\"t2\",\"name\":\"g\",\"input\":"
              "{\"arguments\":\"{broken\"}}],\"stop_reason\":\"max_tokens\","
              "\"stop_sequence\":null,\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}");
    assert_false(message_put_whole(&b, STR("msg_1"), STR("m"), STR("{\"choices\":[]}")));
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_and_settings),
        cmocka_unit_test(efforts),
        cmocka_unit_test(messages_of_the_system_stay_in_their_place),
        cmocka_unit_test(a_search_for_tools_names_them),
        cmocka_unit_test(a_turn_with_tools),
        cmocka_unit_test(images_are_parts_those_of_results_too),
        cmocka_unit_test(tools_and_their_choice),
        cmocka_unit_test(faults_name_their_member),
        cmocka_unit_test(blocks_begin_and_end_as_what_they_have_does),
        cmocka_unit_test(tokens_are_estimated_and_nothing_is_an_answer),
        cmocka_unit_test(calls_out_of_order_are_refused),
        cmocka_unit_test(a_message_in_one_piece),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
