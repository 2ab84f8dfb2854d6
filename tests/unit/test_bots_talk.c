/* SPDX-License-Identifier: MIT
 * test_bots_talk.c - what bots are given and what they answer: the body of annex's format, the one
 * of Zulip's, the chat of a model, and every answer that is none. */
#include "services/bots/dispatch/answer.h"
#include "services/bots/dispatch/talk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct talk_bot bot = {
    .username = {"\"ada-bot\"", 9}, .emulates = {"\"Ada \\\"L\\\"\"", 11}, .token = {"pck_x", 5}};

static struct talk_message said(const char *id, const char *from, const char *text,
                                const char *tagged, const char *root)
{
    return (struct talk_message){.id = str_of(id),
                                 .from = str_of(from),
                                 .text = str_of(text),
                                 .tagged = str_of(tagged),
                                 .root = str_of(root),
                                 .is_own = strcmp(from, "\"ada-bot\"") == 0};
}

static json_t *read(const struct buf *b)
{
    char reason[200];
    json_t *value = NULL;
    assert_false(b->is_over);
    if (!json_parse(buf_str(b), reason, sizeof reason, &value))
        fail_msg("%s: %.*s", reason, STR_ARG(buf_str(b)));
    return value;
}

static json_t *annex(const struct talk *talk)
{
    struct buf b;
    buf_init(&b, TALK_BODY_MAX_BYTES);
    talk_put_annex(&b, talk, &bot);
    json_t *value = read(&b);
    buf_fini(&b);
    return value;
}

#define assert_json(value, text)                                                                   \
    do {                                                                                           \
        json_t *expected_ = json_loads(text, JSON_DECODE_ANY, NULL);                               \
        assert_non_null(expected_);                                                                \
        char *got_ = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);                            \
        if (!json_equal(value, expected_))                                                         \
            fail_msg("%s", got_);                                                                  \
        free(got_);                                                                                \
        json_decref(expected_);                                                                    \
    } while (0)

static void annex_gets_its_own_messages_as_bot_and_users_once(void **state)
{
    struct talk_message context[] = {said("1700000000001-0", "\"eve\"", "\"hi\"", "[\"bob\"]", ""),
                                     said("1700000000002-3", "\"ada-bot\"", "\"yes?\"", "[]", "")};
    struct talk_message exchanges[] = {said("1-0", "\"eve\"", "\"a\"", "[\"ada-bot\"]", "1-0"),
                                       said("2-0", "\"bob\"", "\"b\"", "[\"ada-bot\"]", "2-0"),
                                       said("3-0", "\"ada-bot\"", "\"A\"", "[]", "1-0")};
    struct talk talk = {
        .context = context,
        .context_n = 2,
        .exchanges = exchanges,
        .exchanges_n = 3,
        .message = said("1700000000123-0", "\"eve\"", "\"\"", "[\"ada-bot\",\"zoe\"]", "")};
    /* jansson reads no NUL in a string: texts have none. */
    talk.message.text = STR("\"why? \\n\"");
    json_t *body = annex(&talk);
    assert_json(
        json_object_get(body, "context"),
        "[{\"from\":\"eve\",\"tagged\":[\"bob\"],\"id\":\"1700000000001-0\",\"text\":\"hi\","
        "\"timestamp\":\"2023-11-14T22:13:20.001Z\"},"
        "{\"from\":\"BOT\",\"tagged\":[],\"id\":\"1700000000002-3\",\"text\":\"yes?\","
        "\"timestamp\":\"2023-11-14T22:13:20.002Z\"}]");
    const json_t *talks = json_object_get(body, "conversation");
    assert_int_equal(json_array_size(talks), 2);
    assert_json(json_object_get(json_array_get(talks, 0), "id"), "\"1-0\"");
    const json_t *first = json_object_get(json_array_get(talks, 0), "messages");
    assert_int_equal(json_array_size(first), 2);
    assert_json(json_object_get(json_array_get(first, 1), "from"), "\"BOT\"");
    assert_json(json_object_get(json_object_get(body, "message"), "text"), "\"why? \\n\"");
    assert_json(
        json_object_get(body, "users"),
        "[{\"id\":\"eve\",\"username\":\"eve\"},{\"id\":\"bob\",\"username\":\"bob\"},"
        "{\"id\":\"ada-bot\",\"username\":\"ada-bot\"},{\"id\":\"zoe\",\"username\":\"zoe\"}]");
    assert_int_equal(json_object_size(body), 4);
    json_decref(body);
}

static void a_given_timestamp_stays_as_it_is(void **state)
{
    struct talk talk = {.message = said("m1", "\"eve\"", "\"hi\"", "[]", "")};
    talk.message.timestamp = STR("\"yesterday\"");
    json_t *body = annex(&talk);
    assert_json(json_object_get(body, "message"),
                "{\"from\":\"eve\",\"tagged\":[],\"id\":\"m1\",\"text\":\"hi\","
                "\"timestamp\":\"yesterday\"}");
    assert_json(json_object_get(body, "users"), "[{\"id\":\"eve\",\"username\":\"eve\"}]");
    json_decref(body);
}

static json_t *zulip(const char *text)
{
    struct talk talk = {.message = said("1700000000123-7", "\"eve x\"", text, "[\"ada-bot\"]", ""),
                        .room = STR("00112233445566778899aabb"),
                        .room_name = STR("\"Kitchen\"")};
    struct buf b;
    buf_init(&b, TALK_BODY_MAX_BYTES);
    talk_put_zulip(&b, &talk, &bot);
    json_t *value = read(&b);
    buf_fini(&b);
    return value;
}

static void zulip_gets_the_members_of_its_document(void **state)
{
    json_t *body = zulip("\"@ada-bot <b>\"");
    const json_t *message = json_object_get(body, "message");
    assert_json(json_object_get(body, "bot_email"), "\"ada-bot-bot@parley.invalid\"");
    assert_json(json_object_get(body, "bot_full_name"), "\"ada-bot\"");
    assert_json(json_object_get(body, "data"), "\"@**ada-bot** <b>\"");
    assert_json(json_object_get(body, "token"), "\"pck_x\"");
    assert_json(json_object_get(body, "trigger"), "\"mention\"");
    assert_json(json_object_get(message, "content"), "\"@**ada-bot** <b>\"");
    assert_json(json_object_get(message, "rendered_content"), "\"<p>@**ada-bot** &lt;b&gt;</p>\"");
    assert_json(json_object_get(message, "display_recipient"), "\"Kitchen\"");
    assert_json(json_object_get(message, "id"), "1700000000123007");
    assert_json(json_object_get(message, "timestamp"), "1700000000");
    assert_json(json_object_get(message, "sender_email"), "\"eve%20x@parley.invalid\"");
    assert_json(json_object_get(message, "sender_full_name"), "\"eve x\"");
    json_decref(body);
}

static void zulip_sees_mentions_of_the_bot_alone_rewritten(void **state)
{
    static const char *const cases[][2] = {
        {"\"@ada-bot.\"", "\"@**ada-bot**.\""},
        {"\"@ada-bot.x @ada-bots @ada-bot\"", "\"@ada-bot.x @ada-bots @**ada-bot**\""},
        {"\"a@b @@ada-bot, @eve @\"", "\"a@b @@**ada-bot**, @eve @\""},
        {"\"\"", "\"\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *body = zulip(cases[i][0]);
        assert_json(json_object_get(body, "data"), cases[i][1]);
        json_decref(body);
    }
}

static void a_model_gets_a_chat_whose_last_turn_is_the_question(void **state)
{
    struct talk_message context[] = {said("1-0", "\"eve\"", "\"hi\"", "[]", ""),
                                     said("2-0", "\"ada-bot\"", "\"yes?\"", "[]", "")};
    struct talk talk = {.context = context,
                        .context_n = 2,
                        .message = said("3-0", "\"eve\"", "\"@ada-bot, why?\"", "[]", "")};
    struct buf b;
    buf_init(&b, TALK_BODY_MAX_BYTES);
    talk_put_chat(&b, &talk, &bot);
    json_t *chat = read(&b);
    assert_int_equal(json_array_size(chat), 4);
    assert_json(json_array_get(chat, 1), "{\"role\":\"user\",\"content\":\"eve: hi\"}");
    assert_json(json_array_get(chat, 2), "{\"role\":\"assistant\",\"content\":\"yes?\"}");
    assert_json(json_array_get(chat, 3), "{\"role\":\"user\",\"content\":\"why?\"}");
    json_decref(chat);
    buf_fini(&b);
}

static void a_model_gets_64_kib_of_what_was_said_before_the_newest(void **state)
{
    enum { N = 50, BYTES = 8 << 10 };
    static char text[BYTES + 3];
    struct talk_message context[N];
    memset(text, 'x', BYTES + 2);
    text[0] = text[BYTES + 1] = '"';
    for (size_t i = 0; i < N; i++)
        context[i] = said("1-0", i == N - 1 ? "\"last\"" : "\"eve\"", text, "[]", "");
    struct talk talk = {
        .context = context, .context_n = N, .message = said("3-0", "\"eve\"", "\"?\"", "[]", "")};
    struct buf b;
    buf_init(&b, TALK_BODY_MAX_BYTES);
    talk_put_chat(&b, &talk, &bot);
    json_t *chat = read(&b);
    assert_in_range(json_array_size(chat), 2 + 6, 2 + 8);
    const json_t *newest = json_array_get(chat, json_array_size(chat) - 2);
    assert_memory_equal(json_string_value(json_object_get(newest, "content")), "last: x", 7);
    json_decref(chat);
    buf_fini(&b);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void answers_are_read(void **state)
{
    static const struct {
        enum bot_format format;
        const char *body, *text; /* NULL: silent */
    } cases[] = {
        {BOT_FORMAT_ANNEX, "{\"message\":\"hi\",\"more\":[1]}", "hi"},
        {BOT_FORMAT_ANNEX, "{\"response_not_required\":true}", NULL},
        {BOT_FORMAT_ANNEX, "{\"response_not_required\":false,\"message\":\"hi\"}", "hi"},
        {BOT_FORMAT_ZULIP, "{\"content\":\"hi\"}", "hi"},
        {BOT_FORMAT_ZULIP, "{\"response_string\":\"hi\"}", "hi"},
        {BOT_FORMAT_ZULIP, "{\"response_not_required\":true}", NULL},
        {BOT_FORMAT_ZULIP, "{}", NULL},
        {BOT_FORMAT_ZULIP, "{\"content\":\" \\n\"}", NULL},
        {BOT_FORMAT_ZULIP, "{\"content\":null}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bot_answer answer;
        assert_null(bot_answer_read(cases[i].format, str_of(cases[i].body), &answer));
        assert_int_equal(answer.is_silent, cases[i].text == NULL);
        if (cases[i].text != NULL)
            assert_true(str_eq(answer.text, str_of(cases[i].text)));
        bot_answer_fini(&answer);
    }
}

static void what_is_no_answer_is_refused_with_what_is_wrong(void **state)
{
    static const char *const annexed[] = {"",
                                          "<html>",
                                          "[1]",
                                          "\"hi\"",
                                          "{\"message\":7}",
                                          "{\"message\":\"\"}",
                                          "{}",
                                          "{\"content\":\"hi\"}",
                                          "null",
                                          "{\"message\":\"\xff\"}"};
    static const char *const zuliped[] = {"", "[]", "{\"content\":7}", "{\"content\":[]}"};
    struct bot_answer answer;
    for (size_t i = 0; i < sizeof annexed / sizeof *annexed; i++)
        assert_non_null(bot_answer_read(BOT_FORMAT_ANNEX, str_of(annexed[i]), &answer));
    for (size_t i = 0; i < sizeof zuliped / sizeof *zuliped; i++)
        assert_non_null(bot_answer_read(BOT_FORMAT_ZULIP, str_of(zuliped[i]), &answer));
    char *large = malloc(BOT_ANSWER_MAX_BYTES + 1);
    memset(large, ' ', BOT_ANSWER_MAX_BYTES + 1);
    assert_string_equal(
        bot_answer_read(BOT_FORMAT_ANNEX, (struct str){large, BOT_ANSWER_MAX_BYTES + 1}, &answer),
        "is larger than 64 KiB");
    free(large);
}

static void formats_have_names(void **state)
{
    enum bot_format format = BOT_FORMAT_ANNEX;
    assert_true(bot_format_of(STR("zulip"), &format));
    assert_int_equal(format, BOT_FORMAT_ZULIP);
    assert_true(str_eq(bot_format_name(format), STR("zulip")));
    assert_false(bot_format_of(STR("Zulip"), &format));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(annex_gets_its_own_messages_as_bot_and_users_once),
        cmocka_unit_test(a_given_timestamp_stays_as_it_is),
        cmocka_unit_test(zulip_gets_the_members_of_its_document),
        cmocka_unit_test(zulip_sees_mentions_of_the_bot_alone_rewritten),
        cmocka_unit_test(a_model_gets_a_chat_whose_last_turn_is_the_question),
        cmocka_unit_test(a_model_gets_64_kib_of_what_was_said_before_the_newest),
        cmocka_unit_test(answers_are_read),
        cmocka_unit_test(what_is_no_answer_is_refused_with_what_is_wrong),
        cmocka_unit_test(formats_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
