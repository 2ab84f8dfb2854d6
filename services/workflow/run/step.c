/* SPDX-License-Identifier: MIT
 * step.c - stores a step of a run in Redis (see run.h): its state, the frame for clients, the
 * record for the history, and the question, if the run waits for a person now. All in one verb;
 * what it cannot store, nobody sees. */
#include "services/workflow/run/run.h"

#include "generated/verbs.h"
#include "services/workflow/approvals/approver.h"
#include "services/workflow/approvals/question_id.h"
#include "services/workflow/run/envelope.h"
#include "services/workflow/trees/form.h"
#include "shared/queue/lines.h"

enum {
    RECORD_MAX_BYTES = 16 << 10,
    LISTED_MAX_BYTES = 12 << 10, /* of the approvers in a frame, which has a limit of its own */
    STOP_MAX_BYTES = FORM_MAX_BYTES + LISTED_MAX_BYTES + 2048,
    QUESTION_MAX_BYTES = 64 << 10,
    NAME_MAX_BYTES = 512,
    NAMES_MAX_BYTES = 128 << 10,
};

/* A step as it is stored. */
struct storing {
    enum verb_workflow_step_status status;
    struct run_step said;
    struct str agent;      /* who speaks */
    struct str next_agent; /* as clients see it; n == 0: none */
    int return_code;
    bool has_frame;
    const struct tree_node *after; /* NULL: it is over, or waits */
};

/* --- questions -------------------------------------------------------------------------------- */

static const struct hitl *hitl_of(const struct run *run)
{
    return run->node == NULL ? &run->agent->hitl : run->node->hitl;
}

static unsigned quorum_of(const struct hitl *hitl)
{
    return hitl->quorum > 0 ? hitl->quorum : 1;
}

static void put_form(struct buf *b, const struct hitl *hitl)
{
    buf_put_key(b, "form");
    if (hitl->form == NULL)
        buf_lit(b, "null");
    else
        buf_put_json_value(b, hitl->form);
}

/* Who may answer, as the workflow file has it: as many as fit. */
static void put_listed(struct buf *b, const struct hitl *hitl)
{
    buf_printf(b, ",\"self\":%s,\"approvers\":[", hitl->is_self_allowed ? "true" : "false");
    size_t start = b->n;
    for (size_t i = 0; i < hitl->approver_n && b->n - start < LISTED_MAX_BYTES; i++) {
        if (i > 0)
            buf_put_char(b, ',');
        buf_put_json(b, hitl->approvers[i]);
    }
    buf_put_char(b, ']');
}

/* The member `hitl` of the frame that stops. */
static void put_stop(struct buf *b, const struct run *run)
{
    const struct hitl *hitl = hitl_of(run);
    const struct question_id id = {run->session, run->n, run->step + 1};
    buf_lit(b, "{\"id\":\"");
    question_id_put(b, &id);
    buf_lit(b, "\",\"deadline\":");
    if (hitl->timeout_ms == 0)
        buf_lit(b, "null");
    else
        buf_put_json_time(b, clock_wall_ms() + hitl->timeout_ms);
    put_form(b, hitl);
    buf_printf(b, ",\"approvals\":0,\"quorum\":%u", quorum_of(hitl));
    put_listed(b, hitl);
    buf_put_char(b, '}');
}

/* Puts what approvers are shown. */
static void put_question(struct buf *b, const struct run *run, struct str reason)
{
    static const char *const words[] = {
        [TIMEOUT_REJECT] = "reject", [TIMEOUT_CONTINUE] = "continue", [TIMEOUT_AGENT] = "agent"};
    const struct hitl *hitl = hitl_of(run);
    buf_lit(b, "{\"agent\":");
    buf_put_json(b, run->agent->name);
    buf_lit(b, ",\"reason\":");
    buf_put_json(b, reason);
    put_form(b, hitl);
    buf_printf(b, ",\"quorum\":%u,\"on_timeout\":\"%s\"", quorum_of(hitl), words[hitl->on_timeout]);
    put_listed(b, hitl);
    buf_put_char(b, '}');
}

static void put_approvers(struct verb_writer *verb, const struct run *run)
{
    const struct hitl *hitl = hitl_of(run);
    struct str namespace = lines_namespace_of(str_of(run->user_name));
    struct buf name;
    buf_init(&name, NAMES_MAX_BYTES);
    for (size_t i = 0; i < hitl->approver_n; i++) {
        buf_clear(&name);
        if (approver_put_listed(&name, hitl->approvers[i], namespace))
            put_workflow_step_approver(verb, .who = buf_str(&name));
    }
    if (hitl->approver_n == 0) {
        approver_put_owner(&name, str_of(run->account), str_of(run->user_name));
        put_workflow_step_approver(verb, .who = buf_str(&name));
    }
    buf_fini(&name);
}

/* --- storing ---------------------------------------------------------------------------------- */

static void put_frame(struct buf *b, const struct run *run, const struct storing *s)
{
    struct buf stop;
    buf_init(&stop, STOP_MAX_BYTES);
    if (s->status == WORKFLOW_STEP_WAITING)
        put_stop(&stop, run);
    const struct envelope_step step = {.session_id = str_of(run->session_id),
                                       .request_id = str_of(run->request_id),
                                       .verb = str_of(run->verb),
                                       .agent = s->agent,
                                       .next_agent = s->next_agent,
                                       .return_code = s->return_code,
                                       .is_yes = s->said.is_yes,
                                       .confidence = s->said.confidence,
                                       .reason = s->said.reason,
                                       .seq = run->seq + 1,
                                       .body = run->body,
                                       .hitl = buf_str(&stop)};
    envelope_put_step(b, &step);
    buf_fini(&stop);
}

static void put_record(struct buf *b, const struct run *run, const struct storing *s)
{
    buf_lit(b, "{\"agent\":");
    buf_put_json(b, s->agent);
    buf_printf(b, ",\"decision\":\"%s\",\"confidence\":%.4g,\"reason\":",
               s->said.is_yes ? "yes" : "no", s->said.confidence);
    buf_put_json(b, s->said.reason);
    buf_printf(b, ",\"ms\":%llu,\"attempt\":%u}",
               (unsigned long long)(run->began_ms == 0 ? 0 : clock_mono_ms() - run->began_ms),
               s->said.attempt > 0 ? s->said.attempt : 1);
}

static void on_stored(struct call *call, enum err error, struct str reply)
{
    struct run *run = container_of(call, struct run, call);
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error == ERR_OK && str_eq(tag, STR("full")) && !run->is_over) {
        run_fail(run, STR("The run has taken as many steps, or as much room, as a run may."));
        return;
    }
    if (error != ERR_OK || !str_eq(tag, STR("ok")) || run->is_over) {
        run_drop(run, true);
        return;
    }
    run->step++;
    run->seq = lines_next_u64(&lines);
    run->is_verb_new = false;
    run->runs->enter(run, run->after);
}

/* Returns the agent that is stored: for a run that waits, the one that asks. */
static struct str stored_agent(const struct run *run, const struct storing *s)
{
    if (s->after != NULL)
        return s->after->agent->name;
    return s->status == WORKFLOW_STEP_WAITING ? run->agent->name : STR("");
}

static void store(struct run *run, const struct storing *s)
{
    const struct hitl *hitl = hitl_of(run);
    struct shards *shards = run->runs->workflow->server->shards;
    bool is_waiting = s->status == WORKFLOW_STEP_WAITING;
    struct buf body, frame, record, question, verb_name, agent;
    if (run->state != RUN_STORING)
        run_move(run, RUN_STORING);
    run->after = s->after;
    run->is_over = s->after == NULL;
    buf_init(&body, ENVELOPE_BODY_MAX_BYTES);
    buf_init(&frame, ENVELOPE_MAX_BYTES);
    buf_init(&record, RECORD_MAX_BYTES);
    buf_init(&question, QUESTION_MAX_BYTES);
    buf_init(&verb_name, NAME_MAX_BYTES);
    buf_init(&agent, NAME_MAX_BYTES);
    buf_put_json_value(&body, run->body);
    if (run->is_verb_new)
        buf_put_name(&verb_name, str_of(run->verb));
    if (stored_agent(run, s).n > 0)
        buf_put_name(&agent, stored_agent(run, s));
    if (s->has_frame)
        put_frame(&frame, run, s);
    put_record(&record, run, s);
    if (is_waiting)
        put_question(&question, run, s->said.reason);
    struct verb_writer verb = begin_workflow_step(
        shards_call(shards, &run->call, on_stored), .session = run->session, .run = run->n,
        .fence = run->lease.fence, .step = run->step + 1, .status = s->status,
        .verb_name = buf_str(&verb_name), .agent = buf_str(&agent), .attempt = 1,
        .body = buf_str(&body), .frame = buf_str(&frame), .record = buf_str(&record),
        .question = buf_str(&question), .quorum = is_waiting ? quorum_of(hitl) : NO_NUMBER,
        .is_self_allowed = is_waiting && hitl->is_self_allowed,
        .deadline_ms = is_waiting && hitl->timeout_ms > 0 ? hitl->timeout_ms : NO_NUMBER);
    if (is_waiting)
        put_approvers(&verb, run);
    end_verb(&verb);
    buf_fini(&body);
    buf_fini(&frame);
    buf_fini(&record);
    buf_fini(&question);
    buf_fini(&verb_name);
    buf_fini(&agent);
}

/* --- deciding --------------------------------------------------------------------------------- */

static enum verb_workflow_step_status running(const struct run *run)
{
    return run->was_approved ? WORKFLOW_STEP_APPROVED : WORKFLOW_STEP_RUNNING;
}

static bool is_chat(const struct tree_node *node)
{
    return node != NULL && node->agent->type == AGENT_CHAT;
}

void run_decide(struct run *run, const struct run_step *said)
{
    struct storing s = {.said = *said, .agent = run->agent->name, .has_frame = true};
    const struct tree_node *next = NULL;
    bool is_asking = false;
    if (run->node != NULL) {
        next = said->is_yes ? run->node->yes : run->node->no;
        /* A yes that leads to a person has been given by one. */
        if (is_chat(next) && said->is_yes && run->state != RUN_WORKING)
            next = NULL;
        is_asking = is_chat(next);
    } else if (said->is_yes) { /* the router says nothing of its own */
        next = tree_root(trees_tree(run->trees, str_of(run->verb)));
        s.has_frame = false;
    } else {
        is_asking = true;
    }
    if (is_asking) {
        s.status = WORKFLOW_STEP_WAITING;
        s.next_agent = is_chat(next) ? next->agent->name : STR("sendMessageToChat");
    } else if (next != NULL) {
        s.status = running(run);
        s.next_agent = next->agent->name;
        s.after = next;
    } else {
        s.status = said->is_yes ? WORKFLOW_STEP_DONE : WORKFLOW_STEP_FAILED;
        s.return_code = said->is_yes ? 1 : -1;
    }
    store(run, &s);
}

static void end_with_no(struct run *run, struct str reason, enum verb_workflow_step_status status)
{
    store(run, &(struct storing){.status = status,
                                 .said = {.reason = reason, .confidence = 0},
                                 .agent = run->agent == NULL ? STR("parley") : run->agent->name,
                                 .return_code = -1,
                                 .has_frame = true});
}

void run_end_rejected(struct run *run, struct str reason, bool is_expired)
{
    end_with_no(run, reason, is_expired ? WORKFLOW_STEP_EXPIRED : WORKFLOW_STEP_REJECTED);
}

void run_fail(struct run *run, struct str reason)
{
    end_with_no(run, reason, WORKFLOW_STEP_FAILED);
}

void run_divert(struct run *run, const struct tree_node *to, struct str reason)
{
    store(run, &(struct storing){.status = running(run),
                                 .said = {.reason = reason},
                                 .agent = run->agent->name,
                                 .next_agent = to->agent->name,
                                 .has_frame = true,
                                 .after = to});
}
