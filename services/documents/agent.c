/* SPDX-License-Identifier: MIT
 * agent.c - see agent.h.
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
 * FINDING searches for the question itself: it uses up the nonce and counts against the limit, says
 * whether there is anything at all, and is the plain search if the model makes none. A call that
 * fails or was made before counts as a call, so a model that loops comes to its end. The answer is
 * written by one more prompt, the same as for /api/rag/ask, from the passages that tools returned;
 * its marks can name these only. Time: a run has three times what a question may take, the last
 * third of it is kept for the answer. */
#include "services/documents/agent.h"

#include "services/documents/ask_input.h"
#include "shared/rag/text.h"

#include <stdlib.h>

enum {
    SEARCH_N = 5,
    PLAN_TOKENS = 400,
    STEP_TOKENS = 300,
    ANSWER_TOKENS = 1000,
    RUN_PARTS = 3,
    CALL_LINE_MAX = 4096,
};

static void on_model_end(void *context, const struct question_end *end);
static void step(struct agent *agent);
static void answer(struct agent *agent);

/* --- models ----------------------------------------------------------------------------------- */

/* How long the next model may take; 0: the time for it is over. */
static uint64_t left_ms(const struct agent *agent)
{
    uint64_t part_ms = documents_of(agent->r)->settings->ask_ms;
    uint64_t until_ms = part_ms * (agent->state == AGENT_ANSWERING ? RUN_PARTS : RUN_PARTS - 1);
    uint64_t elapsed_ms = ask_input_elapsed_ms(agent->r);
    uint64_t rest_ms = until_ms > elapsed_ms ? until_ms - elapsed_ms : 0;
    return rest_ms < part_ms ? rest_ms : part_ms;
}

static void ask_model(struct agent *agent, const struct buf *messages, unsigned tokens)
{
    static const struct question_events events = {.on_end = on_model_end};
    struct question_settings settings = {.query = agent->question,
                                         .messages = buf_str(messages),
                                         .temperature = agent->is_again ? 0.3 : 0,
                                         .max_tokens = tokens,
                                         .deadline_ms = left_ms(agent) + 1};
    asker_put(&agent->asker, &settings);
    agent->model = question_start(agent->asker.queue, &settings, &events, agent);
}

static void ask_plan(struct agent *agent, bool is_again)
{
    struct buf messages;
    agent->state = AGENT_PLANNING;
    agent->is_again = is_again;
    buf_init(&messages, ASK_PROMPT_MAX_BYTES);
    ask_prompt_put_plan(&messages, agent->question, is_again);
    ask_model(agent, &messages, PLAN_TOKENS);
    buf_fini(&messages);
}

static void ask_step(struct agent *agent, bool is_again)
{
    struct grounded_passages passages;
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
    grounded_passages_init(&passages, agent->found, agent->found_n);
    buf_init(&messages, ASK_PROMPT_MAX_BYTES);
    ask_prompt_put_step(&messages, &given);
    ask_model(agent, &messages, STEP_TOKENS);
    buf_fini(&messages);
    grounded_passages_fini(&passages);
}

/* --- what was found --------------------------------------------------------------------------- */

static bool is_known(const struct agent *agent, const struct retrieve_hit *hit)
{
    for (unsigned i = 0; i < agent->found_n; i++)
        if (agent->found[i]->chunk == hit->chunk && str_eq(agent->found[i]->doc, hit->doc))
            return true;
    return false;
}

/* Returns how many of the hits are new. */
static unsigned take_hits(struct agent *agent, const struct retrieval *retrieval)
{
    unsigned before = agent->found_n;
    for (size_t i = 0; i < retrieval->hit_n && agent->found_n < TOP_K_MAX; i++)
        if (!is_known(agent, &retrieval->hits[i]))
            agent->found[agent->found_n++] = &retrieval->hits[i];
    return agent->found_n - before;
}

/* Counts one call. `key`: the call as compared. Returns false when it was made before. */
static bool begin_call(struct agent *agent, const struct buf *key)
{
    bool is_new = true;
    for (unsigned i = 0; i < agent->call_n; i++)
        is_new &= !str_eq(buf_str(&agent->keys[i]), buf_str(key));
    buf_init(&agent->calls[agent->call_n], CALL_LINE_MAX);
    buf_init(&agent->keys[agent->call_n], CALL_LINE_MAX);
    buf_put(&agent->keys[agent->call_n], buf_str(key));
    agent->call_n++;
    return is_new;
}

static struct buf *call_line(struct agent *agent)
{
    return &agent->calls[agent->call_n - 1];
}

static void put_search_key(struct buf *key, struct str query)
{
    buf_init(key, CALL_LINE_MAX);
    buf_lit(key, "search ");
    text_put_normal(key, query);
}

static void note_search(struct agent *agent, struct str query, const struct retrieval *retrieval,
                        struct str notes)
{
    unsigned new_n = take_hits(agent, retrieval);
    struct buf summary;
    buf_init(&summary, CALL_LINE_MAX);
    if (retrieval->error != ERR_OK)
        buf_lit(&summary, "The search failed.");
    else
        buf_printf(&summary, "%zu passages found, %u of them new.", retrieval->hit_n, new_n);
    json_t *input = json_pack("{s:s%}", "query", query.at, query.n);
    if (retrieval->error != ERR_OK)
        agent_trace_error(agent, STR("search_docs"), input, "The search failed.");
    else
        agent_trace_call(agent, "search_docs", input, buf_str(&summary), notes);
    json_decref(input);
    buf_lit(call_line(agent), "search_docs \"");
    buf_put(call_line(agent), query);
    buf_lit(call_line(agent), "\": ");
    buf_put(call_line(agent), buf_str(&summary));
    buf_fini(&summary);
}

/* What the model did not do: the question is searched for as it is. */
static void search_plainly(struct agent *agent)
{
    struct buf key;
    if (agent->found_n > 0)
        return;
    if (agent->call_n == AGENT_CALLS_MAX) {
        take_hits(agent, agent->first);
        return;
    }
    put_search_key(&key, agent->question);
    (void)begin_call(agent, &key);
    buf_fini(&key);
    note_search(agent, agent->question, agent->first, STR("A plain search for the question."));
}

/* --- tools ------------------------------------------------------------------------------------ */

static void fail_call(struct agent *agent, const struct agent_step *chosen, const char *error)
{
    agent_trace_error(agent, chosen->name, chosen->input, error);
    buf_put(call_line(agent), chosen->name);
    buf_printf(call_line(agent), ": %s", error);
    step(agent);
}

static void on_searched(struct retrieval *retrieval, void *context)
{
    struct agent *agent = context;
    struct buf query;
    buf_init(&query, CALL_LINE_MAX);
    buf_put(&query, buf_str(call_line(agent)));
    buf_clear(call_line(agent));
    note_search(agent, buf_str(&query), retrieval, buf_str(&agent->pending_notes));
    buf_fini(&query);
    step(agent);
}

static void search(struct agent *agent, const struct agent_step *chosen)
{
    struct buf key;
    put_search_key(&key, chosen->query);
    bool is_new = begin_call(agent, &key);
    buf_fini(&key);
    if (!is_new) {
        fail_call(agent, chosen, "This search was made before.");
        return;
    }
    struct retrieve_settings settings = {
        .space = agent->owner.space, .question = chosen->query, .n = SEARCH_N};
    agent->state = AGENT_SEARCHING;
    buf_put(call_line(agent), chosen->query); /* until its outcome is known */
    buf_clear(&agent->pending_notes);
    buf_put(&agent->pending_notes, chosen->notes);
    agent->searches[agent->search_n++] =
        retrieve_start(documents_of(agent->r), &settings, on_searched, agent);
}

static unsigned find_opened(const struct agent *agent, const struct agent_step *chosen)
{
    struct agent_found found[TOP_K_MAX];
    struct buf ids;
    size_t ends[TOP_K_MAX], from = 0;
    buf_init(&ids, TOP_K_MAX * 128);
    for (unsigned i = 0; i < agent->found_n; i++) {
        documents_put_chunk_id(&ids, agent->found[i]->doc, agent->found[i]->chunk);
        ends[i] = ids.n;
    }
    for (unsigned i = 0; i < agent->found_n; i++) {
        found[i] = (struct agent_found){.doc = agent->found[i]->doc,
                                        .chunk_id = {ids.at + from, ends[i] - from},
                                        .chunk = agent->found[i]->chunk};
        from = ends[i];
    }
    unsigned number = agent_find(chosen->input, found, agent->found_n);
    buf_fini(&ids);
    return number;
}

static void open_citation(struct agent *agent, const struct agent_step *chosen)
{
    unsigned number = find_opened(agent, chosen);
    struct buf key, summary;
    buf_init(&key, CALL_LINE_MAX);
    buf_printf(&key, "open %u", number);
    bool is_new = begin_call(agent, &key);
    buf_fini(&key);
    if (number == 0 || !is_new) {
        fail_call(agent, chosen,
                  number == 0 ? "No tool returned that citation."
                              : "This citation is open already.");
        return;
    }
    agent->is_open[number - 1] = true;
    buf_init(&summary, CALL_LINE_MAX);
    buf_printf(&summary, "Passage [%u] is shown whole.", number);
    agent_trace_call(agent, "open_citation", chosen->input, buf_str(&summary), chosen->notes);
    buf_printf(call_line(agent), "open_citation %u: it is shown whole.", number);
    buf_fini(&summary);
    step(agent);
}

static void use_tool(struct agent *agent, const struct agent_step *chosen)
{
    struct buf key;
    switch (chosen->tool) {
    case AGENT_SEARCH: search(agent, chosen); break;
    case AGENT_OPEN: open_citation(agent, chosen); break;
    case AGENT_FINAL: answer(agent); break;
    default:
        buf_init(&key, CALL_LINE_MAX);
        buf_lit(&key, "unknown");
        (void)begin_call(agent, &key);
        buf_fini(&key);
        fail_call(agent, chosen, "There is no such tool.");
    }
}

/* --- the run ---------------------------------------------------------------------------------- */

static void end_with_nothing(struct agent *agent)
{
    struct citations none = {.used_n = 0};
    agent_trace_final(agent, STR("Nothing was found."), (struct str){NULL, 0});
    agent_complete(agent, STR(CITATIONS_NOTHING), &none);
}

static void step(struct agent *agent)
{
    agent->state = AGENT_STEPPING;
    if (agent->call_n == AGENT_CALLS_MAX || left_ms(agent) == 0)
        answer(agent);
    else
        ask_step(agent, false);
}

static void answer(struct agent *agent)
{
    struct grounded_passages passages;
    struct buf messages;
    search_plainly(agent);
    agent->state = AGENT_ANSWERING;
    agent->is_again = false;
    grounded_passages_init(&passages, agent->found, agent->found_n);
    buf_init(&messages, ASK_PROMPT_MAX_BYTES);
    ask_prompt_put_answer(&messages, agent->question, STR(""), passages.items, agent->found_n);
    ask_model(agent, &messages, ANSWER_TOKENS);
    buf_fini(&messages);
    grounded_passages_fini(&passages);
}

static void refuse(struct agent *agent, const struct question_end *end)
{
    struct refusal refusal;
    refusal_of(end, true, &refusal);
    agent_refuse(agent, &refusal);
}

static void take_plan(struct agent *agent, struct str reply)
{
    agent->plan = model_reply_plan(reply);
    if (agent->plan != NULL) {
        agent_trace_plan(agent);
        step(agent);
    } else if (!agent->is_again) {
        ask_plan(agent, true);
    } else {
        agent_trace_error(agent, (struct str){NULL, 0}, NULL, "The model wrote no plan.");
        answer(agent);
    }
}

static void take_step(struct agent *agent, const struct question_end *end)
{
    struct agent_step chosen;
    if (end->outcome != QUESTION_DONE) {
        agent_trace_error(agent, (struct str){NULL, 0}, NULL, "The model chose no next step.");
        answer(agent);
    } else if (model_reply_step(end->answer, &chosen)) {
        use_tool(agent, &chosen);
        agent_step_fini(&chosen);
    } else if (!agent->is_again) {
        ask_step(agent, true);
    } else {
        agent_trace_error(agent, (struct str){NULL, 0}, NULL,
                          "The model's next step was not the JSON object that it should be.");
        answer(agent);
    }
}

static void take_answer(struct agent *agent, struct str text)
{
    struct citations citations;
    struct buf checked, summary;
    buf_init(&checked, 8 << 20);
    buf_init(&summary, CALL_LINE_MAX);
    citations_check(str_trim(text), agent->found_n, &checked, &citations);
    if (citations_says_nothing(buf_str(&checked))) {
        end_with_nothing(agent);
    } else {
        buf_printf(&summary, "Answered from %u passages, %u of them cited.", agent->found_n,
                   citations.used_n);
        agent_trace_final(agent, buf_str(&summary), (struct str){NULL, 0});
        agent_complete(agent, buf_str(&checked), &citations);
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
        take_answer(agent, end->answer);
}

static void on_presence_end(struct presence *presence, bool has_left)
{
    struct agent *agent = H2O_STRUCT_FROM_MEMBER(struct agent, presence, presence);
    struct refusal refusal;
    question_cancel(agent->model, 0);
    agent->model = NULL;
    if (agent->state == AGENT_SEARCHING) {
        retrieve_free(agent->searches[--agent->search_n]);
        agent->searches[agent->search_n] = NULL;
    }
    agent->r->h2o->http1_is_persistent = 0;
    refusal_of_drain(true, &refusal);
    agent_refuse(agent, &refusal);
}

static void on_first_found(struct retrieval *retrieval, void *context)
{
    struct agent *agent = context;
    if (retrieval->error != ERR_OK) {
        agent->state = AGENT_ENDED;
        retrieve_refuse(agent->r, retrieval);
        return;
    }
    agent->r->was_parked = true;
    agent_begin(agent);
    presence_start(&agent->presence, agent->r, on_presence_end);
    if (retrieval->hit_n == 0)
        end_with_nothing(agent);
    else
        ask_plan(agent, false);
}

void agent_start(struct agent *agent)
{
    struct retrieve_settings settings = {.space = agent->owner.space,
                                         .question = agent->question,
                                         .n = SEARCH_N,
                                         .nonce = &agent->r->nonce};
    settings.limits = ask_input_limits(agent->r, agent->owner.name_token);
    agent->trace = json_array();
    buf_init(&agent->pending_notes, CALL_LINE_MAX);
    agent->first = retrieve_start(documents_of(agent->r), &settings, on_first_found, agent);
}

void agent_fini(struct agent *agent)
{
    presence_stop(&agent->presence);
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
