/* SPDX-License-Identifier: MIT
 * request_chat.c - a message of a room as a chat for a model (talk.h): what was said before it, the
 * newest first as far as there is room, and the message itself as the last turn of the user. */
#include "services/bots/dispatch/talk.h"
#include "shared/base/json.h"

/* Limit of what was said before: models read little more, and engines cut it further. */
enum { BEFORE_MAX_BYTES = 64 << 10 };

static json_t *read_string(struct str json)
{
    char reason[200];
    json_t *value = NULL;
    return json_parse(json, reason, sizeof reason, &value) ? value : NULL;
}

static struct str text_of(const json_t *string)
{
    struct str text = json_str(string);
    return text.at == NULL ? STR("") : text;
}

/* The text without the mention of the bot with which it begins: "@bot, why?" is "why?". */
static struct str without_mention(struct str text, struct str name)
{
    struct str all = str_trim(text), rest = all;
    if (name.n == 0 || rest.n <= name.n || rest.at[0] != '@')
        return all;
    rest = (struct str){rest.at + 1, rest.n - 1};
    if (!str_has_prefix(rest, name))
        return all;
    rest = (struct str){rest.at + name.n, rest.n - name.n};
    if (rest.n == 0 || strchr(" \t\n,:", rest.at[0]) == NULL)
        return all;
    if (rest.at[0] == ',' || rest.at[0] == ':')
        rest = (struct str){rest.at + 1, rest.n - 1};
    rest = str_trim(rest);
    return rest.n == 0 ? all : rest;
}

static void put_turn(struct buf *b, const struct talk_message *message)
{
    json_t *from = read_string(message->from), *text = read_string(message->text);
    struct buf line;
    buf_init(&line, TALK_BODY_MAX_BYTES);
    if (!message->is_own) {
        buf_put(&line, text_of(from));
        buf_lit(&line, ": ");
    }
    buf_put(&line, text_of(text));
    buf_lit(b, ",{\"role\":");
    buf_put(b, message->is_own ? STR("\"assistant\"") : STR("\"user\""));
    buf_lit(b, ",\"content\":");
    buf_put_json(b, buf_str(&line));
    buf_put_char(b, '}');
    buf_fini(&line);
    json_decref(from);
    json_decref(text);
}

/* The system's turn: who speaks. */
static void put_system(struct buf *b, const struct talk *talk, struct str name, struct str person)
{
    json_t *from = read_string(talk->message.from);
    struct buf text;
    buf_init(&text, 1 << 16);
    buf_lit(&text, "You are ");
    buf_put(&text, name);
    buf_lit(&text, ", who takes part in a chat room of several people. ");
    if (person.n > 0) {
        buf_lit(&text, "Answer as ");
        buf_put(&text, person);
        buf_lit(&text, " would. ");
    }
    buf_lit(&text, "Before what others say stands their name. The last message is to you, from ");
    buf_put(&text, text_of(from));
    buf_lit(&text, ". Reply with the text of your answer only.");
    buf_lit(b, "{\"role\":\"system\",\"content\":");
    buf_put_json(b, buf_str(&text));
    buf_put_char(b, '}');
    buf_fini(&text);
    json_decref(from);
}

void talk_put_question(struct buf *b, const struct talk *talk, const struct talk_bot *bot)
{
    json_t *name = read_string(bot->username), *text = read_string(talk->message.text);
    buf_put(b, without_mention(text_of(text), text_of(name)));
    json_decref(name);
    json_decref(text);
}

void talk_put_chat(struct buf *b, const struct talk *talk, const struct talk_bot *bot)
{
    json_t *name = read_string(bot->username), *person = read_string(bot->emulates);
    size_t first = talk->context_n, bytes = 0;
    struct buf question;
    buf_init(&question, TALK_BODY_MAX_BYTES);
    while (first > 0 && bytes + talk->context[first - 1].text.n <= BEFORE_MAX_BYTES)
        bytes += talk->context[--first].text.n;
    buf_put_char(b, '[');
    put_system(b, talk, text_of(name), text_of(person));
    for (size_t i = first; i < talk->context_n; i++)
        put_turn(b, &talk->context[i]);
    talk_put_question(&question, talk, bot);
    buf_lit(b, ",{\"role\":\"user\",\"content\":");
    buf_put_json(b, buf_str(&question));
    buf_lit(b, "}]");
    buf_fini(&question);
    json_decref(name);
    json_decref(person);
}
