/* SPDX-License-Identifier: MIT
 * stored_messages.c - GET /v1/chat/completions/{id}/messages: a page of the messages that a stored
 * chat completion answers. A message's id is that of the completion and its number. */
#include "generated/verbs.h"
#include "services/openai/input.h"
#include "services/openai/page.h"
#include "services/openai/stored.h"
#include "shared/ask/reply.h"
#include "shared/http/request/explain.h"

enum { ANSWER_MAX_BYTES = 32 << 20 };

struct reading {
    struct buf request; /* that it answers */
    struct page page;
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

static void put_messages(struct buf *b, struct request *r, const struct page *page)
{
    buf_lit(b, "{\"object\":\"list\",\"data\":[");
    for (uint64_t i = 0; i < page->n; i++) {
        if (i > 0)
            buf_put_char(b, ',');
        put_message(b, r, page->numbers[i], page->entries[i].raw);
    }
    buf_lit(b, "],\"first_id\":");
    put_id(b, r, page->n, page->numbers[0]);
    buf_lit(b, ",\"last_id\":");
    put_id(b, r, page->n, page->numbers[page->n > 0 ? page->n - 1 : 0]);
    buf_printf(b, ",\"has_more\":%s}", page->has_more ? "true" : "false");
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
    struct json_span messages = input_messages(buf_str(&reading->request));
    buf_init(&b, ANSWER_MAX_BYTES);
    page_take(&reading->page, json_list_inside(&messages));
    put_messages(&b, r, &reading->page);
    respond_json(r, 200, &b);
    buf_fini(&b);
}

void openai_list_chat_messages(struct request *r)
{
    struct on_behalf person;
    struct completion_id id;
    struct reading *reading = request_alloc(r, sizeof *reading);
    *reading = (struct reading){.request = {.max = ANSWER_MAX_BYTES}};
    r->state = reading;
    r->on_gone = on_gone;
    if (!stored_find(r, &person, &id) || !page_read_limit(r, &reading->page) ||
        !stored_order(r, &reading->page.is_back) ||
        !page_read_after(r, request_path_param(r, "completion_id"), &reading->page))
        return;
    call_door_show(request_call(r, on_read), .topic = id.topic, .seq = id.seq,
                   .account = r->account->name_token, .user = person.user_name, .asker = id.asker,
                   .what = DOOR_SHOW_REQUEST);
}
