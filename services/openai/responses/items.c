/* SPDX-License-Identifier: MIT
 * items.c - GET /v1/responses/{id}/input_items: a page of the items of a response's own input.
 * Those of the responses that it continues are theirs. An item's id is that of its response and
 * its number, whatever its client has called it. */
#include "services/openai/input.h"
#include "services/openai/page.h"
#include "services/openai/responses/kept.h"
#include "shared/http/request/explain.h"

enum { ANSWER_MAX_BYTES = 32 << 20 };

static struct str name_of(struct request *r)
{
    return request_path_param(r, "response_id");
}

static void put_id(struct buf *b, struct request *r, const struct page *page, uint64_t i)
{
    if (page->n == 0)
        buf_lit(b, "\"\"");
    else
        buf_printf(b, "\"%.*s-%llu\"", STR_ARG(name_of(r)), (unsigned long long)page->numbers[i]);
}

static bool is_type(const struct json_span *type, const char *name)
{
    return type != NULL && str_eq(type->raw, str_of(name));
}

/* A content that is a text, as the part that it is. */
static void put_content(struct buf *b, const struct json_span *content, bool is_said)
{
    if (content->kind != JSON_SPAN_TEXT) {
        members_put_span(b, content);
        return;
    }
    buf_put(b, is_said
                   ? STR("[{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":")
                   : STR("[{\"type\":\"input_text\",\"text\":"));
    members_put_span(b, content);
    buf_lit(b, "}]");
}

static void put_text(struct buf *b, struct request *r, const struct page *page, uint64_t i)
{
    buf_lit(b, "{\"id\":");
    put_id(b, r, page, i);
    buf_lit(b, ",\"type\":\"message\",\"status\":\"completed\",\"role\":\"user\",\"content\":");
    put_content(b, &page->entries[i], false);
    buf_put_char(b, '}');
}

static void put_item(struct buf *b, struct request *r, const struct page *page, uint64_t i)
{
    struct members members;
    if (!members_read(&members, page->entries[i].raw))
        return;
    const struct json_span *type = members_get(&members, "type"),
                           *role = members_get(&members, "role");
    buf_lit(b, "{\"id\":");
    put_id(b, r, page, i);
    if (type == NULL)
        buf_lit(b, ",\"type\":\"message\"");
    if (members_get(&members, "status") == NULL)
        buf_lit(b, ",\"status\":\"completed\"");
    if (is_type(type, "reasoning") && members_get(&members, "summary") == NULL)
        buf_lit(b, ",\"summary\":[]");
    for (size_t k = 0; k < members.n; k++) {
        const struct json_member *member = &members.at[k];
        if (str_eq(member->name.raw, STR("id")) || member->value.kind == JSON_SPAN_NULL)
            continue;
        buf_lit(b, ",\"");
        buf_put(b, member->name.raw);
        buf_lit(b, "\":");
        if (str_eq(member->name.raw, STR("content")))
            put_content(b, &member->value, is_type(role, "assistant"));
        else
            members_put_span(b, &member->value);
    }
    buf_put_char(b, '}');
}

static void put(struct buf *b, struct request *r, const struct page *page, bool is_text)
{
    buf_lit(b, "{\"object\":\"list\",\"data\":[");
    for (uint64_t i = 0; i < page->n; i++) {
        if (i > 0)
            buf_put_char(b, ',');
        if (is_text)
            put_text(b, r, page, i);
        else
            put_item(b, r, page, i);
    }
    buf_lit(b, "],\"first_id\":");
    put_id(b, r, page, 0);
    buf_lit(b, ",\"last_id\":");
    put_id(b, r, page, page->n > 0 ? page->n - 1 : 0);
    buf_printf(b, ",\"has_more\":%s}", page->has_more ? "true" : "false");
}

static void on_read(struct request *r, enum err error, struct str reply)
{
    struct page *page = r->state;
    struct kept kept;
    struct buf text, b;
    if (!kept_read(r, error, reply, name_of(r), &kept))
        return;
    const struct json_span *list = kept_member(&kept, "input", JSON_SPAN_LIST),
                           *said = kept_member(&kept, "input", JSON_SPAN_TEXT);
    buf_init(&text, ANSWER_MAX_BYTES);
    buf_init(&b, ANSWER_MAX_BYTES);
    if (said != NULL)
        members_put_span(&text, said);
    page_take(page, list != NULL ? json_list_inside(list) : buf_str(&text));
    put(&b, r, page, said != NULL);
    respond_json(r, 200, &b);
    buf_fini(&text);
    buf_fini(&b);
}

void openai_list_input_items(struct request *r)
{
    struct on_behalf person;
    struct completion_id id;
    struct page *page = request_alloc(r, sizeof *page);
    struct str order = request_param(r, "order");
    *page = (struct page){.is_back = order.at == NULL || str_eq(order, STR("desc"))};
    r->state = page;
    if (!page->is_back && !str_eq(order, STR("asc"))) {
        (void)!explain_param(r, "order", "asc or desc");
        return;
    }
    if (!input_person(r, (struct str){NULL, 0}, &person) || !page_read_limit(r, page) ||
        !page_read_after(r, name_of(r), page))
        return;
    if (!completion_id_read(r, RESPONSE_PREFIX, name_of(r), &id))
        kept_explain_missing(r, name_of(r));
    else
        kept_show(r, &person, &id, RESPONSE_SHOW_REQUEST, on_read);
}
