/* SPDX-License-Identifier: MIT
 * show.c - GET and DELETE of /v1/responses/{id}, and POST of /v1/responses/{id}/cancel: responses
 * that are kept, in one piece or as a stream that continues after an event. */
#include "services/openai/input.h"
#include "services/openai/responses/form.h"
#include "services/openai/responses/keeper.h"
#include "services/openai/responses/kept.h"
#include "services/openai/responses/settings.h"
#include "shared/ask/reply.h"
#include "shared/http/request/explain.h"

enum { ANSWER_MAX_BYTES = 32 << 20, HEAD_MAX_BYTES = 4096 };

struct showing {
    struct on_behalf person;
    struct completion_id id;
    bool is_stream;
    int64_t after;
    struct response_settings of_form;
};

static struct str name_of(struct request *r)
{
    return request_path_param(r, "response_id");
}

/* Reads which response it is. Answers 404, and returns NULL. */
static struct showing *find(struct request *r)
{
    struct showing *showing = request_alloc(r, sizeof *showing);
    *showing = (struct showing){.after = -1};
    r->state = showing;
    if (!input_person(r, (struct str){NULL, 0}, &showing->person))
        return NULL;
    if (!completion_id_read(r, RESPONSE_PREFIX, name_of(r), &showing->id)) {
        kept_explain_missing(r, name_of(r));
        return NULL;
    }
    r->about.topic = showing->id.topic;
    r->about.seq = showing->id.seq;
    return showing;
}

/* --- in one piece ----------------------------------------------------------------------------- */

/* The text inside a JSON string. */
static struct str inside(struct str json)
{
    return json.n >= 2 && json.at[0] == '"' ? (struct str){json.at + 1, json.n - 2} : STR("");
}

static void put_unanswered(struct buf *b, const struct events *events, const struct kept *kept)
{
    const struct outcome *o = &kept->outcome;
    struct members fault = {.n = 0};
    if (!str_eq(o->status, STR("Failed"))) {
        events_put_state(events, b,
                         str_eq(o->status, STR("Open"))      ? "queued"
                         : str_eq(o->status, STR("Pending")) ? "in_progress"
                                                             : "cancelled",
                         STR(""), STR(""));
        return;
    }
    (void)members_read(&fault, o->fault);
    const struct json_span *message = members_get_kind(&fault, "message", JSON_SPAN_TEXT);
    events_put_state(events, b, "failed", STR("server_error"),
                     message != NULL ? message->raw : inside(o->reason));
}

static void put(struct buf *b, struct request *r, const struct kept *kept)
{
    struct buf head, settings;
    struct usage usage;
    struct str id = name_of(r);
    buf_init(&head, HEAD_MAX_BYTES);
    buf_init(&settings, ANSWER_MAX_BYTES);
    response_put_head(&head, id, kept->outcome.row.created_ms / 1000, kept->model);
    settings_put(&settings, kept->members, kept->member_n, true);
    usage_init(&usage, kept->request_bytes);
    struct events events = {
        .id = {id.at + sizeof RESPONSE_PREFIX - 1, id.n - (sizeof RESPONSE_PREFIX - 1)},
        .head = buf_str(&head),
        .settings = buf_str(&settings),
        .tools = settings_tools(kept->members, kept->member_n),
        .usage = &usage};
    if (str_eq(kept->outcome.status, STR("Done"))) {
        kept_replay(kept, &events);
        events_put_response(&events, b);
    } else {
        put_unanswered(b, &events, kept);
    }
    events_fini(&events);
    usage_fini(&usage);
    buf_fini(&head);
    buf_fini(&settings);
}

/* --- as a stream ------------------------------------------------------------------------------ */

static bool has_ended(const struct kept *kept)
{
    return !str_eq(kept->outcome.status, STR("Open")) &&
           !str_eq(kept->outcome.status, STR("Pending"));
}

static void stream(struct request *r, struct showing *showing, const struct kept *kept)
{
    showing->of_form = (struct response_settings){kept->members, kept->member_n, showing->after};
    struct job_settings settings = {.api = OPENAI_CHAT,
                                    .form = &response_form,
                                    .model = kept->model,
                                    .is_stream = true,
                                    .is_background = kept->is_background,
                                    .of_form = &showing->of_form};
    struct job_place place = {.topic = showing->id.topic,
                              .seq = showing->id.seq,
                              .id = name_of(r),
                              .created_ms = kept->outcome.row.created_ms,
                              .request_bytes = kept->request_bytes};
    if (kept->has_begun_again && showing->after > 1)
        explain(r, ERR_ENGINE_LOST,
                "Another engine has begun this answer again: read it from its beginning.");
    else if (has_ended(kept))
        job_replay(r, &settings, &place, &kept->outcome, kept->deltas);
    else
        job_view(r, &settings, &place);
}

/* --- the routes ------------------------------------------------------------------------------- */

static void on_shown(struct request *r, enum err error, struct str reply)
{
    struct showing *showing = r->state;
    struct kept kept;
    struct buf b;
    if (!kept_read(r, error, reply, name_of(r), &kept))
        return;
    if (showing->is_stream) {
        stream(r, showing, &kept);
        return;
    }
    buf_init(&b, ANSWER_MAX_BYTES);
    put(&b, r, &kept);
    respond_json(r, 200, &b);
    buf_fini(&b);
    if (has_ended(&kept) && !kept.is_packed)
        keeper_start(openai_of(r), showing->id.topic, showing->id.seq);
}

static void show(struct request *r)
{
    struct showing *showing = r->state;
    kept_show(r, &showing->person, &showing->id, RESPONSE_SHOW_ANSWER, on_shown);
}

void openai_show_response(struct request *r)
{
    struct showing *showing = find(r);
    uint64_t after;
    if (showing == NULL)
        return;
    showing->is_stream = request_param_is_true(r, "stream");
    if (request_param(r, "starting_after").at != NULL) {
        if (!showing->is_stream) {
            (void)!explain_param(r, "starting_after", "absent without stream=true");
            return;
        }
        if (!request_param_u64(r, "starting_after", 0, INT32_MAX, 0, &after))
            return;
        showing->after = (int64_t)after;
    }
    show(r);
}

static void on_cancelled(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error == ERR_OK && str_eq(tag, STR("missing"))) {
        kept_explain_missing(r, name_of(r));
    } else if (error == ERR_OK && str_eq(tag, STR("foreground"))) {
        explain(r, ERR_BAD_REQUEST,
                "Only a response that was made with background: true can be cancelled. Others are "
                "when their client closes the connection.");
    } else if (!reply_refuse(r, error, tag, &lines)) {
        if (str_eq(lines_next(&lines), STR("ended")))
            metrics_add(r->server->metrics, METRIC_LEASES_CANCELLED, 1);
        show(r);
    }
}

void openai_cancel_response(struct request *r)
{
    struct showing *showing = find(r);
    if (showing != NULL)
        call_response_cancel(request_call(r, on_cancelled), .topic = showing->id.topic,
                             .seq = showing->id.seq, .account = r->account->name_token,
                             .user = showing->person.user_name, .asker = showing->id.asker);
}

static void on_deleted(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    struct buf b;
    if (error == ERR_OK && str_eq(tag, STR("missing"))) {
        kept_explain_missing(r, name_of(r));
        return;
    }
    if (reply_refuse(r, error, tag, &lines))
        return;
    buf_init(&b, 4096);
    buf_lit(&b, "{\"object\":\"response\",\"id\":");
    buf_put_json(&b, name_of(r));
    buf_lit(&b, ",\"deleted\":true}");
    respond_json(r, 200, &b);
    buf_fini(&b);
}

void openai_delete_response(struct request *r)
{
    struct showing *showing = find(r);
    if (showing != NULL)
        call_response_delete(request_call(r, on_deleted), .topic = showing->id.topic,
                             .seq = showing->id.seq, .account = r->account->name_token,
                             .user = showing->person.user_name, .asker = showing->id.asker);
}
