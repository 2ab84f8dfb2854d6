/* SPDX-License-Identifier: MIT
 * agent_model.c - agents of kind model (agent.h): a query in the queue like any other, in the fair
 * order of its user, answered by any engine that serves its model.
 *
 *   start --> DESCRIBING --> ASKING --answer, no engine, no room--> ENDED
 *                             |  ^
 *              Redis is lost  v  | a moment later
 *                            RESTING            cancel in any of them: ENDED, without a word
 *
 * The scope of the question is the attempt, so that a node which takes the run over waits for the
 * query that is already in the queue, or reads its answer. The prompt, which may be large, is made
 * for each question and kept by nobody but the queue. */
#include "services/workflow/agents/model_prompt.h"
#include "services/workflow/sql/sql.h"
#include "services/workflow/trees/trees.h"
#include "services/workflow/workflow.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"
#include "shared/queue/question.h"

#include <stdio.h>

enum {
    REST_MS = 500,
    REPLY_TOKENS = 1000,
    SCOPE_MAX = 128,
    FAULT_MAX = 1024,
    /* Past the supervisor's deadline: that one says what happened. */
    GRACE_MS = 1000,
};

enum state { DESCRIBING, ASKING, RESTING, ENDED };

static const struct sm_state states[] = {
    [DESCRIBING] = {"DESCRIBING", SM(ASKING) | SM(ENDED)},
    [ASKING] = {"ASKING", SM(RESTING) | SM(ENDED)},
    [RESTING] = {"RESTING", SM(ASKING) | SM(ENDED)},
    [ENDED] = {"ENDED", 0},
};
static const struct sm sm = SM_OF("model agent", states);

struct model_agent {
    struct workflow *workflow;
    const struct agent_task *task;
    agent_end_cb *on_end;
    void *context;
    enum state state;
    uint64_t number;
    uint64_t until_ms;            /* clock_mono_ms */
    struct sql_call *description; /* of the database's tables; NULL: it has ended */
    struct question *question;
    struct deadline rest;
    json_t *tables; /* a reference; NULL: there are none */
};

static void move(struct model_agent *a, enum state to)
{
    a->state = sm_move(&sm, a->number, a->state, to);
}

static void dispose(struct model_agent *a, bool is_final)
{
    move(a, ENDED);
    if (a->description != NULL)
        sql_cancel(a->description);
    question_cancel(a->question, is_final ? 0 : QUESTION_KEEP_MS);
    loop_cancel_deadline(a->workflow->server->loop, &a->rest);
    json_decref(a->tables);
    free(a);
}

static void end(struct model_agent *a, const struct agent_result *result)
{
    a->on_end(a->context, result);
    dispose(a, true);
}

static void end_without(struct model_agent *a, enum agent_outcome outcome, struct str reason)
{
    struct agent_result result = {.outcome = outcome, .reason = reason};
    end(a, &result);
}

/* --- asking ----------------------------------------------------------------------------------- */

/* The reason also says if the model did not come to the end of its reply. */
static void end_with_fault(struct model_agent *a, const char *fault, struct str cut_by)
{
    struct buf b;
    buf_init(&b, FAULT_MAX);
    buf_put(&b, str_of(fault));
    if (cut_by.n > 0)
        buf_printf(&b, " (its model stopped with finish_reason %.*s)", STR_ARG(cut_by));
    end_without(a, AGENT_BAD_ANSWER, buf_str(&b));
    buf_fini(&b);
}

static void take_reply(struct model_agent *a, const struct question_end *answered)
{
    struct model_reply reply;
    const char *fault = model_reply_read(answered->answer, &reply);
    if (fault != NULL) {
        end_with_fault(a, fault, answered->cut_by);
        return;
    }
    struct agent_result result = {.outcome = AGENT_DECIDED,
                                  .is_yes = reply.is_yes,
                                  .confidence = reply.confidence,
                                  .reason = reply.reason,
                                  .output = reply.output};
    end(a, &result);
    json_decref(reply.json);
}

static void end_without_vacancy(struct model_agent *a, const struct question_end *end_of)
{
    struct agent_result result = {.outcome = AGENT_NO_ROOM,
                                  .reason = STR("there was no room in the queue"),
                                  .shard = end_of->shard,
                                  .needs_engine = end_of->outcome == QUESTION_NO_ENGINE};
    end(a, &result);
}

static void on_question_end(void *context, const struct question_end *result)
{
    struct model_agent *a = context;
    a->question = NULL;
    if (result->outcome == QUESTION_DONE) {
        take_reply(a, result);
    } else if (result->outcome == QUESTION_FAILED) {
        /* It has had its attempts: another question would have as many again. */
        end_without(a, AGENT_REFUSED,
                    result->reason.n > 0 ? result->reason : STR("its engine failed"));
    } else if (result->outcome == QUESTION_FULL || result->outcome == QUESTION_NO_ENGINE) {
        end_without_vacancy(a, result);
    } else {
        move(a, RESTING);
        loop_set_deadline(a->workflow->server->loop, &a->rest, REST_MS);
    }
}

static void start_question(struct model_agent *a, struct str messages, struct str request)
{
    static const struct question_events events = {.on_end = on_question_end};
    const struct agent_task *task = a->task;
    uint64_t now_ms = clock_mono_ms();
    char scope[SCOPE_MAX];
    int n = snprintf(scope, sizeof scope, "workflow %.*s.%llu.%llu.%u", STR_ARG(task->session),
                     (unsigned long long)task->run, (unsigned long long)task->step, task->attempt);
    struct question_settings settings = {
        .user = task->user,
        .user_name = task->user_name,
        .account = task->account,
        .max_waiting = task->max_waiting,
        .weight = task->weight,
        .model = task->agent->model,
        .query = request,
        .messages = messages,
        .traceparent = task->traceparent,
        .request_id = task->request_id,
        .scope = {scope, (size_t)n},
        .temperature = task->attempt > 1 ? 0.3 : 0,
        .max_tokens = REPLY_TOKENS,
        .deadline_ms = (a->until_ms > now_ms ? a->until_ms - now_ms : 0) + GRACE_MS,
    };
    a->question = question_start(a->workflow->queue, &settings, &events, a);
}

static void ask(struct model_agent *a)
{
    const struct agent_task *task = a->task;
    struct buf messages, request;
    move(a, ASKING);
    buf_init(&messages, 2 * MODEL_PROMPT_MAX_BYTES);
    buf_init(&request, MODEL_PROMPT_MAX_BYTES);
    model_prompt_put(&messages, task, a->tables, task->verbs);
    model_prompt_put_request(&request, task->body);
    if (request.n == 0)
        buf_put(&request, task->agent->name);
    start_question(a, buf_str(&messages), buf_str(&request));
    buf_fini(&messages);
    buf_fini(&request);
}

static void on_rested(struct deadline *deadline)
{
    ask(container_of(deadline, struct model_agent, rest));
}

/* --- starting --------------------------------------------------------------------------------- */

/* Without them, an agent that needs tables finds none. */
static void on_tables(void *context, const json_t *tables, struct str reason)
{
    struct model_agent *a = context;
    (void)reason; /* the log has it */
    a->description = NULL;
    a->tables = json_incref((json_t *)(uintptr_t)tables);
    ask(a);
}

static void *start(struct workflow *workflow, const struct agent_task *task, agent_end_cb *on_end,
                   void *context)
{
    struct model_agent *a = mem_zeroed(sizeof *a);
    *a = (struct model_agent){.workflow = workflow,
                              .task = task,
                              .on_end = on_end,
                              .context = context,
                              .number = sm_number(),
                              .until_ms = clock_mono_ms() + task->timeout_ms,
                              .rest = {.on_expire = on_rested}};
    a->description = sql_describe(workflow->sql, on_tables, a);
    return a;
}

static void cancel(void *running, bool is_final)
{
    dispose(running, is_final);
}

const struct agent_kind agent_model = {.name = "model", .start = start, .cancel = cancel};
