/* SPDX-License-Identifier: MIT
 * agent_sql.c - agents of kind sql (agent.h): run the statement in messageBody's `sql_query` on the
 * database (sql/sql.h). The verb says what it may do: only CONTENT writes. What the statement has
 * done is yes, with its rows; what the database refuses is no, with the database's reason.
 *
 * The database's own limit of time applies, not that of the agent's entry: only the database knows
 * what has happened when a statement ends. */
#include "services/workflow/agents/agent.h"

#include "services/workflow/sql/sql.h"
#include "services/workflow/workflow.h"
#include "shared/base/mem.h"

struct sql_agent {
    struct workflow *workflow;
    agent_end_cb *on_end;
    void *context;
    struct sql_call *call;
    struct deadline refusal; /* set where there is nothing to run */
};

static void end_with(struct sql_agent *a, const struct agent_result *result)
{
    a->on_end(a->context, result);
    free(a);
}

static void on_sql_end(void *context, const struct sql_end *end)
{
    static const enum agent_outcome outcomes[SQL_NR] = {
        [SQL_DONE] = AGENT_DECIDED,          [SQL_REFUSED] = AGENT_DECIDED,
        [SQL_FAILED] = AGENT_DECIDED,        [SQL_TIMED_OUT] = AGENT_DECIDED,
        [SQL_UNREACHABLE] = AGENT_NO_ANSWER,
    };
    struct agent_result result = {.outcome = outcomes[end->outcome],
                                  .is_yes = end->outcome == SQL_DONE,
                                  .confidence = 1,
                                  .reason = end->reason};
    if (end->outcome == SQL_DONE) {
        result.output = json_pack("{s:O,s:O,s:I}", "columns", (json_t *)end->columns, "rows",
                                  (json_t *)end->rows, "rowcount", (json_int_t)end->row_n);
        if (result.output == NULL)
            abort();
    }
    end_with(context, &result);
    json_decref(result.output);
}

static void on_refusal(struct deadline *deadline)
{
    struct sql_agent *a = container_of(deadline, struct sql_agent, refusal);
    const struct agent_result result = {
        .outcome = AGENT_REFUSED,
        .reason = STR("The messageBody has no SQL statement, sql_query.")};
    end_with(a, &result);
}

static void *start(struct workflow *workflow, const struct agent_task *task, agent_end_cb *on_end,
                   void *context)
{
    struct sql_agent *a = mem_zeroed(sizeof *a);
    *a = (struct sql_agent){.workflow = workflow,
                            .on_end = on_end,
                            .context = context,
                            .refusal.on_expire = on_refusal};
    const struct sql_statement statement = {.session = task->session,
                                            .run = task->run,
                                            .step = task->step,
                                            .right = str_eq(task->verb, STR("CONTENT")) ? SQL_WRITE
                                                                                        : SQL_READ,
                                            .text = json_member_str(task->body, "sql_query"),
                                            .account = task->account,
                                            .user = task->user_name};
    if (statement.text.at == NULL)
        loop_set_deadline(workflow->server->loop, &a->refusal, 0);
    else
        a->call = sql_start(workflow->sql, &statement, on_sql_end, a);
    return a;
}

static void cancel(void *running, bool is_final)
{
    struct sql_agent *a = running;
    (void)is_final; /* what the statement has done is in the ledger */
    loop_cancel_deadline(a->workflow->server->loop, &a->refusal);
    if (a->call != NULL)
        sql_cancel(a->call);
    free(a);
}

const struct agent_kind agent_sql = {
    .name = "sql", .keeps_time = true, .start = start, .cancel = cancel};
