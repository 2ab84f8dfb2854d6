/* SPDX-License-Identifier: MIT
 * request_annex.c - the body of a request to a bot in annex's own format (talk.h):
 * `{"context":[Message],"conversation":[{"id","messages":[Message]}],"message":Message,
 * "users":[{"id","username"}]}`. */
#include "services/bots/dispatch/talk.h"
#include "shared/base/json.h"

/* RFC 3339 with ms: a room's message ids begin with the ms of their time. */
static void put_time(struct buf *b, const struct talk_message *message)
{
    struct str rest = message->id;
    uint64_t ms = 0;
    if (message->timestamp.n > 0) {
        buf_put(b, message->timestamp);
        return;
    }
    if (!str_parse_u64(str_cut(&rest, '-'), &ms))
        ms = 0;
    buf_put_char(b, '"');
    buf_put_timestamp(b, ms / 1000);
    buf_printf(b, ".%03uZ\"", (unsigned)(ms % 1000));
}

void talk_put_message(struct buf *b, const struct talk_message *message)
{
    buf_lit(b, "{\"from\":");
    buf_put(b, message->is_own ? STR("\"BOT\"") : message->from);
    buf_put_key(b, "tagged");
    buf_put(b, message->tagged);
    buf_put_key(b, "id");
    buf_put_json(b, message->id);
    buf_put_key(b, "text");
    buf_put(b, message->text);
    buf_put_key(b, "timestamp");
    put_time(b, message);
    buf_put_char(b, '}');
}

static void put_messages(struct buf *b, const struct talk_message *messages, size_t n)
{
    buf_put_char(b, '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_put_char(b, ',');
        talk_put_message(b, &messages[i]);
    }
    buf_put_char(b, ']');
}

/* --- conversations ---------------------------------------------------------------------------- */

static bool is_first_of_root(const struct talk *talk, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (str_eq(talk->exchanges[i].root, talk->exchanges[at].root))
            return false;
    return true;
}

static void put_conversation(struct buf *b, const struct talk *talk, size_t first)
{
    struct str root = talk->exchanges[first].root;
    buf_lit(b, "{\"id\":");
    buf_put_json(b, root);
    buf_put_key(b, "messages");
    buf_put_char(b, '[');
    for (size_t i = first; i < talk->exchanges_n; i++) {
        if (!str_eq(talk->exchanges[i].root, root))
            continue;
        if (i > first)
            buf_put_char(b, ',');
        talk_put_message(b, &talk->exchanges[i]);
    }
    buf_lit(b, "]}");
}

/* There are few of them, so each looks at those before it. */
static void put_conversations(struct buf *b, const struct talk *talk)
{
    bool is_any = false;
    buf_put_char(b, '[');
    for (size_t i = 0; i < talk->exchanges_n; i++) {
        if (!is_first_of_root(talk, i))
            continue;
        if (is_any)
            buf_put_char(b, ',');
        is_any = true;
        put_conversation(b, talk, i);
    }
    buf_put_char(b, ']');
}

/* --- users ------------------------------------------------------------------------------------ */

/* A set that keeps its order, because jansson's objects do. */
static void add_user(json_t *users, const json_t *name)
{
    if (json_is_string(name))
        json_object_setn_new_nocheck(users, json_string_value(name), json_string_length(name),
                                     json_null());
}

static json_t *read_json(struct str text)
{
    char reason[200];
    json_t *value = NULL;
    return json_parse(text, reason, sizeof reason, &value) ? value : NULL;
}

/* Who speaks in it, except the bot itself, and who is tagged. */
static void add_users(json_t *users, const struct talk_message *message)
{
    json_t *from = message->is_own ? NULL : read_json(message->from);
    json_t *tagged = read_json(message->tagged);
    const json_t *name;
    size_t i;
    add_user(users, from);
    json_array_foreach(tagged, i, name)
    {
        add_user(users, name);
    }
    json_decref(from);
    json_decref(tagged);
}

static void put_users(struct buf *b, const struct talk *talk)
{
    json_t *users = json_object();
    const char *name;
    size_t name_n;
    json_t *unused;
    bool is_any = false;
    for (size_t i = 0; i < talk->context_n; i++)
        add_users(users, &talk->context[i]);
    for (size_t i = 0; i < talk->exchanges_n; i++)
        add_users(users, &talk->exchanges[i]);
    add_users(users, &talk->message);
    buf_put_char(b, '[');
    json_object_keylen_foreach(users, name, name_n, unused)
    {
        if (is_any)
            buf_put_char(b, ',');
        is_any = true;
        buf_lit(b, "{\"id\":");
        buf_put_json(b, (struct str){name, name_n});
        buf_put_key(b, "username");
        buf_put_json(b, (struct str){name, name_n});
        buf_put_char(b, '}');
    }
    buf_put_char(b, ']');
    json_decref(users);
}

void talk_put_annex(struct buf *b, const struct talk *talk, const struct talk_bot *bot)
{
    (void)bot; /* it knows its name */
    buf_lit(b, "{\"context\":");
    put_messages(b, talk->context, talk->context_n);
    buf_put_key(b, "conversation");
    put_conversations(b, talk);
    buf_put_key(b, "message");
    talk_put_message(b, &talk->message);
    buf_put_key(b, "users");
    put_users(b, talk);
    buf_put_char(b, '}');
}
