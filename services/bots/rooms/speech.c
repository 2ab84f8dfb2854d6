/* SPDX-License-Identifier: MIT
 * speech.c - see speech.h. */
#include "services/bots/rooms/speech.h"

#include "shared/base/json_fault.h"

#include "shared/base/mem.h"

/* The last one of that name, as everywhere (json_scan.h); null counts as absent. */
static const struct json_span *find(const struct json_member *members, size_t n, const char *name)
{
    for (size_t i = n; i-- > 0;)
        if (str_eq(members[i].name.raw, str_of(name)))
            return members[i].value.kind == JSON_SPAN_NULL ? NULL : &members[i].value;
    return NULL;
}

/* Puts the text behind those before it; unescaped it is no longer than it was. */
static struct str put(struct buf *b, const struct json_span *text)
{
    size_t from = b->n;
    buf_put_span_text(b, text);
    return (struct str){b->at + from, b->n - from};
}

static bool read_text(struct buf *b, const struct json_span *text, struct speech *speech)
{
    if (text == NULL || text->kind != JSON_SPAN_TEXT)
        return false;
    speech->text = put(b, text);
    return speech->text.n >= 1 && speech->text.n <= MESSAGE_TEXT_MAX_BYTES;
}

static bool read_reply(struct buf *b, const struct json_span *id, struct speech *speech)
{
    if (id == NULL)
        return true;
    if (id->kind == JSON_SPAN_TEXT)
        speech->reply_to = put(b, id);
    return message_is_id(speech->reply_to);
}

static bool read_tagged(struct buf *b, const struct json_span *list, struct speech *speech)
{
    struct json_span item;
    if (list == NULL)
        return true;
    if (list->kind != JSON_SPAN_LIST)
        return false;
    struct str rest = json_list_inside(list);
    while (json_next_item(&rest, &item)) {
        if (item.kind != JSON_SPAN_TEXT || speech->tagged_n == POST_TAGS_MAX)
            return false;
        struct str name = put(b, &item);
        if (name.n < 1 || name.n > USER_MAX_BYTES)
            return false;
        speech->tagged[speech->tagged_n++] = name;
    }
    return true;
}

static bool refuse(const struct json_member *members, size_t n, const char *name,
                   const char *expected, char *detail)
{
    struct buf b = {.at = detail, .cap = POST_DETAIL_BYTES, .max = POST_DETAIL_BYTES - 1};
    json_put_fault(&b, members, n, name, expected);
    detail[b.n] = 0;
    return false;
}

bool speech_read(const struct json_member *members, size_t n, struct speech *ret_speech,
                 char *detail)
{
    const struct json_span *text = find(members, n, "text");
    const struct json_span *reply_to = find(members, n, "reply_to");
    const struct json_span *tagged = find(members, n, "tagged");
    size_t bytes = 1 + (text == NULL ? 0 : text->raw.n) + (reply_to == NULL ? 0 : reply_to->raw.n) +
                   (tagged == NULL ? 0 : tagged->raw.n);
    *ret_speech = (struct speech){.own = mem_alloc(bytes)};
    struct buf b = {.at = ret_speech->own, .cap = bytes, .max = bytes};
    if (!read_text(&b, text, ret_speech))
        return refuse(members, n, "text", "a string of 1 to 65536 bytes", detail);
    if (!read_reply(&b, reply_to, ret_speech))
        return refuse(members, n, "reply_to", "the id of a message", detail);
    return read_tagged(&b, tagged, ret_speech) ||
           refuse(members, n, "tagged", "a list of at most 20 names of 1 to 128 bytes", detail);
}

void speech_fini(struct speech *speech)
{
    free(speech->own);
    *speech = (struct speech){.own = NULL};
}
