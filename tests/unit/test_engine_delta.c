/* SPDX-License-Identifier: MIT
 * test_engine_delta.c - what clients of a door get of a model server's chunks, where deltas are cut
 * and sent again, and what the server gets of a client's request. */
#include "services/engine/models/openai_pass.h"
#include "services/engine/slots/draft.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { OUT_BYTES = 16 << 20 };

/* ---- what servers send ---- */

static bool put_delta(void *context, struct str delta)
{
    struct buf *out = context;
    assert_true(str_is_utf8(delta) && delta.n <= DELTA_MAX_BYTES);
    buf_put(out, delta);
    buf_put_char(out, '\n');
    return true;
}

static json_t *read(struct str text)
{
    char reason[160];
    json_t *json;
    if (!json_parse(text, reason, sizeof reason, &json))
        fail_msg("%s: %.*s", reason, STR_ARG(text));
    return json;
}

static void feed(struct delta_maker *maker, const char *text)
{
    json_t *json = read(str_of(text));
    assert_true(delta_maker_feed(maker, json, false));
    json_decref(json);
}

/* Feeds lines of JSON, and the end. */
static void check(enum api api, const char *chunks, const char *expected)
{
    struct delta_maker maker;
    struct buf out;
    struct str rest = str_of(chunks);
    buf_init(&out, OUT_BYTES);
    delta_maker_init(&maker, api, put_delta, &out);
    while (rest.at != NULL) {
        char *line = str_copy(str_cut(&rest, '\n'));
        feed(&maker, line);
        free(line);
    }
    assert_true(delta_maker_finish(&maker));
    assert_true(delta_maker_has_ended(&maker));
    delta_maker_fini(&maker);
    buf_terminate(&out);
    assert_string_equal(out.at, expected);
    buf_fini(&out);
}

#define CHUNK(DELTA, FINISH)                                                                       \
    "{\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":" DELTA ",\"finish_reason\":" FINISH "}]}"
#define DELTA(DELTA, FINISH)                                                                       \
    "{\"choices\":[{\"index\":0,\"delta\":" DELTA ",\"finish_reason\":" FINISH "}]}\n"

#define CALLS(CALLS) "{\"tool_calls\":[" CALLS "]}"
/* The end that a server did not send. */
#define OWN_END "{\"choices\":[{\"index\":0,\"finish_reason\":\"stop\",\"delta\":{}}]}\n"

static void chunks_are_reduced_and_else_left_alone(void **state)
{
    (void)state;
    check(API_CHAT,
          CHUNK("{\"role\":\"assistant\",\"content\":\"\"}", "null") "\n" CHUNK(
              "{\"content\":\"Hi\",\"weight\":0.5}",
              "\"\"") "\n" CHUNK("{}", "\"stop\"") "\n"
                                                   "{\"id\":\"x\",\"choices\":[],\"usage\":{"
                                                   "\"prompt_tokens\":3,\"total_tokens\":4}}",
          DELTA("{\"content\":\"Hi\",\"weight\":0.5}", "null") DELTA(
              "{}",
              "\"stop\"") "{\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"total_tokens\":4}}\n");
}

static void an_end_comes_once_for_each_choice(void **state)
{
    (void)state;
    check(API_CHAT,
          "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}},"
          "{\"index\":1,\"delta\":{\"content\":\"b\"},\"finish_reason\":\"length\"}]}\n"
          "{\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":\"stop\"}]}\n"
          "{\"choices\":[{\"index\":500,\"delta\":{\"content\":\"c\"}},"
          "{\"index\":-1,\"delta\":{\"content\":\"d\"}}]}",
          "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":null},"
          "{\"index\":1,\"delta\":{\"content\":\"b\"},\"finish_reason\":\"length\"}]}\n" OWN_END);
}

static void reasons_are_those_that_clients_know(void **state)
{
    static const char *const said[][2] = {
        {"eos_token", "stop"},
        {"end_turn", "stop"},
        {"stop_sequence", "stop"},
        {"model_length", "length"},
        {"max_tokens", "length"},
        {"length", "length"},
        {"tool_calls", "tool_calls"},
        {"function_call", "function_call"},
        {"content_filter", "content_filter"},
    };
    char text[256], expected[256];
    (void)state;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        snprintf(text, sizeof text, CHUNK("{\"content\":\"a\"}", "\"%s\""), said[i][0]);
        snprintf(expected, sizeof expected, DELTA("{\"content\":\"a\"}", "\"%s\""), said[i][1]);
        check(API_CHAT, text, expected);
    }
    check(API_CHAT,
          CHUNK(CALLS("{\"index\":0,\"id\":\"a\",\"type\":\"function\","
                      "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}"),
                "\"tool_use\""),
          DELTA(CALLS("{\"index\":0,\"id\":\"a\",\"type\":\"function\","
                      "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}"),
                "\"tool_calls\""));
}

static void a_server_that_gives_up_has_not_ended_its_text(void **state)
{
    struct delta_maker maker;
    struct buf out;
    (void)state;
    buf_init(&out, OUT_BYTES);
    delta_maker_init(&maker, API_CHAT, put_delta, &out);
    feed(&maker, CHUNK("{\"content\":\"a\"}", "\"error\""));
    assert_false(delta_maker_has_ended(&maker));
    delta_maker_fini(&maker);
    buf_fini(&out);
}

static void a_whole_message_is_a_delta_unless_it_repeats_some(void **state)
{
    (void)state;
    check(API_CHAT,
          "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"Hi\","
          "\"refusal\":null},\"finish_reason\":\"stop\"}]}",
          "{\"choices\":[{\"finish_reason\":\"stop\",\"index\":0,\"delta\":{\"role\":\"assistant\","
          "\"content\":\"Hi\",\"refusal\":null}}]}\n");
    check(API_CHAT,
          CHUNK("{\"content\":\"Hi\"}",
                "null") "\n"
                        "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"Hi\"}}]}",
          DELTA("{\"content\":\"Hi\"}", "null") OWN_END);
}

static void content_in_parts_is_a_text(void **state)
{
    (void)state;
    check(API_CHAT,
          CHUNK("{\"content\":[{\"type\":\"thinking\",\"thinking\":\"Hm.\"},"
                "{\"type\":\"text\",\"text\":\"Hi\"}]}",
                "\"stop\""),
          DELTA("{\"content\":\"Hi\",\"reasoning_content\":\"Hm.\"}", "\"stop\""));
}

static void texts_without_messages(void **state)
{
    (void)state;
    check(API_COMPLETIONS,
          "{\"choices\":[{\"index\":0,\"text\":\"Hi\",\"logprobs\":null}]}\n"
          "{\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\"}]}",
          "{\"choices\":[{\"index\":0,\"text\":\"Hi\",\"logprobs\":null,\"finish_reason\":null}]}\n"
          "{\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"length\"}]}\n");
}

static void tool_calls_as_they_should_be_are_left_alone(void **state)
{
    (void)state;
#define BEGIN                                                                                      \
    CALLS("{\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"f\","     \
          "\"arguments\":\"\"}}")
#define ARGUMENTS CALLS("{\"index\":0,\"function\":{\"arguments\":\"{\\\"a\\\":1}\"}}")
    check(API_CHAT,
          CHUNK(BEGIN, "null") "\n" CHUNK(ARGUMENTS, "null") "\n" CHUNK("{}", "\"tool_calls\""),
          DELTA(BEGIN, "null") DELTA(ARGUMENTS, "null") DELTA("{}", "\"tool_calls\""));
}

/* Its input is any text, and none is no text. */
static void calls_of_custom_tools_are_left_alone(void **state)
{
    (void)state;
#define BEGIN_CUSTOM                                                                               \
    CALLS("{\"index\":0,\"id\":\"call_1\",\"type\":\"custom\",\"custom\":{\"name\":\"f\","         \
          "\"input\":\"\"}}")
#define INPUT CALLS("{\"index\":0,\"custom\":{\"input\":\"a b\"}}")
    check(API_CHAT,
          CHUNK(BEGIN_CUSTOM, "null") "\n" CHUNK(INPUT, "null") "\n" CHUNK("{}", "\"stop\""),
          DELTA(BEGIN_CUSTOM, "null") DELTA(INPUT, "null") DELTA("{}", "\"tool_calls\""));
    check(API_CHAT, CHUNK(BEGIN_CUSTOM, "\"stop\""), DELTA(BEGIN_CUSTOM, "\"tool_calls\""));
}

/* Complaints 1, 3, 4, 5, 6: no index, no id, arguments as an object or none, "stop". */
static void tool_calls_of_faulty_servers(void **state)
{
    struct delta_maker maker;
    struct buf out;
    (void)state;
    buf_init(&out, OUT_BYTES);
    delta_maker_init(&maker, API_CHAT, put_delta, &out);
    feed(&maker, "{\"choices\":[{\"index\":0,\"message\":{\"content\":null,\"tool_calls\":["
                 "{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}},"
                 "{\"id\":\"mine\",\"function\":{\"name\":\"g\",\"arguments\":\"\"}}]},"
                 "\"finish_reason\":\"stop\"}]}");
    assert_true(delta_maker_finish(&maker));
    delta_maker_fini(&maker);
    json_t *delta = read(str_trim(buf_str(&out)));
    json_t *choice = json_array_get(json_object_get(delta, "choices"), 0);
    json_t *calls = json_object_get(json_object_get(choice, "delta"), "tool_calls");
    assert_true(str_eq(json_member_str(choice, "finish_reason"), STR("tool_calls")));
    assert_int_equal(json_array_size(calls), 3);
    for (size_t i = 0; i < 3; i++) {
        json_t *call = json_array_get(calls, i), *function = json_object_get(call, "function");
        static const char *const arguments[] = {"{\"a\":1}", "", "{}"};
        assert_int_equal(json_integer_value(json_object_get(call, "index")), i == 2 ? 1 : i);
        assert_true(str_eq(json_member_str(function, "arguments"), str_of(arguments[i])));
        if (i == 0)
            assert_true(str_has_prefix(json_member_str(call, "id"), STR("call_")));
    }
    json_decref(delta);
    buf_fini(&out);
}

static void calls_without_an_index_continue_the_last_one(void **state)
{
    (void)state;
    check(API_CHAT,
          CHUNK(CALLS("{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\"}}"),
                "null") "\n" CHUNK(CALLS("{\"id\":\"\",\"function\":{\"name\":null,\"arguments\":"
                                         "\"{}\"}}"),
                                   "\"tool_calls\""),
          DELTA(CALLS("{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\","
                      "\"arguments\":\"\"},\"index\":0}"),
                "null")
              DELTA(CALLS("{\"function\":{\"name\":null,\"arguments\":\"{}\"},\"index\":0}"),
                    "\"tool_calls\""));
}

static void halves_of_characters_are_joined_in_each_choice(void **state)
{
    struct delta_maker maker;
    struct buf out, repaired;
    static const char *const chunks[] = {
        "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\\ud83e\",\"x\":\"\\ud83e\"}},"
        "{\"index\":1,\"delta\":{\"content\":\"b\\ud83e\"}}]}",
        "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"\\udd9c\"}},"
        "{\"index\":0,\"delta\":{\"content\":\"\\udd9c.\"}}]}"};
    (void)state;
    buf_init(&out, OUT_BYTES);
    delta_maker_init(&maker, API_CHAT, put_delta, &out);
    for (size_t i = 0; i < 2; i++) {
        buf_init(&repaired, 4096);
        repair_json(&repaired, str_of(chunks[i]));
        json_t *json = read(buf_str(&repaired));
        assert_true(delta_maker_feed(&maker, json, true));
        json_decref(json);
        buf_fini(&repaired);
    }
    delta_maker_fini(&maker);
    buf_terminate(&out);
    assert_string_equal(
        out.at,
        "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\",\"x\":\"\xef\xbf\xbd\"},"
        "\"finish_reason\":null},{\"index\":1,\"delta\":{\"content\":\"b\"},\"finish_reason\":null}"
        "]}"
        "\n{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"\xf0\x9f\xa6\x9c\"},"
        "\"finish_reason\":null},{\"index\":0,\"delta\":{\"content\":\"\xf0\x9f\xa6\x9c.\"},"
        "\"finish_reason\":null}]}\n");
    buf_fini(&out);
}

/* A whole response of a server that does not stream: cut, and put together again it is the same. */
static void a_long_response_is_cut(void **state)
{
    enum { TEXT_BYTES = 600000, TOKENS = 2000 };
    struct delta_maker maker;
    struct buf out, text, arguments;
    (void)state;
    char *content = malloc(TEXT_BYTES + 1);
    for (size_t i = 0; i < TEXT_BYTES; i += 3)
        memcpy(content + i, "\xe6\xbc\xa2", 3);
    content[TEXT_BYTES] = 0;
    json_t *logprobs = json_array();
    for (size_t i = 0; i < TOKENS; i++)
        json_array_append_new(logprobs, json_pack("{s:s, s:f}", "token", content + TEXT_BYTES - 300,
                                                  "logprob", -0.5));
    json_t *whole =
        json_pack("{s:[{s:i, s:{s:s, s:[{s:s, s:{s:s, s:s}}]}, s:{s:o}, s:s}], s:{s:i}}", "choices",
                  "index", 0, "message", "content", content, "tool_calls", "id", "a", "function",
                  "name", "f", "arguments", content, "logprobs", "content", logprobs,
                  "finish_reason", "stop", "usage", "total_tokens", 7);
    buf_init(&out, OUT_BYTES);
    buf_init(&text, OUT_BYTES);
    buf_init(&arguments, OUT_BYTES);
    delta_maker_init(&maker, API_CHAT, put_delta, &out);
    assert_true(delta_maker_feed(&maker, whole, false));
    assert_true(delta_maker_finish(&maker));
    delta_maker_fini(&maker);
    size_t token_n = 0, finish_n = 0, usage_n = 0;
    struct str rest = str_trim(buf_str(&out));
    while (rest.at != NULL) {
        json_t *delta = read(str_cut(&rest, '\n'));
        json_t *choice = json_array_get(json_object_get(delta, "choices"), 0);
        json_t *said = json_object_get(choice, "delta");
        json_t *call = json_array_get(json_object_get(said, "tool_calls"), 0);
        buf_put(&text, json_member_str(said, "content"));
        buf_put(&arguments, json_member_str(json_object_get(call, "function"), "arguments"));
        token_n += json_array_size(json_object_get(json_object_get(choice, "logprobs"), "content"));
        finish_n += json_is_string(json_object_get(choice, "finish_reason"));
        usage_n += json_is_object(json_object_get(delta, "usage"));
        json_decref(delta);
    }
    assert_true(str_eq(buf_str(&text), str_of(content)));
    assert_true(str_eq(buf_str(&arguments), str_of(content)));
    assert_int_equal(token_n, TOKENS);
    assert_int_equal(finish_n, 1);
    assert_int_equal(usage_n, 1);
    json_decref(whole);
    free(content);
    buf_fini(&out);
    buf_fini(&text);
    buf_fini(&arguments);
}

static bool take_none(void *context, struct str delta)
{
    (void)context;
    (void)delta;
    return false;
}

static void a_refused_delta_ends_the_work(void **state)
{
    struct delta_maker maker;
    (void)state;
    delta_maker_init(&maker, API_CHAT, take_none, NULL);
    json_t *json = read(STR(CHUNK("{\"content\":\"a\"}", "null")));
    assert_false(delta_maker_feed(&maker, json, false));
    json_decref(json);
    delta_maker_fini(&maker);
}

/* ---- embeddings ---- */

static void embeddings_pass_as_one_delta_or_several(void **state)
{
    struct buf out, body;
    (void)state;
    buf_init(&out, OUT_BYTES);
    buf_init(&body, OUT_BYTES);
    assert_true(openai_pass_embeddings(
        STR("{\"object\":\"list\", \"data\": [{\"index\":0, \"embedding\":[0.1,1e-3]}],"
            "\"usage\":{\"prompt_tokens\":5}}"),
        put_delta, &out));
    buf_terminate(&out);
    assert_string_equal(out.at, "{\"data\":[{\"index\":0,\"embedding\":[0.1,1e-3]}],\"object\":"
                                "\"list\",\"usage\":{\"prompt_tokens\":5}}\n");
    buf_clear(&out);
    buf_lit(&body, "{\"data\":[");
    for (int i = 0; i < 300; i++)
        buf_printf(&body, "%s{\"index\":%d,\"embedding\":\"%01000d\"}", i > 0 ? "," : "", i, 7);
    buf_lit(&body, "],\"model\":\"m\"}");
    assert_true(openai_pass_embeddings(buf_str(&body), put_delta, &out));
    size_t items = 0, deltas = 0, models = 0;
    struct str rest = str_trim(buf_str(&out));
    while (rest.at != NULL) {
        json_t *delta = read(str_cut(&rest, '\n'));
        items += json_array_size(json_object_get(delta, "data"));
        models += json_is_string(json_object_get(delta, "model"));
        deltas++;
        json_decref(delta);
    }
    assert_int_equal(items, 300);
    assert_int_equal(models, 1);
    assert_true(deltas > 3);
    uint64_t tokens;
    assert_true(openai_read_tokens(STR("{\"usage\":{\"prompt_tokens\":5}}"), &tokens));
    assert_int_equal(tokens, 5);
    static const char *const bad[] = {
        "", "[]", "{}", "{\"data\":null}", "{\"data\":[1]}", "{\"data\":[{\"embedding\":NaN}]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(openai_pass_embeddings(str_of(bad[i]), put_delta, &out));
        assert_false(openai_read_tokens(str_of(bad[i]), &tokens));
    }
    buf_fini(&out);
    buf_fini(&body);
}

/* ---- deltas on their way ---- */

static void deltas_are_sent_whole_from_wherever_the_node_is(void **state)
{
    enum { MANY = 5000 };
    struct draft draft;
    struct draft_piece piece;
    char text[64];
    (void)state;
    draft_init(&draft);
    draft_begin_deltas(&draft, 100);
    assert_false(draft_next(&draft, &piece));
    assert_true(draft_add(&draft, STR("th"), STR("text"))); /* for the answer; it is not sent */
    assert_true(draft_is_empty(&draft));
    for (int i = 0; i < MANY; i++) {
        int n = snprintf(text, sizeof text, "{\"choices\":[],\"i\":\"%0*d\"}", i % 20 + 1, i);
        assert_true(delta_log_add(&draft.deltas, (struct str){text, (size_t)n}));
    }
    for (uint64_t from = 0; from < draft_end(&draft) + 50; from += 997) {
        uint64_t at;
        draft_set_sent(&draft, from);
        at = draft.sent;
        assert_true(at == 100 || at <= from);
        assert_true(at == 100 || draft.deltas.text.at[at - 100 - 1] == '}');
        size_t n = 0;
        while (draft_next(&draft, &piece)) {
            assert_int_equal(piece.offset, at);
            assert_true(piece.bytes <= DRAFT_PIECE_MAX_BYTES && piece.deltas.n > 0);
            at += piece.bytes;
            n += piece.deltas.n;
            draft_set_sent(&draft, at);
        }
        assert_int_equal(at, draft_end(&draft));
        assert_true(from > 100 || n == MANY);
    }
    draft_clear(&draft);
    assert_int_equal(draft_end(&draft), 0);
    draft_fini(&draft);
}

static void a_log_is_bounded_and_a_long_delta_goes_alone(void **state)
{
    enum { LONG = 200 << 10 };
    struct delta_log log;
    struct delta_run run;
    struct buf b;
    (void)state;
    char *text = calloc(1, LONG);
    memset(text, '"', LONG);
    delta_log_init(&log);
    assert_true(delta_log_add(&log, STR("{}")));
    while (delta_log_add(&log, (struct str){text, LONG})) {
    }
    assert_true(delta_log_end(&log) <= DELTAS_MAX_BYTES);
    assert_true(delta_log_end(&log) + LONG > DELTAS_MAX_BYTES);
    assert_true(delta_log_next(&log, 0, 64 << 10, &run));
    assert_int_equal(run.n, 1);
    assert_int_equal(run.bytes, 2);
    assert_true(delta_log_next(&log, 2, 64 << 10, &run));
    assert_int_equal(run.n, 1);
    assert_int_equal(run.bytes, LONG);
    assert_int_equal(delta_log_floor(&log, LONG), 2);
    buf_init(&b, OUT_BYTES);
    delta_log_put(&log, &run, &b);
    assert_int_equal(b.n, 2 * LONG + 4);
    buf_fini(&b);
    delta_log_fini(&log);
    free(text);
}

/* ---- requests ---- */

static void check_request(const struct prompt *prompt, struct openai_wishes wishes,
                          const char *expected)
{
    struct buf b;
    const char *reason;
    buf_init(&b, 4096);
    assert_int_equal(openai_put_pass(&b, prompt, "usual", wishes, &reason), expected != NULL);
    buf_terminate(&b);
    if (expected != NULL)
        assert_string_equal(b.at, expected);
    buf_fini(&b);
}

static void a_request_passes_whole_with_the_name_of_the_server(void **state)
{
    const struct openai_wishes all = {true, true};
    struct prompt prompt = {
        .api = API_CHAT,
        .model = STR("llama3"),
        .request = STR("{\"messages\":[ {\"role\":\"user\",\"content\":\"\\u00fc\"}],"
                       "\"model\":\"x\",\"stream\":false,\"big\":1.50,\"tools\":null,"
                       "\"stream_options\":{\"include_queue\":true,\"include_usage\":false,"
                       "\"more\":1}}")};
    (void)state;
    check_request(
        &prompt, all,
        "{\"model\":\"llama3\",\"messages\":[ {\"role\":\"user\",\"content\":\"\\u00fc\"}],"
        "\"big\":1.50,\"tools\":null,\"stream\":true,"
        "\"stream_options\":{\"include_usage\":true,\"more\":1}}");
    prompt.model = STR("");
    prompt.request = STR("{\"prompt\":\"p\"}");
    prompt.api = API_COMPLETIONS;
    check_request(&prompt, (struct openai_wishes){true, false},
                  "{\"model\":\"usual\",\"prompt\":\"p\",\"stream\":true}");
    check_request(&prompt, (struct openai_wishes){false, false},
                  "{\"model\":\"usual\",\"prompt\":\"p\"}");
    prompt.api = API_EMBEDDINGS;
    prompt.request = STR("{\"input\":[1,2],\"stream\":5}");
    check_request(&prompt, all, "{\"model\":\"usual\",\"input\":[1,2],\"stream\":5}");
    prompt.request = STR("[]");
    check_request(&prompt, all, NULL);
}

static void a_text_is_continued(void **state)
{
    const struct openai_wishes none = {false, false};
    struct prompt prompt = {.api = API_CHAT,
                            .continued = STR("So \"far"),
                            .request = STR("{\"messages\":[{\"role\":\"user\"} ]}")};
    (void)state;
    check_request(&prompt, none,
                  "{\"model\":\"usual\",\"messages\":[{\"role\":\"user\"},{\"role\":\"assistant\","
                  "\"content\":\"So \\\"far\"}],\"add_generation_prompt\":false,"
                  "\"continue_final_message\":true}");
    prompt.api = API_COMPLETIONS;
    prompt.request = STR("{\"prompt\":\"\\u00fc: \",\"echo\":false}");
    check_request(&prompt, none,
                  "{\"model\":\"usual\",\"prompt\":\"\xc3\xbc: So \\\"far\",\"echo\":false}");
    prompt.request = STR("{\"prompt\":[1,2]}");
    check_request(&prompt, none, NULL);
}

static void one_choice_is_one_end(void **state)
{
    (void)state;
    struct prompt prompt = {.api = API_CHAT, .request = STR("{\"messages\":[]}")};
    assert_true(openai_wants_one(&prompt));
    prompt.request = STR("{\"messages\":[],\"n\":1}");
    assert_true(openai_wants_one(&prompt));
    prompt.request = STR("{\"messages\":[],\"n\":2}");
    assert_false(openai_wants_one(&prompt));
    prompt.api = API_COMPLETIONS;
    prompt.request = STR("{\"prompt\":[\"a\",\"b\"]}");
    assert_false(openai_wants_one(&prompt));
    prompt.request = STR("{\"prompt\":\"a\"}");
    assert_true(openai_wants_one(&prompt));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_reduced_and_else_left_alone),
        cmocka_unit_test(an_end_comes_once_for_each_choice),
        cmocka_unit_test(reasons_are_those_that_clients_know),
        cmocka_unit_test(a_server_that_gives_up_has_not_ended_its_text),
        cmocka_unit_test(a_whole_message_is_a_delta_unless_it_repeats_some),
        cmocka_unit_test(content_in_parts_is_a_text),
        cmocka_unit_test(texts_without_messages),
        cmocka_unit_test(tool_calls_as_they_should_be_are_left_alone),
        cmocka_unit_test(calls_of_custom_tools_are_left_alone),
        cmocka_unit_test(tool_calls_of_faulty_servers),
        cmocka_unit_test(calls_without_an_index_continue_the_last_one),
        cmocka_unit_test(halves_of_characters_are_joined_in_each_choice),
        cmocka_unit_test(a_long_response_is_cut),
        cmocka_unit_test(a_refused_delta_ends_the_work),
        cmocka_unit_test(embeddings_pass_as_one_delta_or_several),
        cmocka_unit_test(deltas_are_sent_whole_from_wherever_the_node_is),
        cmocka_unit_test(a_log_is_bounded_and_a_long_delta_goes_alone),
        cmocka_unit_test(a_request_passes_whole_with_the_name_of_the_server),
        cmocka_unit_test(a_text_is_continued),
        cmocka_unit_test(one_choice_is_one_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
