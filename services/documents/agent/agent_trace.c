/* SPDX-License-Identifier: MIT
 * agent_trace.c - shows an agent's run to its client (agent.h): POST /api/agent/run, whole at its
 * end, and POST /api/agent/stream, entry by entry. Its first client reads what one read gave it
 * line by line, so an event's data is first, and each event is a write of its own. */
#include "services/documents/agent/agent.h"

#include "services/documents/ask/ask_input.h"
#include "services/documents/handlers.h"
#include "shared/base/sm.h"
#include "shared/http/request/explain.h"

#include <stdlib.h>

enum { STREAM_MAX_BYTES = 8 << 20, RESULT_MAX_BYTES = 8 << 20 };

/* --- entries ---------------------------------------------------------------------------------- */

static json_t *text_or_null(struct str text)
{
    return text.at == NULL ? json_null() : json_stringn(text.at, text.n);
}

static void add(struct agent *agent, const char *type, struct str tool, const json_t *input,
                struct str summary, json_t *steps, struct str notes, const char *error)
{
    json_t *entry =
        json_pack("{s:s, s:o, s:O, s:o, s:O, s:o, s:o}", "type", type, "tool", text_or_null(tool),
                  "input", input == NULL ? json_null() : input, "outputSummary",
                  text_or_null(summary), "steps", steps == NULL ? json_null() : steps, "notes",
                  text_or_null(notes), "error", text_or_null(str_of(error)));
    if (entry == NULL)
        abort();
    json_array_append_new(agent->trace, entry);
    if (!agent->stream.is_started)
        return;
    struct buf data;
    buf_init(&data, RESULT_MAX_BYTES);
    buf_put_json_value(&data, entry);
    stream_put_buf(&agent->stream, "trace", STR(""), &data);
    stream_flush(&agent->stream);
    buf_fini(&data);
}

static const struct str none = {NULL, 0};

void agent_trace_plan(struct agent *agent)
{
    add(agent, "plan", none, NULL, none, agent->plan, none, NULL);
}

void agent_trace_call(struct agent *agent, const char *tool, const json_t *input,
                      struct str summary, struct str notes)
{
    add(agent, "tool_call", str_of(tool), input, summary, NULL, notes, NULL);
}

void agent_trace_error(struct agent *agent, struct str tool, const json_t *input, const char *error)
{
    add(agent, "error", tool, input, none, NULL, none, error);
}

void agent_trace_final(struct agent *agent, struct str summary, struct str notes)
{
    add(agent, "final", none, NULL, summary, NULL, notes, NULL);
}

/* --- the end ---------------------------------------------------------------------------------- */

void agent_begin(struct agent *agent)
{
    if (!agent->is_stream)
        return;
    stream_init(&agent->stream, agent->r, STREAM_DATA_FIRST, false, STREAM_MAX_BYTES);
    stream_start(&agent->stream);
}

void agent_complete(struct agent *agent, struct str answer, struct str cut_by,
                    const struct citations *citations)
{
    struct buf b;
    buf_init(&b, RESULT_MAX_BYTES);
    buf_lit(&b, "{\"answer\":");
    buf_put_json(&b, answer);
    cited_answer_put_cut(&b, cut_by);
    buf_lit(&b, ",\"citations\":[");
    for (unsigned i = 0; i < citations->used_n; i++) {
        if (i > 0)
            buf_put_char(&b, ',');
        retrieve_put_citation(&b, agent->found[citations->used[i] - 1]);
    }
    buf_lit(&b, "],\"trace\":");
    if (agent->returns_trace || agent->is_stream)
        buf_put_json_value(&b, agent->trace);
    else
        buf_lit(&b, "[]");
    buf_put_char(&b, '}');
    agent_end(agent);
    if (agent->stream.is_started) {
        stream_put_buf(&agent->stream, "complete", STR(""), &b);
        stream_end(&agent->stream);
    } else {
        respond_json(agent->r, 200, &b);
    }
    buf_fini(&b);
}

void agent_refuse(struct agent *agent, const struct refusal *refusal)
{
    agent_end(agent);
    if (!agent->stream.is_started) {
        refusal_respond(agent->r, refusal);
        return;
    }
    struct buf data;
    buf_init(&data, RESULT_MAX_BYTES);
    refusal_put_event(&data, agent->r, refusal);
    stream_put_buf(&agent->stream, "error", STR(""), &data);
    stream_end(&agent->stream);
    buf_fini(&data);
}

/* --- routes ----------------------------------------------------------------------------------- */

static void on_gone(struct request *r)
{
    agent_fini(r->state);
}

static void run(struct request *r, bool is_stream)
{
    struct str mode;
    struct agent *agent = request_alloc(r, sizeof *agent);
    *agent = (struct agent){.r = r, .number = sm_number(), .is_stream = is_stream};
    if (!request_body(r) ||
        !ask_input_question(r, "question", AGENT_QUESTION_MAX_CHARS, &agent->question) ||
        !request_optional_text(r, "mode", 64, &mode) ||
        !request_optional_bool(r, "returnTrace", false, &agent->returns_trace) ||
        !owner_of_request(r, &agent->owner))
        return;
    if (mode.at != NULL && !str_eq(mode, STR("agent"))) {
        (void)explain_member(r, "mode", "\"agent\", or absent");
        return;
    }
    agent->requester = owner_requester(r, &agent->owner);
    r->state = agent;
    r->on_gone = on_gone;
    agent_start(agent);
}

void documents_agent_run(struct request *r)
{
    run(r, false);
}

void documents_agent_stream(struct request *r)
{
    run(r, true);
}
