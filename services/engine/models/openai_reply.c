/* SPDX-License-Identifier: MIT
 * openai_reply.c - see openai_reply.h. The first byte that counts decides what the body is: JSON
 * begins with a brace, events with the name of a field or a colon. */
#include "services/engine/models/openai_reply.h"

#include "services/engine/models/messages_piece.h"
#include "shared/http/request/error_text.h"
#include "shared/text/text.h"

#include <stdio.h>

enum {
    OBJECT_MAX_BYTES = 8 << 20, /* 1 MiB of text with much around it */
    EVENT_MAX_BYTES = 1 << 20,
    TEXT_MAX_BYTES = 1 << 20,
    REFUSAL_MAX_BYTES = 4 * ERROR_TEXT_MAX_BYTES,
};

void reply_init(struct openai_reply *reply, reply_callback on_text, reply_chunk_callback on_chunk,
                void *context)
{
    *reply = (struct openai_reply){.on_text = on_text, .on_chunk = on_chunk, .context = context};
    sse_init(&reply->sse, EVENT_MAX_BYTES);
    buf_init(&reply->object, OBJECT_MAX_BYTES);
    buf_init(&reply->think, TEXT_MAX_BYTES);
    buf_init(&reply->answer, TEXT_MAX_BYTES);
    buf_init(&reply->joined_think, TEXT_MAX_BYTES);
    buf_init(&reply->joined_answer, TEXT_MAX_BYTES);
    buf_init(&reply->refusal, REFUSAL_MAX_BYTES);
}

void reply_fini(struct openai_reply *reply)
{
    sse_fini(&reply->sse);
    buf_fini(&reply->object);
    buf_fini(&reply->think);
    buf_fini(&reply->answer);
    buf_fini(&reply->joined_think);
    buf_fini(&reply->joined_answer);
    buf_fini(&reply->refusal);
    json_decref(reply->error);
}

static bool fail(struct openai_reply *reply, const char *what, struct str more)
{
    struct buf line;
    buf_init(&line, SIZE_MAX / 2);
    http_put_one_line(&line, more);
    snprintf(reply->reason, sizeof reply->reason, "%s%s%.*s", what, line.n > 0 ? ": " : "",
             STR_ARG(buf_str(&line)));
    buf_fini(&line);
    reply->is_broken = true;
    return false;
}

/* ---- one object ---- */

static bool hand_on(struct openai_reply *reply)
{
    struct str think = buf_str(&reply->joined_think), answer = buf_str(&reply->joined_answer);
    bool goes_on = (think.n == 0 && answer.n == 0) || reply->on_text(reply->context, think, answer);
    buf_clear(&reply->joined_think);
    buf_clear(&reply->joined_answer);
    return goes_on;
}

static void note_end(struct openai_reply *reply, const struct openai_piece *piece)
{
    struct buf line;
    reply->has_tools = reply->has_tools || piece->has_tools;
    buf_put(&reply->refusal, piece->refusal);
    if (piece->finish.n == 0)
        return;
    buf_init(&line, SIZE_MAX / 2);
    http_put_one_line(&line, piece->finish);
    line.n = text_floor(buf_str(&line), REPLY_FINISH_MAX_BYTES);
    snprintf(reply->finish, sizeof reply->finish, "%.*s", STR_ARG(buf_str(&line)));
    buf_fini(&line);
}

static bool take_text(struct openai_reply *reply, const struct openai_piece *piece,
                      bool is_repaired)
{
    if (piece->is_message && reply->has_delta)
        return true;
    openai_put_texts(piece->text, &reply->think, &reply->answer);
    bool has_text = reply->think.n > 0 || reply->answer.n > 0;
    reply->has_delta = reply->has_delta || (has_text && !piece->is_message);
    half_join_feed(&reply->think_half, buf_str(&reply->think), is_repaired, &reply->joined_think);
    half_join_feed(&reply->answer_half, buf_str(&reply->answer), is_repaired,
                   &reply->joined_answer);
    buf_clear(&reply->think);
    buf_clear(&reply->answer);
    return hand_on(reply);
}

static bool take_json(struct openai_reply *reply, const json_t *json, bool is_error,
                      bool is_repaired)
{
    reply->chunk_n++;
    if (is_error || openai_is_error(json)) {
        reply->is_hopeless = openai_is_hopeless(json);
        reply->error = json_incref((json_t *)(uintptr_t)json);
        return fail(reply, "the model server reported an error", http_error_message(json));
    }
    bool is_of_messages = reply->is_of_messages;
    if ((is_of_messages ? messages_read_usage : openai_read_usage)(json, &reply->prompt_tokens,
                                                                   &reply->completion_tokens))
        reply->has_usage = true;
    struct openai_piece piece =
        is_of_messages ? messages_read_piece(json) : openai_read_piece(json);
    bool goes_on = true;
    reply->is_over |= piece.is_last;
    if (piece.has_choice) {
        reply->has_choice = true;
        note_end(reply, &piece);
        goes_on = take_text(reply, &piece, is_repaired);
    }
    goes_on =
        goes_on && (reply->on_chunk == NULL || reply->on_chunk(reply->context, json, is_repaired));
    return goes_on && !reply->is_over;
}

/* Parses `text`, if need be after repair. NULL: it is not JSON. */
static json_t *parse(struct str text, bool *ret_is_repaired)
{
    char reason[160];
    json_t *json = NULL;
    struct buf repaired;
    *ret_is_repaired = false;
    if (json_parse(text, reason, sizeof reason, &json))
        return json;
    buf_init(&repaired, SIZE_MAX / 2);
    repair_json(&repaired, text);
    *ret_is_repaired = json_parse(buf_str(&repaired), reason, sizeof reason, &json);
    buf_fini(&repaired);
    return *ret_is_repaired ? json : NULL;
}

/* ---- the body ---- */

static bool take_data(struct openai_reply *reply, struct str data, bool is_error);

/* Some servers end their events with one newline: then each line is one. */
static bool take_lines(struct openai_reply *reply, struct str data)
{
    while (data.at != NULL)
        if (!take_data(reply, str_cut(&data, '\n'), false))
            return false;
    return true;
}

static bool take_data(struct openai_reply *reply, struct str data, bool is_error)
{
    bool is_repaired;
    data = str_trim(data);
    if (str_eq(data, STR("[DONE]"))) {
        reply->is_over = true;
        return false;
    }
    if (data.n == 0 && !is_error)
        return true;
    json_t *json = parse(data, &is_repaired);
    if (json == NULL && is_error)
        return fail(reply, "the model server reported an error", data);
    if (json == NULL && memchr(data.at, '\n', data.n) != NULL)
        return take_lines(reply, data);
    if (json == NULL)
        return fail(reply, "the model server sent an event that is not JSON", STR(""));
    bool goes_on = take_json(reply, json, is_error, is_repaired);
    json_decref(json);
    return goes_on;
}

static bool on_event(void *context, struct str type, struct str data)
{
    return take_data(context, data, str_eq(type, STR("error")));
}

/* Skips white space and a byte order mark, which may precede the first byte that counts. */
static struct str skip_start(struct str bytes)
{
    while (bytes.n > 0 && *bytes.at != 0 && strchr(" \t\r\n\xef\xbb\xbf", *bytes.at) != NULL)
        bytes = (struct str){bytes.at + 1, bytes.n - 1};
    return bytes;
}

bool reply_feed(struct openai_reply *reply, struct str bytes)
{
    if (reply->form == REPLY_UNKNOWN) {
        bytes = skip_start(bytes);
        if (bytes.n == 0)
            return true;
        reply->form = strchr("{[<\"", *bytes.at) != NULL ? REPLY_OBJECT : REPLY_EVENTS;
    }
    if (reply->form == REPLY_OBJECT) {
        buf_put(&reply->object, bytes);
        return !reply->object.is_over ||
               fail(reply, "the model server sent a response that is too large", STR(""));
    }
    if (sse_feed(&reply->sse, bytes, on_event, reply))
        return true;
    if (reply->sse.line.is_over || reply->sse.data.is_over)
        return fail(reply, "the model server sent an event that is too long", STR(""));
    return false;
}

static void read_object(struct openai_reply *reply, bool is_complete)
{
    bool is_repaired;
    json_t *json = parse(buf_str(&reply->object), &is_repaired);
    if (json == NULL && !is_complete)
        return;
    if (json == NULL) {
        fail(reply, "the model server sent a response that is neither JSON nor events", STR(""));
        return;
    }
    (void)take_json(reply, json, false, is_repaired);
    if (!reply->is_broken && !reply->has_choice)
        fail(reply, "the model server sent a response without an answer", http_error_message(json));
    json_decref(json);
}

void reply_finish(struct openai_reply *reply, bool is_complete)
{
    if (reply->form == REPLY_OBJECT)
        read_object(reply, is_complete);
    else if (is_complete && !reply->is_over && !reply->is_broken)
        sse_finish(&reply->sse, on_event, reply);
    if (reply->is_broken)
        return;
    half_join_finish(&reply->think_half, &reply->joined_think);
    half_join_finish(&reply->answer_half, &reply->joined_answer);
    (void)hand_on(reply);
}

bool reply_may_be_whole(const struct openai_reply *reply)
{
    struct str object = str_trim(buf_str(&reply->object));
    return reply->form == REPLY_OBJECT ? object.n > 0 && object.at[object.n - 1] == '}'
                                       : reply->finish[0] != 0;
}

bool reply_is_whole(const struct openai_reply *reply)
{
    bool is_object = reply->form == REPLY_OBJECT && reply->has_choice;
    return !reply->is_broken && (reply->is_over || reply->finish[0] != 0 || is_object);
}
