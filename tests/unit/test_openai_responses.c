/* SPDX-License-Identifier: MIT
 * test_openai_responses.c - requests of /v1/responses as those of chats, and the deltas of a chat
 * as events and items. */
#include "services/openai/responses/events.h"
#include "services/openai/responses/settings.h"
#include "services/openai/responses/translate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { OUT_BYTES = 4 << 20, MEMBERS = 200 };

/* ---- requests ---- */

struct scanned {
    struct json_member at[MEMBERS];
    size_t n;
};

static void scan(struct scanned *scanned, struct str json)
{
    const char *reason;
    size_t at;
    bool is_object;
    if (!json_scan_object(json, scanned->at, MEMBERS, &scanned->n, &reason, &at, &is_object))
        fail_msg("%s at %zu: %.*s", reason, at, STR_ARG(json));
}

/* The members after those that each chat request begins with. */
static void check(const char *request, const char *expected)
{
    static const char begin[] = "{\"stream\":true,\"stream_options\":{\"include_usage\":true}";
    struct scanned in, out;
    struct translate_fault fault;
    struct buf b;
    buf_init(&b, OUT_BYTES);
    scan(&in, str_of(request));
    if (!translate_request(in.at, in.n, NULL, &b, &fault))
        fail_msg("%s must be %s: %s", fault.member, fault.expected, request);
    assert_false(b.is_over);
    scan(&out, buf_str(&b));
    buf_terminate(&b);
    assert_memory_equal(b.at, begin, sizeof begin - 1);
    assert_string_equal(b.at + sizeof begin - 1, expected);
    buf_fini(&b);
}

static void check_refused(const char *request, const char *member)
{
    struct scanned in;
    struct translate_fault fault;
    struct buf b;
    buf_init(&b, OUT_BYTES);
    scan(&in, str_of(request));
    if (translate_request(in.at, in.n, NULL, &b, &fault))
        fail_msg("accepted: %s", request);
    assert_string_equal(fault.member, member);
    assert_true(fault.expected[0] != 0);
    buf_fini(&b);
}

static void members_are_translated(void **state)
{
    check("{\"model\":\"m\",\"input\":\"Hi \\\"you\\\"\"}",
          ",\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi \\\"you\\\"\"}]}");
    check(
        "{\"input\":\"a\",\"instructions\":\"Be brief.\",\"store\":false,\"seed\":7,\"stop\":null,"
        "\"max_output_tokens\":9,\"reasoning\":{\"effort\":\"low\",\"summary\":\"auto\"}}",
        ",\"seed\":7,\"max_completion_tokens\":9,\"reasoning_effort\":\"low\",\"messages\":["
        "{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":\"user\",\"content\":\"a\"}]}");
    check("{\"input\":\"a\",\"temperature\":2,\"temperature\":0.5,\"include\":[\"x\","
          "\"message.output_text.logprobs\"],\"top_logprobs\":2}",
          ",\"temperature\":0.5,\"top_logprobs\":2,\"logprobs\":true,"
          "\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}");
    check("{\"input\":\"a\",\"text\":{\"verbosity\":\"low\",\"format\":{\"type\":\"json_schema\","
          "\"name\":\"n\",\"strict\":true,\"schema\":{\"type\":\"object\"}}}}",
          ",\"verbosity\":\"low\",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{"
          "\"name\":\"n\",\"schema\":{\"type\":\"object\"},\"strict\":true}},"
          "\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}");
    check("{\"input\":\"a\",\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"parameters\":{},"
          "\"strict\":null}],\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"}}",
          ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{}}}],"
          "\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"f\"}},"
          "\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}");
}

#define SPACE                                                                                      \
    "{\"type\":\"namespace\",\"name\":\"agents\",\"tools\":[{\"type\":\"function\",\"name\":"      \
    "\"close\","                                                                                   \
    "\"parameters\":{}},{\"type\":\"function\",\"name\":\"open\"}]}"

#define ALLOWED(LIST)                                                                              \
    "{\"input\":\"a\",\"tools\":[" SPACE ",{\"type\":\"function\",\"name\":\"f\"},"                \
    "{\"type\":\"web_search\"}],\"tool_choice\":{\"type\":\"allowed_tools\",\"mode\":\"auto\","    \
    "\"tools\":[" LIST "]}}"

/* As Codex sends them. */
static void functions_of_a_namespace_have_its_name_and_searches_are_left_out(void **state)
{
    check(
        "{\"input\":\"a\",\"tools\":[{\"type\":\"web_search\",\"external_web_access\":true}," SPACE
        ",{\"type\":\"function\",\"name\":\"f\",\"strict\":false}]}",
        ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"agents__close\","
        "\"parameters\":"
        "{}}},{\"type\":\"function\",\"function\":{\"name\":\"agents__open\"}},{\"type\":"
        "\"function\","
        "\"function\":{\"name\":\"f\",\"strict\":false}}],"
        "\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}");
    check(ALLOWED("{\"type\":\"function\",\"name\":\"f\"}"),
          ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}],\"tool_choice\":"
          "\"auto\","
          "\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}");
    check(ALLOWED("{\"type\":\"function\",\"name\":\"open\",\"namespace\":\"agents\"},"
                  "{\"type\":\"web_search\"}"),
          ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"agents__open\"}}],"
          "\"tool_choice\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}");
    check(ALLOWED("{\"type\":\"namespace\",\"name\":\"agents\"}"),
          ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"agents__close\","
          "\"parameters\":{}}},{\"type\":\"function\",\"function\":{\"name\":\"agents__open\"}}],"
          "\"tool_choice\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}");
    check("{\"input\":\"a\",\"tools\":[{\"type\":\"web_search_preview\"}]}",
          ",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}");
    check("{\"input\":[{\"type\":\"function_call\",\"call_id\":\"c\",\"namespace\":\"agents\","
          "\"name\":"
          "\"close\",\"arguments\":\"{}\"}]}",
          ",\"messages\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\","
          "\"type\":"
          "\"function\",\"function\":{\"name\":\"agents__close\",\"arguments\":\"{}\"}}]}]}");
}

static void items_become_messages(void **state)
{
    check("{\"input\":[{\"role\":\"developer\",\"content\":\"d\"},{\"type\":\"message\",\"role\":"
          "\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"see\"},{\"type\":\"input_"
          "image\","
          "\"image_url\":\"data:x\",\"detail\":\"low\"}]}]}",
          ",\"messages\":[{\"role\":\"system\",\"content\":\"d\"},{\"role\":\"user\",\"content\":["
          "{\"type\":\"text\",\"text\":\"see\"},{\"type\":\"image_url\",\"image_url\":{\"url\":"
          "\"data:x\",\"detail\":\"low\"}}]}]}");
    /* what an assistant thought, said and called is one message */
    check(
        "{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"u\"}]},"
        "{\"type\":\"reasoning\",\"summary\":[],\"content\":[{\"type\":\"reasoning_text\",\"text\":"
        "\"hm\"}]},{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":"
        "\"output_text\",\"text\":\"I \"},{\"type\":\"output_text\",\"text\":\"look\"}]},"
        "{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"f\",\"arguments\":\"{\\\"a\\\":"
        "1}\"},"
        "{\"type\":\"function_call\",\"call_id\":\"c2\",\"name\":\"g\",\"arguments\":\"{}\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"one\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"c2\",\"output\":[{\"type\":\"input_"
        "text\","
        "\"text\":\"two\"}]},{\"role\":\"assistant\",\"content\":\"ok\"},"
        "{\"role\":\"assistant\",\"content\":\"and\"}]}",
        ",\"messages\":[{\"role\":\"user\",\"content\":\"u\"},{\"role\":\"assistant\",\"content\":"
        "\"I look\",\"reasoning_content\":\"hm\",\"tool_calls\":[{\"id\":\"c1\",\"type\":"
        "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}},{\"id\":"
        "\"c2\","
        "\"type\":\"function\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}]},"
        "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"one\"},"
        "{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"two\"},"
        "{\"role\":\"assistant\",\"content\":\"ok\"},{\"role\":\"assistant\",\"content\":\"and\"}]"
        "}");
    /* a thought that nothing followed is left out */
    check("{\"input\":[{\"role\":\"user\",\"content\":\"u\"},{\"type\":\"reasoning\",\"id\":\"r\","
          "\"encrypted_content\":\"x\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"s\"}]}]}",
          ",\"messages\":[{\"role\":\"user\",\"content\":\"u\"}]}");
}

static void what_cannot_be_translated_is_named(void **state)
{
    static const char *const requests[][2] = {
        {"{}", "input"},
        {"{\"input\":[]}", "input"},
        {"{\"input\":7}", "input"},
        {"{\"input\":\"a\",\"instructions\":[]}", "instructions"},
        {"{\"input\":[{\"role\":\"user\",\"content\":\"a\"},5]}", "input[1]"},
        {"{\"input\":[{\"role\":\"tool\",\"content\":\"a\"}]}", "input[0].role"},
        {"{\"input\":[{\"role\":\"user\"}]}", "input[0].content"},
        {"{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_audio\"}]}]}",
         "input[0].content"},
        {"{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_image\",\"file_id\":\"f\"}]"
         "}]}",
         "input[0].content"},
        {"{\"input\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\"}]}]}",
         "input[0].content"},
        {"{\"input\":[{\"type\":\"function_call\",\"name\":\"f\"}]}", "input[0]"},
        {"{\"input\":[{\"type\":\"function_call_output\",\"output\":\"f\"}]}", "input[0].call_id"},
        {"{\"input\":[{\"type\":\"item_reference\",\"id\":\"x\"}]}", "input[0].type"},
        {"{\"input\":[{\"type\":\"web_search_call\"}]}", "input[0].type"},
        {"{\"input\":\"a\",\"tools\":[{\"type\":\"function\",\"name\":\"f\"},{\"type\":\"custom\"}]"
         "}",
         "tools[1].name"},
        {"{\"input\":\"a\",\"tools\":[{\"type\":\"shell\"}]}", "tools[0].type"},
        {"{\"input\":[{\"type\":\"custom_tool_call\",\"call_id\":\"c\",\"name\":\"f\"}]}",
         "input[0]"},
        {"{\"input\":\"a\",\"tools\":[{\"type\":\"function\"}]}", "tools[0].name"},
        {"{\"input\":\"a\",\"tools\":{}}", "tools"},
        {"{\"input\":\"a\",\"tools\":[{\"type\":\"namespace\",\"tools\":[]}]}", "tools[0].name"},
        {"{\"input\":\"a\",\"tools\":[{\"type\":\"namespace\",\"name\":\"s\"}]}", "tools[0].tools"},
        {"{\"input\":\"a\",\"tools\":[{\"type\":\"namespace\",\"name\":\"s\",\"tools\":[{\"type\":"
         "\"custom\"}]}]}",
         "tools[0].name"},
        {"{\"input\":\"a\",\"tool_choice\":{\"type\":\"mcp\"}}", "tool_choice.type"},
        {ALLOWED(""), "tool_choice.tools"},
        {ALLOWED("1"), "tool_choice.tools"},
        {ALLOWED("{\"type\":\"function\",\"name\":\"g\"}"), "tool_choice.tools"},
        {ALLOWED("{\"type\":\"function\",\"name\":\"open\"}"), "tool_choice.tools"},
        {"{\"input\":\"a\",\"tool_choice\":{\"type\":\"allowed_tools\",\"mode\":\"auto\"}}",
         "tool_choice.tools"},
        {"{\"input\":\"a\",\"tool_choice\":{\"type\":\"allowed_tools\",\"tools\":[]}}",
         "tool_choice.mode"},
        {"{\"input\":\"a\",\"text\":\"b\"}", "text"},
        {"{\"input\":\"a\",\"text\":{\"format\":{}}}", "text.format.type"},
        {"{\"input\":\"a\",\"reasoning\":\"low\"}", "reasoning"},
        {"{\"input\":\"a\",\"max_output_tokens\":0}", "max_output_tokens"},
        {"{\"input\":\"a\",\"top_logprobs\":21}", "top_logprobs"},
        {"{\"input\":\"a\",\"include\":\"x\"}", "include"},
        {"{\"input\":\"a\",\"prompt\":{\"id\":\"x\"}}", "prompt"},
        {"{\"input\":\"a\",\"conversation\":\"x\"}", "conversation"},
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        check_refused(requests[i][0], requests[i][1]);
}

static void a_body_has_bounds(void **state)
{
    struct scanned in;
    struct translate_fault fault;
    struct buf b, small;
    buf_init(&b, OUT_BYTES);
    buf_init(&small, 64);
    buf_lit(&b, "{\"input\":[");
    for (int i = 0; i < 20000; i++)
        buf_printf(&b, "%s{\"role\":\"assistant\",\"content\":\"a\"}", i == 0 ? "" : ",");
    buf_lit(&b, "]}");
    scan(&in, buf_str(&b));
    assert_true(translate_request(in.at, in.n, NULL, &small, &fault));
    assert_true(small.is_over);
    buf_clear(&b);
    buf_lit(&b, "{\"input\":\"a\"");
    for (int i = 0; i < 128; i++)
        buf_printf(&b, ",\"m%d\":1", i);
    buf_lit(&b, "}");
    scan(&in, buf_str(&b));
    assert_false(translate_request(in.at, in.n, NULL, &small, &fault));
    assert_string_equal(fault.member, "body");
    buf_fini(&b);
    buf_fini(&small);
}

static void a_response_repeats_what_was_asked(void **state)
{
    struct scanned in;
    struct buf b;
    buf_init(&b, OUT_BYTES);
    scan(
        &in,
        STR("{\"temperature\":0.5,\"top_p\":\"x\",\"tools\":[{\"type\":\"function\",\"name\":\"f\","
            "\"x\":1}," SPACE ",{\"type\":\"web_search\"}],\"tool_choice\":\"none\",\"text\":{"
            "\"verbosity\":\"low\"},\"user\":\"u\"}"));
    settings_put(&b, in.at, in.n, true);
    buf_terminate(&b);
    assert_string_equal(
        b.at,
        ",\"background\":false,\"previous_response_id\":null,\"store\":true,\"instructions\":null,"
        "\"max_output_tokens\":null,\"max_tool_calls\":null,\"metadata\":{},"
        "\"parallel_tool_calls\":true,\"reasoning\":{\"effort\":null,\"summary\":null},"
        "\"temperature\":0.5,\"top_logprobs\":0,\"top_p\":1,\"truncation\":\"disabled\",\"user\":"
        "\"u\","
        "\"text\":{\"format\":{\"type\":\"text\"},\"verbosity\":\"low\"},\"tools\":[{\"type\":"
        "\"function\",\"name\":\"f\",\"parameters\":null,\"strict\":null}," SPACE
        "],\"tool_choice\":"
        "\"none\"");
    buf_fini(&b);
}

/* ---- events ---- */

struct seen {
    struct buf log; /* the end of each type, its index of an item, and its text */
    uint64_t n;
};

static void put_seen(struct buf *log, const struct members *event, const char *name)
{
    const struct json_span *value = members_get(event, name);
    if (value == NULL)
        return;
    buf_put_char(log, ' ');
    members_put_span(log, value);
}

static void put_event(void *context, const char *type, const struct buf *data)
{
    struct seen *seen = context;
    struct members event;
    assert_true(members_read(&event, buf_str(data)));
    assert_true(str_eq(members_get(&event, "type")->raw, str_of(type)));
    assert_int_equal(members_u64(&event, "sequence_number", 999), seen->n++);
    buf_put(&seen->log, str_of(strncmp(type, "response.", 9) == 0 ? type + 9 : type));
    put_seen(&seen->log, &event, "output_index");
    put_seen(&seen->log, &event, "content_index");
    put_seen(&seen->log, &event, "delta");
    put_seen(&seen->log, &event, "text");
    put_seen(&seen->log, &event, "refusal");
    put_seen(&seen->log, &event, "arguments");
    put_seen(&seen->log, &event, "annotation");
    put_seen(&seen->log, &event, "message");
    buf_put_char(&seen->log, '\n');
}

struct answer {
    struct events events;
    struct usage usage;
    struct seen seen;
};

static void open_answer(struct answer *a, bool is_stream)
{
    *a = (struct answer){.seen.n = 0};
    usage_init(&a->usage, 40);
    buf_init(&a->seen.log, OUT_BYTES);
    a->events = (struct events){.id = STR("X"),
                                .head = STR("{\"id\":\"resp_X\""),
                                .settings = STR(",\"tools\":[]"),
                                .usage = &a->usage,
                                .after = -1,
                                .put = is_stream ? put_event : NULL,
                                .context = &a->seen};
    events_open(&a->events, -1);
}

static void give(struct answer *a, const char *deltas)
{
    struct str rest = str_of(deltas);
    while (rest.at != NULL) {
        struct str line = str_cut(&rest, '\n');
        struct buf b;
        buf_init(&b, OUT_BYTES);
        buf_printf(&b, "{\"choices\":[{\"index\":0,\"delta\":%.*s}]}", STR_ARG(line));
        events_add(&a->events, buf_str(&b));
        buf_fini(&b);
    }
}

/* The output of the response. */
static void expect_output(struct answer *a, const char *status, const char *output)
{
    struct members response;
    struct buf b, text;
    buf_init(&b, OUT_BYTES);
    buf_init(&text, OUT_BYTES);
    events_put_response(&a->events, &b);
    assert_true(members_read(&response, buf_str(&b)));
    assert_true(str_eq(members_get(&response, "status")->raw, str_of(status)));
    members_put_span(&text, members_get(&response, "output"));
    buf_terminate(&text);
    assert_string_equal(text.at, output);
    buf_fini(&b);
    buf_fini(&text);
}

static void close_answer(struct answer *a, const char *log)
{
    buf_terminate(&a->seen.log);
    if (log != NULL)
        assert_string_equal(a->seen.log.at, log);
    events_fini(&a->events);
    usage_fini(&a->usage);
    buf_fini(&a->seen.log);
}

static void a_text_is_a_message(void **state)
{
    struct answer a;
    open_answer(&a, true);
    give(&a, "{\"role\":\"assistant\",\"content\":\"\"}\n{\"content\":\"Forty\"}\n{\"content\":\"-"
             "two\"}\n"
             "{\"annotations\":[{\"type\":\"url_citation\",\"url_citation\":{\"url\":\"u\"}},{}]}");
    events_end(&a.events, STR("stop"));
    expect_output(
        &a, "completed",
        "[{\"id\":\"msg_X_0\",\"type\":\"message\",\"status\":\"completed\",\"role\":"
        "\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"Forty-two\","
        "\"annotations\":[{\"type\":\"url_citation\",\"url\":\"u\"}],\"logprobs\":[]}]}]");
    close_answer(&a, "created\nqueued\nin_progress\noutput_item.added 0\ncontent_part.added 0 0\n"
                     "output_text.delta 0 0 \"Forty\"\noutput_text.delta 0 0 \"-two\"\n"
                     "output_text.annotation.added 0 0 {\"type\":\"url_citation\",\"url\":\"u\"}\n"
                     "output_text.done 0 0 \"Forty-two\"\ncontent_part.done 0 0\n"
                     "output_item.done 0\ncompleted\n");
}

static void thoughts_and_calls_are_items_of_their_own(void **state)
{
    struct answer a;
    open_answer(&a, true);
    give(&a, "{\"reasoning\":\"Hm\"}\n{\"reasoning_content\":\"m\"}\n{\"content\":\"I look\"}\n"
             "{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\","
             "\"arguments\":\"\"}}]}\n"
             "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{1\"}}]}\n"
             "{\"tool_calls\":[{\"index\":1,\"function\":{\"name\":\"g\"}}]}\n"
             "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"}\"}}]}");
    events_end(&a.events, STR(""));
    expect_output(
        &a, "completed",
        "[{\"id\":\"rs_X_0\",\"type\":\"reasoning\",\"status\":\"completed\",\"summary\":[],"
        "\"content\":[{\"type\":\"reasoning_text\",\"text\":\"Hmm\"}]},"
        "{\"id\":\"msg_X_1\",\"type\":\"message\",\"status\":\"completed\",\"role\":"
        "\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"I look\","
        "\"annotations\":[],\"logprobs\":[]}]},"
        "{\"id\":\"fc_X_2\",\"type\":\"function_call\",\"status\":\"completed\",\"call_id\":"
        "\"c\",\"name\":\"f\",\"arguments\":\"{1}\"},"
        "{\"id\":\"fc_X_3\",\"type\":\"function_call\",\"status\":\"completed\",\"call_id\":"
        "\"call_X_3\",\"name\":\"g\",\"arguments\":\"{}\"}]");
    close_answer(
        &a, "created\nqueued\nin_progress\noutput_item.added 0\ncontent_part.added 0 0\n"
            "reasoning_text.delta 0 0 \"Hm\"\nreasoning_text.delta 0 0 \"m\"\n"
            "reasoning_text.done 0 0 \"Hmm\"\ncontent_part.done 0 0\noutput_item.done 0\n"
            "output_item.added 1\ncontent_part.added 1 0\noutput_text.delta 1 0 \"I look\"\n"
            "output_text.done 1 0 \"I look\"\ncontent_part.done 1 0\noutput_item.done 1\n"
            "output_item.added 2\nfunction_call_arguments.delta 2 \"{1\"\noutput_item.added 3\n"
            "function_call_arguments.delta 2 \"}\"\nfunction_call_arguments.done 2 \"{1}\"\n"
            "output_item.done 2\nfunction_call_arguments.done 3 \"{}\"\noutput_item.done 3\n"
            "completed\n");
}

static void a_call_names_its_namespace(void **state)
{
    struct answer a;
    open_answer(&a, false);
    a.events.tools = STR("[{\"type\":\"function\",\"name\":\"agents__x\"}," SPACE "]");
    give(
        &a,
        "{\"tool_calls\":[{\"index\":0,\"id\":\"c0\",\"function\":{\"name\":\"agents__close\"}}]}\n"
        "{\"tool_calls\":[{\"index\":1,\"id\":\"c1\",\"function\":{\"name\":\"agents__x\"}}]}");
    events_end(&a.events, STR("tool_calls"));
    expect_output(
        &a, "completed",
        "[{\"id\":\"fc_X_0\",\"type\":\"function_call\",\"status\":\"completed\",\"call_id\":"
        "\"c0\",\"name\":\"close\",\"namespace\":\"agents\",\"arguments\":\"{}\"},"
        "{\"id\":\"fc_X_1\",\"type\":\"function_call\",\"status\":\"completed\",\"call_id\":"
        "\"c1\",\"name\":\"agents__x\",\"arguments\":\"{}\"}]");
    close_answer(&a, NULL);
}

static void refusals_and_cut_answers(void **state)
{
    struct answer a;
    open_answer(&a, true);
    give(&a, "{\"content\":\"Well\"}\n{\"refusal\":\"No\"}\n{\"refusal\":\".\"}");
    events_end(&a.events, STR("length"));
    expect_output(
        &a, "incomplete",
        "[{\"id\":\"msg_X_0\",\"type\":\"message\",\"status\":\"incomplete\",\"role\":"
        "\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"Well\","
        "\"annotations\":[],\"logprobs\":[]},{\"type\":\"refusal\",\"refusal\":\"No.\"}]}]");
    close_answer(&a, "created\nqueued\nin_progress\noutput_item.added 0\ncontent_part.added 0 0\n"
                     "output_text.delta 0 0 \"Well\"\noutput_text.done 0 0 \"Well\"\n"
                     "content_part.done 0 0\ncontent_part.added 0 1\nrefusal.delta 0 1 \"No\"\n"
                     "refusal.delta 0 1 \".\"\nrefusal.done 0 1 \"No.\"\ncontent_part.done 0 1\n"
                     "output_item.done 0\nincomplete\n");
}

static void a_failure_is_the_last_event(void **state)
{
    struct answer a;
    open_answer(&a, true);
    give(&a, "{\"content\":\"We\"}");
    events_fail(&a.events, STR("engine_lost"), STR("Lost."));
    close_answer(&a, "created\nqueued\nin_progress\noutput_item.added 0\ncontent_part.added 0 0\n"
                     "output_text.delta 0 0 \"We\"\nfailed\n");
    open_answer(&a, true);
    a.events.is_open = false;
    a.seen.n = a.events.sequence = 0;
    buf_clear(&a.seen.log);
    events_fail(&a.events, STR("engine_lost"), STR("Lost."));
    close_answer(&a, "error \"Lost.\"\n");
}

/* Hostile engines: each is read as far as it makes sense, and nothing breaks. */
static void odd_deltas(void **state)
{
    struct answer a;
    open_answer(&a, true);
    events_add(&a.events, STR("[]"));
    events_add(&a.events, STR("{\"choices\":7}"));
    events_add(&a.events, STR("{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"other\"}},5]}"));
    give(&a, "7\n{\"content\":5}\n{\"tool_calls\":[1,{\"index\":0},{\"function\":7}]}\n"
             "{\"tool_calls\":[{\"index\":4,\"function\":{\"arguments\":\"x\"}}]}");
    events_end(&a.events, STR("odd"));
    expect_output(
        &a, "completed",
        "[{\"id\":\"fc_X_0\",\"type\":\"function_call\",\"status\":\"completed\",\"call_id\":"
        "\"call_X_0\",\"name\":\"\",\"arguments\":\"x\"}]");
    close_answer(&a, NULL);
    open_answer(&a, false); /* nothing at all */
    events_end(&a.events, STR(""));
    expect_output(&a, "completed",
                  "[{\"id\":\"msg_X_0\",\"type\":\"message\",\"status\":\"completed\",\"role\":"
                  "\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"\","
                  "\"annotations\":[],\"logprobs\":[]}]}]");
    close_answer(&a, "");
    open_answer(&a, false); /* items without end */
    for (int i = 0; i < 2000; i++)
        give(&a, "{\"reasoning\":\"r\",\"content\":\"c\"}");
    assert_true(a.events.is_over);
    assert_int_equal(a.events.item_n, 1024);
    close_answer(&a, "");
}

static void logprobs_have_the_shape_of_responses(void **state)
{
    struct answer a;
    open_answer(&a, false);
    for (int i = 0; i < 2; i++)
        events_add(
            &a.events,
            STR("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"logprobs\":{"
                "\"content\":["
                "{\"token\":\"a\",\"logprob\":-1,\"bytes\":null,\"top_logprobs\":[{\"token\":\"b\","
                "\"logprob\":-2},{}]},{\"x\":1}]}}]}"));
    events_end(&a.events, STR(""));
    expect_output(
        &a, "completed",
        "[{\"id\":\"msg_X_0\",\"type\":\"message\",\"status\":\"completed\",\"role\":"
        "\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"aa\","
        "\"annotations\":[],\"logprobs\":[{\"token\":\"a\",\"logprob\":-1,\"bytes\":[],"
        "\"top_logprobs\":[{\"token\":\"b\",\"logprob\":-2,\"bytes\":[]}]},{\"token\":\"a\","
        "\"logprob\":-1,\"bytes\":[],\"top_logprobs\":[{\"token\":\"b\",\"logprob\":-2,"
        "\"bytes\":[]}]}]}]}]");
    close_answer(&a, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_translated),
        cmocka_unit_test(functions_of_a_namespace_have_its_name_and_searches_are_left_out),
        cmocka_unit_test(items_become_messages),
        cmocka_unit_test(what_cannot_be_translated_is_named),
        cmocka_unit_test(a_body_has_bounds),
        cmocka_unit_test(a_response_repeats_what_was_asked),
        cmocka_unit_test(a_text_is_a_message),
        cmocka_unit_test(thoughts_and_calls_are_items_of_their_own),
        cmocka_unit_test(a_call_names_its_namespace),
        cmocka_unit_test(refusals_and_cut_answers),
        cmocka_unit_test(a_failure_is_the_last_event),
        cmocka_unit_test(odd_deltas),
        cmocka_unit_test(logprobs_have_the_shape_of_responses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
