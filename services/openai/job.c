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
 * job_answer.c makes the answer. When the request is gone, leaving.c decides what becomes of its
 * query. */
#include "services/openai/job.h"

#include "generated/verbs.h"
#include "services/openai/completion_id.h"
#include "shared/ask/reply.h"
#include "shared/ask/storage_limit.h"
#include "shared/base/clock.h"
#include "shared/http/request/explain.h"
#include "shared/queue/row.h"

enum {
    BEHIND_MAX = 256, /* queries of a person that wait behind all others, on a shard */
    HEAD_OF_STREAM_MS = 1000,
    HEAD_MS = 45000,
    TAIL_MAX_BYTES = 64 << 10,
    MODEL_MAX_BYTES = 1024,
    REQUEST_MAX_BYTES = 9 << 20, /* as lua/queue/door_ask.lua takes it */
};

/* --- ends ------------------------------------------------------------------------------------- */

static void on_last(struct deadline *deadline)
{
    struct job *job = container_of(deadline, struct job, last);
    if (job->settings.is_background && job->stream.is_started) { /* its client can come back */
        job_finish(job);
        stream_cut(&job->stream);
        return;
    }
    job_fail(job, ERR_NO_ANSWER, "No answer came in time.");
}

static void on_left(struct left_listener *listener)
{
    struct job *job = container_of(listener, struct job, left);
    if (!job->is_over)
        job_fail(job, ERR_NO_ANSWER, "The client has left.");
}

/* Has the client got all of the answer? */
static bool is_served(const struct job *job)
{
    return job->has_ended && job->is_over && job->r->exchange.is_answered &&
           (!job->stream.is_started || job->stream.is_ended) && !request_write_failed(job->r);
}

static enum leaving_how how_left(const struct job *job)
{
    if (is_served(job))
        return LEAVING_SERVED;
    return job->r->is_withdrawn ? LEAVING_WITHDRAWN : LEAVING_LEFT;
}

static void on_gone(struct request *r)
{
    struct job *job = r->state;
    struct loop *loop = r->server->loop;
    enum leaving_how how = how_left(job);
    loop_cancel_deadline(loop, &job->head);
    loop_cancel_deadline(loop, &job->last);
    loop_cancel_deadline(loop, &job->paused);
    follow_fini(&job->follow);
    stream_fini(&job->stream);
    merged_fini(&job->merged);
    usage_fini(&job->usage);
    usage_fini(&job->unused);
    repeated_fini(&job->repeated);
    if (job->settings.form->fini != NULL)
        job->settings.form->fini(job);
    if (job->own != NULL)
        job->own->model->cancel(job->own);
    if (job->may_be_queued) {
        if (!job->has_ended)
            budget_pass(&job->budget, r, false);
        if (!job->settings.is_background)
            leaving_start(openai_of(r), &job->asked, how);
    }
    budget_fini(&job->budget, r);
}

/* --- asking ----------------------------------------------------------------------------------- */

void job_refuse_model(struct job *job)
{
    job_finish(job);
    explain(job->r, ERR_NO_MODEL,
            "No engine has named the model %s for this route within the last hour: GET /v1/models "
            "lists those that one has.",
            explain_quoted(job->r, job->settings.model));
}

/* Returns what the id of the answer begins with. */
static const char *prefix_of(const struct job *job)
{
    const char *id = job->settings.form->id;
    return id != NULL ? id : job_apis[job->settings.api].id;
}

/* Names the answer, once it is known which query it is of, and where its topic is among those of
 * its user. */
static void set_id(struct job *job, uint64_t place, uint64_t created_ms)
{
    struct buf b;
    buf_init(&b, 1024);
    if (job_is_readable(job)) {
        completion_id_put(&b, job->r, prefix_of(job),
                          &(struct completion_id){.asker = str_of(job->asked.first),
                                                  .place = place,
                                                  .seq = job->asked.seq,
                                                  .topic = job->asked.topic});
    } else {
        buf_put(&b, str_of(prefix_of(job)));
        buf_put(&b, str_of(job->asked.first));
    }
    job->id = request_copy(job->r, buf_str(&b));
    job->created_s = (created_ms > 0 ? created_ms : clock_wall_ms()) / 1000;
    buf_fini(&b);
    job->settings.form->open(job);
}

/* Follows the query that the reply names: of an equal request perhaps, whose client has gone.
 * Returns whether it has not ended yet, as far as that is known. */
static bool take_query(struct job *job, struct lines *lines, bool is_attached)
{
    struct request *r = job->r;
    struct str topic = lines_next(lines);
    uint64_t seq = lines_next_u64(lines);
    struct str first = is_attached ? lines_next(lines) : STR("");
    bool has_ended = is_attached && str_eq(lines_next(lines), STR("done"));
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
    uint64_t place = lines_next_u64(lines);
    set_id(job, place, lines_next_u64(lines));
    return !has_ended;
}

void job_wait(struct job *job)
{
    struct request *r = job->r;
    r->was_parked = true;
    job->follow.skips_position = true;
    loop_set_deadline(r->server->loop, &job->head,
                      (job->settings.is_stream ? HEAD_OF_STREAM_MS : HEAD_MS) - JOB_POSITION_MS);
    follow_start(&job->follow);
}

static void answer_queued(struct job *job)
{
    struct buf b;
    buf_init(&b, JOB_ANSWER_MAX_BYTES);
    job_finish(job);
    job->settings.form->put_queued(&b, job);
    respond_json(job->r, 200, &b);
    buf_fini(&b);
}

static void ask(struct job *job);

/* There is no engine of the Api that it was put to, or the other one is better. Puts it to that
 * one, unless there is none either. */
static bool ask_elsewhere(struct job *job, struct str tag)
{
    const struct job_settings *settings = &job->settings;
    if (settings->passing_api == NULL)
        return false;
    if (!str_eq(tag, STR("other"))) {
        job->is_refused[job->is_passed] = true;
        job->lacks_engine |= str_eq(tag, STR("no_engine"));
        if (job->is_refused[!job->is_passed] || (job->is_passed && settings->fault.at != NULL))
            return false;
    }
    job->is_passed = !job->is_passed;
    ask(job);
    return true;
}

static void refuse_engine(struct job *job, struct str tag)
{
    if (job->lacks_engine || str_eq(tag, STR("no_engine"))) {
        job_finish(job);
        respond_error_more(job->r, ERR_NO_ENGINE, NULL, NULL, JOB_RETRY_S);
    } else if (job->settings.fault.at != NULL) {
        job_finish(job);
        explain(job->r, ERR_BAD_REQUEST, "%.*s", STR_ARG(job->settings.fault));
    } else {
        job_refuse_model(job);
    }
}

static bool is_without_engine(struct str tag)
{
    return str_eq(tag, STR("no_model")) || str_eq(tag, STR("no_engine")) ||
           str_eq(tag, STR("other"));
}

static void on_asked(struct request *r, enum err error, struct str reply)
{
    struct job *job = r->state;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    bool is_attached = error == ERR_OK && str_eq(tag, STR("attached"));
    bool is_queued = is_attached || (error == ERR_OK && str_eq(tag, STR("ok")));
    job->may_be_queued = is_queued || error != ERR_OK;
    if (error == ERR_OK && is_without_engine(tag) && !job->is_over && ask_elsewhere(job, tag))
        return;
    if (job->may_be_queued && !is_attached) /* one that has ended will charge nobody */
        budget_pass(&job->budget, r, is_queued);
    if (job->is_over)
        return;
    if (is_queued) {
        if (job->settings.passing_api != NULL)
            openai_of(r)->prefers_passing = job->is_passed;
        if (!is_attached)
            queue_count_added(job->follow.queue, job->asked.topic);
        else
            respond_header(r, "x-parley-attached", STR("1"));
        if (take_query(job, &lines, is_attached) && is_attached)
            budget_pass(&job->budget, r, true);
        if (job->settings.is_background && !job->settings.is_stream)
            answer_queued(job);
        else
            job_wait(job);
        return;
    }
    if (error == ERR_OK && is_without_engine(tag)) {
        refuse_engine(job, tag);
        return;
    }
    job_finish(job);
    if (!reply_refuse(r, error, tag, &lines))
        respond_error(r, ERR_INTERNAL, NULL);
}

/* The text that engines get. */
static struct str request_of(const struct job *job)
{
    bool is_body = job->is_passed || job->settings.request.at == NULL;
    return is_body ? request_entity(job->r) : job->settings.request;
}

/* In the fair order (lua/queue/behind.lua). */
static struct str user_of(const struct job *job)
{
    struct str user = job->settings.person.user_name;
    struct buf *scratch = &job->r->server->scratch;
    if (!job->r->is_behind)
        return user;
    buf_clear(scratch);
    buf_put(scratch, user);
    buf_put_char(scratch, '+');
    return buf_str(scratch);
}

/* In the queue (lua/queue/apis.lua). */
static void put_model(struct buf *b, const char *api, const struct job *job)
{
    buf_put(b, str_of(api));
    buf_put_char(b, '/');
    buf_put_name(b, job->settings.model);
}

static void ask(struct job *job)
{
    struct request *r = job->r;
    struct buf tail, model, other, request;
    const char *passing = job->settings.passing_api;
    bool has_other = passing != NULL && !job->is_passed && !job->is_refused[true];
    if (job->settings.ask != NULL) {
        job->settings.ask(job);
        return;
    }
    buf_init(&tail, TAIL_MAX_BYTES);
    buf_init(&model, MODEL_MAX_BYTES);
    buf_init(&other, MODEL_MAX_BYTES);
    buf_init(&request, REQUEST_MAX_BYTES);
    row_put_who(&tail, job->settings.person.user, job->settings.model);
    buf_put(&tail,
            job->settings.is_one_text && !job->is_passed ? STR("{}") : STR("{\"Continue\":false}"));
    row_put_trace(&tail, request_header(r, "traceparent"), r->id);
    buf_put_json(&tail, job->settings.title);
    put_model(&model, job->is_passed ? passing : job_apis[job->settings.api].name, job);
    if (has_other)
        put_model(&other, passing, job);
    buf_put_json(&request, request_of(job));
    job->may_be_queued = true;
    if (job->asked.is_kept)
        call_door_add(
            request_call(r, on_asked), .topic = job->asked.topic, .asker = str_of(job->asked.asker),
            .digest = str_of(job->asked.digest), .user = job->settings.person.user_name,
            .account = r->account->name_token, .model = buf_str(&model),
            .weight = r->account->weight_text, .max_waiting = r->account->max_waiting,
            .tail = buf_str(&tail), .request = buf_str(&request), .grant = job->budget.id,
            .metadata = job->settings.metadata, .response = job->settings.response,
            .is_background = job->settings.is_background, .request_bytes = request_of(job).n,
            .is_own = r->account->role == ROLE_USER, .max_stored = storage_limit_of_account(r),
            .max_stored_per_user = storage_limit_of_user(r), .other = buf_str(&other));
    else
        call_door_ask(request_call(r, on_asked), .topic = job->asked.topic,
                      .asker = str_of(job->asked.asker), .digest = str_of(job->asked.digest),
                      .user = user_of(job), .account = r->account->name_token,
                      .model = buf_str(&model), .weight = r->account->weight_text,
                      .max_waiting = r->is_behind ? BEHIND_MAX : r->account->max_waiting,
                      .tail = buf_str(&tail), .request = buf_str(&request), .grant = job->budget.id,
                      .other = buf_str(&other));
    buf_fini(&tail);
    buf_fini(&model);
    buf_fini(&other);
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
    job_finish(job);
    budget_refuse(r, error, reply);
}

/* When its caller gives up, as it says; at most DEADLINE_S. */
static uint64_t deadline_s(struct request *r)
{
    struct str text = request_header(r, "x-stainless-timeout");
    uint64_t seconds;
    if (text.at == NULL || !str_parse_u64(text, &seconds) || seconds == 0 ||
        seconds > JOB_DEADLINE_S)
        return JOB_DEADLINE_S;
    return seconds;
}

static void prepare_stream(struct job *job)
{
    bool is_stream = job->settings.is_stream;
    stream_init(&job->stream, job->r, STREAM_EVENT_FIRST, false, JOB_ANSWER_MAX_BYTES);
    job->stream.content_type = is_stream ? "text/event-stream" : "application/json";
    job->stream.first = STR("");
    job->stream.comment_text = is_stream ? str_of(job->settings.form->comment) : STR("\n");
}

static struct job *create(struct request *r, const struct job_settings *settings,
                          size_t request_bytes)
{
    struct job *job = request_alloc(r, sizeof *job);
    *job = (struct job){.r = r, .settings = *settings, .budget.id = STR("")};
    if (settings->form == NULL)
        job->settings.form = &job_chat_form;
    usage_init(&job->usage, request_bytes);
    repeated_init(&job->repeated);
    usage_init(&job->unused, 0);
    merged_init(&job->merged, settings->api, settings->is_stream ? &job->unused : &job->usage);
    prepare_stream(job);
    job->is_passed = settings->passing_api != NULL &&
                     (settings->fault.at != NULL || openai_of(r)->prefers_passing);
    follow_init(&job->follow, openai_of(r)->queue, &job_events, (struct piece_id){0, 0});
    job->follow.takes_deltas = settings->own == NULL;
    r->state = job;
    r->on_gone = on_gone;
    job->head.on_expire = job_on_head_due;
    job->last.on_expire = on_last;
    job->paused.on_expire = job_on_pause_over;
    job->left.on_left = on_left;
    job->began_ms = clock_mono_ms();
    loop_set_deadline(r->server->loop, &job->last, deadline_s(r) * 1000);
    request_on_left(r, &job->left);
    return job;
}

void job_start(struct request *r, const struct job_settings *settings)
{
    bool is_kept = settings->topic.at != NULL || settings->is_stored;
    struct job *job = create(
        r, settings, settings->request.at != NULL ? settings->request.n : request_entity(r).n);
    asked_init(&job->asked, r, &settings->person, settings->api, str_of(job->settings.form->name),
               settings->topic, is_kept ? prefix_of(job) : "ask.", is_kept);
    if (settings->own != NULL) {
        set_id(job, 0, 0); /* it is known later which query answers it */
    } else {
        if (!is_kept)
            follow_watch(&job->follow, job->asked.topic, job->asked.seq);
        r->about.topic = job->asked.topic;
        r->about.seq = job->asked.seq;
    }
    if (budget_is_needed(r->account))
        budget_take(&job->budget, r, str_of(job->asked.asker), on_budget);
    else
        ask(job);
}

static struct job *create_view(struct request *r, const struct job_settings *settings,
                               const struct job_place *place)
{
    struct job *job = create(r, settings, place->request_bytes);
    job->is_view = true;
    job->asked = (struct asked){.topic = place->topic, .seq = place->seq, .is_kept = true};
    job->id = place->id;
    job->created_s = place->created_ms / 1000;
    job->settings.form->open(job);
    job_send_head(job); /* that it fails is no failure of this request */
    return job;
}

void job_view(struct request *r, const struct job_settings *settings, const struct job_place *place)
{
    struct job *job = create_view(r, settings, place);
    follow_watch(&job->follow, place->topic, place->seq);
    job_wait(job);
}

void job_replay(struct request *r, const struct job_settings *settings,
                const struct job_place *place, const struct outcome *outcome, struct str deltas)
{
    struct job *job = create_view(r, settings, place);
    struct lines lines = lines_of(deltas);
    while (lines_are_left(&lines))
        job_events.on_piece(&job->follow, FOLLOW_DELTA, lines_next(&lines),
                            (struct piece_id){0, 0});
    job_events.on_end(&job->follow, outcome);
}
