/* SPDX-License-Identifier: MIT
 * messages.c - POST /v1/messages and /v1/messages/count_tokens: Anthropic's interface over chat
 * engines. A message is a form of a job (job_form.h). */
#include "services/openai/input.h"
#include "services/openai/messages/events.h"
#include "services/openai/messages/translate.h"
#include "shared/http/request/explain.h"

/* --- errors ----------------------------------------------------------------------------------- */

static const char *type_of(uint64_t status)
{
    switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    case 503: return "overloaded_error";
    default: return status >= 500 ? "api_error" : "invalid_request_error";
    }
}

const char *openai_put_message_problem(struct buf *b, const struct problem *problem)
{
    buf_printf(b, "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":",
               type_of((uint64_t)problem->status));
    buf_put_json(b, str_of(problem->detail));
    buf_put_char(b, '}');
    if (problem->instance.n > 0) {
        buf_put_key(b, "request_id");
        buf_put_json(b, problem->instance);
    }
    buf_put_char(b, '}');
    return "application/json";
}

/* --- the form of an answer -------------------------------------------------------------------- */

static void put_event(void *context, const char *event, const struct buf *data)
{
    job_put_event(context, event, data);
}

static void open_message(struct job *job)
{
    struct message_events *events = request_alloc(job->r, sizeof *events);
    message_events_init(events, put_event, job, &job->usage);
    job->form_state = events;
}

static void fini(struct job *job)
{
    if (job->form_state != NULL)
        message_events_fini(job->form_state);
}

static void begin(struct job *job)
{
    message_events_begin(job->form_state, job->id, job->settings.model);
}

static void give(struct job *job, struct str delta)
{
    if (!message_events_give(job->form_state, delta))
        job_fail(job, ERR_ENGINE_FAILED, "The engine has sent calls of tools in no order.");
}

static void end(struct job *job)
{
    message_events_end(job->form_state, job->finish);
}

static void give_error(struct job *job, const struct buf *error)
{
    job_put_event(job, "error", error);
}

static bool put_whole(struct buf *b, const struct job *job)
{
    struct buf chat;
    buf_init(&chat, JOB_ANSWER_MAX_BYTES);
    job_put_head(&chat, job, "chat.completion");
    job_put_rest(&chat, job);
    buf_put_char(&chat, '}');
    bool is_good = message_put_whole(b, job->id, job->settings.model, buf_str(&chat));
    buf_fini(&chat);
    return is_good;
}

static void put_fault(struct buf *b, const struct job *job, const struct members *fault,
                      uint64_t status)
{
    buf_printf(b, "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":", type_of(status));
    job_put_fault_message(b, fault);
    buf_lit(b, "},\"request_id\":");
    buf_put_json(b, job->r->id);
    buf_put_char(b, '}');
}

static const struct job_form message_form = {.name = "messages",
                                             .id = "msg_",
                                             .problem = openai_put_message_problem,
                                             .first = "",
                                             .comment =
                                                 "event: ping\ndata: {\"type\":\"ping\"}\n\n",
                                             .open = open_message,
                                             .begin = begin,
                                             .give = give,
                                             .end = end,
                                             .give_error = give_error,
                                             .put_whole = put_whole,
                                             .put_fault = put_fault,
                                             .fini = fini};

/* --- requests --------------------------------------------------------------------------------- */

/* Puts the chat request, or answers 400 and returns false. */
static bool translate(struct request *r, struct buf *b, bool is_count)
{
    char fault[MESSAGE_FAULT_BYTES];
    if (translate_messages(b, request_entity(r), is_count, fault))
        return true;
    explain(r, ERR_BAD_REQUEST, "%s", fault);
    return false;
}

static struct str title_of(struct request *r)
{
    struct json_span text = {.kind = JSON_SPAN_TEXT, .raw = STR("")};
    translate_title(request_entity(r), &text);
    return input_title(r, &text);
}

void openai_messages(struct request *r)
{
    struct job_settings settings = {.api = OPENAI_CHAT, .form = &message_form};
    struct buf chat;
    respond_header(r, "request-id", r->id);
    if (!request_body(r) || !input_read_message(r, &settings))
        return;
    buf_init(&chat, TRANSLATE_MAX_BYTES);
    if (translate(r, &chat, false)) {
        settings.request = request_copy(r, buf_str(&chat));
        settings.title = title_of(r);
        job_start(r, &settings);
    }
    buf_fini(&chat);
}

/* Nodes have no tokenizer: as usage.h estimates them. */
void openai_count_tokens(struct request *r)
{
    struct buf chat, b;
    respond_header(r, "request-id", r->id);
    if (!request_body(r))
        return;
    buf_init(&chat, TRANSLATE_MAX_BYTES);
    buf_init(&b, 64);
    if (translate(r, &chat, true)) {
        buf_lit(&b, "{\"input_tokens\":");
        buf_put_u64(&b, chat.n / USAGE_BYTES_PER_TOKEN + 1);
        buf_put_char(&b, '}');
        respond_json(r, 200, &b);
    }
    buf_fini(&chat);
    buf_fini(&b);
}
