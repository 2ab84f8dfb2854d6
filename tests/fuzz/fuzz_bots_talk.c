/* SPDX-License-Identifier: MIT
 * fuzz_bots_talk.c - the text of a message in the bodies of requests to bots: whatever a client
 * says, each body is one JSON value, and what a bot answers is read or refused. */
#include "services/bots/dispatch/answer.h"
#include "services/bots/dispatch/talk.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(void (*put)(struct buf *, const struct talk *, const struct talk_bot *),
                  const struct talk *talk, const struct talk_bot *bot)
{
    char reason[200];
    json_t *value = NULL;
    struct buf b;
    buf_init(&b, TALK_BODY_MAX_BYTES);
    put(&b, talk, bot);
    if (!b.is_over && !json_parse(buf_str(&b), reason, sizeof reason, &value))
        abort();
    json_decref(value);
    buf_fini(&b);
}

static void check_answer(enum bot_format format, struct str text)
{
    struct bot_answer answer;
    if (bot_answer_read(format, text, &answer) != NULL)
        return;
    if (!answer.is_silent && (answer.text.n == 0 || answer.text.n > BOT_ANSWER_MAX_BYTES))
        abort();
    bot_answer_fini(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = {(const char *)data, n};
    check_answer(BOT_FORMAT_ANNEX, text);
    check_answer(BOT_FORMAT_ZULIP, text);
    if (!str_is_utf8(text) || memchr(text.at == NULL ? "" : text.at, 0, text.n) != NULL)
        return 0; /* rooms hold no such texts */
    struct buf json;
    buf_init(&json, 1 << 20);
    buf_put_json(&json, text);
    struct talk_message message = {.id = STR("1700000000000-0"),
                                   .from = buf_str(&json),
                                   .text = buf_str(&json),
                                   .tagged = STR("[\"a\"]"),
                                   .root = STR("1-0")};
    struct talk talk = {.context = &message,
                        .context_n = 1,
                        .exchanges = &message,
                        .exchanges_n = 1,
                        .message = message,
                        .room = STR("00112233445566778899aabb"),
                        .room_name = buf_str(&json)};
    struct talk_bot bot = {STR("\"a\""), STR("null"), STR("pck_x")};
    check(talk_put_annex, &talk, &bot);
    check(talk_put_zulip, &talk, &bot);
    check(talk_put_chat, &talk, &bot);
    buf_fini(&json);
    return 0;
}
