/* SPDX-License-Identifier: MIT
 * messages.c - POST /v1/messages and /v1/messages/count_tokens: Anthropic's interface over chat
 * engines, and over those that have it themselves (ADR 102). A message is a form of a job
 * (job_form.h). */
#include "services/openai/input.h"
#include "services/openai/messages/events.h"
#include "services/openai/messages/passed.h"
#include "services/openai/messages/translate.h"
#include "services/openai/messages/whole.h"

#include "generated/verbs.h"
#include "services/openai/known_models.h"
#include "shared/ask/reply.h"
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

/* The first delta shows which kind of engine makes it. */
struct answer {
    struct message_events events; /* of a stream of a chat engine */
    struct passed passed;         /* of an engine that serves messages itself */
};

static void put_event(void *context, const char *event, const struct buf *data)
{
    job_put_event(context, event, data);
}

static void open_message(struct job *job)
{
    struct answer *answer = request_alloc(job->r, sizeof *answer);
    message_events_init(&answer->events, put_event, job, &job->usage);
    passed_init(&answer->passed, !job->settings.is_stream);
    job->form_state = answer;
}

static void fini(struct job *job)
{
    struct answer *answer = job->form_state;
    if (answer == NULL)
        return;
    message_events_fini(&answer->events);
    passed_fini(&answer->passed);
}

static void clear(struct job *job)
{
    struct answer *answer = job->form_state;
    passed_clear(&answer->passed);
}

static void begin(struct job *job)
{
    struct answer *answer = job->form_state;
    struct buf start;
    if (!answer->passed.is_used) {
        message_events_begin(&answer->events, job->id, job->settings.model);
        return;
    }
    buf_init(&start, MESSAGE_EVENT_MAX_BYTES);
    passed_put_start(&answer->passed, &start, job->id, job->settings.model, &job->usage);
    job_put_event(job, "message_start", &start);
    buf_fini(&start);
}

/* Takes a delta that is an event, and gives it if it is for the client of a stream. */
static void take_event(struct job *job, struct str delta, const struct members *event)
{
    struct answer *answer = job->form_state;
    bool is_of_chat =
        answer->events.block != BLOCK_NONE || answer->events.index > 0 || job->merged.choice_n > 0;
    const char *name;
    struct buf data;
    enum passed_part part =
        is_of_chat ? PASSED_WRONG : passed_take(&answer->passed, delta, event, &name);
    job->usage.text_bytes = answer->passed.text_bytes;
    if (part == PASSED_WRONG)
        job_fail(job, ERR_ENGINE_FAILED, "The engine has sent events in no order.");
    if (part != PASSED_SHOWN || !job->settings.is_stream)
        return;
    buf_init(&data, MESSAGE_EVENT_MAX_BYTES);
    buf_put(&data, delta);
    job_put_event(job, name, &data);
    buf_fini(&data);
}

static void take(struct job *job, struct str delta)
{
    struct answer *answer = job->form_state;
    struct members event;
    if (passed_is_event(delta, &event))
        take_event(job, delta, &event);
    else if (answer->passed.is_used)
        job_fail(job, ERR_ENGINE_FAILED, "The engine has sent a chat among events.");
    else if (!job->settings.is_stream)
        merged_add(&job->merged, delta);
    else if (!message_events_give(&answer->events, delta))
        job_fail(job, ERR_ENGINE_FAILED, "The engine has sent calls of tools in no order.");
}

static void end(struct job *job)
{
    struct answer *answer = job->form_state;
    const struct passed *passed = &answer->passed;
    struct buf b;
    if (!passed->is_used) {
        message_events_end(&answer->events, job->finish);
        return;
    }
    buf_init(&b, MESSAGE_EVENT_MAX_BYTES);
    if (passed->is_open) {
        buf_printf(&b, "{\"type\":\"content_block_stop\",\"index\":%llu}",
                   (unsigned long long)passed->block_n - 1);
        job_put_event(job, "content_block_stop", &b);
        buf_clear(&b);
    }
    passed_put_end(passed, &b, job->finish, &job->usage);
    job_put_event(job, "message_delta", &b);
    buf_clear(&b);
    buf_lit(&b, "{\"type\":\"message_stop\"}");
    job_put_event(job, "message_stop", &b);
    buf_fini(&b);
}

static void give_error(struct job *job, const struct buf *error)
{
    job_put_event(job, "error", error);
}

static bool put_whole(struct buf *b, const struct job *job)
{
    const struct answer *answer = job->form_state;
    struct buf chat;
    if (answer->passed.is_used) {
        passed_put_whole(&answer->passed, b, job->id, job->settings.model, job->finish,
                         &job->usage);
        return true;
    }
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
                                             .add = take,
                                             .clear = clear,
                                             .give = take,
                                             .end = end,
                                             .give_error = give_error,
                                             .put_whole = put_whole,
                                             .put_fault = put_fault,
                                             .fini = fini};

/* --- requests --------------------------------------------------------------------------------- */

static struct str title_of(struct request *r)
{
    struct json_span text = {.kind = JSON_SPAN_TEXT, .raw = STR("")};
    translate_title(request_entity(r), &text);
    return input_title(r, &text);
}

void openai_messages(struct request *r)
{
    struct job_settings settings = {
        .api = OPENAI_CHAT, .form = &message_form, .passing_api = "messages"};
    struct buf chat;
    char fault[MESSAGE_FAULT_BYTES];
    respond_header(r, "request-id", r->id);
    if (!request_body(r) || !input_read_message(r, &settings) || !input_list(r, "messages"))
        return;
    buf_init(&chat, TRANSLATE_MAX_BYTES);
    if (translate_messages(&chat, request_entity(r), false, fault))
        settings.request = request_copy(r, buf_str(&chat));
    else
        settings.fault = request_copy(r, str_of(fault));
    buf_fini(&chat);
    settings.title = title_of(r);
    job_start(r, &settings);
}

/* --- tokens ----------------------------------------------------------------------------------- */

/* Nodes have no tokenizer: as usage.h estimates them. */
static void answer_count(struct request *r, size_t bytes)
{
    struct buf b;
    buf_init(&b, 64);
    buf_lit(&b, "{\"input_tokens\":");
    buf_put_u64(&b, usage_tokens_of(bytes));
    buf_put_char(&b, '}');
    respond_json(r, 200, &b);
    buf_fini(&b);
}

/* No chat engine can get the request: `state` of the request says why. */
static void on_models(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct known_model model;
    struct str name = request_member_text(r, "model");
    const struct str *fault = r->state;
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    if (name.at != NULL && known_models_find(&lines, name, &model) &&
        known_model_is_for(&model, STR("messages")))
        answer_count(r, request_entity(r).n);
    else
        explain(r, ERR_BAD_REQUEST, "%.*s", STR_ARG(*fault));
}

void openai_count_tokens(struct request *r)
{
    struct buf chat;
    char fault[MESSAGE_FAULT_BYTES];
    respond_header(r, "request-id", r->id);
    if (!request_body(r) || !input_list(r, "messages"))
        return;
    buf_init(&chat, TRANSLATE_MAX_BYTES);
    if (translate_messages(&chat, request_entity(r), true, fault)) {
        answer_count(r, chat.n);
    } else {
        struct str *copy = request_alloc(r, sizeof *copy);
        *copy = request_copy(r, str_of(fault));
        r->state = copy;
        call_models(request_call(r, on_models));
    }
    buf_fini(&chat);
}
