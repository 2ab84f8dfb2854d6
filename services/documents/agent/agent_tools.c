/* SPDX-License-Identifier: MIT
 * agent_tools.c - runs the tools of an agent's run (agent.h): search, and open what a search
 * returned.
 *
 * Each call is counted before it is looked at, so that one that fails, or was made before, brings
 * the run closer to its end as well. A passage has one number from the first search that returned
 * it on: the model opens it by that, by its id, or by the beginning of it. */
#include "services/documents/agent/agent.h"

#include "shared/text/text.h"

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
    buf_init(&agent->calls[agent->call_n], AGENT_LINE_MAX_BYTES);
    buf_init(&agent->keys[agent->call_n], AGENT_LINE_MAX_BYTES);
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
    buf_init(key, AGENT_LINE_MAX_BYTES);
    buf_lit(key, "search ");
    text_put_normal(key, query);
}

static void note_search(struct agent *agent, struct str query, const struct retrieval *retrieval,
                        struct str notes)
{
    unsigned new_n = take_hits(agent, retrieval);
    struct buf summary;
    buf_init(&summary, AGENT_LINE_MAX_BYTES);
    if (retrieval->error != ERR_OK)
        buf_lit(&summary, "The search failed.");
    else
        buf_printf(&summary, "%llu %s found, %u of them new.", COUNTED(retrieval->hit_n, "passage"),
                   new_n);
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

/* Searches for the question as it is, because the model made no search. */
void agent_search_plainly(struct agent *agent)
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
    agent_go_on(agent);
}

static void on_searched(struct retrieval *retrieval, void *context)
{
    struct agent *agent = context;
    struct buf query;
    buf_init(&query, AGENT_LINE_MAX_BYTES);
    buf_put(&query, buf_str(call_line(agent)));
    buf_clear(call_line(agent));
    note_search(agent, buf_str(&query), retrieval, buf_str(&agent->pending_notes));
    buf_fini(&query);
    agent_go_on(agent);
}

static void search(struct agent *agent, const struct agent_step *chosen)
{
    struct buf key;
    put_search_key(&key, chosen->query);
    bool is_new = begin_call(agent, &key);
    buf_fini(&key);
    if (!is_new) {
        fail_call(agent, chosen, "This search has already been made.");
        return;
    }
    struct retrieve_settings settings = {.space = agent->owner.space,
                                         .account = agent->r->account->name_token,
                                         .user = agent->owner.person.user_name,
                                         .question = chosen->query,
                                         .n = AGENT_SEARCH_N};
    agent_move(agent, AGENT_SEARCHING);
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
        ids_put_chunk(&ids, agent->found[i]->doc, agent->found[i]->chunk);
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
    buf_init(&key, AGENT_LINE_MAX_BYTES);
    buf_printf(&key, "open %u", number);
    bool is_new = begin_call(agent, &key);
    buf_fini(&key);
    if (number == 0 || !is_new) {
        fail_call(agent, chosen,
                  number == 0 ? "No tool returned that citation."
                              : "This citation is already open.");
        return;
    }
    agent->is_open[number - 1] = true;
    buf_init(&summary, AGENT_LINE_MAX_BYTES);
    buf_printf(&summary, "Passage [%u] is shown in full.", number);
    agent_trace_call(agent, "open_citation", chosen->input, buf_str(&summary), chosen->notes);
    buf_printf(call_line(agent), "open_citation %u: shown in full.", number);
    buf_fini(&summary);
    agent_go_on(agent);
}

void agent_use_tool(struct agent *agent, const struct agent_step *chosen)
{
    struct buf key;
    switch (chosen->tool) {
    case AGENT_SEARCH: search(agent, chosen); break;
    case AGENT_OPEN: open_citation(agent, chosen); break;
    case AGENT_FINAL: agent_answer(agent); break;
    default:
        buf_init(&key, AGENT_LINE_MAX_BYTES);
        buf_lit(&key, "unknown");
        (void)begin_call(agent, &key);
        buf_fini(&key);
        fail_call(agent, chosen, "There is no such tool.");
    }
}
