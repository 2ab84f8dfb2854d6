/* SPDX-License-Identifier: MIT
 * agent.c - see agent.h: the run; agent_tools.c has what it can do.
 *
 *   FINDING --nothing--> ENDED (no model is asked)
 *      |
 *      v            broken twice
 *   PLANNING ----------------------------------------+
 *      |                                             |
 *      v        search                               v
 *   STEPPING ----------> SEARCHING             (plain search) --> ANSWERING --> ENDED
 *    ^  |  ^                 |                       ^
 *    |  |  +-----------------+                       |
 *    +--+ open, loop, unknown tool                   |
 *      final, broken twice, no answer, 5 calls, the time for it is over
 *
 *   any of them --no model, late, drain--> ENDED, with an error; --the client left--> ENDED
 *
 * FINDING searches for the question itself: it uses up the nonce and counts against the limit, says
 * whether there is anything at all, and is the plain search if the model makes none. The answer is
 * written by one more prompt, the same as for /api/rag/ask, from the passages that tools returned;
 * its marks can name these only.
 *
 * Time: the run has one deadline, whatever it is at, an embedding too. The last third of it is kept
 * for the answer, and no single model may take longer than a question. */
#include "services/documents/agent/agent.h"

#include "services/documents/ask/ask_input.h"
#include "services/documents/ask/llm_refusal.h"
#include "shared/base/sm.h"

enum {
    PLAN_TOKENS = 400,
    STEP_TOKENS = 300,
    ANSWER_TOKENS = 1000,
    /* Past the run's deadline: that one says what happened. */
    MODEL_GRACE_MS = 100,
};

static const struct sm_state states[] = {
    [AGENT_FINDING] = {"FINDING", SM(AGENT_PLANNING) | SM(AGENT_ENDED)},
    [AGENT_PLANNING] = {"PLANNING", SM(AGENT_PLANNING) | SM(AGENT_STEPPING) | SM(AGENT_ANSWERING) |
                                        SM(AGENT_ENDED)},
    [AGENT_STEPPING] = {"STEPPING", SM(AGENT_STEPPING) | SM(AGENT_SEARCHING) | SM(AGENT_ANSWERING) |
                                        SM(AGENT_ENDED)},
    [AGENT_SEARCHING] = {"SEARCHING", SM(AGENT_STEPPING) | SM(AGENT_ENDED)},
    [AGENT_ANSWERING] = {"ANSWERING", SM(AGENT_ENDED)},
    [AGENT_ENDED] = {"ENDED", 0},
};
static const struct sm sm = SM_OF("agent", states);

static void on_model_end(void *context, const struct question_end *end);

void agent_move(struct agent *agent, enum agent_state to)
{
    agent->state = sm_move(&sm, agent->number, agent->state, to);
}

/* --- models ----------------------------------------------------------------------------------- */

/* How long the next model may take; 0: the time for it is over. */
static uint64_t left_ms(const struct agent *agent)
{
    const struct documents_settings *settings = documents_of(agent->r)->settings;
    uint64_t until_ms =
        agent->state == AGENT_ANSWERING ? settings->agent_ms : settings->agent_ms / 3 * 2;
    uint64_t elapsed_ms = ask_input_elapsed_ms(agent->r);
    uint64_t rest_ms = until_ms > elapsed_ms ? until_ms - elapsed_ms : 0;
    return rest_ms < settings->ask_ms ? rest_ms : settings->ask_ms;
}

static void ask_model(struct agent *agent, const struct buf *messages, unsigned tokens)
{
    static const struct question_events events = {.on_end = on_model_end};
    struct question_settings settings = {.query = agent->question,
                                         .messages = buf_str(messages),
                                         .temperature = agent->is_again ? 0.3 : 0,
                                         .max_tokens = tokens,
                                         .deadline_ms = left_ms(agent) + MODEL_GRACE_MS};
    requester_put(&agent->requester, &settings);
    agent->model = question_start(agent->requester.queue, &settings, &events, agent);
}

static void ask_plan(struct agent *agent, bool is_again)
{
    struct buf messages;
    agent_move(agent, AGENT_PLANNING);
    agent->is_again = is_again;
    buf_init(&messages, ASK_PROMPT_MAX_BYTES);
    ask_prompt_put_plan(&messages, agent->question, is_again);
    ask_model(agent, &messages, PLAN_TOKENS);
    buf_fini(&messages);
}

static void ask_step(struct agent *agent, bool is_again)
{
    struct cited_passages passages;
    struct str steps[AGENT_STEPS_MAX], calls[AGENT_CALLS_MAX];
    struct ask_step given = {.question = agent->question,
                             .steps = steps,
                             .step_n = (unsigned)json_array_size(agent->plan),
                             .calls = calls,
                             .call_n = agent->call_n,
                             .calls_left = AGENT_CALLS_MAX - agent->call_n,
                             .passages = passages.items,
                             .is_open = agent->is_open,
                             .passage_n = agent->found_n,
                             .is_again = is_again};
    struct buf messages;
    agent->is_again = is_again;
    for (unsigned i = 0; i < given.step_n; i++)
        steps[i] = json_str(json_array_get(agent->plan, i));
    for (unsigned i = 0; i < agent->call_n; i++)
        calls[i] = buf_str(&agent->calls[i]);
    cited_passages_init(&passages, agent->found, agent->found_n);
    buf_init(&messages, ASK_PROMPT_MAX_BYTES);
    ask_prompt_put_step(&messages, &given);
    ask_model(agent, &messages, STEP_TOKENS);
    buf_fini(&messages);
    cited_passages_fini(&passages);
}

/* --- the run ---------------------------------------------------------------------------------- */

static void end_with_nothing(struct agent *agent)
{
    struct citations none = {.used_n = 0};
    agent_trace_final(agent, STR("No passages were found."), (struct str){NULL, 0});
    agent_complete(agent, STR(CITATIONS_NOTHING), STR(""), &none);
}

void agent_go_on(struct agent *agent)
{
    agent_move(agent, AGENT_STEPPING);
    if (agent->call_n == AGENT_CALLS_MAX || left_ms(agent) == 0)
        agent_answer(agent);
    else
        ask_step(agent, false);
}

void agent_answer(struct agent *agent)
{
    struct cited_passages passages;
    struct buf messages;
    agent_search_plainly(agent);
    agent_move(agent, AGENT_ANSWERING);
    agent->is_again = false;
    cited_passages_init(&passages, agent->found, agent->found_n);
    buf_init(&messages, ASK_PROMPT_MAX_BYTES);
    ask_prompt_put_answer(&messages, agent->question, STR(""), passages.items, agent->found_n);
    ask_model(agent, &messages, ANSWER_TOKENS);
    buf_fini(&messages);
    cited_passages_fini(&passages);
}

/* Ends the run without an answer: the trace says why, and so does the error. */
static void refuse(struct agent *agent, const struct question_end *end)
{
    struct refusal refusal;
    llm_refusal_of(end, &refusal);
    agent_trace_error(agent, (struct str){NULL, 0}, NULL, refusal.detail);
    agent_refuse(agent, &refusal);
}

static void take_plan(struct agent *agent, struct str reply)
{
    agent->plan = model_reply_plan(reply);
    if (agent->plan != NULL) {
        agent_trace_plan(agent);
        agent_go_on(agent);
    } else if (!agent->is_again) {
        ask_plan(agent, true);
    } else {
        agent_trace_error(agent, (struct str){NULL, 0}, NULL, "The model wrote no plan.");
        agent_answer(agent);
    }
}

static void take_step(struct agent *agent, const struct question_end *end)
{
    struct agent_step chosen;
    if (end->outcome != QUESTION_DONE) {
        agent_trace_error(agent, (struct str){NULL, 0}, NULL, "The model chose no next step.");
        agent_answer(agent);
    } else if (model_reply_step(end->answer, &chosen)) {
        agent_use_tool(agent, &chosen);
        agent_step_fini(&chosen);
    } else if (!agent->is_again) {
        ask_step(agent, true);
    } else {
        agent_trace_error(agent, (struct str){NULL, 0}, NULL,
                          "The model's next step was not a valid JSON object.");
        agent_answer(agent);
    }
}

static void take_answer(struct agent *agent, const struct question_end *end)
{
    struct citations citations;
    struct buf checked, summary;
    buf_init(&checked, 8 << 20);
    buf_init(&summary, AGENT_LINE_MAX_BYTES);
    citations_check(str_trim(end->answer), agent->found_n, CITATIONS_BY_USE, &checked, &citations);
    if (citations_says_nothing(buf_str(&checked))) {
        end_with_nothing(agent);
    } else {
        buf_printf(&summary, "Answered from %llu %s, %u of them cited.",
                   COUNTED(agent->found_n, "passage"), citations.used_n);
        agent_trace_final(agent, buf_str(&summary), (struct str){NULL, 0});
        agent_complete(agent, buf_str(&checked), end->cut_by, &citations);
    }
    buf_fini(&checked);
    buf_fini(&summary);
}

static void on_model_end(void *context, const struct question_end *end)
{
    struct agent *agent = context;
    agent->model = NULL;
    if (agent->state == AGENT_STEPPING)
        take_step(agent, end);
    else if (end->outcome != QUESTION_DONE)
        refuse(agent, end);
    else if (agent->state == AGENT_PLANNING)
        take_plan(agent, end->answer);
    else
        take_answer(agent, end);
}

/* Drops what is under way. */
static void drop_work(struct agent *agent)
{
    question_cancel(agent->model, 0);
    agent->model = NULL;
    if (agent->state == AGENT_FINDING) {
        retrieve_free(agent->first);
        agent->first = NULL;
    } else if (agent->state == AGENT_SEARCHING) {
        retrieve_free(agent->searches[--agent->search_n]);
        agent->searches[agent->search_n] = NULL;
    }
}

static void on_late(struct deadline *deadline)
{
    struct agent *agent = container_of(deadline, struct agent, deadline);
    const struct question_end end = {.outcome = QUESTION_TIMEOUT};
    drop_work(agent);
    refuse(agent, &end);
}

static void on_presence_end(struct presence *presence, bool has_left)
{
    struct agent *agent = container_of(presence, struct agent, presence);
    struct refusal refusal;
    (void)has_left;
    drop_work(agent);
    llm_refusal_of_drain(&refusal);
    agent_refuse(agent, &refusal);
}

static void on_first_found(struct retrieval *retrieval, void *context)
{
    struct agent *agent = context;
    if (retrieval->error != ERR_OK) {
        agent_end(agent);
        retrieve_refuse(agent->r, retrieval);
        return;
    }
    reply_put_quota(agent->r, &retrieval->quota);
    agent->r->was_parked = true;
    agent_begin(agent);
    if (retrieval->hit_n == 0)
        end_with_nothing(agent);
    else
        ask_plan(agent, false);
}

void agent_start(struct agent *agent)
{
    struct documents *documents = documents_of(agent->r);
    struct retrieve_settings settings = {.space = agent->owner.space,
                                         .account = agent->r->account->name_token,
                                         .user = agent->owner.person.user_name,
                                         .question = agent->question,
                                         .n = AGENT_SEARCH_N,
                                         .nonce = &agent->r->nonce};
    settings.limits = ask_input_limits(agent->r, agent->owner.person.user_name);
    agent->trace = json_array();
    buf_init(&agent->pending_notes, AGENT_LINE_MAX_BYTES);
    presence_start(&agent->presence, &documents_of(agent->r)->waiting, agent->r, on_presence_end);
    agent->deadline.on_expire = on_late;
    loop_set_deadline(agent->r->server->loop, &agent->deadline,
                      ask_input_left_ms(agent->r, documents->settings->agent_ms));
    agent->first = retrieve_start(documents, &settings, on_first_found, agent);
}

void agent_end(struct agent *agent)
{
    if (agent->state == AGENT_ENDED)
        return;
    agent_move(agent, AGENT_ENDED);
    presence_stop(&agent->presence);
    loop_cancel_deadline(agent->r->server->loop, &agent->deadline);
}

void agent_fini(struct agent *agent)
{
    agent_end(agent);
    question_cancel(agent->model, 0);
    agent->model = NULL;
    retrieve_free(agent->first);
    for (unsigned i = 0; i < agent->search_n; i++)
        retrieve_free(agent->searches[i]);
    for (unsigned i = 0; i < agent->call_n; i++) {
        buf_fini(&agent->calls[i]);
        buf_fini(&agent->keys[i]);
    }
    buf_fini(&agent->pending_notes);
    json_decref(agent->plan);
    json_decref(agent->trace);
    stream_fini(&agent->stream);
}
