/* SPDX-License-Identifier: MIT
 * job_answer.c - see job_answer.h. */
#include "services/openai/job_answer.h"

#include "generated/verbs.h"
#include "shared/base/clock.h"
#include "shared/http/request/respond.h"

#include <stdio.h>

enum {
    COMMENT_MS = 10000,
    PAUSE_MS = 30000,           /* for an engine that continues what was begun */
    STORED_MAX_BYTES = 9 << 20, /* as lua/queue/door_keep.lua takes it */
};

/* --- Apis ------------------------------------------------------------------------------------- */

const struct job_api job_apis[OPENAI_API_NR] = {
    [OPENAI_CHAT] = {"chat", "chatcmpl-", "chat.completion", "chat.completion.chunk"},
    [OPENAI_COMPLETIONS] = {"completions", "cmpl-", "text_completion", "text_completion"},
    [OPENAI_EMBEDDINGS] = {"embeddings", "", "list", ""},
};

bool job_is_stored(const struct job *job)
{
    return job->settings.metadata.n > 0;
}

bool job_is_readable(const struct job *job)
{
    return job_is_stored(job) || job->settings.response.n > 0;
}

/* Puts the members after the id and the kind of object. */
static void put_created(struct buf *b, const struct job *job)
{
    buf_printf(b, "\"created\":%llu,\"model\":", (unsigned long long)job->created_s);
    buf_put_json(b, job->settings.model);
}

void job_put_head(struct buf *b, const struct job *job, const char *object)
{
    buf_printf(b, "{\"id\":\"%.*s\",\"object\":\"%s\",", STR_ARG(job->id), object);
    put_created(b, job);
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

void job_finish(struct job *job)
{
    struct loop *loop = job->r->server->loop;
    put_time(job);
    job->is_over = true;
    loop_cancel_deadline(loop, &job->head);
    loop_cancel_deadline(loop, &job->last);
    loop_cancel_deadline(loop, &job->paused);
    follow_stop(&job->follow);
}

/* After the head. */
static void end_stream_with(struct job *job, const struct buf *error)
{
    if (!job->settings.is_stream) {
        stream_cut(&job->stream);
        return;
    }
    job->settings.form->give_error(job, error);
    stream_end(&job->stream);
}

static void fail(struct job *job, enum err error, const char *detail, unsigned retry_s)
{
    const struct err_info *info = err_info(error);
    struct buf b;
    job_finish(job);
    if (!job->stream.is_started) {
        respond_error_more(job->r, error, detail, NULL, retry_s);
        return;
    }
    buf_init(&b, 16 << 10);
    (void)job->settings.form->problem(
        &b, &(struct problem){.info = info,
                              .status = info->status,
                              .detail = detail != NULL ? detail : info->text,
                              .instance = job->r->id});
    end_stream_with(job, &b);
    buf_fini(&b);
}

void job_fail(struct job *job, enum err error, const char *detail)
{
    fail(job, error, detail, err_info(error)->status == 503 ? JOB_RETRY_S : 0);
}

void job_refuse(struct job *job, const struct refusal *refusal)
{
    fail(job, refusal->error, refusal->detail[0] != 0 ? refusal->detail : NULL,
         refusal->retry_after_s);
}

void job_put_fault_message(struct buf *b, const struct members *fault)
{
    const struct json_span *message = members_get_kind(fault, "message", JSON_SPAN_TEXT);
    if (message != NULL && message->raw.n > 0)
        members_put_span(b, message);
    else
        buf_lit(b, "\"The engine refused the request.\"");
}

/* Answers with the error of its engine, as it said it. */
static void fail_with(struct job *job, const struct members *fault)
{
    uint64_t status = members_u64(fault, "status", 500);
    struct buf b;
    if (status < 400 || status > 599)
        status = 500;
    buf_init(&b, 64 << 10);
    job->settings.form->put_fault(&b, job, fault, status);
    job_finish(job);
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
    job_fail(job, ERR_ENGINE_FAILED, is_failed ? NULL : "The request was cancelled.");
}

/* --- the head --------------------------------------------------------------------------------- */

static void on_revoked(struct request *r)
{
    struct job *job = r->state;
    if (!job->is_over)
        job_fail(job, r->revoked, NULL);
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
    if (job->settings.is_stream && job->settings.form->begin != NULL)
        job->settings.form->begin(job);
}

void job_send_head(struct job *job)
{
    start_stream(job);
    stream_flush(&job->stream);
}

void job_put_event(struct job *job, const char *event, const struct buf *data)
{
    start_stream(job);
    stream_put_buf(&job->stream, event, STR(""), data);
}

/* Nothing has come yet: a stream begins as its form has it, JSON with a blank line. */
void job_on_head_due(struct deadline *deadline)
{
    struct job *job = container_of(deadline, struct job, head);
    char position[24];
    if (job->is_over || job->stream.is_started)
        return;
    if (job->r->inner != NULL && !job->settings.is_stream) /* nobody waits for the head */
        return;
    if (job->follow.skips_position) {
        job->follow.skips_position = false;
        loop_set_deadline(job->r->server->loop, &job->head, JOB_POSITION_MS);
        follow_check(&job->follow);
        return;
    }
    if (job->position > 0 && !job->has_given) {
        snprintf(position, sizeof position, "%llu", (unsigned long long)job->position - 1);
        respond_header(job->r, "x-parley-position", str_of(position));
    }
    job->stream.first =
        job->settings.is_stream ? str_of(job->settings.form->first) : job->stream.comment_text;
    start_stream(job);
    stream_flush(&job->stream);
}

/* --- what is followed ------------------------------------------------------------------------- */

static struct job *of_follow(struct follow *follow)
{
    return container_of(follow, struct job, follow);
}

static bool is_repeatable(const struct job *job)
{
    return job->settings.is_stream && job->settings.is_one_text && job->settings.is_repeatable &&
           job->settings.response.n == 0; /* whose events follow from the pieces that are stored */
}

/* A delta with that text, in the request's pool. */
static struct str delta_of(struct job *job, struct str text)
{
    struct buf b;
    bool is_chat = job->settings.api == OPENAI_CHAT;
    buf_init(&b, JOB_ANSWER_MAX_BYTES);
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
    job_fail(job, ERR_ENGINE_LOST, NULL);
    return true;
}

static void give_delta(struct job *job, struct str delta)
{
    if (!job->has_given && job->settings.is_stream) /* its caller no longer waits for the first */
        loop_set_deadline(job->r->server->loop, &job->last, JOB_DEADLINE_S * 1000);
    job->has_given = true;
    if (!job->settings.is_stream && job->settings.form->add != NULL)
        job->settings.form->add(job, delta);
    else if (!job->settings.is_stream || job_is_stored(job))
        merged_add(&job->merged, delta);
    if (!job->settings.is_stream)
        return;
    if (is_repeatable(job) && leave_out(job, &delta))
        return;
    job->settings.form->give(job, delta);
}

/* The text of an engine that does not send deltas. */
static void give_text(struct job *job, enum follow_kind kind, struct str text)
{
    struct buf b;
    bool is_chat = job->settings.api == OPENAI_CHAT;
    if (kind == FOLLOW_THINK && !is_chat)
        return;
    buf_init(&b, JOB_ANSWER_MAX_BYTES);
    buf_lit(&b, "{\"choices\":[{\"index\":0,");
    buf_put(&b, !is_chat               ? STR("\"text\":")
                : kind == FOLLOW_THINK ? STR("\"delta\":{\"reasoning_content\":")
                                       : STR("\"delta\":{\"content\":"));
    buf_put_json(&b, text);
    buf_put(&b, is_chat ? STR("}}]}") : STR("}]}"));
    give_delta(job, buf_str(&b));
    buf_fini(&b);
}

/* The same, or what a model of a service shows of it. */
static void give_shown(struct job *job, enum follow_kind kind, struct str text)
{
    struct buf shown;
    if (job->own == NULL || kind == FOLLOW_THINK) {
        give_text(job, kind, text);
        return;
    }
    buf_init(&shown, JOB_ANSWER_MAX_BYTES);
    job->own->model->put_text(job->own, text, &shown);
    if (shown.n > 0)
        give_text(job, kind, buf_str(&shown));
    buf_fini(&shown);
}

/* The end of what a model of a service shows: the rest of the text, and its annotations. */
static void give_rest(struct job *job)
{
    struct buf rest, annotations, delta;
    buf_init(&rest, JOB_ANSWER_MAX_BYTES);
    buf_init(&annotations, JOB_ANSWER_MAX_BYTES);
    job->own->model->put_end(job->own, &rest, &annotations);
    if (rest.n > 0)
        give_text(job, FOLLOW_ANSWER, buf_str(&rest));
    if (annotations.n > 0 && !job->is_over && !repeated_is_short(&job->repeated)) {
        buf_init(&delta, JOB_ANSWER_MAX_BYTES);
        buf_lit(&delta, "{\"choices\":[{\"index\":0,\"delta\":{\"annotations\":");
        buf_put(&delta, buf_str(&annotations));
        buf_lit(&delta, "}}]}");
        give_delta(job, buf_str(&delta));
        buf_fini(&delta);
    }
    buf_fini(&rest);
    buf_fini(&annotations);
}

static void on_restart(struct follow *follow)
{
    struct job *job = of_follow(follow);
    if (job->own != NULL)
        job->own->model->restart(job->own);
    merged_clear(&job->merged);
    if (!job->settings.is_stream && job->settings.form->clear != NULL)
        job->settings.form->clear(job);
    if (job->has_given && job->settings.is_stream && !job->is_over) {
        if (is_repeatable(job) && repeated_begin(&job->repeated))
            return;
        job_fail(job, ERR_ENGINE_LOST, NULL);
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
        job_fail(job, ERR_ENGINE_LOST, NULL);
    else if (!deadline_is_set(&job->paused))
        loop_set_deadline(job->r->server->loop, &job->paused, PAUSE_MS);
}

/* Has one begun? */
void job_on_pause_over(struct deadline *deadline)
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
        give_shown(job, kind, text);
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

void job_put_rest(struct buf *b, const struct job *job)
{
    merged_put(&job->merged, b, job->finish);
    buf_lit(b, ",\"usage\":");
    usage_put(&job->usage, b, true);
}

static void answer_whole(struct job *job)
{
    struct buf b;
    buf_init(&b, JOB_ANSWER_MAX_BYTES);
    if (!job->settings.form->put_whole(&b, job))
        job_fail(job, ERR_ENGINE_FAILED,
                 job->settings.api == OPENAI_EMBEDDINGS ? "The engine has sent no embedding."
                                                        : NULL);
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

static void answer(struct job *job)
{
    if (!job->settings.is_stream) {
        answer_whole(job);
        return;
    }
    start_stream(job);
    job->settings.form->end(job);
    stream_end(&job->stream);
}

/* Without Redis the client has its answer all the same. */
static void on_stored(struct request *r, enum err error, struct str reply)
{
    (void)error;
    (void)reply;
    answer(r->state);
}

/* Stores what its client gets, and answers then: who has the id finds it. */
static void store(struct job *job)
{
    struct buf b;
    buf_init(&b, STORED_MAX_BYTES);
    put_created(&b, job);
    job_put_rest(&b, job);
    if (b.is_over)
        answer(job);
    else
        call_door_keep(request_call(job->r, on_stored), .topic = job->asked.topic,
                       .seq = job->asked.seq, .answer = buf_str(&b));
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
    if (job->own != NULL)
        give_rest(job);
    if (job->is_over)
        return;
    if (repeated_is_short(&job->repeated)) {
        job_fail(job, ERR_ENGINE_LOST, NULL);
        return;
    }
    usage_say_facts(&job->usage, o->facts);
    buf_init(&facts, 4096);
    job->finish = request_copy(job->r, finish_of(o, &members, &facts));
    buf_fini(&facts);
    job_finish(job);
    if (job_is_stored(job))
        store(job);
    else
        answer(job);
}

void job_answer_text(struct job *job, struct str text)
{
    struct buf delta;
    buf_init(&delta, JOB_ANSWER_MAX_BYTES);
    buf_lit(&delta, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":");
    buf_put_json(&delta, text);
    buf_lit(&delta, "}}],\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0}}");
    give_delta(job, buf_str(&delta));
    buf_fini(&delta);
    job->finish = STR("stop");
    job_finish(job);
    answer(job);
}

const struct follow_events job_events = {.on_piece = on_piece,
                                         .on_restart = on_restart,
                                         .on_lost = on_restart,
                                         .on_paused = on_paused,
                                         .on_position = on_position,
                                         .on_given = on_given,
                                         .on_end = on_end,
                                         .is_ready = is_ready};
