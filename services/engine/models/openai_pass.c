/* SPDX-License-Identifier: MIT
 * openai_pass.c - see openai_pass.h. Nodes take no request that json_scan refuses. */
#include "services/engine/models/openai_pass.h"

#include "shared/base/json_scan.h"

enum { MEMBERS_MAX = 256, DATA_PIECE_BYTES = 64 << 10 };

struct members {
    struct json_member at[MEMBERS_MAX];
    size_t n;
};

static bool read_members(struct str text, struct members *members)
{
    const char *reason;
    size_t at;
    bool is_object;
    return json_scan_object(text, members->at, MEMBERS_MAX, &members->n, &reason, &at,
                            &is_object) &&
           members->n <= MEMBERS_MAX;
}

static bool is_named(const struct json_member *member, const char *name)
{
    return !member->name.has_escape && str_eq(member->name.raw, str_of(name));
}

/* The last one of that name; NULL if it is absent or null. */
static const struct json_span *find(const struct members *members, const char *name)
{
    const struct json_span *found = NULL;
    for (size_t i = 0; i < members->n; i++)
        if (is_named(&members->at[i], name))
            found = &members->at[i].value;
    return found == NULL || found->kind == JSON_SPAN_NULL ? NULL : found;
}

static void put_raw(struct buf *b, const struct json_span *value)
{
    bool is_text = value->kind == JSON_SPAN_TEXT;
    buf_put(b, is_text ? STR("\"") : STR(""));
    buf_put(b, value->raw);
    buf_put(b, is_text ? STR("\"") : STR(""));
}

static void put_key(struct buf *b, const struct json_member *member)
{
    buf_put(b, b->n > 1 ? STR(",\"") : STR("\""));
    buf_put(b, member->name.raw);
    buf_lit(b, "\":");
}

/* ---- requests ---- */

/* The client's options, without those that are for the door. */
static void put_stream_options(struct buf *b, const struct json_span *given)
{
    struct members options = {.n = 0};
    buf_lit(b, ",\"stream_options\":{\"include_usage\":true");
    if (given != NULL && given->kind == JSON_SPAN_OBJECT && read_members(given->raw, &options))
        for (size_t i = 0; i < options.n; i++) {
            if (is_named(&options.at[i], "include_usage") ||
                is_named(&options.at[i], "include_queue"))
                continue;
            put_key(b, &options.at[i]);
            put_raw(b, &options.at[i].value);
        }
    buf_put_char(b, '}');
}

/* The messages with the text so far as an unfinished turn. */
static bool put_continued_messages(struct buf *b, const struct json_span *messages,
                                   struct str so_far)
{
    if (messages->kind != JSON_SPAN_LIST)
        return false;
    struct str inside = str_trim(json_list_inside(messages));
    buf_put_char(b, '[');
    buf_put(b, inside);
    buf_put(b, inside.n > 0 ? STR(",") : STR(""));
    buf_lit(b, "{\"role\":\"assistant\",\"content\":");
    buf_put_json(b, so_far);
    /* vLLM and SGLang close the turn unless they are asked not to; others leave it open. */
    buf_lit(b, "}],\"add_generation_prompt\":false,\"continue_final_message\":true");
    return true;
}

static bool put_continued_prompt(struct buf *b, const struct json_span *given, struct str so_far)
{
    struct buf text;
    if (given->kind != JSON_SPAN_TEXT)
        return false;
    buf_init(&text, SIZE_MAX / 2);
    buf_put_span_text(&text, given);
    buf_put(&text, so_far);
    buf_put_json(b, buf_str(&text));
    buf_fini(&text);
    return true;
}

static bool is_ours(const struct json_member *member, enum api api)
{
    return is_named(member, "model") || (api != API_EMBEDDINGS && is_named(member, "stream")) ||
           (api != API_EMBEDDINGS && api != API_MESSAGES && is_named(member, "stream_options"));
}

bool openai_put_pass(struct buf *b, const struct prompt *prompt, const char *model,
                     struct openai_wishes wishes, const char **ret_reason)
{
    struct members members;
    bool is_text = prompt->api != API_EMBEDDINGS,
         is_good = prompt->api != API_MESSAGES || prompt->continued.n == 0;
    const char *continued = prompt->api == API_CHAT ? "messages" : "prompt";
    *ret_reason = "the engine cannot read the request";
    if (!read_members(prompt->request, &members))
        return false;
    buf_lit(b, "{\"model\":");
    buf_put_json(b, prompt->model.n > 0 ? prompt->model : str_of(model));
    for (size_t i = 0; i < members.n; i++) {
        const struct json_member *member = &members.at[i];
        if (is_ours(member, prompt->api))
            continue;
        put_key(b, member);
        if (prompt->continued.n == 0 || !is_named(member, continued))
            put_raw(b, &member->value);
        else if (prompt->api == API_CHAT)
            is_good = put_continued_messages(b, &member->value, prompt->continued);
        else
            is_good = put_continued_prompt(b, &member->value, prompt->continued);
    }
    if (is_text && wishes.stream)
        buf_lit(b, ",\"stream\":true");
    if (is_text && wishes.stream && wishes.usage)
        put_stream_options(b, find(&members, "stream_options"));
    buf_put_char(b, '}');
    *ret_reason = b->is_over ? "the request is too large" : "the engine cannot continue this text";
    return is_good && !b->is_over;
}

bool openai_wants_one(const struct prompt *prompt)
{
    struct members members;
    if (prompt->api == API_MESSAGES)
        return true;
    if (!read_members(prompt->request, &members))
        return false;
    const struct json_span *n = find(&members, "n"), *given = find(&members, "prompt");
    bool is_one = n == NULL || str_eq(n->raw, STR("1"));
    return is_one && (prompt->api == API_CHAT || (given != NULL && given->kind == JSON_SPAN_TEXT));
}

/* ---- embeddings ---- */

bool openai_read_tokens(struct str body, uint64_t *ret_tokens)
{
    struct members members, counts;
    const struct json_span *usage = read_members(body, &members) ? find(&members, "usage") : NULL;
    if (usage == NULL || usage->kind != JSON_SPAN_OBJECT || !read_members(usage->raw, &counts))
        return false;
    const struct json_span *tokens = find(&counts, "prompt_tokens");
    return tokens != NULL && tokens->kind == JSON_SPAN_NUMBER &&
           str_parse_u64(tokens->raw, ret_tokens);
}

static void put_others(struct buf *b, const struct members *members)
{
    for (size_t i = 0; i < members->n; i++) {
        if (is_named(&members->at[i], "data"))
            continue;
        put_key(b, &members->at[i]);
        buf_put_span(b, &members->at[i].value);
    }
}

static bool hand_on(struct buf *delta, delta_callback on_delta, void *context)
{
    bool goes_on = !delta->is_over && on_delta(context, buf_str(delta));
    buf_clear(delta);
    return goes_on;
}

bool openai_pass_embeddings(struct str body, delta_callback on_delta, void *context)
{
    struct members members;
    struct json_span item;
    struct buf delta;
    const struct json_span *data = read_members(body, &members) ? find(&members, "data") : NULL;
    if (data == NULL || data->kind != JSON_SPAN_LIST)
        return false;
    buf_init(&delta, DELTA_MAX_BYTES);
    bool goes_on = true, is_first = true;
    for (struct str rest = json_list_inside(data); goes_on && json_next_item(&rest, &item);) {
        goes_on = item.kind == JSON_SPAN_OBJECT;
        if (!is_first && delta.n + item.raw.n > DATA_PIECE_BYTES) {
            buf_lit(&delta, "]}");
            goes_on = goes_on && hand_on(&delta, on_delta, context);
            is_first = true;
        }
        buf_put(&delta, is_first ? STR("{\"data\":[") : STR(","));
        buf_put_span(&delta, &item);
        is_first = false;
    }
    buf_put(&delta, is_first ? STR("{\"data\":[]") : STR("]"));
    put_others(&delta, &members);
    buf_put_char(&delta, '}');
    goes_on = goes_on && hand_on(&delta, on_delta, context);
    buf_fini(&delta);
    return goes_on;
}
