/* SPDX-License-Identifier: MIT
 * rag_ask.c - POST /api/rag/ask: questions of an owner over their own documents.
 *
 *   documents_rag_ask --> RETRIEVING --nothing--------------------------------------+
 *                          |      ^                                               |
 *            refine_prompt |      | the rewritten question                        v
 *                          v      |                                          cited_answer.h
 *                         REWRITING                                               ^
 *                                                                                 |
 *                         RETRIEVING --all as it is, or rerank--> RERANKING ------+
 *
 * The question is searched for as it is first, even if it is to be rewritten: where there is
 * nothing to be found no engine is asked, and what it finds is there if the rewritten one finds
 * nothing. The nonce and the limit go with that search. Rewriting and reranking take a part of the
 * time only, so that some is left for the answer. Marks name citations: [1] the first one of the
 * list. */
#include "services/documents/ask/ask_input.h"
#include "services/documents/ask/cited_answer.h"
#include "services/documents/ask/llm_refusal.h"
#include "services/documents/ask/rerank.h"
#include "services/documents/ask/rewrite.h"
#include "services/documents/handlers.h"
#include "shared/base/clock.h"

enum {
    TOKENS_MIN = 50,
    TOKENS_MAX = 8000,
    TOKENS_DEFAULT = 500,
    RERANK_FACTOR = 3, /* so many more passages are looked at */
    STEP_PART = 4,     /* of the time, for each step before the answer */
};

struct rag_ask {
    struct request *r;
    struct owner owner;
    struct requester requester;
    struct str question;
    unsigned top_k, max_tokens;
    double temperature;
    bool is_refining, is_reranking;
    struct str query; /* what is searched for */
    struct presence presence;
    struct rewrite *rewrite;
    struct retrieval *first, *second; /* of the question, and of the rewritten one */
    const struct retrieval *found;    /* the one that is used */
    struct rerank *rerank;
    bool was_reranked;
    uint64_t rerank_us;
    struct retrieve_hit shown[TOP_K_MAX]; /* as they are numbered, and those that are only near */
    const struct retrieve_hit *hits[TOP_K_MAX];
    unsigned hit_n, all_n;
    struct cited_answer cited;
};

static uint64_t left_ms(const struct rag_ask *op)
{
    return ask_input_left_ms(op->r, documents_of(op->r)->settings->ask_ms);
}

static uint64_t step_ms(const struct rag_ask *op)
{
    uint64_t most_ms = documents_of(op->r)->settings->ask_ms / STEP_PART, left = left_ms(op) / 2;
    return left < most_ms ? left + 1 : most_ms + 1;
}

/* --- what is shown ---------------------------------------------------------------------------- */

static void put_citations(const struct cited_answer *g, unsigned n, struct buf *b)
{
    buf_put_char(b, '[');
    for (unsigned i = 0; i < n; i++) {
        if (i > 0)
            buf_put_char(b, ',');
        retrieve_put_citation(b, g->settings.hits[i]);
    }
    buf_put_char(b, ']');
}

static void put_sources(const struct cited_answer *g, struct buf *b)
{
    buf_lit(b, "{\"sources\":");
    put_citations(g, g->settings.hit_n, b);
    buf_put_char(b, '}');
}

static void put_result(const struct cited_answer *g, const struct cited_answer_result *result,
                       struct buf *b)
{
    const struct rag_ask *op = g->r->state;
    buf_lit(b, "{\"answer\":");
    buf_put_json(b, result->answer);
    cited_answer_put_cut(b, result->cut_by);
    buf_lit(b, ",\"citations\":");
    put_citations(g, result->is_nothing ? 0 : g->settings.hit_n, b);
    if (result->is_nothing && g->settings.all_n > 0) {
        buf_lit(b, ",\"nearest\":");
        put_citations(g, g->settings.all_n, b);
    }
    buf_lit(b, ",\"model\":");
    if (result->model.n > 0)
        buf_put_json(b, result->model);
    else
        buf_lit(b, "null");
    if (op->is_refining) {
        buf_lit(b, ",\"rewritten_query\":");
        buf_put_json(b, op->query);
    }
    if (op->is_reranking)
        buf_printf(b, ",\"rerank_used\":%s,\"rerank_latency_ms\":%llu",
                   op->was_reranked ? "true" : "false", (unsigned long long)(op->rerank_us / 1000));
    buf_put_char(b, '}');
}

/* --- the steps -------------------------------------------------------------------------------- */

static void answer(struct rag_ask *op)
{
    static const struct cited_answer_format format = {
        .put_result = put_result, .put_sources = put_sources, .is_llm = true};
    struct cited_question settings = {.requester = op->requester,
                                      .question = op->question,
                                      .hits = op->hits,
                                      .hit_n = op->hit_n,
                                      .all_n = op->all_n,
                                      .temperature = op->temperature,
                                      .max_tokens = op->max_tokens,
                                      .deadline_ms = left_ms(op)};
    presence_stop(&op->presence);
    cited_answer_start(&op->cited, op->r, &format, &settings);
}

static void on_presence_end(struct presence *presence, bool has_left)
{
    struct rag_ask *op = container_of(presence, struct rag_ask, presence);
    struct refusal refusal;
    rewrite_free(op->rewrite);
    retrieve_free(op->second);
    rerank_free(op->rerank);
    op->rewrite = NULL;
    op->second = NULL;
    op->rerank = NULL;
    llm_refusal_of_drain(&refusal);
    refusal_respond(op->r, &refusal);
}

/* The client may leave while engines are at work. */
static void wait_for_engines(struct rag_ask *op)
{
    if (op->presence.r == NULL)
        presence_start(&op->presence, &documents_of(op->r)->waiting, op->r, on_presence_end);
    op->r->was_parked = true;
}

/* Takes over what was found. A model's order is not that of the scores: a hit is shown with the
 * score of the one before it where its own is higher, so that scores fall all the same. */
static void put_in_order(struct rag_ask *op, const unsigned *order)
{
    for (unsigned i = 0; i < op->all_n; i++) {
        op->shown[i] = op->found->hits[i < op->hit_n && order != NULL ? order[i] : i];
        if (i > 0 && op->shown[i].score > op->shown[i - 1].score)
            op->shown[i].score = op->shown[i - 1].score;
        op->hits[i] = &op->shown[i];
    }
}

static void on_reranked(void *context, const unsigned *order, bool is_used)
{
    struct rag_ask *op = context;
    op->was_reranked = is_used;
    op->rerank_us = clock_mono_us() - op->rerank_us;
    put_in_order(op, order);
    answer(op);
}

static void use(struct rag_ask *op, const struct retrieval *retrieval)
{
    unsigned found_n = (unsigned)retrieval->hit_n, all_n = (unsigned)retrieval->all_n;
    op->found = retrieval;
    op->hit_n = found_n < op->top_k ? found_n : op->top_k;
    op->all_n = all_n < op->top_k ? all_n : op->top_k;
    put_in_order(op, NULL);
    if (!op->is_reranking || found_n < 2) {
        answer(op);
        return;
    }
    op->rerank_us = clock_mono_us();
    wait_for_engines(op);
    op->rerank = rerank_start(&op->requester, op->question, retrieval->hits, found_n, step_ms(op),
                              on_reranked, op);
}

static void on_second(struct retrieval *retrieval, void *context)
{
    struct rag_ask *op = context;
    bool is_good = retrieval->error == ERR_OK && retrieval->hit_n > 0;
    use(op, is_good ? retrieval : op->first);
}

static struct retrieve_settings settings_of(const struct rag_ask *op)
{
    unsigned n = op->is_reranking ? op->top_k * RERANK_FACTOR : op->top_k;
    return (struct retrieve_settings){.space = op->owner.space,
                                      .account = op->requester.account,
                                      .user = op->requester.user_name,
                                      .question = op->query,
                                      .n = n < TOP_K_MAX ? n : TOP_K_MAX};
}

static void on_rewritten(void *context, struct str query, bool is_fallback)
{
    struct rag_ask *op = context;
    if (is_fallback) {
        use(op, op->first);
        return;
    }
    op->query = query;
    struct retrieve_settings settings = settings_of(op);
    op->second = retrieve_start(documents_of(op->r), &settings, on_second, op);
}

static void on_first(struct retrieval *retrieval, void *context)
{
    struct rag_ask *op = context;
    if (retrieval->error != ERR_OK) {
        retrieve_refuse(op->r, retrieval);
        return;
    }
    reply_put_quota(op->r, &retrieval->quota);
    if (!op->is_refining || retrieval->hit_n == 0) {
        use(op, retrieval);
    } else {
        wait_for_engines(op);
        op->rewrite = rewrite_start(&op->requester, op->question, step_ms(op), on_rewritten, op);
    }
}

static void on_gone(struct request *r)
{
    struct rag_ask *op = r->state;
    presence_stop(&op->presence);
    cited_answer_fini(&op->cited);
    rewrite_free(op->rewrite);
    rerank_free(op->rerank);
    retrieve_free(op->first);
    retrieve_free(op->second);
}

void documents_rag_ask(struct request *r)
{
    struct rag_ask *op = request_alloc(r, sizeof *op);
    *op = (struct rag_ask){.r = r};
    if (!request_body(r) || !ask_input_question(r, "question", QUESTION_MAX_CHARS, &op->question) ||
        !ask_input_top_k(r, "topK", &op->top_k) ||
        !ask_input_number(r, "temperature", 0, 1, 0.2, &op->temperature) ||
        !ask_input_whole(r, "maxTokens", TOKENS_MIN, TOKENS_MAX, TOKENS_DEFAULT, &op->max_tokens) ||
        !request_optional_bool(r, "refine_prompt", false, &op->is_refining) ||
        !request_optional_bool(r, "rerank", false, &op->is_reranking) ||
        !owner_of_request(r, &op->owner))
        return;
    op->requester = owner_requester(r, &op->owner);
    op->query = op->question;
    r->state = op;
    r->on_gone = on_gone;
    struct retrieve_settings settings = settings_of(op);
    settings.nonce = &r->nonce;
    settings.limits = ask_input_limits(r, op->owner.person.user_name);
    op->first = retrieve_start(documents_of(r), &settings, on_first, op);
}
