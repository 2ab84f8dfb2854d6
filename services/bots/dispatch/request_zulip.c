/* SPDX-License-Identifier: MIT
 * request_zulip.c - the body of a request in the format of Zulip's outgoing webhooks (talk.h;
 * https://zulip.com/api/outgoing-webhooks), so that a bot written for those works unchanged.
 *
 * A room stands for a channel and for its only topic. Zulip's ids are numbers, ours are texts: a
 * number is the digest of its text, that of a message its time. Addresses have a domain that cannot
 * exist (RFC 2606). A mention of the bot is written as Zulip writes it, `@**name**`, because bots
 * look for it there; others are left as they are. */
#include "services/bots/dispatch/talk.h"
#include "shared/base/hash.h"
#include "shared/base/json.h"

#define DOMAIN "parley.invalid"

enum {
    ID_MASK = 0x7fffffff, /* as Zulip's, a positive number of 32 bits */
    MESSAGES_PER_MS = 1000
};

/* Values that are put several times, decoded. */
struct zulip {
    struct buf *b;
    const struct talk *talk;
    json_t *bot, *sender, *room, *text; /* strings; NULL: not readable, which stands for "" */
    struct buf content;                 /* the text with mentions as Zulip writes them */
};

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

static void put_id(struct buf *b, struct str text)
{
    buf_put_u64(b, (hash_fnv32(text, 0) & ID_MASK) | 1);
}

/* "<ms>-<n>": rises as the room's messages do, and stays a number that JavaScript holds. */
static void put_message_id(struct buf *b, struct str id, uint64_t *ret_s)
{
    struct str rest = id;
    uint64_t ms = 0, n = 0;
    if (!str_parse_u64(str_cut(&rest, '-'), &ms) || !str_parse_u64(rest, &n))
        n = 0;
    buf_put_u64(b, ms * MESSAGES_PER_MS + n % MESSAGES_PER_MS);
    *ret_s = ms / 1000;
}

static void put_email(struct buf *b, struct str name, const char *rest)
{
    buf_put_char(b, '"');
    buf_put_url_encoded(b, name);
    buf_printf(b, "%s@" DOMAIN "\"", rest);
}

/* --- the text --------------------------------------------------------------------------------- */

static bool is_of_name(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '-' || (c & 0x80) != 0;
}

/* `rest` begins after an "@". A full stop ends a sentence or continues in a name. */
static bool is_mention(struct str rest, struct str name)
{
    size_t at = name.n;
    if (name.n == 0 || !str_has_prefix(rest, name))
        return false;
    while (at < rest.n && rest.at[at] == '.')
        at++;
    return at == rest.n || !is_of_name(rest.at[at]);
}

static void put_content(struct buf *b, struct str text, struct str name)
{
    while (text.n > 0) {
        const char *at = memchr(text.at, '@', text.n);
        size_t n = at == NULL ? text.n : (size_t)(at - text.at);
        buf_put(b, (struct str){text.at, n});
        text = (struct str){text.at + n, text.n - n};
        if (text.n == 0)
            return;
        text = (struct str){text.at + 1, text.n - 1};
        buf_put_char(b, '@');
        if (is_mention(text, name)) {
            buf_lit(b, "**");
            buf_put(b, name);
            buf_lit(b, "**");
            text = (struct str){text.at + name.n, text.n - name.n};
        }
    }
}

static void put_escaped(struct buf *b, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        switch (text.at[i]) {
        case '&': buf_lit(b, "&amp;"); break;
        case '<': buf_lit(b, "&lt;"); break;
        case '>': buf_lit(b, "&gt;"); break;
        case '"': buf_lit(b, "&quot;"); break;
        default: buf_put_char(b, text.at[i]);
        }
}

static void put_rendered(struct buf *b, struct str content)
{
    struct buf html;
    buf_init(&html, TALK_BODY_MAX_BYTES);
    buf_lit(&html, "<p>");
    put_escaped(&html, content);
    buf_lit(&html, "</p>");
    buf_put_json(b, buf_str(&html));
    buf_fini(&html);
}

/* --- the body --------------------------------------------------------------------------------- */

static void put_message(struct zulip *z)
{
    struct buf *b = z->b;
    struct str sender = text_of(z->sender), room = text_of(z->room);
    uint64_t at_s;
    buf_lit(b, "{\"avatar_url\":null,\"client\":\"parley\",\"content\":");
    buf_put_json(b, buf_str(&z->content));
    buf_put_key(b, "display_recipient");
    buf_put_json(b, room);
    buf_put_key(b, "id");
    put_message_id(b, z->talk->message.id, &at_s);
    buf_lit(b, ",\"is_me_message\":false,\"reactions\":[],\"recipient_id\":");
    put_id(b, z->talk->room);
    buf_put_key(b, "rendered_content");
    put_rendered(b, buf_str(&z->content));
    buf_put_key(b, "sender_email");
    put_email(b, sender, "");
    buf_put_key(b, "sender_full_name");
    buf_put_json(b, sender);
    buf_put_key(b, "sender_id");
    put_id(b, sender);
    buf_lit(b, ",\"sender_realm_str\":\"parley\",\"stream_id\":");
    put_id(b, z->talk->room);
    buf_put_key(b, "subject");
    buf_put_json(b, room);
    buf_lit(b, ",\"submessages\":[],\"timestamp\":");
    buf_put_u64(b, at_s);
    buf_lit(b, ",\"topic_links\":[],\"type\":\"stream\"}");
}

void talk_put_zulip(struct buf *b, const struct talk *talk, const struct talk_bot *bot)
{
    struct zulip z = {.b = b,
                      .talk = talk,
                      .bot = read_string(bot->username),
                      .sender = read_string(talk->message.from),
                      .room = read_string(talk->room_name),
                      .text = read_string(talk->message.text)};
    struct str name = text_of(z.bot);
    buf_init(&z.content, TALK_BODY_MAX_BYTES);
    put_content(&z.content, text_of(z.text), name);
    buf_lit(b, "{\"bot_email\":");
    put_email(b, name, "-bot");
    buf_put_key(b, "bot_full_name");
    buf_put_json(b, name);
    buf_put_key(b, "data");
    buf_put_json(b, buf_str(&z.content));
    buf_put_key(b, "message");
    put_message(&z);
    buf_put_key(b, "token");
    buf_put_json(b, bot->token);
    buf_lit(b, ",\"trigger\":\"mention\"}");
    b->is_over = b->is_over || z.content.is_over;
    buf_fini(&z.content);
    json_decref(z.bot);
    json_decref(z.sender);
    json_decref(z.room);
    json_decref(z.text);
}
