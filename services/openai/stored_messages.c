/* SPDX-License-Identifier: MIT
 * stored_messages.c - GET /v1/chat/completions/{id}/messages: a page of the messages that a stored
 * chat completion answers. A message's id is that of the completion and its number. */
#include "generated/verbs.h"
#include "services/openai/input.h"
#include "services/openai/stored.h"
#include "shared/ask/reply.h"
#include "shared/base/mem.h"
#include "shared/http/request/explain.h"

enum { LIMIT_MAX = 100, LIMIT = 20, ANSWER_MAX_BYTES = 32 << 20 };

struct reading {
    struct buf request; /* that it answers */
    uint64_t limit, after;
    bool is_back, has_after;
};

static void on_gone(struct request *r)
{
    buf_fini(&((struct reading *)r->state)->request);
}

/* Has the answer this member itself? */
static bool is_own(struct str name)
{
    return str_eq(name, STR("id")) || str_eq(name, STR("content")) ||
           str_eq(name, STR("content_parts"));
}

/* "" if there are no messages. */
static void put_id(struct buf *b, struct request *r, uint64_t n, uint64_t number)
{
    struct str id = request_path_param(r, "completion_id");
    if (n == 0)
        buf_lit(b, "\"\"");
    else
        buf_printf(b, "\"%.*s-%llu\"", STR_ARG(id), (unsigned long long)number);
}

static void put_message(struct buf *b, struct request *r, uint64_t number, struct str json)
{
    struct members members;
    (void)members_read(&members, json);
    const struct json_span *content = members_get(&members, "content");
    buf_lit(b, "{\"id\":");
    put_id(b, r, 1, number);
    buf_lit(b, ",\"content\":");
    if (content != NULL && content->kind == JSON_SPAN_TEXT)
        members_put_span(b, content);
    else
        buf_lit(b, "null");
    buf_lit(b, ",\"content_parts\":");
    if (content != NULL && content->kind == JSON_SPAN_LIST)
        members_put_span(b, content);
    else
        buf_lit(b, "null");
    if (members_get(&members, "refusal") == NULL)
        buf_lit(b, ",\"refusal\":null");
    for (size_t i = 0; i < members.n; i++) {
        const struct json_member *member = &members.at[i];
        if (is_own(member->name.raw) || member->value.kind == JSON_SPAN_NULL)
            continue;
        buf_lit(b, ",\"");
        buf_put(b, member->name.raw);
        buf_lit(b, "\":");
        members_put_span(b, &member->value);
    }
    buf_put_char(b, '}');
}

/* The list of messages in a body. */
static struct json_span messages_of(struct str body)
{
    struct json_span messages = {.kind = JSON_SPAN_ABSENT};
    struct json_member first, *members;
    const char *reason;
    size_t n, at;
    bool is_object;
    if (!json_scan_object(body, &first, 1, &n, &reason, &at, &is_object))
        return messages;
    members = mem_zeroed_n(n + 1, sizeof *members);
    if (json_scan_object(body, members, n, &n, &reason, &at, &is_object))
        for (size_t i = 0; i < n; i++)
            if (str_eq(members[i].name.raw, STR("messages")))
                messages = members[i].value;
    free(members);
    return messages;
}

static uint64_t count(struct str list)
{
    struct json_span item;
    uint64_t n = 0;
    while (json_next_item(&list, &item))
        n++;
    return n;
}

/* The numbers of the page's messages: from `from` to before `to`. */
struct window {
    uint64_t from, to;
    bool has_more;
};

static struct window window_of(const struct reading *reading, uint64_t n)
{
    uint64_t from = 0, to = n;
    if (reading->is_back && reading->has_after)
        to = reading->after < n ? reading->after : n;
    else if (reading->has_after)
        from = reading->after < n ? reading->after + 1 : n;
    if (to - from <= reading->limit)
        return (struct window){from, to, false};
    if (reading->is_back)
        return (struct window){to - reading->limit, to, true};
    return (struct window){from, from + reading->limit, true};
}

static void put_messages(struct buf *b, struct request *r, const struct reading *reading,
                         struct str list)
{
    struct json_span shown[LIMIT_MAX], item;
    struct window window = window_of(reading, count(list));
    uint64_t n = window.to - window.from;
    for (uint64_t i = 0; i < window.to && json_next_item(&list, &item); i++)
        if (i >= window.from)
            shown[i - window.from] = item;
    buf_lit(b, "{\"object\":\"list\",\"data\":[");
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = reading->is_back ? n - 1 - i : i;
        if (i > 0)
            buf_put_char(b, ',');
        put_message(b, r, window.from + at, shown[at].raw);
    }
    buf_lit(b, "],\"first_id\":");
    put_id(b, r, n, reading->is_back ? window.to - 1 : window.from);
    buf_lit(b, ",\"last_id\":");
    put_id(b, r, n, reading->is_back ? window.from : window.to - 1);
    buf_printf(b, ",\"has_more\":%s}", window.has_more ? "true" : "false");
}

static void on_read(struct request *r, enum err error, struct str reply)
{
    struct reading *reading = r->state;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines), request = STR("");
    struct buf b;
    if (error == ERR_OK && str_eq(tag, STR("missing"))) {
        stored_explain_missing(r);
        return;
    }
    if (reply_refuse(r, error, tag, &lines))
        return;
    (void)str_cut(&lines.rest, '\0');
    (void)!lines_next_part(&lines, &request);
    buf_put_json_text(&reading->request, request);
    struct json_span messages = messages_of(buf_str(&reading->request));
    buf_init(&b, ANSWER_MAX_BYTES);
    put_messages(&b, r, reading, json_list_inside(&messages));
    respond_json(r, 200, &b);
    buf_fini(&b);
}

static bool read_after(struct request *r, struct reading *reading)
{
    struct str id = request_path_param(r, "completion_id"), after = request_param(r, "after");
    reading->has_after = after.at != NULL;
    if (!reading->has_after)
        return true;
    if (str_has_prefix(after, id) && after.n > id.n + 1 && after.at[id.n] == '-' &&
        str_parse_u64((struct str){after.at + id.n + 1, after.n - id.n - 1}, &reading->after))
        return true;
    return explain_param(r, "after", "the id of one of these messages");
}

void openai_list_chat_messages(struct request *r)
{
    struct on_behalf person;
    struct completion_id id;
    struct reading *reading = request_alloc(r, sizeof *reading);
    *reading = (struct reading){.request = {.max = ANSWER_MAX_BYTES}};
    r->state = reading;
    r->on_gone = on_gone;
    if (!stored_find(r, &person, &id) ||
        !request_param_u64(r, "limit", 1, LIMIT_MAX, LIMIT, &reading->limit) ||
        !stored_order(r, &reading->is_back) || !read_after(r, reading))
        return;
    call_door_show(request_call(r, on_read), .topic = id.topic, .seq = id.seq,
                   .account = r->account->name_token, .user = person.user_name, .asker = id.asker,
                   .what = DOOR_SHOW_REQUEST);
}
