/* SPDX-License-Identifier: MIT
 * conversation.c - see conversation.h. From what a client sent the canonical text is written,
 * message by message, and indexed, as it also is when it comes from Redis. */
#include "services/bots/evaluate/conversation.h"

#include "shared/base/mem.h"

#include <stdio.h>

enum { MEMBERS_MAX = 64 };

/* --- reading what a client sent --------------------------------------------------------------- */

static bool refuse(struct conversation_reader *reader, const char *why)
{
    snprintf(reader->reason, CONVERSATION_REASON_BYTES, "Message %zu of the conversation: %s.",
             reader->place, why);
    return false;
}

static const struct json_span *find(const struct json_member *members, size_t n, const char *name)
{
    while (n-- > 0)
        if (str_eq(members[n].name.raw, str_of(name)))
            return members[n].value.kind == JSON_SPAN_NULL ? NULL : &members[n].value;
    return NULL;
}

/* Returns whether it is a text of `min` to `max` bytes. */
static bool is_text(struct conversation_reader *reader, const struct json_span *span, size_t min,
                    size_t max)
{
    if (span == NULL || span->kind != JSON_SPAN_TEXT)
        return false;
    if (!span->has_escape)
        return span->raw.n >= min && span->raw.n <= max;
    buf_clear(&reader->plain);
    buf_put_span_text(&reader->plain, span);
    return !reader->plain.is_over && reader->plain.n >= min && reader->plain.n <= max;
}

/* The id goes into requests of several formats. */
static bool is_id(const struct json_span *span)
{
    if (span->kind == JSON_SPAN_NUMBER)
        return span->raw.n <= CONVERSATION_NAME_MAX_BYTES;
    if (span->kind != JSON_SPAN_TEXT || span->has_escape || span->raw.n < 1 ||
        span->raw.n > CONVERSATION_NAME_MAX_BYTES)
        return false;
    return true;
}

static bool put_id(struct conversation_reader *reader, const struct json_span *id)
{
    if (id != NULL && !is_id(id))
        return refuse(reader, "`id` must be a text of 1 to 128 bytes without quotes and "
                              "backslashes, or a number");
    buf_put_char(&reader->c.text, '"');
    if (id == NULL)
        buf_put_u64(&reader->c.text, reader->place);
    else
        buf_put(&reader->c.text, id->raw);
    buf_put_char(&reader->c.text, '"');
    return true;
}

static bool put_tagged(struct conversation_reader *reader, const struct json_span *tagged)
{
    static const char *const what = "`tagged` must be a list of at most 20 texts of at most 128 "
                                    "bytes";
    struct json_span name;
    size_t n = 0;
    if (tagged == NULL) {
        buf_lit(&reader->c.text, "[]");
        return true;
    }
    if (tagged->kind != JSON_SPAN_LIST)
        return refuse(reader, what);
    struct str rest = json_list_inside(tagged);
    while (json_next_item(&rest, &name))
        if (++n > CONVERSATION_TAGGED_MAX ||
            !is_text(reader, &name, 0, CONVERSATION_NAME_MAX_BYTES))
            return refuse(reader, what);
    buf_put_span(&reader->c.text, tagged);
    return true;
}

static bool put_message(struct conversation_reader *reader, const struct json_span *message)
{
    struct json_member members[MEMBERS_MAX];
    const char *why;
    size_t n = 0, at;
    bool is_object;
    if (message->kind != JSON_SPAN_OBJECT ||
        !json_scan_object(message->raw, members, MEMBERS_MAX, &n, &why, &at, &is_object))
        return refuse(reader, "it must be an object");
    if (n > MEMBERS_MAX)
        return refuse(reader, "it has more than 64 members");
    const struct json_span *from = find(members, n, "from"), *text = find(members, n, "text");
    const struct json_span *timestamp = find(members, n, "timestamp");
    if (!is_text(reader, from, 1, CONVERSATION_NAME_MAX_BYTES))
        return refuse(reader, "`from` must be a text of 1 to 128 bytes");
    if (!is_text(reader, text, 1, CONVERSATION_TEXT_MAX_BYTES))
        return refuse(reader, "`text` must be a text of 1 byte to 64 KiB");
    if (timestamp != NULL && !is_text(reader, timestamp, 0, CONVERSATION_NAME_MAX_BYTES))
        return refuse(reader, "`timestamp` must be a text of at most 128 bytes");
    buf_lit(&reader->c.text, "{\"from\":");
    buf_put_span(&reader->c.text, from);
    buf_put_key(&reader->c.text, "tagged");
    if (!put_tagged(reader, find(members, n, "tagged")))
        return false;
    buf_put_key(&reader->c.text, "id");
    if (!put_id(reader, find(members, n, "id")))
        return false;
    buf_put_key(&reader->c.text, "text");
    buf_put_span(&reader->c.text, text);
    buf_put_key(&reader->c.text, "timestamp");
    if (timestamp == NULL)
        buf_lit(&reader->c.text, "null");
    else
        buf_put_span(&reader->c.text, timestamp);
    buf_put_char(&reader->c.text, '}');
    return true;
}

/* --- the index -------------------------------------------------------------------------------- */

/* In the canonical text the members are always the same, in the same order. */
static bool index_message(struct conversation *c, const struct json_span *object)
{
    struct json_member members[5];
    const char *why;
    size_t n = 0, at;
    bool is_object;
    if (object->kind != JSON_SPAN_OBJECT ||
        !json_scan_object(object->raw, members, 5, &n, &why, &at, &is_object) || n != 5)
        return false;
    c->messages = mem_grow(c->messages, c->message_n, sizeof *c->messages);
    c->messages[c->message_n++] = (struct conversation_message){.from = members[0].value,
                                                                .tagged = members[1].value.raw,
                                                                .id = members[2].value,
                                                                .text = members[3].value,
                                                                .timestamp = STR("null")};
    if (members[4].value.kind == JSON_SPAN_TEXT) /* with its quotes */
        c->messages[c->message_n - 1].timestamp =
            (struct str){members[4].value.raw.at - 1, members[4].value.raw.n + 2};
    return members[0].value.kind == JSON_SPAN_TEXT && members[1].value.kind == JSON_SPAN_LIST &&
           members[2].value.kind == JSON_SPAN_TEXT && members[3].value.kind == JSON_SPAN_TEXT;
}

/* Finds the turns. Returns the place (from 0) of a message with too many originals, or message_n.
 */
static unsigned find_turns(struct conversation *c)
{
    for (unsigned i = 0; i < c->message_n;) {
        unsigned after = i + 1;
        while (after < c->message_n && str_eq(c->messages[after].from.raw, c->person.raw))
            after++;
        if (after > i + 1 && !str_eq(c->messages[i].from.raw, c->person.raw)) {
            if (after - i - 1 > CONVERSATION_ORIGINALS_MAX)
                return i;
            c->turns = mem_grow(c->turns, c->turn_n, sizeof *c->turns);
            c->turns[c->turn_n++] = (struct conversation_turn){i, after - i - 1};
        }
        i = after;
    }
    return c->message_n;
}

static bool index_text(struct conversation *c)
{
    struct json_member members[2];
    struct json_span message;
    const char *why;
    size_t n = 0, at;
    bool is_object;
    if (!json_scan_object(buf_str(&c->text), members, 2, &n, &why, &at, &is_object) || n != 2 ||
        members[0].value.kind != JSON_SPAN_TEXT || members[1].value.kind != JSON_SPAN_LIST)
        return false;
    c->person = members[0].value;
    struct str rest = json_list_inside(&members[1].value);
    while (json_next_item(&rest, &message))
        if (!index_message(c, &message))
            return false;
    return true;
}

/* --- both ------------------------------------------------------------------------------------- */

static enum conversation_fault judge_turns(struct conversation *c, struct str person, char *reason)
{
    unsigned crowded = find_turns(c);
    enum conversation_fault fault = CONVERSATION_BAD;
    if (crowded < c->message_n)
        snprintf(reason, CONVERSATION_REASON_BYTES,
                 "Message %u of the conversation is followed by more than %d originals.",
                 crowded + 1, CONVERSATION_ORIGINALS_MAX);
    else if (c->turn_n == 0)
        snprintf(reason, CONVERSATION_REASON_BYTES,
                 "The conversation has no turn: no message is followed by one from '%.*s', the "
                 "person that the bot emulates.",
                 STR_ARG(person));
    else if (c->turn_n > CONVERSATION_TURNS_MAX)
        snprintf(reason, CONVERSATION_REASON_BYTES,
                 "The conversation has %llu %s; an evaluation takes at most %d.",
                 COUNTED(c->turn_n, "turn"), CONVERSATION_TURNS_MAX);
    else
        fault = CONVERSATION_GOOD;
    return fault;
}

/* The text does not move: what is indexed of it points into it. */
void conversation_begin(struct conversation_reader *reader, const struct json_span *messages,
                        struct str person, char reason[CONVERSATION_REASON_BYTES])
{
    struct buf *text = &reader->c.text;
    *reader = (struct conversation_reader){.reason = reason};
    buf_init(text, CONVERSATION_MAX_BYTES);
    buf_init(&reader->plain, 2 * CONVERSATION_TEXT_MAX_BYTES);
    if (messages == NULL || messages->kind != JSON_SPAN_LIST) {
        snprintf(reason, CONVERSATION_REASON_BYTES,
                 "The member 'conversation' must be a list of messages.");
        reader->is_bad = true;
        return;
    }
    (void)buf_reserve(text, CONVERSATION_MAX_BYTES);
    buf_lit(text, "{\"person\":");
    size_t at = text->n + 1;
    buf_put_json(text, person);
    reader->c.person =
        (struct json_span){.kind = JSON_SPAN_TEXT, .raw = {text->at + at, text->n - 1 - at}};
    buf_put_key(text, "messages");
    buf_put_char(text, '[');
    reader->person = person;
    reader->rest = json_list_inside(messages);
}

/* Puts and indexes the next message; false after the last one, or a bad one. */
static bool read_message(struct conversation_reader *reader)
{
    struct buf *text = &reader->c.text;
    struct json_span message;
    if (reader->is_bad || text->is_over || !json_next_item(&reader->rest, &message))
        return false;
    if (++reader->place > CONVERSATION_MESSAGES_MAX) {
        reader->is_bad = true;
        return refuse(reader, "a conversation has at most 20000 messages");
    }
    if (reader->place > 1)
        buf_put_char(text, ',');
    size_t at = text->n;
    reader->is_bad = !put_message(reader, &message);
    if (reader->is_bad || text->is_over)
        return false;
    struct json_span put = {.kind = JSON_SPAN_OBJECT, .raw = {text->at + at, text->n - at}};
    reader->is_bad = !index_message(&reader->c, &put);
    return !reader->is_bad;
}

bool conversation_go_on(struct conversation_reader *reader, size_t bytes)
{
    size_t had = reader->rest.n;
    while (read_message(reader))
        if (had - reader->rest.n >= bytes)
            return true;
    return false;
}

enum conversation_fault conversation_end(struct conversation_reader *reader,
                                         struct conversation *ret_conversation)
{
    enum conversation_fault fault = CONVERSATION_BAD;
    buf_lit(&reader->c.text, "]}");
    if (!reader->is_bad && reader->c.text.is_over) {
        snprintf(reader->reason, CONVERSATION_REASON_BYTES,
                 "The conversation is larger than 4 MiB.");
        fault = CONVERSATION_TOO_LARGE;
    } else if (!reader->is_bad) {
        fault = judge_turns(&reader->c, reader->person, reader->reason);
    }
    if (fault == CONVERSATION_GOOD) {
        *ret_conversation = reader->c;
        reader->c = (struct conversation){.message_n = 0};
    }
    conversation_cancel(reader);
    return fault;
}

void conversation_cancel(struct conversation_reader *reader)
{
    buf_fini(&reader->plain);
    conversation_fini(&reader->c);
}

bool conversation_load(struct str text, struct conversation *ret_conversation)
{
    struct conversation c = {.message_n = 0};
    buf_init(&c.text, CONVERSATION_MAX_BYTES);
    buf_put(&c.text, text);
    if (c.text.is_over || !index_text(&c) || find_turns(&c) < c.message_n) {
        conversation_fini(&c);
        return false;
    }
    *ret_conversation = c;
    return true;
}

void conversation_fini(struct conversation *conversation)
{
    buf_fini(&conversation->text);
    free(conversation->messages);
    free(conversation->turns);
    *conversation = (struct conversation){.message_n = 0};
}
