/* SPDX-License-Identifier: MIT
 * cited_answer.c - see cited_answer.h.
 *
 *   start --nothing found--> answered
 *     |
 *     +--question--> WAITING --on_end--> answered, or refused
 *     |
 *     +--question--> (refused, or in the queue) --> STREAMING: `sources`, then follow_sse.h
 *   the client leaves: the question is taken out of the queue. The node drains: it stays for a
 *   while, so that the client that asks another node continues waiting for the same. */
#include "services/documents/ask/cited_answer.h"

#include "services/documents/ask/llm_refusal.h"
#include "shared/base/clock.h"

enum { RESULT_MAX = 16 << 20, ANSWER_MAX = 8 << 20 };

/* --- results ---------------------------------------------------------------------------------- */

void cited_answer_put_cut(struct buf *b, struct str cut_by)
{
    if (cut_by.n == 0)
        return;
    buf_put_key(b, "finish_reason");
    buf_put_json(b, cut_by);
}

static void put_result(struct cited_answer *g, struct str answer, struct str model,
                       struct str cut_by, struct buf *b)
{
    struct buf checked;
    struct cited_answer_result result = {
        .model = model, .cut_by = cut_by, .took_ms = (clock_mono_us() - g->start_us) / 1000};
    buf_init(&checked, ANSWER_MAX);
    struct citations citations;
    citations_check(str_trim(answer), g->settings.hit_n, CITATIONS_AS_GIVEN, &checked, &citations);
    result.answer = buf_str(&checked);
    result.is_nothing = citations_says_nothing(result.answer);
    if (result.is_nothing)
        result.answer = STR(CITATIONS_NOTHING);
    g->format->put_result(g, &result, b);
    buf_fini(&checked);
}

static void respond_nothing(struct cited_answer *g)
{
    struct buf b;
    buf_init(&b, RESULT_MAX);
    if (g->is_stream) {
        struct stream *stream = &g->sse.stream;
        stream_start(stream);
        g->is_streaming = true;
        g->format->put_sources(g, &b);
        stream_put_buf(stream, "sources", STR(""), &b);
        stream_put(stream, "token", STR("1-1"), STR("{\"text\":\"" CITATIONS_NOTHING "\"}"));
        buf_clear(&b);
        put_result(g, STR(CITATIONS_NOTHING), STR(""), STR(""), &b);
        stream_put_buf(stream, "done", STR("1-2"), &b);
        stream_end(stream);
    } else {
        put_result(g, STR(CITATIONS_NOTHING), STR(""), STR(""), &b);
        respond_json(g->r, 200, &b);
    }
    buf_fini(&b);
}

static void refuse(struct cited_answer *g, const struct refusal *refusal)
{
    if (!g->is_streaming) {
        refusal_respond(g->r, refusal);
        return;
    }
    struct buf data;
    buf_init(&data, RESULT_MAX);
    refusal_put_event(&data, g->r, refusal);
    follow_sse_fail(&g->sse, &data);
    buf_fini(&data);
}

/* --- streams ---------------------------------------------------------------------------------- */

static struct cited_answer *of_sse(struct follow_sse *sse)
{
    return container_of(sse, struct cited_answer, sse);
}

static void put_done(struct follow_sse *sse, const struct outcome *outcome, struct buf *b)
{
    struct cited_answer *g = of_sse(sse);
    struct buf answer, model;
    buf_init(&answer, ANSWER_MAX);
    buf_init(&model, ANSWER_MAX);
    buf_put_json_texts(&answer, outcome->answer);
    buf_put_json_text(&model, outcome->model);
    put_result(g, buf_str(&answer), buf_str(&model), outcome_cut_by(outcome), b);
    buf_fini(&answer);
    buf_fini(&model);
}

static void put_error(struct follow_sse *sse, const struct outcome *outcome, struct buf *b)
{
    struct cited_answer *g = of_sse(sse);
    struct question_end end = {.outcome = QUESTION_FAILED};
    struct refusal refusal;
    (void)outcome;
    (g->format->is_llm ? llm_refusal_of : refusal_of)(&end, &refusal);
    refusal_put_event(b, g->r, &refusal);
}

/* A client that comes back gets nothing twice, unless its question is gone and this is another
 * one: then what it has is no part of it. */
static void on_asked(void *context, struct str topic, bool is_new)
{
    struct cited_answer *g = context;
    struct stream *stream = &g->sse.stream;
    bool was_resumed = follow_is_resumed(&g->sse.follow);
    if (g->is_stream || log_is_on(LOG_DEBUG))
        g->r->about = (struct request_subject){request_copy(g->r, topic), 1};
    if (!g->is_stream)
        return;
    follow_watch(&g->sse.follow, g->r->about.topic, 1); /* it may outlive the question */
    stream_start(stream);
    g->is_streaming = true;
    if (was_resumed && is_new) {
        follow_forget_seen(&g->sse.follow);
        stream_put(stream, "restart", STR(""), STR("{}"));
    }
    if (!was_resumed || is_new) {
        struct buf data;
        buf_init(&data, RESULT_MAX);
        g->format->put_sources(g, &data);
        stream_put_buf(stream, "sources", STR(""), &data);
        buf_fini(&data);
    }
    follow_sse_start(&g->sse);
}

/* --- the question ----------------------------------------------------------------------------- */

static void on_end(void *context, const struct question_end *end)
{
    struct cited_answer *g = context;
    g->question = NULL;
    presence_stop(&g->presence);
    if (end->outcome != QUESTION_DONE) {
        struct refusal refusal;
        (g->format->is_llm ? llm_refusal_of : refusal_of)(end, &refusal);
        refuse(g, &refusal);
        return;
    }
    struct buf b;
    buf_init(&b, RESULT_MAX);
    put_result(g, end->answer, end->model, end->cut_by, &b);
    respond_json(g->r, 200, &b);
    buf_fini(&b);
}

static void on_last_check(void *context)
{
    struct cited_answer *g = context;
    follow_sse_read(&g->sse);
}

static void on_presence_end(struct presence *presence, bool has_left)
{
    struct cited_answer *g = container_of(presence, struct cited_answer, presence);
    struct refusal refusal;
    question_cancel(g->question, has_left ? 0 : QUESTION_KEEP_MS);
    g->question = NULL;
    if (g->is_streaming) {
        stream_end(&g->sse.stream); /* between two events: it may continue elsewhere */
        return;
    }
    (g->format->is_llm ? llm_refusal_of_drain : refusal_of_drain)(&refusal);
    refusal_respond(g->r, &refusal);
}

static void ask(struct cited_answer *g)
{
    static const struct question_events events = {
        .on_asked = on_asked, .on_last_check = on_last_check, .on_end = on_end};
    g->question = cited_question_start(&g->settings, g->is_stream, &events, g);
}

void cited_answer_start(struct cited_answer *g, struct request *r,
                        const struct cited_answer_format *format,
                        const struct cited_question *settings)
{
    static const struct follow_sse_format sse = {.put_done = put_done, .put_error = put_error};
    *g = (struct cited_answer){.r = r,
                               .format = format,
                               .settings = *settings,
                               .start_us = clock_mono_us(),
                               .is_stream = stream_is_wanted(r)};
    if (g->is_stream)
        follow_sse_init(&g->sse, r, settings->requester.queue, &sse);
    if (cited_question_is_void(settings)) {
        respond_nothing(g);
        return;
    }
    r->was_parked = true;
    presence_start(&g->presence, &documents_of(r)->waiting, r, on_presence_end);
    ask(g);
}

void cited_answer_fini(struct cited_answer *g)
{
    presence_stop(&g->presence);
    if (g->question != NULL)
        question_cancel(g->question, g->r->server->is_draining ? QUESTION_KEEP_MS : 0);
    g->question = NULL;
    follow_sse_fini(&g->sse);
}
