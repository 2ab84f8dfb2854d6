/* SPDX-License-Identifier: MIT
 * input.c - see input.h. */
#include "services/openai/input.h"

#include "services/openai/metadata.h"
#include "shared/ask/topic_name.h"
#include "shared/base/mem.h"

size_t openai_body_bytes = OPENAI_BODY_BYTES;

enum { TITLE_CHARS = 200, TITLE_RAW_BYTES = TITLE_CHARS * 12 };

bool input_person(struct request *r, struct str member, struct on_behalf *ret_person)
{
    struct str given = request_header(r, "x-parley-user");
    if (r->account->role == ROLE_USER)
        return on_behalf_of(r, (struct str){NULL, 0}, ret_person);
    if (given.at == NULL)
        given = member;
    if (r->account->role == ROLE_FRONTEND &&
        (given.n < 1 || given.n > USER_MAX_BYTES || !str_is_utf8(given))) {
        explain(r, ERR_BAD_REQUEST,
                "An account of role frontend names the person it asks for, in 1 to 128 bytes "
                "of UTF-8: in the header x-parley-user or in the member `user`; of messages, "
                "`metadata.user_id`.");
        return false;
    }
    return on_behalf_of(r, given, ret_person);
}

/* As far as model servers keep what they promise: the texts are compared. */
static bool is_repeatable(struct request *r)
{
    const struct json_span *temperature = request_member(r, "temperature");
    if (request_member(r, "seed") != NULL)
        return true;
    if (temperature == NULL || temperature->kind != JSON_SPAN_NUMBER)
        return false;
    for (size_t i = 0; i < temperature->raw.n; i++)
        if (strchr("123456789", temperature->raw.at[i]) != NULL)
            return false;
    return true;
}

static bool read_n(struct request *r, struct job_settings *settings)
{
    static const char *const others[] = {"echo", "suffix", "best_of"};
    int64_t n = 1;
    if (request_member(r, "n") != NULL && !request_number(r, "n", 1, OPENAI_CHOICES_MAX, &n))
        return false;
    settings->is_one_text = n == 1;
    settings->is_repeatable = is_repeatable(r);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        settings->is_one_text &= request_member(r, others[i]) == NULL;
    return true;
}

static bool read_stream(struct request *r, struct job_settings *settings)
{
    struct members options;
    const struct json_span *given = request_member(r, "stream_options");
    if (!request_optional_bool(r, "stream", false, &settings->is_stream))
        return false;
    if (given == NULL)
        return true;
    if (given->kind != JSON_SPAN_OBJECT || !members_read(&options, given->raw))
        return explain_member(r, "stream_options", "an object");
    const struct json_span *usage = members_get_kind(&options, "include_usage", JSON_SPAN_BOOL);
    settings->has_usage = usage != NULL && str_eq(usage->raw, STR("true"));
    return true;
}

struct str input_text(struct request *r, const struct json_span *text)
{
    struct buf b;
    buf_init(&b, OPENAI_BODY_BYTES);
    buf_put_span_text(&b, text);
    struct str copy = request_copy(r, buf_str(&b));
    buf_fini(&b);
    return copy;
}

static bool explain_header(struct request *r, const char *name, const char *expected)
{
    explain(r, ERR_BAD_REQUEST, "The header %s must be %s.", name, expected);
    return false;
}

/* The topic that keeps the request and its answer. */
static bool read_topic(struct request *r, struct job_settings *settings)
{
    struct members metadata;
    struct str header = request_header(r, "x-parley-topic");
    const struct json_span *given = request_member(r, "metadata"), *topic = NULL;
    if (header.at != NULL)
        return topic_name(r, header, explain_header, "X-Parley-Topic", &settings->topic);
    if (given != NULL && given->kind == JSON_SPAN_OBJECT && members_read(&metadata, given->raw))
        topic = members_get_kind(&metadata, "topic", JSON_SPAN_TEXT);
    if (topic != NULL)
        return topic_name(r, input_text(r, topic), explain_member, "metadata.topic",
                          &settings->topic);
    return settings->api != OPENAI_CHAT ||
           request_optional_bool(r, "store", false, &settings->is_stored);
}

/* Reads those of a chat completion that is kept; those of others go to engines as they are. */
static bool read_metadata(struct request *r, struct job_settings *settings)
{
    bool is_kept = settings->topic.at != NULL || settings->is_stored;
    return settings->api != OPENAI_CHAT || !is_kept || metadata_read(r, &settings->metadata);
}

/* A line of a batch has its answer in the batch's output: it is neither streamed nor kept, which
 * would put it among the person's own questions. */
static bool check_line(struct request *r, const struct job_settings *settings)
{
    if (!r->is_behind)
        return true;
    if (settings->is_stream)
        return explain_member(r, "stream", "false in a batch");
    if (settings->topic.at != NULL)
        return explain_member(r, "metadata.topic", "absent in a batch");
    return !settings->is_stored || explain_member(r, "store", "false in a batch");
}

bool input_read(struct request *r, struct job_settings *settings)
{
    return request_text(r, "model", 1, OPENAI_MODEL_MAX_BYTES, &settings->model) &&
           read_stream(r, settings) && read_n(r, settings) &&
           input_person(r, request_member_text(r, "user"), &settings->person) &&
           read_topic(r, settings) && check_line(r, settings) && read_metadata(r, settings);
}

bool input_read_message(struct request *r, struct job_settings *settings)
{
    struct members metadata;
    const struct json_span *given = request_member(r, "metadata"), *user = NULL;
    if (given != NULL && given->kind == JSON_SPAN_OBJECT && members_read(&metadata, given->raw))
        user = members_get_kind(&metadata, "user_id", JSON_SPAN_TEXT);
    struct str person = user == NULL ? (struct str){NULL, 0} : input_text(r, user);
    if (!request_text(r, "model", 1, OPENAI_MODEL_MAX_BYTES, &settings->model) ||
        !request_optional_bool(r, "stream", false, &settings->is_stream) ||
        !input_person(r, person, &settings->person) || !read_topic(r, settings))
        return false;
    settings->is_one_text = true;
    settings->is_repeatable = is_repeatable(r);
    settings->is_stored = false;
    return true;
}

bool input_list(struct request *r, const char *name)
{
    struct json_span item;
    const struct json_span *list = request_member(r, name);
    if (list != NULL && list->kind == JSON_SPAN_LIST) {
        struct str rest = json_list_inside(list);
        if (json_next_item(&rest, &item))
            return true;
    }
    return explain_member(r, name, "a list that is not empty");
}

/* As many bytes of an escaped text as its first characters may take, whole escapes only. */
static struct str first_of(struct str raw)
{
    size_t at = 0;
    while (at < raw.n && at < TITLE_RAW_BYTES) {
        size_t step = raw.at[at] != '\\' ? 1 : raw.at[at + 1] == 'u' ? 6 : 2;
        if (step == 6 && (raw.at[at + 2] | 32) == 'd' && strchr("89abAB", raw.at[at + 3]) != NULL)
            step = 12; /* two halves of one */
        if (at + step > TITLE_RAW_BYTES)
            break;
        at += step;
    }
    return (struct str){raw.at, at};
}

struct str input_title(struct request *r, const struct json_span *text)
{
    struct json_span first = *text;
    struct buf b;
    size_t at = 0, chars = 0;
    first.raw = text->has_escape ? first_of(text->raw) : text->raw;
    buf_init(&b, OPENAI_BODY_BYTES);
    buf_put_span_text(&b, &first);
    while (at < b.n && chars <= TITLE_CHARS)
        if (((unsigned char)b.at[at++] & 0xC0) != 0x80)
            chars++;
    if (chars > TITLE_CHARS)
        at--;
    struct str title = request_copy(r, (struct str){b.at, at < b.n ? at : b.n});
    buf_fini(&b);
    return title;
}

struct str input_title_of(struct request *r, const struct json_span *value)
{
    struct json_span item, last = {.kind = JSON_SPAN_ABSENT};
    if (value->kind == JSON_SPAN_TEXT)
        return input_title(r, value);
    for (struct str rest = json_list_inside(value); json_next_item(&rest, &item);)
        if (item.kind == JSON_SPAN_TEXT)
            last = item;
    return last.kind == JSON_SPAN_TEXT ? input_title(r, &last) : STR("");
}

struct str input_title_of_messages(struct request *r, const struct json_span *messages)
{
    struct members message;
    struct json_span item, part;
    struct str raw = STR("");
    for (struct str rest = json_list_inside(messages); json_next_item(&rest, &item);) {
        if (!members_read(&message, item.raw))
            continue;
        const struct json_span *role = members_get_kind(&message, "role", JSON_SPAN_TEXT),
                               *content = members_get(&message, "content");
        if (role == NULL || !str_eq(role->raw, STR("user")) || content == NULL)
            continue;
        raw = content->raw;
        if (content->kind == JSON_SPAN_TEXT) {
            raw = input_title(r, content);
            continue;
        }
        raw = STR("");
        for (struct str parts = json_list_inside(content); json_next_item(&parts, &part);) {
            struct members inner;
            const struct json_span *text = members_read(&inner, part.raw)
                                               ? members_get_kind(&inner, "text", JSON_SPAN_TEXT)
                                               : NULL;
            if (text != NULL)
                raw = input_title(r, text);
        }
    }
    return raw;
}

struct json_span input_messages(struct str body)
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
