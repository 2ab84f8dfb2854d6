/* SPDX-License-Identifier: MIT
 * supervisor.c - decides the order of a run's steps (see runs.h; its states are in run.c).
 *
 * A decision of a person is what was read: with corrections its agent is asked again, without them
 * it counts as that agent's yes. Corrections replace members of messageBody, except for the words
 * of the deployed chat: these, and the rejection that they answer, are kept beside the request, for
 * this agent and all that follow.
 *
 * An agent's step takes one verb, and the next agent is asked in its reply. */
#include "services/workflow/run/run.h"

#include "services/workflow/run/envelope.h"
#include "shared/auth/accounts.h"
#include "shared/base/mem.h"
#include "shared/http/access/gate.h"
#include "shared/queue/lines.h"

#include <stdio.h>

enum {
    VERBS_MAX_BYTES = 4096,
    NAME_MAX_BYTES = 512,
    REASON_MAX_BYTES = 1000,
    /* An agent that keeps time itself has died if it is silent for longer. */
    SILENCE_MS = 60000,
    NO_ACCOUNT_MAX_WAITING = 100,
};

/* --- agents ----------------------------------------------------------------------------------- */

static const struct agent_kind *const kinds[AGENT_TYPE_NR] = {
    [AGENT_MODEL] = &agent_model, [AGENT_SQL] = &agent_sql, [AGENT_HTTP] = &agent_http};

static void begin_attempt(struct run *run);

static void complain(struct run *run, struct str why)
{
    snprintf(run->complaint, sizeof run->complaint, "%.*s", STR_ARG(why));
    /* Not in the middle of a character. */
    size_t n = strlen(run->complaint);
    while (n > 0 && !str_is_utf8((struct str){run->complaint, n}))
        run->complaint[--n] = 0;
}

static void decide_no(struct run *run, struct str why)
{
    char text[REASON_MAX_BYTES];
    int n = snprintf(text, sizeof text, "%.*s: %.*s%s", STR_ARG(run->agent->name), STR_ARG(why),
                     run->attempt > 1 ? " (last of several attempts)" : "");
    struct run_step step = {.reason = {text, n < (int)sizeof text ? (size_t)n : sizeof text - 1},
                            .attempt = run->attempt};
    while (step.reason.n > 0 && !str_is_utf8(step.reason))
        step.reason.n--;
    run_decide(run, &step);
}

/* It has not decided: it is asked again, or its answer is no. */
static void try_again(struct run *run, struct str why, bool is_complaint, bool may_retry)
{
    if (!may_retry || run->attempt > run->agent->retries) {
        decide_no(run, why);
        return;
    }
    run->complaint[0] = 0;
    if (is_complaint)
        complain(run, why);
    run->attempt++;
    begin_attempt(run);
}

/* The router: its output names the tree. */
static bool take_verb(struct run *run, const struct agent_result *result)
{
    struct str verb = json_member_str(result->output, "verb");
    if (verb.at == NULL || trees_tree(run->trees, verb) == NULL)
        return false;
    free(run->verb);
    run->verb = str_copy(verb);
    run->is_verb_new = true;
    return true;
}

static void take_decision(struct run *run, const struct agent_result *result)
{
    struct run_step step = {.is_yes = result->is_yes,
                            .confidence = result->confidence,
                            .reason = result->reason,
                            .attempt = run->attempt};
    if (run->node == NULL && result->is_yes && !take_verb(run, result)) {
        try_again(run, STR("its \"output\" has no \"verb\" that is one of the verbs"), true, true);
        return;
    }
    json_object_del(result->output, BODY_CORRECTIONS); /* what people said, no agent changes */
    if (run->node != NULL && result->output != NULL && !envelope_merge(run->body, result->output)) {
        try_again(run, STR("its output makes messageBody larger than 192 KiB"), true, true);
        return;
    }
    run_decide(run, &step);
}

static void on_agent_end(void *context, const struct agent_result *result)
{
    struct run *run = context;
    run->running = NULL;
    loop_cancel_deadline(run->runs->workflow->server->loop, &run->deadline);
    if (result->outcome == AGENT_DECIDED)
        take_decision(run, result);
    else if (result->outcome == AGENT_NO_ROOM)
        run_wait_for_vacancy(run, result);
    else
        try_again(run, result->reason, result->outcome == AGENT_BAD_ANSWER,
                  result->outcome != AGENT_REFUSED);
}

static void time_out(struct run *run)
{
    char why[100];
    int n = snprintf(why, sizeof why, "it did not answer within %g s",
                     (double)run->agent->timeout_ms / 1000);
    try_again(run, (struct str){why, (size_t)n}, false, true);
}

static void on_late(struct deadline *deadline)
{
    struct run *run = container_of(deadline, struct run, deadline);
    run_stop_agent(run, true);
    time_out(run);
}

/* Limits of the account that began the run; it may have gone since. */
static void put_account(struct run *run)
{
    const struct accounts *accounts = gate_accounts(run->runs->workflow->server->gate);
    char bytes[NAME_MAX_BYTES];
    struct buf name = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    const struct account *account = NULL;
    if (buf_put_unnamed(&name, str_of(run->account)))
        account = accounts_find(accounts, buf_str(&name));
    run->task.weight = account == NULL ? STR("1") : account->weight_text;
    run->task.max_waiting = account == NULL ? NO_ACCOUNT_MAX_WAITING : account->max_waiting;
}

static void put_verbs(struct run *run)
{
    struct buf b;
    buf_init(&b, VERBS_MAX_BYTES);
    for (size_t i = 0; i < trees_count(run->trees); i++) {
        if (i > 0)
            buf_lit(&b, ", ");
        buf_put(&b, tree_verb(trees_at(run->trees, i)));
    }
    free(run->verbs);
    run->verbs = str_copy(buf_str(&b));
    buf_fini(&b);
}

static void attempt(struct run *run)
{
    struct workflow *workflow = run->runs->workflow;
    uint64_t now_ms = clock_mono_ms();
    run_move(run, RUN_WORKING);
    run_weigh(run);
    if (run->node == NULL && run->verbs == NULL)
        put_verbs(run);
    run->kind = kinds[run->agent->type];
    if (run->kind == NULL) {
        run_fail(run, STR("This node has no agents of that kind."));
        return;
    }
    run->task = (struct agent_task){
        .agent = run->agent,
        .session = run->session,
        .run = run->n,
        .step = run->step + 1,
        .attempt = run->attempt,
        .verb = str_of(run->verb),
        .verbs = run->node == NULL ? str_of(run->verbs) : STR(""),
        .body = run->body,
        .account = str_of(run->account),
        .user = str_of(run->user),
        .user_name = str_of(run->user_name),
        .traceparent = str_of(run->traceparent),
        .request_id = str_of(run->request_id),
        .timeout_ms = run->until_ms > now_ms ? run->until_ms - now_ms : 0,
        .complaint = run->complaint[0] == 0 ? NULL : run->complaint,
    };
    put_account(run);
    run->deadline.on_expire = on_late;
    loop_set_deadline(workflow->server->loop, &run->deadline,
                      run->kind->keeps_time ? SILENCE_MS : run->task.timeout_ms);
    run->running = run->kind->start(workflow, &run->task, on_agent_end, run);
}

static void begin_attempt(struct run *run)
{
    run->until_ms = clock_mono_ms() + run->agent->timeout_ms;
    attempt(run);
}

static void work(struct run *run)
{
    run->attempt = 1;
    run->complaint[0] = 0;
    run->began_ms = clock_mono_ms();
    begin_attempt(run);
}

static void enter(struct run *run, const struct tree_node *node)
{
    run->node = node;
    run->agent = node->agent;
    work(run);
}

/* --- carrying on ------------------------------------------------------------------------------ */

/* Who has answered last, for the reason of a frame. */
static void put_who(struct buf *b, const json_t *answers)
{
    const json_t *answer = json_array_get(answers, json_array_size(answers) - 1);
    const json_t *who = json_object_get(answer, "who");
    struct str user = json_member_str(who, "user"), account = json_member_str(who, "account");
    struct str comment = json_member_str(answer, "comment");
    buf_lit(b, " by ");
    buf_put(b, user.n > 0 ? user : account.n > 0 ? account : STR("a person"));
    if (comment.n > 0 && comment.n < REASON_MAX_BYTES / 2) {
        buf_lit(b, ": ");
        buf_put(b, comment);
    }
}

static void take_as_yes(struct run *run, struct str reason)
{
    struct run_step step = {.is_yes = true, .confidence = 1, .reason = reason, .attempt = 1};
    run->began_ms = clock_mono_ms();
    run_decide(run, &step);
}

static void go_on_approved(struct run *run, struct buf *reason)
{
    bool fits;
    run->was_approved = true;
    if (run_correct(run, &fits)) {
        if (fits)
            work(run);
        else
            run_fail(run, STR("The corrections make messageBody larger than 192 KiB."));
        return;
    }
    if (run->node == NULL) { /* a yes names no verb */
        work(run);
        return;
    }
    buf_lit(reason, "Approved");
    put_who(reason, run->answers);
    buf_put_char(reason, '.');
    take_as_yes(run, buf_str(reason));
}

static void go_on_expired(struct run *run)
{
    const struct hitl *hitl = run->node == NULL ? &run->agent->hitl : run->node->hitl;
    if (hitl->on_timeout == TIMEOUT_CONTINUE && run->node != NULL)
        take_as_yes(run, STR("Nobody answered in time: it counts as a yes (on_timeout)."));
    else if (hitl->on_timeout == TIMEOUT_AGENT && run->node != NULL && run->node->timeout != NULL)
        run_divert(run, run->node->timeout, STR("Nobody answered in time (on_timeout)."));
    else
        run_end_rejected(run, STR("Nobody answered in time."), true);
}

static bool find_agent(struct run *run)
{
    struct str name = str_of(run->agent_name);
    const struct tree *tree = trees_tree(run->trees, str_of(run->verb));
    run->node = tree == NULL ? NULL : tree_node(tree, name);
    run->agent = run->node != NULL ? run->node->agent : trees_router(run->trees);
    return run->node != NULL || str_eq(name, run->agent->name);
}

/* It was crowded: the attempt that it was in continues. */
static void go_on_again(struct run *run)
{
    bool fits;
    run->is_again = false;
    if (run->question != 0 && run->question == run->step)
        (void)run_correct(run, &fits); /* as it was before */
    if (!run->is_late) {
        attempt(run);
        return;
    }
    run->is_late = false;
    time_out(run);
}

static void go_on_read(struct run *run)
{
    struct buf reason;
    if (!find_agent(run)) {
        run_fail(run, STR("Its workflows file does not have its agent."));
        return;
    }
    if (run->is_again) {
        go_on_again(run);
        return;
    }
    if (run->question == 0 || run->question != run->step) {
        work(run);
        return;
    }
    buf_init(&reason, REASON_MAX_BYTES);
    if (str_eq(str_of(run->question_status), STR("approved"))) {
        go_on_approved(run, &reason);
    } else if (str_eq(str_of(run->question_status), STR("rejected"))) {
        buf_lit(&reason, "Rejected");
        put_who(&reason, run->answers);
        buf_put_char(&reason, '.');
        run_end_rejected(run, buf_str(&reason), false);
    } else {
        go_on_expired(run);
    }
    buf_fini(&reason);
}

static void go_on(struct run *run)
{
    if (run->body == NULL) {
        run_move(run, RUN_LOADING);
        run_load(run);
    } else if (run->version != NULL) { /* it was read */
        go_on_read(run);
    } else {
        work(run);
    }
}

/* --- life ------------------------------------------------------------------------------------- */

void runs_start(struct runs *runs, const struct run_start *start)
{
    struct run *run = run_create(runs, start->session, start->run, start->fence, RUN_WAITING);
    const struct tree *tree = trees_tree(start->trees, start->verb);
    run->account = str_copy(start->account);
    run->user_name = str_copy(start->user_name);
    run->user = run_plain_user(start->user_name);
    run->session_id = str_copy(start->session_id);
    run->request_id = str_copy(start->request_id);
    run->verb = str_copy(start->verb);
    run->traceparent = str_copy(start->traceparent);
    run->trees = start->trees;
    run->body = json_deep_copy(start->body);
    if (run->body == NULL)
        abort();
    run->node = tree == NULL ? NULL : tree_root(tree);
    run->agent = tree == NULL ? trees_router(run->trees) : run->node->agent;
    run_weigh(run);
    run_wait_for_turn(run);
}

struct runs *runs_create(struct workflow *workflow)
{
    struct runs *runs = mem_zeroed(sizeof *runs);
    runs->workflow = workflow;
    runs->go_on = go_on;
    runs->enter = enter;
    turns_init(runs);
    leases_init(&runs->leases, &run_leases, workflow->server->loop, workflow->server->shards,
                &workflow->server->is_draining);
    return runs;
}

void runs_destroy(struct runs *runs)
{
    if (runs == NULL)
        return;
    runs->is_filling = true; /* nothing continues any more */
    leases_fini(&runs->leases);
    turns_fini(runs);
    trees_unref(runs->read);
    free(runs);
}

struct leases *runs_leases(struct runs *runs)
{
    return &runs->leases;
}
