/* SPDX-License-Identifier: MIT
 * prompt.c - see prompt.h. */
#include "services/engine/models/prompt.h"

#include <stdio.h>
#include <stdlib.h>

enum { CONTENT_MAX_BYTES = 1 << 20 };

void prompt_add_source(struct prompt *prompt, struct str title, struct str text)
{
    if (prompt->source_n == PROMPT_SOURCES_MAX)
        return;
    prompt->sources[prompt->source_n++] = (struct source){.title = str_copy(str_trim(title)),
                                                          .text = str_copy(str_trim(text)),
                                                          .question = str_copy(STR("")),
                                                          .fragment = str_copy(STR(""))};
}

void prompt_add_note(struct prompt *prompt, const struct prompt_note *note)
{
    if (prompt->source_n == PROMPT_SOURCES_MAX)
        return;
    prompt->sources[prompt->source_n++] = (struct source){.title = str_copy(note->title),
                                                          .text = str_copy(note->text),
                                                          .is_note = true,
                                                          .question = str_copy(note->question),
                                                          .fragment = str_copy(note->fragment),
                                                          .complaint = note->complaint,
                                                          .is_correction = note->is_correction};
}

/* The text of a message's `content`: a string, or the text parts of an array. */
static void put_content(struct buf *b, const json_t *content)
{
    size_t i;
    json_t *part;
    if (json_is_string(content))
        buf_put(b, json_str(content));
    if (!json_is_array(content))
        return;
    json_array_foreach(content, i, part)
    {
        struct str text = json_is_string(part) ? json_str(part) : json_member_str(part, "text");
        if (text.n > 0 && b->n > 0)
            buf_put_char(b, '\n');
        buf_put(b, text);
    }
}

static const char *find_line(struct str text, struct str start)
{
    const char *at = text.at, *end = text.at + text.n;
    while (at < end) {
        if (str_has_prefix((struct str){at, (size_t)(end - at)}, start))
            return at;
        at = memchr(at, '\n', (size_t)(end - at));
        if (at == NULL)
            return NULL;
        at++;
    }
    return NULL;
}

struct str prompt_read_sources(struct prompt *prompt, struct str text)
{
    char mark[16];
    struct str rest = text;
    snprintf(mark, sizeof mark, "[%zu] ", prompt->source_n + 1);
    const char *at = find_line(text, str_of(mark));
    while (at != NULL && prompt->source_n < PROMPT_SOURCES_MAX) {
        struct str block = {at + strlen(mark), (size_t)(text.at + text.n - at) - strlen(mark)};
        snprintf(mark, sizeof mark, "[%zu] ", prompt->source_n + 2);
        at = find_line(block, str_of(mark));
        const char *end = at;
        if (end == NULL)
            end = find_line(block, STR("---"));
        if (end == NULL)
            end = find_line(block, STR("Question:"));
        rest = (struct str){block.at + block.n, 0};
        if (end != NULL) {
            rest = (struct str){end, (size_t)(block.at + block.n - end)};
            block.n = (size_t)(end - block.at);
        }
        struct str body = str_trim(block), title = str_cut(&body, '\n');
        if (body.at == NULL)
            prompt_add_source(prompt, STR(""), title);
        else
            prompt_add_source(prompt, title, body);
    }
    return rest;
}

/* The text after the first line that begins with "Question:"; all of it without one. */
static struct str find_question(struct str text)
{
    static const struct str mark = {"Question:", 9};
    const char *at = find_line(text, mark);
    if (at == NULL)
        return text;
    return str_trim((struct str){at + mark.n, (size_t)(text.at + text.n - at) - mark.n});
}

/* Finds what the reader marked: below the line that says so, up to the question. */
static struct str find_marked(struct str text)
{
    static const struct str mark = {"The reader has marked this text:", 32};
    const char *at = find_line(text, mark);
    if (at == NULL)
        return (struct str){NULL, 0};
    struct str rest = {at + mark.n, (size_t)(text.at + text.n - at) - mark.n};
    const char *end = find_line(rest, STR("Question:"));
    return str_trim((struct str){rest.at, end == NULL ? rest.n : (size_t)(end - rest.at)});
}

static bool names(struct str text, const char *member)
{
    return str_holds(text, str_of(member));
}

/* A workflow's prompt names the members of the object that it wants back. */
static bool asks_for_decision(struct str text)
{
    return names(text, "\"decision\"") && names(text, "\"confidence\"");
}

static enum prompt_kind kind_of_system(struct str text)
{
    return names(text, "\"rewritten_query\"")                    ? PROMPT_REWRITE
           : names(text, "\"ranking\"")                          ? PROMPT_RANKING
           : names(text, "\"steps\"")                            ? PROMPT_PLAN
           : names(text, "\"tool\"") && names(text, "\"input\"") ? PROMPT_STEP
                                                                 : PROMPT_ANSWER;
}

static void read_message(struct prompt *prompt, struct str role, struct str text, bool is_kept)
{
    size_t before = prompt->source_n;
    struct str rest = text;
    if (!str_eq(role, STR("assistant")))
        rest = prompt_read_sources(prompt, text);
    bool has_sources = prompt->source_n > before, is_system = str_eq(role, STR("system"));
    if (prompt->kind == PROMPT_ANSWER && is_system && !asks_for_decision(text))
        prompt->kind = kind_of_system(text);
    /* Passages are quotations: whatever they name, they want nothing. */
    if (prompt->kind == PROMPT_ANSWER && !has_sources && asks_for_decision(text))
        prompt->kind = PROMPT_DECISION;
    if (is_kept && is_system && prompt->kind == PROMPT_DECISION)
        prompt->task = text;
    if (!is_kept || !str_eq(role, STR("user")))
        return;
    prompt->marked = find_marked(rest);
    bool is_framed = has_sources || prompt->marked.n > 0 || prompt->kind > PROMPT_DECISION;
    prompt->said = text;
    prompt->question = is_framed ? find_question(rest) : text;
}

static void read_messages(struct prompt *prompt)
{
    size_t i;
    json_t *message;
    struct buf text;
    buf_init(&text, CONTENT_MAX_BYTES);
    json_array_foreach(prompt->messages, i, message)
    {
        const json_t *content = json_object_get(message, "content");
        bool is_text = json_is_string(content);
        buf_clear(&text);
        if (!is_text)
            put_content(&text, content);
        struct str said = is_text ? json_str(content) : buf_str(&text);
        if (said.n > 0)
            read_message(prompt, json_member_str(message, "role"), said, is_text);
    }
    prompt->has_given_sources = prompt->source_n > 0 || prompt->marked.n > 0;
    buf_fini(&text);
}

static void read_door(struct prompt *prompt, const json_t *details)
{
    const json_t *offset = json_object_get(details, "Offset");
    prompt->api = api_of(json_member_str(details, "Api"));
    prompt->request = json_member_str(details, "Request");
    prompt->continued = json_member_str(details, "Continue");
    if (json_is_integer(offset) && json_integer_value(offset) > 0)
        prompt->offset = (uint64_t)json_integer_value(offset);
}

/* Contents in parts become texts, which stay as long as the request. */
static void join_parts(json_t *messages)
{
    size_t i;
    json_t *message;
    json_array_foreach(messages, i, message)
    {
        const json_t *content = json_object_get(message, "content");
        struct buf text;
        if (!json_is_array(content))
            continue;
        buf_init(&text, CONTENT_MAX_BYTES);
        put_content(&text, content);
        if (json_object_set_new(message, "content",
                                json_stringn(text.at == NULL ? "" : text.at, text.n)) != 0)
            abort();
        buf_fini(&text);
    }
}

bool prompt_read_request(struct prompt *prompt)
{
    char reason[160];
    if (!json_parse(prompt->request, reason, sizeof reason, &prompt->read))
        prompt->read = NULL;
    prompt->messages = json_object_get(prompt->read, "messages");
    prompt->history = NULL;
    if (json_array_size(prompt->messages) == 0)
        return false;
    join_parts(json_object_get(prompt->read, "messages"));
    read_messages(prompt);
    return true;
}

void prompt_init(struct prompt *prompt, const struct claim *claim, const struct claim_query *query)
{
    *prompt = (struct prompt){.question = query->text,
                              .said = query->text,
                              .history = claim->history,
                              .modifiers = json_object_get(query->details, "Modifiers"),
                              .model = json_member_str(query->details, "Model"),
                              .traceparent = json_member_str(query->details, "Traceparent"),
                              .request_id = query->request_id};
    if (str_eq(prompt->model, STR("default")))
        prompt->model = (struct str){NULL, 0};
    read_door(prompt, query->details);
    if (prompt->api != API_NONE)
        return;
    const json_t *messages = json_object_get(prompt->modifiers, "Messages");
    if (json_array_size(messages) == 0) {
        if (asks_for_decision(query->text))
            prompt->kind = PROMPT_DECISION;
        return;
    }
    prompt->messages = messages;
    prompt->history = NULL;
    read_messages(prompt);
}

void prompt_fini(struct prompt *prompt)
{
    for (size_t i = 0; i < prompt->source_n; i++) {
        free(prompt->sources[i].title);
        free(prompt->sources[i].text);
        free(prompt->sources[i].question);
        free(prompt->sources[i].fragment);
    }
    json_decref(prompt->read);
    *prompt = (struct prompt){0};
}

bool prompt_wants_sources(const struct prompt *prompt)
{
    return prompt->kind == PROMPT_ANSWER && !prompt->has_given_sources;
}
