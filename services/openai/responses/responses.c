/* SPDX-License-Identifier: MIT
 * responses.c - POST /v1/responses: reads the request, whose engine gets it as one of a chat, and
 * writes the answer of the chat as a response (job_form.h). */
#include "services/openai/input.h"
#include "services/openai/own_models.h"
#include "services/openai/responses/events.h"
#include "services/openai/responses/settings.h"
#include "services/openai/responses/translate.h"
#include "shared/http/request/explain.h"

enum { HEAD_MAX_BYTES = 4096, SETTINGS_MAX_BYTES = 2 * OPENAI_BODY_BYTES };

static const char id_prefix[] = "resp_";

/* --- the answer ------------------------------------------------------------------------------- */

static void put_event(void *context, const char *type, const struct buf *data)
{
    job_put_event(context, type, data);
}

static void open(struct job *job)
{
    struct request *r = job->r;
    struct events *events = request_alloc(r, sizeof *events);
    struct buf head, settings;
    buf_init(&head, HEAD_MAX_BYTES);
    buf_init(&settings, SETTINGS_MAX_BYTES);
    buf_printf(&head, "{\"id\":\"%.*s\",\"object\":\"response\",\"created_at\":%llu,\"model\":",
               STR_ARG(job->id), (unsigned long long)job->created_s);
    buf_put_json(&head, job->settings.model);
    settings_put(&settings, r->members, r->member_n);
    *events = (struct events){
        .id = {job->id.at + sizeof id_prefix - 1, job->id.n - (sizeof id_prefix - 1)},
        .head = request_copy(r, buf_str(&head)),
        .settings = request_copy(r, buf_str(&settings)),
        .usage = &job->usage,
        .put = put_event,
        .context = job};
    job->form_state = events;
    buf_fini(&head);
    buf_fini(&settings);
}

/* Before the first of the other events, whose number is later. */
static void begin(struct job *job)
{
    struct events *events = job->form_state;
    if (!events->is_open) /* the first event begins the stream, which calls this */
        events_open(events, (int64_t)job->position - 1);
}

static void give(struct job *job, struct str delta)
{
    begin(job);
    events_add(job->form_state, delta);
}

static void end(struct job *job)
{
    struct events *events = job->form_state;
    begin(job);
    if (events->is_over)
        events_fail(events, STR("engine_failed"), STR("The answer is too long."));
    else
        events_end(events, job->finish);
}

static void give_error(struct job *job, const struct buf *error)
{
    struct members outer, inner = {.n = 0};
    const struct json_span *object, *code, *message;
    (void)members_read(&outer, buf_str(error));
    object = members_get_kind(&outer, "error", JSON_SPAN_OBJECT);
    if (object != NULL)
        (void)members_read(&inner, object->raw);
    code = members_get_kind(&inner, "code", JSON_SPAN_TEXT);
    message = members_get_kind(&inner, "message", JSON_SPAN_TEXT);
    events_fail(job->form_state, code != NULL ? code->raw : STR("server_error"),
                message != NULL ? message->raw : STR("The engine failed."));
}

static bool put_whole(struct buf *b, const struct job *job)
{
    const struct events *opened = job->form_state;
    struct usage usage = job->usage; /* only read: what is merged has none */
    struct events events = {
        .id = opened->id, .head = opened->head, .settings = opened->settings, .usage = &usage};
    struct buf merged;
    buf_init(&merged, JOB_ANSWER_MAX_BYTES);
    buf_lit(&merged, "{\"object\":\"chat.completion\"");
    merged_put(&job->merged, &merged, job->finish);
    buf_put_char(&merged, '}');
    events_add(&events, buf_str(&merged));
    events_end(&events, STR(""));
    events_put_response(&events, b);
    bool is_good = !merged.is_over && !events.is_over;
    events_fini(&events);
    buf_fini(&merged);
    return is_good;
}

static void put_fault(struct buf *b, const struct job *job, const struct members *fault,
                      uint64_t status)
{
    job_chat_form.put_fault(b, job, fault, status);
}

static void fini(struct job *job)
{
    if (job->form_state != NULL)
        events_fini(job->form_state);
}

static const struct job_form response_form = {.name = "responses",
                                              .id = id_prefix,
                                              .problem = openai_put_problem,
                                              .first = "",
                                              .comment = ": ping\n",
                                              .open = open,
                                              .begin = begin,
                                              .give = give,
                                              .end = end,
                                              .give_error = give_error,
                                              .put_whole = put_whole,
                                              .put_fault = put_fault,
                                              .fini = fini};

/* --- the request ------------------------------------------------------------------------------ */

static bool is_true(struct request *r, const char *name, bool *ret_is_true)
{
    return request_optional_bool(r, name, false, ret_is_true);
}

/* Refuses what only a response that is kept can have. */
static bool is_possible(struct request *r, const struct job_settings *settings)
{
    struct str engine_model;
    bool is_background;
    if (own_models_find(r, settings->model, &engine_model) != NULL)
        return explain_member(r, "model",
                              "one of an engine: models of this server answer "
                              "/v1/chat/completions");
    if (settings->topic.at != NULL)
        return explain_member(r, "metadata.topic", "absent: responses are not kept");
    if (settings->is_stored)
        return explain_member(r, "store", "false or absent: responses are not kept");
    if (request_member(r, "previous_response_id") != NULL)
        return explain_member(r, "previous_response_id", "absent: responses are not kept");
    if (!is_true(r, "background", &is_background))
        return false;
    return !is_background ||
           explain_member(r, "background", "false or absent: responses are not kept");
}

/* Makes the request that engines get, in the request's pool. */
static bool translate(struct request *r, struct str *ret_request)
{
    struct translate_fault fault;
    struct buf b;
    buf_init(&b, OPENAI_BODY_BYTES);
    bool is_good = translate_request(r->members, r->member_n, &b, &fault);
    if (!is_good)
        explain_member(r, fault.member, fault.expected);
    else if (b.is_over)
        explain(r, ERR_TOO_LARGE, "As a request of a chat, this one has more than %d bytes.",
                OPENAI_BODY_BYTES);
    else
        *ret_request = request_copy(r, buf_str(&b));
    is_good = is_good && !b.is_over;
    buf_fini(&b);
    return is_good;
}

static struct str title_of(struct request *r)
{
    const struct json_span *input = request_member(r, "input");
    return input->kind == JSON_SPAN_TEXT ? input_title(r, input)
                                         : input_title_of_messages(r, input);
}

void openai_respond(struct request *r)
{
    struct job_settings settings = {.api = OPENAI_CHAT, .form = &response_form};
    if (!request_body(r) || !input_read(r, &settings) || !is_possible(r, &settings) ||
        !translate(r, &settings.request))
        return;
    settings.title = title_of(r);
    job_start(r, &settings);
}
