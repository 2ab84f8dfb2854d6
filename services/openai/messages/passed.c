/* SPDX-License-Identifier: MIT
 * passed.c - see passed.h. Texts are joined as they are escaped: the insides of two JSON strings,
 * one after the other, are the inside of a JSON string. */
#include "services/openai/messages/passed.h"

#include "services/openai/messages/whole.h"

#include "shared/base/mem.h"

enum { BLOCKS_MAX = 4096, TEXT_MAX_BYTES = 9 << 20, USAGE_MAX_BYTES = 20 << 10 };

/* A block of a message in one piece: its start, and what its deltas add. */
struct passed_block {
    struct buf head;      /* `content_block`, an object */
    struct buf text;      /* of a text or thinking, after that of the head */
    struct buf input;     /* JSON, as a text */
    struct buf signature; /* takes the place of that of the head */
    struct buf citations; /* follow those of the head; a comma between them */
    bool has_input, has_signature;
};

void passed_init(struct passed *p, bool is_whole)
{
    *p = (struct passed){.is_whole = is_whole};
    buf_init(&p->start, TEXT_MAX_BYTES);
    buf_init(&p->end, TEXT_MAX_BYTES);
}

void passed_clear(struct passed *p)
{
    for (size_t i = 0; p->is_whole && i < p->block_n; i++) {
        struct passed_block *block = &p->blocks[i];
        buf_fini(&block->head);
        buf_fini(&block->text);
        buf_fini(&block->input);
        buf_fini(&block->signature);
        buf_fini(&block->citations);
    }
    free(p->blocks);
    p->blocks = NULL;
    p->block_n = 0;
    p->is_used = p->is_open = false;
    p->text_bytes = 0;
    buf_clear(&p->start);
    buf_clear(&p->end);
}

void passed_fini(struct passed *p)
{
    passed_clear(p);
    buf_fini(&p->start);
    buf_fini(&p->end);
}

/* --- events ----------------------------------------------------------------------------------- */

bool passed_is_event(struct str delta, struct members *ret_event)
{
    return !str_has_prefix(delta, STR("{\"choices\"")) && members_read(ret_event, delta) &&
           members_get(ret_event, "choices") == NULL &&
           members_get_kind(ret_event, "type", JSON_SPAN_TEXT) != NULL;
}

static void begin_block(struct passed *p, struct str head)
{
    if (!p->is_whole)
        return;
    p->blocks = mem_grow(p->blocks, p->block_n, sizeof *p->blocks);
    struct passed_block *block = &p->blocks[p->block_n];
    *block = (struct passed_block){.has_input = false};
    struct buf *all[] = {&block->head, &block->text, &block->input, &block->signature,
                         &block->citations};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_init(all[i], TEXT_MAX_BYTES);
    buf_put(&block->head, head);
}

/* Adds the part of a delta of that type, if it is one. */
static void join(struct passed *p, uint64_t index, const struct members *delta)
{
    static const char *const texts[] = {"text", "thinking", "partial_json"};
    struct passed_block *block = p->is_whole ? &p->blocks[index] : NULL;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct json_span *text = members_get_kind(delta, texts[i], JSON_SPAN_TEXT);
        if (text == NULL)
            continue;
        p->text_bytes += text->raw.n;
        if (block == NULL)
            continue;
        bool is_input = i == 2;
        block->has_input |= is_input;
        buf_put(is_input ? &block->input : &block->text, text->raw);
    }
    const struct json_span *signature = members_get_kind(delta, "signature", JSON_SPAN_TEXT),
                           *citation = members_get_kind(delta, "citation", JSON_SPAN_OBJECT);
    if (block != NULL && signature != NULL) {
        block->has_signature = true;
        buf_clear(&block->signature);
        buf_put(&block->signature, signature->raw);
    }
    if (block != NULL && citation != NULL) {
        buf_put(&block->citations, block->citations.n > 0 ? STR(",") : STR(""));
        buf_put(&block->citations, citation->raw);
    }
}

/* Blocks are numbered from 0 in the order in which they begin. */
static enum passed_part take_block(struct passed *p, const struct members *event,
                                   const char *member, bool is_start)
{
    struct members inside;
    uint64_t index = members_u64(event, "index", UINT64_MAX);
    const struct json_span *part = members_get_kind(event, member, JSON_SPAN_OBJECT);
    if (part == NULL || !members_read(&inside, part->raw) ||
        members_get_kind(&inside, "type", JSON_SPAN_TEXT) == NULL)
        return PASSED_WRONG;
    if (is_start ? index != p->block_n || index == BLOCKS_MAX : index >= p->block_n)
        return PASSED_WRONG;
    if (!is_start) {
        join(p, index, &inside);
        return PASSED_SHOWN;
    }
    begin_block(p, part->raw);
    p->block_n++;
    p->is_open = true;
    return PASSED_SHOWN;
}

static void keep(struct buf *b, struct str json)
{
    buf_clear(b);
    buf_put(b, json);
}

enum passed_part passed_take(struct passed *p, struct str json, const struct members *event,
                             const char **ret_name)
{
    struct str type = members_get_kind(event, "type", JSON_SPAN_TEXT)->raw;
    uint64_t index = members_u64(event, "index", UINT64_MAX);
    p->is_used = true;
    if (str_eq(type, STR("message_start"))) {
        const struct json_span *message = members_get_kind(event, "message", JSON_SPAN_OBJECT);
        keep(&p->start, message == NULL ? STR("") : message->raw);
        return PASSED_NOTHING;
    }
    if (str_eq(type, STR("message_delta"))) {
        keep(&p->end, json);
        return PASSED_NOTHING;
    }
    *ret_name = "content_block_start";
    if (str_eq(type, str_of(*ret_name)))
        return take_block(p, event, "content_block", true);
    *ret_name = "content_block_delta";
    if (str_eq(type, str_of(*ret_name)))
        return take_block(p, event, "delta", false);
    *ret_name = "content_block_stop";
    if (!str_eq(type, str_of(*ret_name)))
        return PASSED_NOTHING;
    if (index >= p->block_n)
        return PASSED_WRONG;
    p->is_open &= index + 1 != p->block_n;
    return PASSED_SHOWN;
}

/* --- the message around them ------------------------------------------------------------------ */

/* Puts a member after a comma, unless it is the first of its object. */
static void put_member(struct buf *b, size_t start, const struct json_member *member)
{
    if (b->n > start)
        buf_put_char(b, ',');
    buf_put_char(b, '"');
    buf_put(b, member->name.raw);
    buf_lit(b, "\":");
    members_put_span(b, &member->value);
}

static bool is_named(const struct json_member *member, const char *name)
{
    return str_eq(member->name.raw, str_of(name));
}

/* The member of that name, perhaps null; NULL if there is none. */
static const struct json_span *find(const struct members *members, struct str name)
{
    for (size_t i = 0; i < members->n; i++)
        if (str_eq(members->at[i].name.raw, name))
            return &members->at[i].value;
    return NULL;
}

static bool says(const struct members *members, struct str name)
{
    const struct json_span *value = find(members, name);
    return value != NULL && value->kind != JSON_SPAN_NULL;
}

static void read_inside(struct members *ret, const struct buf *object, const char *name)
{
    struct members members;
    *ret = (struct members){.n = 0};
    const struct json_span *inside = members_read(&members, buf_str(object))
                                         ? members_get_kind(&members, name, JSON_SPAN_OBJECT)
                                         : NULL;
    if (inside != NULL)
        (void)members_read(ret, inside->raw);
}

static bool is_count(const struct json_member *member)
{
    return is_named(member, "input_tokens") || is_named(member, "output_tokens");
}

/* Puts the usage: the end of the message overrides its start. */
static void put_usage(const struct passed *p, struct buf *b, const struct usage *usage)
{
    struct members first, last, counted;
    struct buf text;
    buf_init(&text, USAGE_MAX_BYTES);
    read_inside(&first, &p->start, "usage");
    read_inside(&last, &p->end, "usage");
    usage_put(usage, &text, true);
    (void)members_read(&counted, buf_str(&text));
    uint64_t input = members_u64(&first, "input_tokens", members_u64(&counted, "prompt_tokens", 0)),
             output = members_u64(&first, "output_tokens",
                                  members_u64(&counted, "completion_tokens", 0));
    buf_printf(b, "{\"input_tokens\":%llu,\"output_tokens\":%llu",
               (unsigned long long)members_u64(&last, "input_tokens", input),
               (unsigned long long)members_u64(&last, "output_tokens", output));
    for (size_t i = 0; i < first.n; i++)
        if (!is_count(&first.at[i]) && !says(&last, first.at[i].name.raw))
            put_member(b, 0, &first.at[i]);
    for (size_t i = 0; i < last.n; i++)
        if (!is_count(&last.at[i]) && last.at[i].value.kind != JSON_SPAN_NULL)
            put_member(b, 0, &last.at[i]);
    buf_put_char(b, '}');
    buf_fini(&text);
}

/* Puts the members of the start that are not the node's, `except` those that the end has too. */
static void put_others(const struct passed *p, struct buf *b, const struct members *except)
{
    static const char *const own[] = {"id",      "type",        "role",          "model",
                                      "content", "stop_reason", "stop_sequence", "usage"};
    struct members start;
    (void)members_read(&start, buf_str(&p->start));
    for (size_t i = 0; i < start.n; i++) {
        bool is_own = find(except, start.at[i].name.raw) != NULL;
        for (size_t k = 0; k < sizeof own / sizeof *own; k++)
            is_own |= is_named(&start.at[i], own[k]);
        if (!is_own)
            put_member(b, 0, &start.at[i]);
    }
}

void passed_put_start(const struct passed *p, struct buf *b, struct str id, struct str model,
                      const struct usage *usage)
{
    const struct members none = {.n = 0};
    buf_lit(b, "{\"type\":\"message_start\",\"message\":");
    message_put_head(b, id, model);
    buf_lit(b, ",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":");
    put_usage(p, b, usage);
    put_others(p, b, &none);
    buf_lit(b, "}}");
}

/* Puts why the model stopped, and what else the end says of the message. */
static void put_stop(const struct members *delta, struct buf *b, struct str finish)
{
    const struct json_span *reason = members_get_kind(delta, "stop_reason", JSON_SPAN_TEXT),
                           *sequence = members_get_kind(delta, "stop_sequence", JSON_SPAN_TEXT);
    buf_printf(b, "\"stop_reason\":\"%.*s\",\"stop_sequence\":",
               STR_ARG(reason != NULL ? reason->raw : str_of(message_stop_reason(finish, false))));
    if (sequence != NULL)
        members_put_span(b, sequence);
    else
        buf_lit(b, "null");
    for (size_t i = 0; i < delta->n; i++)
        if (!is_named(&delta->at[i], "stop_reason") && !is_named(&delta->at[i], "stop_sequence"))
            put_member(b, 0, &delta->at[i]);
}

void passed_put_end(const struct passed *p, struct buf *b, struct str finish,
                    const struct usage *usage)
{
    struct members end, delta;
    (void)members_read(&end, buf_str(&p->end));
    read_inside(&delta, &p->end, "delta");
    buf_lit(b, "{\"type\":\"message_delta\",\"delta\":{");
    put_stop(&delta, b, finish);
    buf_lit(b, "},\"usage\":");
    put_usage(p, b, usage);
    for (size_t i = 0; i < end.n; i++)
        if (!is_named(&end.at[i], "type") && !is_named(&end.at[i], "delta") &&
            !is_named(&end.at[i], "usage"))
            put_member(b, 0, &end.at[i]);
    buf_put_char(b, '}');
}

/* --- in one piece ----------------------------------------------------------------------------- */

/* A member of the block's start, with what its deltas added. Returns false if they replace it. */
static bool put_grown(struct buf *b, size_t start, const struct passed_block *block,
                      const struct json_member *member)
{
    struct json_member grown = *member;
    struct buf value;
    bool is_text = is_named(member, "text") || is_named(member, "thinking"),
         is_list = is_named(member, "citations") && block->citations.n > 0;
    if ((is_named(member, "signature") && block->has_signature) ||
        (is_named(member, "input") && block->has_input) ||
        (is_list && member->value.kind != JSON_SPAN_LIST))
        return false;
    buf_init(&value, TEXT_MAX_BYTES);
    if (is_text && member->value.kind == JSON_SPAN_TEXT) {
        buf_put(&value, member->value.raw);
        buf_put(&value, buf_str(&block->text));
        grown.value.raw = buf_str(&value);
    } else if (is_list) {
        struct str inside = str_trim(json_list_inside(&member->value));
        buf_put_char(&value, '[');
        buf_put(&value, inside);
        buf_put(&value, inside.n > 0 ? STR(",") : STR(""));
        buf_put(&value, buf_str(&block->citations));
        buf_put_char(&value, ']');
        grown.value.raw = buf_str(&value);
    }
    put_member(b, start, &grown);
    buf_fini(&value);
    return true;
}

static void put_block(struct buf *b, const struct passed_block *block)
{
    struct members head;
    bool has_citations = block->citations.n == 0;
    const struct json_span input = {
        .kind = JSON_SPAN_TEXT, .has_escape = true, .raw = buf_str(&block->input)};
    (void)members_read(&head, buf_str(&block->head));
    buf_put_char(b, '{');
    size_t start = b->n;
    for (size_t i = 0; i < head.n; i++)
        has_citations |=
            put_grown(b, start, block, &head.at[i]) && is_named(&head.at[i], "citations");
    if (block->has_signature) {
        buf_put_key(b, "signature");
        buf_put_char(b, '"');
        buf_put(b, buf_str(&block->signature));
        buf_put_char(b, '"');
    }
    if (block->has_input) {
        buf_put_key(b, "input");
        message_put_input(b, input.raw.n > 0 ? &input : NULL);
    }
    if (!has_citations) {
        buf_lit(b, ",\"citations\":[");
        buf_put(b, buf_str(&block->citations));
        buf_put_char(b, ']');
    }
    buf_put_char(b, '}');
}

void passed_put_whole(const struct passed *p, struct buf *b, struct str id, struct str model,
                      struct str finish, const struct usage *usage)
{
    struct members delta;
    read_inside(&delta, &p->end, "delta");
    message_put_head(b, id, model);
    buf_lit(b, ",\"content\":[");
    for (size_t i = 0; i < p->block_n; i++) {
        if (i > 0)
            buf_put_char(b, ',');
        put_block(b, &p->blocks[i]);
    }
    buf_lit(b, "],");
    put_stop(&delta, b, finish);
    buf_lit(b, ",\"usage\":");
    put_usage(p, b, usage);
    put_others(p, b, &delta);
    buf_put_char(b, '}');
}
