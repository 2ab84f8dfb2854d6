/* SPDX-License-Identifier: MIT
 * form.c - see form.h. */
#include "services/openai/responses/form.h"

#include "services/openai/completion_id.h"
#include "services/openai/responses/events.h"
#include "services/openai/responses/keeper.h"
#include "services/openai/responses/settings.h"

enum { HEAD_MAX_BYTES = 4096, SETTINGS_MAX_BYTES = 2 * OPENAI_BODY_BYTES };

static void put_event(void *context, const char *type, const struct buf *data)
{
    job_put_event(context, type, data);
}

void response_put_head(struct buf *b, struct str id, uint64_t created_s, struct str model)
{
    buf_printf(b, "{\"id\":\"%.*s\",\"object\":\"response\",\"created_at\":%llu,\"model\":",
               STR_ARG(id), (unsigned long long)created_s);
    buf_put_json(b, model);
}

static void open(struct job *job)
{
    struct request *r = job->r;
    const struct response_settings *of_form = job->settings.of_form;
    struct events *events = request_alloc(r, sizeof *events);
    struct str id = job->id;
    struct buf head, settings;
    buf_init(&head, HEAD_MAX_BYTES);
    buf_init(&settings, SETTINGS_MAX_BYTES);
    response_put_head(&head, id, job->created_s, job->settings.model);
    settings_put(&settings, of_form->members, of_form->member_n,
                 job->settings.is_stored || job->is_view);
    id.at += sizeof RESPONSE_PREFIX - 1;
    id.n -= sizeof RESPONSE_PREFIX - 1;
    *events = (struct events){.id = id,
                              .head = request_copy(r, buf_str(&head)),
                              .settings = request_copy(r, buf_str(&settings)),
                              .tools = settings_tools(of_form->members, of_form->member_n),
                              .usage = &job->usage,
                              .after = of_form->after,
                              .put = job->settings.is_stream ? put_event : NULL,
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

static void add(struct job *job, struct str delta)
{
    events_add(job->form_state, delta);
}

static void clear(struct job *job)
{
    events_clear(job->form_state);
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
    struct events *events = job->form_state;
    events_end(events, job->finish);
    events_put_response(events, b);
    return !events->is_over;
}

static void put_queued(struct buf *b, const struct job *job)
{
    events_put_state(job->form_state, b, "queued", STR(""), STR(""));
}

static void put_fault(struct buf *b, const struct job *job, const struct members *fault,
                      uint64_t status)
{
    job_chat_form.put_fault(b, job, fault, status);
}

static void fini(struct job *job)
{
    bool is_kept = job->settings.response.n > 0 || job->is_view;
    if (job->form_state == NULL)
        return;
    events_fini(job->form_state);
    if (is_kept && (job->has_ended || job->settings.is_background))
        keeper_start(openai_of(job->r), job->asked.topic, job->asked.seq);
}

const struct job_form response_form = {.name = "responses",
                                       .id = RESPONSE_PREFIX,
                                       .problem = openai_put_problem,
                                       .first = "",
                                       .comment = ": ping\n",
                                       .open = open,
                                       .begin = begin,
                                       .add = add,
                                       .clear = clear,
                                       .give = give,
                                       .end = end,
                                       .give_error = give_error,
                                       .put_whole = put_whole,
                                       .put_queued = put_queued,
                                       .put_fault = put_fault,
                                       .fini = fini};
