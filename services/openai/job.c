/* SPDX-License-Identifier: MIT
 * job.c - see job.h.
 *
 *   job_start --budget--> refused: answered with 429
 *                |
 *                v ask --> refused: answered with its error
 *                |
 *                v                 head is due: the head
 *             FOLLOWED ---------------------------------------------+
 *                |   ^ pieces: chunks, or put together               |
 *                |   +----------------------------------------------+
 *                v
 *             Done, Failed, the deadline, or a claim that ended after its text was sent: answered
 *
 * When the request is gone, leaving.c decides what becomes of its query. */
#include "services/openai/job.h"

#include "generated/verbs.h"
#include "services/openai/budget.h"
#include "services/openai/chunks.h"
#include "services/openai/leaving.h"
#include "services/openai/merged.h"
#include "services/openai/repeated.h"
#include "services/openai/vectors.h"
#include "shared/ask/reply.h"
#include "shared/ask/storage_limit.h"
#include "shared/base/clock.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/stream.h"
#include "shared/queue/follow.h"
#include "shared/queue/row.h"

#include <stdio.h>

enum {
    HEAD_OF_STREAM_MS = 1000,
    HEAD_MS = 45000,
    COMMENT_MS = 10000,
    DEADLINE_S = 1740, /* before the topic is swept (lua/queue/asks.lua) */
    TAIL_MAX_BYTES = 64 << 10,
    REQUEST_MAX_BYTES = 9 << 20, /* as lua/queue/door_ask.lua takes it */
    ANSWER_MAX_BYTES = 32 << 20,
    RETRY_S = 10,
    PAUSE_MS = 30000, /* for an engine that continues what was begun */
};

struct job {
    struct request *r;
    struct job_settings settings;
    struct follow follow;
    struct stream stream;
    struct deadline head, last, paused;
    struct left_listener left;
    struct budget budget;
    struct usage usage;
    struct repeated repeated; /* of a stream whose answer is generated again */
    struct chunks chunks;
    struct merged merged;
    uint64_t position; /* plus 1; 0: unknown */
    struct asked asked;
    uint64_t began_ms;
    bool may_be_queued; /* from asking on, unless it was refused */
    bool has_ended;     /* its query has */
    bool is_over;       /* it is answered */
    bool is_pause_over; /* for so long no engine has continued */
    bool has_given;     /* the client has pieces of this claim */
    bool has_time;      /* the head says how long it took */
};

/* --- what differs by Api ---------------------------------------------------------------------- */

static const struct {
    const char *name, *id, *object, *chunk;
} apis[OPENAI_API_NR] = {
    [OPENAI_CHAT] = {"chat", "chatcmpl-", "chat.completion", "chat.completion.chunk"},
    [OPENAI_COMPLETIONS] = {"completions", "cmpl-", "text_completion", "text_completion"},
    [OPENAI_EMBEDDINGS] = {"embeddings", "", "list", ""},
};

/* Puts `{"id":...,"object":...,"created":...,"model":...`. */
static void put_head(struct buf *b, const struct job *job, const char *object)
{
    buf_printf(b, "{\"id\":\"%s%s\",\"object\":\"%s\",\"created\":%llu,\"model\":",
               apis[job->settings.api].id, job->asked.first, object,
               (unsigned long long)(clock_wall_ms() / 1000));
    buf_put_json(b, job->settings.model);
}

/* --- ends ------------------------------------------------------------------------------------- */

/* Before the head. */
static void put_time(struct job *job)
{
    char text[24];
    if (job->has_time || job->stream.is_started)
        return;
    job->has_time = true;
    snprintf(text, sizeof text, "%llu", (unsigned long long)(clock_mono_ms() - job->began_ms));
    respond_header(job->r, "openai-processing-ms", str_of(text));
}

static void finish(struct job *job)
{
    struct loop *loop = job->r->server->loop;
    put_time(job);
    job->is_over = true;
    loop_cancel_deadline(loop, &job->head);
    loop_cancel_deadline(loop, &job->last);
    loop_cancel_deadline(loop, &job->paused);
    follow_stop(&job->follow);
}

static void put_error_of(struct buf *b, enum err error, const char *detail)
{
    const struct err_info *info = err_info(error);
    (void)openai_put_problem(b, &(struct problem){.info = info,
                                                  .status = info->status,
                                                  .detail = detail != NULL ? detail : info->text});
}

/* After the head. */
static void end_stream_with(struct job *job, const struct buf *error)
{
    if (!job->settings.is_stream) {
        stream_cut(&job->stream);
        return;
    }
    stream_put_buf(&job->stream, NULL, STR(""), error);
    stream_put(&job->stream, NULL, STR(""), STR("[DONE]"));
    stream_end(&job->stream);
}

static void fail(struct job *job, enum err error, const char *detail)
{
    struct buf b;
    finish(job);
    if (!job->stream.is_started) {
        respond_error_more(job->r, error, detail, NULL,
                           err_info(error)->status == 503 ? RETRY_S : 0);
        return;
    }
    buf_init(&b, 16 << 10);
    put_error_of(&b, error, detail);
    end_stream_with(job, &b);
    buf_fini(&b);
}

static void put_member(struct buf *b, const struct members *fault, const char *name,
                       const char *fallback)
{
    const struct json_span *value = members_get_kind(fault, name, JSON_SPAN_TEXT);
    buf_printf(b, ",\"%s\":", name);
    if (value != NULL)
        members_put_span(b, value);
    else
        buf_put(b, str_of(fallback));
}

/* Answers with the error of its engine, as it said it. */
static void fail_with(struct job *job, const struct members *fault)
{
    uint64_t status = members_u64(fault, "status", 500);
    const struct json_span *message = members_get_kind(fault, "message", JSON_SPAN_TEXT);
    struct buf b;
    if (status < 400 || status > 599)
        status = 500;
    buf_init(&b, 64 << 10);
    buf_lit(&b, "{\"error\":{\"message\":");
    if (message != NULL && message->raw.n > 0)
        members_put_span(&b, message);
    else
        buf_lit(&b, "\"The engine refused the request.\"");
    put_member(&b, fault, "type", status < 500 ? "\"invalid_request_error\"" : "\"server_error\"");
    put_member(&b, fault, "param", "null");
    put_member(&b, fault, "code", "null");
    buf_lit(&b, "}}");
    finish(job);
    if (!job->stream.is_started) {
        respond_header(job->r, "x-should-retry", STR("false"));
        respond_json(job->r, (int)status, &b);
    } else {
        end_stream_with(job, &b);
    }
    buf_fini(&b);
}

static void fail_with_outcome(struct job *job, const struct outcome *o)
{
    struct members fault;
    if (o != NULL && o->fault.n > 0 && members_read(&fault, o->fault)) {
        fail_with(job, &fault);
        return;
    }
    bool is_failed = o != NULL && str_eq(o->status, STR("Failed"));
    if (!job->stream.is_started)
        respond_header(job->r, "x-should-retry", STR("false"));
    fail(job, ERR_ENGINE_FAILED, is_failed ? NULL : "The request was cancelled.");
}

/* --- the head --------------------------------------------------------------------------------- */

static void on_revoked(struct request *r)
{
    struct job *job = r->state;
    if (!job->is_over)
        fail(job, r->revoked, NULL);
}

static void on_idle(struct stream *stream)
{
    follow_resume(&container_of(stream, struct job, stream)->follow);
}

static void start_stream(struct job *job)
{
    struct stream *s = &job->stream;
    if (s->is_started)
        return;
    put_time(job);
    s->on_idle = on_idle;
    s->comment_ms = COMMENT_MS;
    stream_start(s);
    job->r->on_revoked = on_revoked;
}

/* Nothing has come yet: a stream begins with a comment, JSON with a blank line. */
static void on_head_due(struct deadline *deadline)
{
    struct job *job = container_of(deadline, struct job, head);
    char position[24];
    if (job->is_over || job->stream.is_started)
        return;
    if (job->position > 0 && !job->has_given) {
        snprintf(position, sizeof position, "%llu", (unsigned long long)job->position - 1);
        respond_header(job->r, "x-parley-position", str_of(position));
    }
    job->stream.first = job->stream.comment_text;
    start_stream(job);
}

/* --- what is followed ------------------------------------------------------------------------- */

static struct job *of_follow(struct follow *follow)
{
    return container_of(follow, struct job, follow);
}

static bool is_repeatable(const struct job *job)
{
    return job->settings.is_stream && job->settings.is_one_text && job->settings.is_repeatable;
}

/* A delta with that text, in the request's pool. */
static struct str delta_of(struct job *job, struct str text)
{
    struct buf b;
    bool is_chat = job->settings.api == OPENAI_CHAT;
    buf_init(&b, ANSWER_MAX_BYTES);
    buf_lit(&b, "{\"choices\":[{\"index\":0,");
    buf_put(&b, is_chat ? STR("\"delta\":{\"content\":\"") : STR("\"text\":\""));
    buf_put(&b, text);
    buf_put(&b, is_chat ? STR("\"}}]}") : STR("\"}]}"));
    struct str copy = request_copy(job->r, buf_str(&b));
    buf_fini(&b);
    return copy;
}

/* Returns whether there is nothing of the delta for the client, or changes it to the rest. */
static bool leave_out(struct job *job, struct str *delta)
{
    struct str rest;
    switch (repeated_take(&job->repeated, *delta, &rest)) {
    case REPEATED_ALL: return false;
    case REPEATED_NOTHING: return true;
    case REPEATED_REST: *delta = delta_of(job, rest); return false;
    case REPEATED_DIFFERS: break;
    }
    fail(job, ERR_ENGINE_LOST, NULL);
    return true;
}

static void give_delta(struct job *job, struct str delta)
{
    struct buf b;
    if (!job->has_given && job->settings.is_stream) /* its caller no longer waits for the first */
        loop_set_deadline(job->r->server->loop, &job->last, DEADLINE_S * 1000);
    job->has_given = true;
    if (!job->settings.is_stream) {
        merged_add(&job->merged, delta);
        return;
    }
    if (is_repeatable(job) && leave_out(job, &delta))
        return;
    buf_init(&b, ANSWER_MAX_BYTES);
    chunks_put(&job->chunks, &b, delta);
    if (b.n > 0) {
        start_stream(job);
        stream_put_buf(&job->stream, NULL, STR(""), &b);
    }
    buf_fini(&b);
}

/* The text of an engine that does not send deltas. */
static void give_text(struct job *job, enum follow_kind kind, struct str text)
{
    struct buf b;
    bool is_chat = job->settings.api == OPENAI_CHAT;
    if (kind == FOLLOW_THINK && !is_chat)
        return;
    buf_init(&b, ANSWER_MAX_BYTES);
    buf_lit(&b, "{\"choices\":[{\"index\":0,");
    buf_put(&b, !is_chat               ? STR("\"text\":")
                : kind == FOLLOW_THINK ? STR("\"delta\":{\"reasoning_content\":")
                                       : STR("\"delta\":{\"content\":"));
    buf_put_json(&b, text);
    buf_put(&b, is_chat ? STR("}}]}") : STR("}]}"));
    give_delta(job, buf_str(&b));
    buf_fini(&b);
}

static void on_restart(struct follow *follow)
{
    struct job *job = of_follow(follow);
    merged_clear(&job->merged);
    if (job->has_given && job->settings.is_stream && !job->is_over) {
        if (is_repeatable(job) && repeated_begin(&job->repeated))
            return;
        fail(job, ERR_ENGINE_LOST, NULL);
    }
    job->has_given = false;
}

/* The engine is lost, and another one may continue. */
static void on_paused(struct follow *follow)
{
    struct job *job = of_follow(follow);
    if (!job->has_given || !job->settings.is_stream || job->is_over)
        return;
    if (job->is_pause_over && !is_repeatable(job))
        fail(job, ERR_ENGINE_LOST, NULL);
    else if (!deadline_is_set(&job->paused))
        loop_set_deadline(job->r->server->loop, &job->paused, PAUSE_MS);
}

/* Has one begun? */
static void on_pause_over(struct deadline *deadline)
{
    struct job *job = container_of(deadline, struct job, paused);
    job->is_pause_over = true;
    follow_check(&job->follow);
}

static void on_piece(struct follow *follow, enum follow_kind kind, struct str text,
                     struct piece_id id)
{
    struct job *job = of_follow(follow);
    if (job->is_over)
        return;
    loop_cancel_deadline(job->r->server->loop, &job->paused);
    job->is_pause_over = false;
    if (kind == FOLLOW_RESET)
        on_restart(follow);
    if (job->is_over)
        return;
    if (kind == FOLLOW_DELTA)
        give_delta(job, text);
    else
        give_text(job, kind, text);
}

static void on_position(struct follow *follow, uint64_t position, struct str eta)
{
    of_follow(follow)->position = position + 1;
}

static void on_given(struct follow *follow)
{
    struct job *job = of_follow(follow);
    if (job->settings.is_stream && job->stream.is_started)
        stream_flush(&job->stream);
}

static bool is_ready(struct follow *follow)
{
    struct job *job = of_follow(follow);
    return !job->settings.is_stream || !job->stream.is_started || stream_is_idle(&job->stream);
}

/* Why the model stopped, of an engine that said it beside its answer only. */
static struct str finish_of(const struct outcome *o, struct members *members, struct buf *b)
{
    static const char *const known[] = {"stop", "length", "content_filter"};
    buf_put_char(b, '{');
    buf_put(b, o->facts);
    buf_put_char(b, '}');
    (void)members_read(members, buf_str(b));
    const struct json_span *reason = members_get_kind(members, "FinishReason", JSON_SPAN_TEXT);
    for (size_t i = 0; reason != NULL && i < sizeof known / sizeof *known; i++)
        if (str_eq(reason->raw, str_of(known[i])))
            return reason->raw;
    return STR("");
}

static void end_chunks(struct job *job, struct str finish_reason)
{
    struct buf b;
    size_t n;
    start_stream(job);
    buf_init(&b, 64 << 10);
    do {
        buf_clear(&b);
        chunks_put_end(&job->chunks, &b, finish_reason);
        n = b.n;
        if (n > 0)
            stream_put_buf(&job->stream, NULL, STR(""), &b);
    } while (n > 0);
    chunks_put_usage(&job->chunks, &b);
    if (b.n > 0)
        stream_put_buf(&job->stream, NULL, STR(""), &b);
    stream_put(&job->stream, NULL, STR(""), STR("[DONE]"));
    stream_end(&job->stream);
    buf_fini(&b);
}

/* Returns false if the engine has sent no vector. */
static bool put_embeddings(struct buf *b, const struct job *job)
{
    buf_lit(b, "{\"object\":\"list\",\"data\":[");
    size_t n = vectors_put(b, buf_str(&job->merged.data), job->settings.wants_base64);
    buf_lit(b, "],\"model\":");
    buf_put_json(b, job->settings.model);
    buf_lit(b, ",\"usage\":");
    usage_put(&job->usage, b, false);
    buf_put_char(b, '}');
    return n > 0;
}

static void put_whole(struct buf *b, const struct job *job, struct str finish_reason)
{
    put_head(b, job, apis[job->settings.api].object);
    merged_put(&job->merged, b, finish_reason);
    buf_lit(b, ",\"usage\":");
    usage_put(&job->usage, b, true);
    buf_put_char(b, '}');
}

static void answer_whole(struct job *job, struct str finish_reason)
{
    struct buf b;
    bool is_good = true;
    buf_init(&b, ANSWER_MAX_BYTES);
    if (job->settings.api == OPENAI_EMBEDDINGS)
        is_good = put_embeddings(&b, job);
    else
        put_whole(&b, job, finish_reason);
    if (!is_good)
        fail(job, ERR_ENGINE_FAILED, "The engine has sent no embedding.");
    else if (!job->stream.is_started)
        respond_json(job->r, 200, &b);
    else if (b.is_over)
        stream_cut(&job->stream);
    else {
        stream_put_text(&job->stream, buf_str(&b));
        stream_end(&job->stream);
    }
    buf_fini(&b);
}

static void on_end(struct follow *follow, const struct outcome *o)
{
    struct job *job = of_follow(follow);
    struct members members;
    struct buf facts;
    job->has_ended = true;
    if (job->is_over)
        return;
    if (o == NULL || o->answer.n == 0) {
        fail_with_outcome(job, o);
        return;
    }
    if (repeated_is_short(&job->repeated)) {
        fail(job, ERR_ENGINE_LOST, NULL);
        return;
    }
    finish(job);
    usage_say_facts(&job->usage, o->facts);
    buf_init(&facts, 4096);
    struct str reason = finish_of(o, &members, &facts);
    if (job->settings.is_stream)
        end_chunks(job, reason);
    else
        answer_whole(job, reason);
    buf_fini(&facts);
}

/* --- other ends ------------------------------------------------------------------------------- */

static void on_last(struct deadline *deadline)
{
    struct job *job = container_of(deadline, struct job, last);
    fail(job, ERR_NO_ANSWER, "No answer came in time.");
}

static void on_left(struct left_listener *listener)
{
    struct job *job = container_of(listener, struct job, left);
    if (!job->is_over)
        fail(job, ERR_NO_ANSWER, "The client has left.");
}

/* Has the client got all of the answer? */
static bool is_served(const struct job *job)
{
    return job->has_ended && job->is_over && job->r->exchange.is_answered &&
           (!job->stream.is_started || job->stream.is_ended) && !request_write_failed(job->r);
}

static void on_gone(struct request *r)
{
    struct job *job = r->state;
    struct loop *loop = r->server->loop;
    enum leaving_how how = is_served(job) ? LEAVING_SERVED : LEAVING_LEFT;
    loop_cancel_deadline(loop, &job->head);
    loop_cancel_deadline(loop, &job->last);
    loop_cancel_deadline(loop, &job->paused);
    follow_fini(&job->follow);
    stream_fini(&job->stream);
    merged_fini(&job->merged);
    usage_fini(&job->usage);
    repeated_fini(&job->repeated);
    if (job->may_be_queued) {
        if (!job->has_ended)
            budget_pass(&job->budget, r, false);
        leaving_start(openai_of(r), &job->asked, how);
    }
    budget_fini(&job->budget, r);
}

/* --- asking ----------------------------------------------------------------------------------- */

static void refuse_model(struct request *r, const struct job *job)
{
    explain(r, ERR_NO_MODEL,
            "No engine has named the model %s for this route within the last hour: GET /v1/models "
            "lists those that one has.",
            explain_quoted(r, job->settings.model));
}

/* Once it is known which query answers it. */
static void prepare_chunks(struct job *job)
{
    struct buf head;
    buf_init(&head, 4096);
    put_head(&head, job, apis[job->settings.api].chunk);
    job->chunks = (struct chunks){.api = job->settings.api,
                                  .head = request_copy(job->r, buf_str(&head)),
                                  .has_usage = job->settings.has_usage,
                                  .usage = &job->usage};
    buf_fini(&head);
}

/* Follows the query that the reply names: of an equal request perhaps, whose client has gone. */
static void take_query(struct job *job, struct lines *lines)
{
    struct request *r = job->r;
    struct str topic = lines_next(lines);
    uint64_t seq = lines_next_u64(lines);
    struct str first = lines_next(lines);
    if (first.n == sizeof job->asked.first - 1)
        memcpy(job->asked.first, first.at, first.n);
    if (!str_eq(topic, job->asked.topic) || seq != job->asked.seq) {
        queue_unwatch(job->follow.queue, &job->follow.watch);
        job->asked.topic = request_copy(r, topic);
        job->asked.seq = seq;
        follow_watch(&job->follow, job->asked.topic, seq);
        r->about.topic = job->asked.topic;
        r->about.seq = seq;
    }
    prepare_chunks(job);
}

static void on_asked(struct request *r, enum err error, struct str reply)
{
    struct job *job = r->state;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    bool is_attached = error == ERR_OK && str_eq(tag, STR("attached"));
    bool is_queued = is_attached || (error == ERR_OK && str_eq(tag, STR("ok")));
    job->may_be_queued = is_queued || error != ERR_OK;
    if (job->may_be_queued && !is_attached) /* one that has ended will charge nobody */
        budget_pass(&job->budget, r, is_queued);
    if (job->is_over)
        return;
    if (is_queued) {
        if (!is_attached)
            queue_count_added(job->follow.queue, job->asked.topic);
        else
            respond_header(r, "x-parley-attached", STR("1"));
        take_query(job, &lines);
        if (is_attached && str_eq(lines_next(&lines), STR("runs")))
            budget_pass(&job->budget, r, true);
        r->was_parked = true;
        loop_set_deadline(r->server->loop, &job->head,
                          job->settings.is_stream ? HEAD_OF_STREAM_MS : HEAD_MS);
        follow_start(&job->follow);
        return;
    }
    finish(job);
    if (error == ERR_OK && str_eq(tag, STR("no_model")))
        refuse_model(r, job);
    else if (error == ERR_OK && str_eq(tag, STR("no_engine")))
        respond_error_more(r, ERR_NO_ENGINE, NULL, NULL, RETRY_S);
    else if (!reply_refuse(r, error, tag, &lines))
        respond_error(r, ERR_INTERNAL, NULL);
}

static void ask(struct job *job)
{
    struct request *r = job->r;
    struct buf tail, model, request;
    buf_init(&tail, TAIL_MAX_BYTES);
    buf_init(&model, 1024);
    buf_init(&request, REQUEST_MAX_BYTES);
    row_put_who(&tail, job->settings.person.user, job->settings.model);
    buf_put(&tail, job->settings.is_one_text ? STR("{}") : STR("{\"Continue\":false}"));
    row_put_trace(&tail, request_header(r, "traceparent"), r->id);
    buf_put_json(&tail, job->settings.title);
    buf_put(&model, str_of(apis[job->settings.api].name));
    buf_put_char(&model, '/');
    buf_put_name(&model, job->settings.model);
    buf_put_json(&request, request_entity(r));
    job->may_be_queued = true;
    if (job->asked.is_kept)
        call_door_add(
            request_call(r, on_asked), .topic = job->asked.topic, .asker = str_of(job->asked.asker),
            .digest = str_of(job->asked.digest), .user = job->settings.person.user_name,
            .account = r->account->name_token, .model = buf_str(&model),
            .weight = r->account->weight_text, .max_waiting = r->account->max_waiting,
            .tail = buf_str(&tail), .request = buf_str(&request), .grant = job->budget.id,
            .is_own = r->account->role == ROLE_USER, .max_stored = storage_limit_of_account(r),
            .max_stored_per_user = storage_limit_of_user(r));
    else
        call_door_ask(request_call(r, on_asked), .topic = job->asked.topic,
                      .asker = str_of(job->asked.asker), .digest = str_of(job->asked.digest),
                      .user = job->settings.person.user_name, .account = r->account->name_token,
                      .model = buf_str(&model), .weight = r->account->weight_text,
                      .max_waiting = r->account->max_waiting, .tail = buf_str(&tail),
                      .request = buf_str(&request), .grant = job->budget.id);
    buf_fini(&tail);
    buf_fini(&model);
    buf_fini(&request);
}

static void on_budget(struct request *r, enum err error, struct str reply)
{
    struct job *job = r->state;
    if (job->is_over)
        return;
    if (budget_admit(&job->budget, r, error, reply)) {
        ask(job);
        return;
    }
    finish(job);
    budget_refuse(r, error, reply);
}

/* When its caller gives up, as it says; at most DEADLINE_S. */
static uint64_t deadline_s(struct request *r)
{
    struct str text = request_header(r, "x-stainless-timeout");
    uint64_t seconds;
    if (text.at == NULL || !str_parse_u64(text, &seconds) || seconds == 0 || seconds > DEADLINE_S)
        return DEADLINE_S;
    return seconds;
}

static void prepare_stream(struct job *job)
{
    bool is_stream = job->settings.is_stream;
    stream_init(&job->stream, job->r, STREAM_EVENT_FIRST, false, ANSWER_MAX_BYTES);
    job->stream.content_type = is_stream ? "text/event-stream" : "application/json";
    job->stream.first = STR("");
    job->stream.comment_text = is_stream ? STR(": ping\n") : STR("\n");
}

void job_start(struct request *r, const struct job_settings *settings)
{
    static const struct follow_events events = {.on_piece = on_piece,
                                                .on_restart = on_restart,
                                                .on_lost = on_restart,
                                                .on_paused = on_paused,
                                                .on_position = on_position,
                                                .on_given = on_given,
                                                .on_end = on_end,
                                                .is_ready = is_ready};
    struct loop *loop = r->server->loop;
    struct job *job = request_alloc(r, sizeof *job);
    *job = (struct job){.r = r, .settings = *settings, .budget.id = STR("")};
    bool is_kept = settings->topic.at != NULL || settings->is_stored;
    asked_init(&job->asked, r, &settings->person, settings->api, settings->topic,
               is_kept ? apis[settings->api].id : "ask.", is_kept);
    usage_init(&job->usage, request_entity(r).n);
    repeated_init(&job->repeated);
    merged_init(&job->merged, settings->api, &job->usage);
    prepare_stream(job);
    follow_init(&job->follow, openai_of(r)->queue, &events, (struct piece_id){0, 0});
    job->follow.takes_deltas = true;
    if (!is_kept)
        follow_watch(&job->follow, job->asked.topic, job->asked.seq);
    r->about.topic = job->asked.topic;
    r->about.seq = job->asked.seq;
    r->state = job;
    r->on_gone = on_gone;
    job->head.on_expire = on_head_due;
    job->last.on_expire = on_last;
    job->paused.on_expire = on_pause_over;
    job->left.on_left = on_left;
    job->began_ms = clock_mono_ms();
    loop_set_deadline(loop, &job->last, deadline_s(r) * 1000);
    request_on_left(r, &job->left);
    if (budget_is_needed(r->account))
        budget_take(&job->budget, r, str_of(job->asked.asker), on_budget);
    else
        ask(job);
}
