/* SPDX-License-Identifier: MIT
 * merged.c - see merged.h. Texts are joined as they are escaped: the insides of two JSON strings,
 * one after the other, are the inside of a JSON string. */
#include "services/openai/merged.h"

#include "shared/base/mem.h"

enum { TEXT_MAX_BYTES = 8 << 20, WORD_MAX_BYTES = 1024, CALLS_MAX = 1024 };

struct tool_call {
    uint64_t index;
    bool is_custom;
    struct buf id, name, arguments;
};

/* A text that may be absent. */
struct text {
    struct buf b;
    bool is_there;
};

struct merged_choice {
    uint64_t index;
    struct text content, refusal, reasoning;
    struct text function_name, function_arguments; /* the older form of a tool call */
    struct tool_call *calls;
    size_t call_n;
    struct buf annotations; /* a list; the last one that came */
    struct text logprobs[5];
    struct buf finish;
};

/* Lists of logprobs, which are joined: of chat, and of completions. */
static const char *const chat_lists[] = {"content", "refusal", NULL};
static const char *const completion_lists[] = {"tokens", "token_logprobs", "top_logprobs",
                                               "text_offset", NULL};

static const char *const *lists_of(const struct merged *m)
{
    return m->api == OPENAI_CHAT ? chat_lists : completion_lists;
}

/* --- life ------------------------------------------------------------------------------------- */

void merged_init(struct merged *m, enum openai_api api, struct usage *usage)
{
    *m = (struct merged){.api = api, .usage = usage};
    buf_init(&m->data, TEXT_MAX_BYTES);
}

static void free_choice(struct merged_choice *choice)
{
    struct text *texts[] = {&choice->content, &choice->refusal, &choice->reasoning,
                            &choice->function_name, &choice->function_arguments};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        buf_fini(&texts[i]->b);
    for (size_t i = 0; i < sizeof choice->logprobs / sizeof *choice->logprobs; i++)
        buf_fini(&choice->logprobs[i].b);
    for (size_t i = 0; i < choice->call_n; i++) {
        buf_fini(&choice->calls[i].id);
        buf_fini(&choice->calls[i].name);
        buf_fini(&choice->calls[i].arguments);
    }
    buf_fini(&choice->annotations);
    buf_fini(&choice->finish);
    free(choice->calls);
}

void merged_clear(struct merged *m)
{
    for (size_t i = 0; i < m->choice_n; i++)
        free_choice(&m->choices[i]);
    free(m->choices);
    m->choices = NULL;
    m->choice_n = 0;
    buf_clear(&m->data);
}

void merged_fini(struct merged *m)
{
    merged_clear(m);
    buf_fini(&m->data);
}

size_t merged_bytes(const struct merged *m)
{
    size_t bytes = m->data.n;
    for (size_t i = 0; i < m->choice_n; i++) {
        const struct merged_choice *choice = &m->choices[i];
        bytes += choice->content.b.n + choice->reasoning.b.n;
        for (size_t k = 0; k < choice->call_n; k++)
            bytes += choice->calls[k].arguments.n;
        for (size_t k = 0; k < sizeof choice->logprobs / sizeof *choice->logprobs; k++)
            bytes += choice->logprobs[k].b.n;
    }
    return bytes;
}

/* --- adding ----------------------------------------------------------------------------------- */

static void append(struct text *text, const struct json_span *span)
{
    if (span == NULL || span->kind != JSON_SPAN_TEXT)
        return;
    text->b.max = TEXT_MAX_BYTES;
    text->is_there = true;
    buf_put(&text->b, span->raw);
}

/* The first one that is not empty counts. */
static void set_word(struct buf *word, const struct json_span *span)
{
    if (span == NULL || span->kind != JSON_SPAN_TEXT || word->n > 0)
        return;
    word->max = WORD_MAX_BYTES;
    buf_put(word, span->raw);
}

static void append_list(struct text *list, const struct json_span *span)
{
    struct str inside;
    if (span == NULL || span->kind != JSON_SPAN_LIST)
        return;
    list->b.max = TEXT_MAX_BYTES;
    list->is_there = true;
    inside = str_trim(json_list_inside(span));
    if (inside.n > 0 && list->b.n > 0)
        buf_put_char(&list->b, ',');
    buf_put(&list->b, inside);
}

static struct tool_call *call_at(struct merged_choice *choice, uint64_t index)
{
    for (size_t i = 0; i < choice->call_n; i++)
        if (choice->calls[i].index == index)
            return &choice->calls[i];
    if (choice->call_n == CALLS_MAX)
        return NULL;
    choice->calls = mem_grow(choice->calls, choice->call_n, sizeof *choice->calls);
    struct tool_call *call = &choice->calls[choice->call_n++];
    *call = (struct tool_call){.index = index, .arguments = {.max = TEXT_MAX_BYTES}};
    return call;
}

static void add_call(struct merged_choice *choice, struct str json, size_t *text_bytes)
{
    struct members members, inner;
    if (!members_read(&members, json))
        return;
    struct tool_call *call = call_at(choice, members_u64(&members, "index", 0));
    if (call == NULL)
        return;
    set_word(&call->id, members_get(&members, "id"));
    const struct json_span *function = members_get_kind(&members, "function", JSON_SPAN_OBJECT),
                           *custom = members_get_kind(&members, "custom", JSON_SPAN_OBJECT);
    call->is_custom |= custom != NULL;
    const struct json_span *body = custom != NULL ? custom : function;
    if (body == NULL || !members_read(&inner, body->raw))
        return;
    set_word(&call->name, members_get(&inner, "name"));
    const struct json_span *text =
        members_get_kind(&inner, custom != NULL ? "input" : "arguments", JSON_SPAN_TEXT);
    if (text != NULL) {
        buf_put(&call->arguments, text->raw);
        *text_bytes += text->raw.n;
    }
}

static void add_message(struct merged_choice *choice, const struct members *delta, size_t *bytes)
{
    struct members function;
    struct json_span item;
    size_t before = choice->content.b.n + choice->reasoning.b.n;
    append(&choice->content, members_get(delta, "content"));
    append(&choice->refusal, members_get(delta, "refusal"));
    const struct json_span *reasoning = members_get(delta, "reasoning_content");
    append(&choice->reasoning, reasoning != NULL ? reasoning : members_get(delta, "reasoning"));
    *bytes += choice->content.b.n + choice->reasoning.b.n - before;
    const struct json_span *calls = members_get_kind(delta, "tool_calls", JSON_SPAN_LIST),
                           *notes = members_get_kind(delta, "annotations", JSON_SPAN_LIST),
                           *call = members_get_kind(delta, "function_call", JSON_SPAN_OBJECT);
    if (calls != NULL)
        for (struct str rest = json_list_inside(calls); json_next_item(&rest, &item);)
            add_call(choice, item.raw, bytes);
    if (notes != NULL) {
        choice->annotations.max = TEXT_MAX_BYTES;
        buf_clear(&choice->annotations);
        buf_put(&choice->annotations, notes->raw);
    }
    if (call != NULL && members_read(&function, call->raw)) {
        append(&choice->function_name, members_get(&function, "name"));
        append(&choice->function_arguments, members_get(&function, "arguments"));
    }
}

static struct merged_choice *choice_at(struct merged *m, uint64_t index)
{
    for (size_t i = 0; i < m->choice_n; i++)
        if (m->choices[i].index == index)
            return &m->choices[i];
    if (m->choice_n == OPENAI_CHOICES_MAX)
        return NULL;
    m->choices = mem_grow(m->choices, m->choice_n, sizeof *m->choices);
    struct merged_choice *choice = &m->choices[m->choice_n++];
    *choice = (struct merged_choice){.index = index};
    return choice;
}

static void add_choice(struct merged *m, struct str json)
{
    struct members members, inner;
    if (!members_read(&members, json))
        return;
    struct merged_choice *choice = choice_at(m, members_u64(&members, "index", 0));
    if (choice == NULL)
        return;
    const struct json_span *delta = members_get_kind(&members, "delta", JSON_SPAN_OBJECT),
                           *logprobs = members_get_kind(&members, "logprobs", JSON_SPAN_OBJECT);
    size_t before = choice->content.b.n;
    append(&choice->content, members_get(&members, "text"));
    m->usage->text_bytes += choice->content.b.n - before;
    if (delta != NULL && members_read(&inner, delta->raw))
        add_message(choice, &inner, &m->usage->text_bytes);
    if (logprobs != NULL && members_read(&inner, logprobs->raw))
        for (size_t i = 0; lists_of(m)[i] != NULL; i++)
            append_list(&choice->logprobs[i], members_get(&inner, lists_of(m)[i]));
    set_word(&choice->finish, members_get(&members, "finish_reason"));
}

void merged_add(struct merged *m, struct str delta)
{
    struct members members;
    struct json_span item;
    if (!members_read(&members, delta))
        return;
    usage_say(m->usage, members_get(&members, "usage"));
    const struct json_span *choices = members_get_kind(&members, "choices", JSON_SPAN_LIST),
                           *data = members_get_kind(&members, "data", JSON_SPAN_LIST);
    if (choices != NULL)
        for (struct str rest = json_list_inside(choices); json_next_item(&rest, &item);)
            add_choice(m, item.raw);
    struct str items = data == NULL ? STR("") : str_trim(json_list_inside(data));
    if (items.n > 0 && m->data.n > 0)
        buf_put_char(&m->data, ',');
    buf_put(&m->data, items);
}

/* --- putting ---------------------------------------------------------------------------------- */

static void put_quoted(struct buf *b, struct str inside)
{
    buf_put_char(b, '"');
    buf_put(b, inside);
    buf_put_char(b, '"');
}

static void put_text(struct buf *b, const char *name, const struct text *text)
{
    buf_put_key(b, name);
    if (text->is_there)
        put_quoted(b, buf_str(&text->b));
    else
        buf_lit(b, "null");
}

static void put_calls(struct buf *b, const struct merged_choice *choice)
{
    buf_lit(b, ",\"tool_calls\":[");
    for (size_t i = 0; i < choice->call_n; i++) {
        const struct tool_call *call = &choice->calls[i];
        struct str kind = call->is_custom ? STR("custom") : STR("function");
        buf_put(b, i == 0 ? STR("{\"id\":") : STR(",{\"id\":"));
        put_quoted(b, buf_str(&call->id));
        buf_printf(b, ",\"type\":\"%.*s\",\"%.*s\":{\"name\":", STR_ARG(kind), STR_ARG(kind));
        put_quoted(b, buf_str(&call->name));
        buf_put_key(b, call->is_custom ? "input" : "arguments");
        bool is_empty = call->arguments.n == 0 && !call->is_custom;
        put_quoted(b, is_empty ? STR("{}") : buf_str(&call->arguments));
        buf_lit(b, "}}");
    }
    buf_put_char(b, ']');
}

static void put_message(struct buf *b, const struct merged_choice *choice)
{
    buf_lit(b, ",\"message\":{\"role\":\"assistant\"");
    if (choice->content.is_there || choice->call_n > 0 || choice->refusal.is_there ||
        choice->function_name.is_there)
        put_text(b, "content", &choice->content);
    else
        buf_lit(b, ",\"content\":\"\"");
    put_text(b, "refusal", &choice->refusal);
    if (choice->reasoning.is_there) {
        put_text(b, "reasoning", &choice->reasoning);
        put_text(b, "reasoning_content", &choice->reasoning);
    }
    if (choice->call_n > 0)
        put_calls(b, choice);
    if (choice->function_name.is_there) {
        buf_lit(b, ",\"function_call\":{\"name\":");
        put_quoted(b, buf_str(&choice->function_name.b));
        buf_lit(b, ",\"arguments\":");
        put_quoted(b, buf_str(&choice->function_arguments.b));
        buf_put_char(b, '}');
    }
    if (choice->annotations.n > 0) {
        buf_put_key(b, "annotations");
        buf_put(b, buf_str(&choice->annotations));
    }
    buf_put_char(b, '}');
}

static void put_logprobs(const struct merged *m, struct buf *b, const struct merged_choice *choice)
{
    bool is_there = false;
    buf_put_key(b, "logprobs");
    for (size_t i = 0; lists_of(m)[i] != NULL; i++)
        is_there |= choice->logprobs[i].is_there;
    if (!is_there) {
        buf_lit(b, "null");
        return;
    }
    for (size_t i = 0; lists_of(m)[i] != NULL; i++) {
        buf_put_char(b, i == 0 ? '{' : ',');
        put_quoted(b, str_of(lists_of(m)[i]));
        if (choice->logprobs[i].is_there) {
            buf_lit(b, ":[");
            buf_put(b, buf_str(&choice->logprobs[i].b));
            buf_put_char(b, ']');
        } else {
            buf_put(b, m->api == OPENAI_CHAT ? STR(":null") : STR(":[]"));
        }
    }
    buf_put_char(b, '}');
}

/* The choices in the order of their indexes. */
static int compare(const void *a, const void *b)
{
    const struct merged_choice *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void put_choice(const struct merged *m, struct buf *b, const struct merged_choice *choice,
                       struct str finish)
{
    buf_printf(b, "{\"index\":%llu", (unsigned long long)choice->index);
    if (m->api == OPENAI_CHAT)
        put_message(b, choice);
    else {
        buf_put_key(b, "text");
        put_quoted(b, buf_str(&choice->content.b));
    }
    put_logprobs(m, b, choice);
    buf_put_key(b, "finish_reason");
    if (choice->finish.n > 0)
        put_quoted(b, buf_str(&choice->finish));
    else
        put_quoted(b, choice->call_n > 0 ? STR("tool_calls") : finish);
    buf_put_char(b, '}');
}

void merged_put(const struct merged *m, struct buf *b, struct str finish_reason)
{
    struct str finish = finish_reason.n > 0 ? finish_reason : STR("stop");
    buf_lit(b, ",\"choices\":[");
    if (m->choice_n > 1)
        qsort(m->choices, m->choice_n, sizeof *m->choices, compare);
    for (size_t i = 0; i < m->choice_n; i++) {
        if (i > 0)
            buf_put_char(b, ',');
        put_choice(m, b, &m->choices[i], finish);
    }
    buf_put_char(b, ']');
}
