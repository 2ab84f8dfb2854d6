/* SPDX-License-Identifier: MIT
 * translate_input.c - see translate_input.h. */
#include "services/openai/responses/translate_input.h"

#include <stdio.h>

enum { TYPE_SHOWN_BYTES = 40 };

/* The message of an assistant that is not put yet. */
struct turn_text {
    struct buf b;
    bool is_there;
};

struct messages {
    struct translation *t;
    size_t n;
    struct turn_text reasoning, content, refusal, calls;
};

/* --- faults ----------------------------------------------------------------------------------- */

void translate_at(struct translation *t, const char *member)
{
    snprintf(t->at, sizeof t->at, "%s", member);
}

void translate_at_item(struct translation *t, const char *list, size_t i)
{
    snprintf(t->at, sizeof t->at, "%s[%zu]", list, i);
}

bool translate_fail(struct translation *t, const char *more, const char *expected)
{
    struct translate_fault *fault = t->fault;
    snprintf(fault->member, sizeof fault->member, "%s%s", t->at, more);
    snprintf(fault->expected, sizeof fault->expected, "%s", expected);
    return false;
}

static bool is_word(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.at[i] < '-' || (unsigned char)text.at[i] > 'z' ||
            text.at[i] == '\\')
            return false;
    return text.n > 0 && text.n <= TYPE_SHOWN_BYTES;
}

bool translate_fail_type(struct translation *t, const char *more, const struct json_span *type,
                         const char *known)
{
    struct translate_fault *fault = t->fault;
    snprintf(fault->member, sizeof fault->member, "%s%s", t->at, more);
    if (type != NULL && type->kind == JSON_SPAN_TEXT && is_word(type->raw))
        snprintf(fault->expected, sizeof fault->expected, "%s: %.*s is not supported", known,
                 STR_ARG(type->raw));
    else
        snprintf(fault->expected, sizeof fault->expected, "%s", known);
    return false;
}

/* --- content ---------------------------------------------------------------------------------- */

static bool is_type(const struct json_span *type, const char *name)
{
    return type != NULL && type->kind == JSON_SPAN_TEXT && str_eq(type->raw, str_of(name));
}

static bool is_text_type(const struct json_span *type)
{
    return is_type(type, "input_text") || is_type(type, "output_text") || is_type(type, "text") ||
           is_type(type, "summary_text") || is_type(type, "reasoning_text");
}

static bool put_image(struct translation *t, const struct members *part)
{
    const struct json_span *url = members_get_kind(part, "image_url", JSON_SPAN_TEXT),
                           *detail = members_get_kind(part, "detail", JSON_SPAN_TEXT);
    if (url == NULL)
        return translate_fail(t, ".content", "of images with image_url, an address or data URL");
    buf_lit(t->b, "{\"type\":\"image_url\",\"image_url\":{\"url\":");
    members_put_span(t->b, url);
    if (detail != NULL) {
        buf_put_key(t->b, "detail");
        members_put_span(t->b, detail);
    }
    buf_lit(t->b, "}}");
    return true;
}

static bool put_file(struct translation *t, const struct members *part)
{
    const struct json_span *data = members_get_kind(part, "file_data", JSON_SPAN_TEXT),
                           *name = members_get_kind(part, "filename", JSON_SPAN_TEXT);
    if (data == NULL)
        return translate_fail(t, ".content", "of files with file_data");
    buf_lit(t->b, "{\"type\":\"file\",\"file\":{\"file_data\":");
    members_put_span(t->b, data);
    if (name != NULL) {
        buf_put_key(t->b, "filename");
        members_put_span(t->b, name);
    }
    buf_lit(t->b, "}}");
    return true;
}

static bool put_part(struct translation *t, const struct json_span *item)
{
    struct members part;
    if (!members_read(&part, item->raw))
        return translate_fail(t, ".content", "a text or a list of parts");
    const struct json_span *type = members_get(&part, "type"),
                           *text = members_get_kind(&part, "text", JSON_SPAN_TEXT);
    if (is_type(type, "input_image"))
        return put_image(t, &part);
    if (is_type(type, "input_file"))
        return put_file(t, &part);
    if (!is_text_type(type))
        return translate_fail_type(t, ".content", type, "of input_text, input_image, input_file");
    if (text == NULL)
        return translate_fail(t, ".content", "of parts with a text");
    buf_lit(t->b, "{\"type\":\"text\",\"text\":");
    members_put_span(t->b, text);
    buf_put_char(t->b, '}');
    return true;
}

/* The text of a list that has nothing else. */
static const struct json_span *only_text(const struct json_span *list, struct members *part)
{
    struct str rest = json_list_inside(list);
    struct json_span item, second;
    if (!json_next_item(&rest, &item) || json_next_item(&rest, &second) ||
        !members_read(part, item.raw) || !is_text_type(members_get(part, "type")))
        return NULL;
    return members_get_kind(part, "text", JSON_SPAN_TEXT);
}

static bool put_content(struct translation *t, const struct json_span *content)
{
    struct members part;
    struct json_span item;
    const struct json_span *text = content;
    if (content == NULL || (content->kind != JSON_SPAN_TEXT && content->kind != JSON_SPAN_LIST))
        return translate_fail(t, ".content", "a text or a list of parts");
    if (content->kind == JSON_SPAN_LIST)
        text = only_text(content, &part);
    if (text != NULL) {
        members_put_span(t->b, text);
        return true;
    }
    size_t n = 0;
    buf_put_char(t->b, '[');
    for (struct str rest = json_list_inside(content); json_next_item(&rest, &item); n++) {
        if (n > 0)
            buf_put_char(t->b, ',');
        if (!put_part(t, &item))
            return false;
    }
    buf_put_char(t->b, ']');
    return true;
}

/* --- an assistant's message ------------------------------------------------------------------- */

static void append(struct messages *m, struct turn_text *text, struct str raw)
{
    text->b.max = m->t->b->max;
    text->is_there = true;
    buf_put(&text->b, raw);
    m->t->b->is_over |= text->b.is_over;
}

static void begin(struct messages *m, const char *role)
{
    buf_put(m->t->b, m->n++ == 0 ? STR("{\"role\":\"") : STR(",{\"role\":\""));
    buf_put(m->t->b, str_of(role));
    buf_put_char(m->t->b, '"');
}

static void put_member(struct messages *m, const char *name, struct turn_text *text)
{
    if (!text->is_there)
        return;
    buf_put_key(m->t->b, name);
    buf_put_char(m->t->b, '"');
    buf_put(m->t->b, buf_str(&text->b));
    buf_put_char(m->t->b, '"');
    buf_clear(&text->b);
    text->is_there = false;
}

/* Puts the message of the assistant, if there is one. What it thought goes with what it did. */
static void flush(struct messages *m)
{
    struct buf *b = m->t->b;
    if (!m->content.is_there && !m->refusal.is_there && !m->calls.is_there) {
        buf_clear(&m->reasoning.b);
        m->reasoning.is_there = false;
        return;
    }
    begin(m, "assistant");
    if (!m->content.is_there)
        buf_lit(b, ",\"content\":null");
    put_member(m, "content", &m->content);
    put_member(m, "refusal", &m->refusal);
    put_member(m, "reasoning_content", &m->reasoning);
    if (m->calls.is_there) {
        buf_lit(b, ",\"tool_calls\":[");
        buf_put(b, buf_str(&m->calls.b));
        buf_put_char(b, ']');
        buf_clear(&m->calls.b);
        m->calls.is_there = false;
    }
    buf_put_char(b, '}');
}

static bool add_said(struct messages *m, const struct json_span *content)
{
    struct members part;
    struct json_span item;
    if (m->content.is_there || m->refusal.is_there || m->calls.is_there)
        flush(m);
    if (content != NULL && content->kind == JSON_SPAN_TEXT) {
        append(m, &m->content, content->raw);
        return true;
    }
    if (content == NULL || content->kind != JSON_SPAN_LIST)
        return translate_fail(m->t, ".content", "a text or a list of parts");
    append(m, &m->content, STR(""));
    for (struct str rest = json_list_inside(content); json_next_item(&rest, &item);) {
        bool is_part = members_read(&part, item.raw);
        const struct json_span *type = is_part ? members_get(&part, "type") : NULL,
                               *text = members_get_kind(&part, "text", JSON_SPAN_TEXT),
                               *refusal = members_get_kind(&part, "refusal", JSON_SPAN_TEXT);
        if (is_text_type(type) && text != NULL)
            append(m, &m->content, text->raw);
        else if (is_type(type, "refusal") && refusal != NULL)
            append(m, &m->refusal, refusal->raw);
        else
            return translate_fail_type(m->t, ".content", type, "of output_text or refusal");
    }
    return true;
}

/* Texts of `content`, or else of `summary`; what is encrypted is not for engines. */
static void add_thought(struct messages *m, const struct members *item)
{
    const struct json_span *list = members_get_kind(item, "content", JSON_SPAN_LIST);
    struct members part;
    struct json_span inner;
    if (m->content.is_there || m->refusal.is_there || m->calls.is_there)
        flush(m);
    if (list == NULL || str_trim(json_list_inside(list)).n == 0)
        list = members_get_kind(item, "summary", JSON_SPAN_LIST);
    if (list == NULL)
        return;
    for (struct str rest = json_list_inside(list); json_next_item(&rest, &inner);) {
        const struct json_span *text =
            members_read(&part, inner.raw) ? members_get_kind(&part, "text", JSON_SPAN_TEXT) : NULL;
        if (text != NULL)
            append(m, &m->reasoning, text->raw);
    }
}

static bool add_call(struct messages *m, const struct members *item)
{
    const struct json_span *id = members_get_kind(item, "call_id", JSON_SPAN_TEXT),
                           *name = members_get_kind(item, "name", JSON_SPAN_TEXT),
                           *arguments = members_get_kind(item, "arguments", JSON_SPAN_TEXT),
                           *namespace = members_get_kind(item, "namespace", JSON_SPAN_TEXT);
    if (id == NULL || name == NULL || arguments == NULL)
        return translate_fail(m->t, "", "a function_call with call_id, name and arguments, texts");
    append(m, &m->calls, m->calls.is_there ? STR(",{\"id\":\"") : STR("{\"id\":\""));
    append(m, &m->calls, id->raw);
    append(m, &m->calls, STR("\",\"type\":\"function\",\"function\":{\"name\":\""));
    if (namespace != NULL && namespace->raw.n > 0) { /* tools.h */
        append(m, &m->calls, namespace->raw);
        append(m, &m->calls, STR("__"));
    }
    append(m, &m->calls, name->raw);
    append(m, &m->calls, STR("\",\"arguments\":\""));
    append(m, &m->calls, arguments->raw);
    append(m, &m->calls, STR("\"}}"));
    return true;
}

/* The call of a custom tool as one of the function that it is in a chat (tools.h). */
static bool add_custom_call(struct messages *m, const struct members *item)
{
    const struct json_span *input = members_get_kind(item, "input", JSON_SPAN_TEXT);
    struct members call = *item;
    struct buf object, arguments;
    if (input == NULL || call.n == MEMBERS_MAX)
        return translate_fail(m->t, "", "a custom_tool_call with call_id, name and input, texts");
    buf_init(&object, m->t->b->max);
    buf_init(&arguments, m->t->b->max);
    buf_lit(&object, "{\"" CUSTOM_INPUT "\":\"");
    buf_put(&object, input->raw);
    buf_lit(&object, "\"}");
    buf_put_json(&arguments, buf_str(&object));
    m->t->b->is_over |= object.is_over || arguments.is_over;
    struct str quoted = buf_str(&arguments);
    call.at[call.n++] = (struct json_member){
        .name = {.kind = JSON_SPAN_TEXT, .raw = STR("arguments")},
        .value = {.kind = JSON_SPAN_TEXT,
                  .raw = quoted.n < 2 ? STR("") : (struct str){quoted.at + 1, quoted.n - 2}}};
    bool is_good = add_call(m, &call);
    buf_fini(&object);
    buf_fini(&arguments);
    return is_good;
}

/* --- items ------------------------------------------------------------------------------------ */

static bool put_output(struct messages *m, const struct members *item)
{
    const struct json_span *id = members_get_kind(item, "call_id", JSON_SPAN_TEXT);
    if (id == NULL)
        return translate_fail(m->t, ".call_id", "a text");
    flush(m);
    begin(m, "tool");
    buf_put_key(m->t->b, "tool_call_id");
    members_put_span(m->t->b, id);
    buf_put_key(m->t->b, "content");
    if (!put_content(m->t, members_get(item, "output")))
        return false;
    buf_put_char(m->t->b, '}');
    return true;
}

static bool put_said(struct messages *m, const struct members *item)
{
    static const char *const roles[] = {"user", "system", "developer"};
    const struct json_span *role = members_get(item, "role"),
                           *content = members_get(item, "content");
    if (is_type(role, "assistant"))
        return add_said(m, content);
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (!is_type(role, roles[i]))
            continue;
        flush(m);
        begin(m, i == 2 ? "system" : roles[i]); /* many templates of models know no other */
        buf_put_key(m->t->b, "content");
        if (!put_content(m->t, content))
            return false;
        buf_put_char(m->t->b, '}');
        return true;
    }
    return translate_fail(m->t, ".role", "user, assistant, system or developer");
}

static bool put_item(struct messages *m, const struct json_span *item)
{
    struct members members;
    if (!members_read(&members, item->raw))
        return translate_fail(m->t, "", "an object");
    const struct json_span *type = members_get(&members, "type");
    if (type == NULL || is_type(type, "message"))
        return put_said(m, &members);
    if (is_type(type, "function_call"))
        return add_call(m, &members);
    if (is_type(type, "custom_tool_call"))
        return add_custom_call(m, &members);
    if (is_type(type, "function_call_output") || is_type(type, "custom_tool_call_output"))
        return put_output(m, &members);
    if (!is_type(type, "reasoning"))
        return translate_fail_type(m->t, ".type", type,
                                   "message, function_call, function_call_output, "
                                   "custom_tool_call, custom_tool_call_output or reasoning");
    add_thought(m, &members);
    return true;
}

static bool put_list(struct messages *m, struct str list, size_t *ret_n)
{
    struct json_span item;
    for (*ret_n = 0; json_next_item(&list, &item); ++*ret_n) {
        translate_at_item(m->t, "input", *ret_n);
        if (!put_item(m, &item))
            return false;
    }
    return true;
}

static bool put_before(struct messages *m, const struct translate_before *before)
{
    size_t n;
    if (before->messages.n > 0) {
        buf_put(m->t->b, m->n++ == 0 ? STR("") : STR(","));
        buf_put(m->t->b, before->messages);
    }
    return put_list(m, before->items, &n);
}

static bool put_items(struct messages *m, const struct json_span *input)
{
    size_t n;
    if (input->kind == JSON_SPAN_TEXT) {
        flush(m);
        begin(m, "user");
        buf_put_key(m->t->b, "content");
        members_put_span(m->t->b, input);
        buf_put_char(m->t->b, '}');
        return true;
    }
    if (!put_list(m, json_list_inside(input), &n))
        return false;
    flush(m);
    translate_at(m->t, "input");
    return n > 0 || translate_fail(m->t, "", "a text, or a list that is not empty");
}

bool translate_input(struct translation *t, const struct json_span *instructions,
                     const struct translate_before *before, const struct json_span *input)
{
    struct messages m = {.t = t};
    bool is_good;
    buf_lit(t->b, ",\"messages\":[");
    translate_at(t, "instructions");
    if (instructions != NULL && instructions->kind == JSON_SPAN_NULL)
        instructions = NULL;
    if (instructions != NULL && instructions->kind != JSON_SPAN_TEXT)
        return translate_fail(t, "", "a text");
    if (instructions != NULL) {
        begin(&m, "system");
        buf_put_key(t->b, "content");
        members_put_span(t->b, instructions);
        buf_put_char(t->b, '}');
    }
    is_good = before == NULL || put_before(&m, before);
    if (is_good)
        translate_at(t, "input");
    is_good =
        is_good && (input != NULL ? put_items(&m, input)
                                  : translate_fail(t, "", "a text, or a list that is not empty"));
    buf_put_char(t->b, ']');
    buf_fini(&m.reasoning.b);
    buf_fini(&m.content.b);
    buf_fini(&m.refusal.b);
    buf_fini(&m.calls.b);
    return is_good;
}
