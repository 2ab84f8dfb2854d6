/* SPDX-License-Identifier: MIT
 * rewrite.c - see rewrite.h; and POST /api/rag/rewrite, which shows what comes of it:
 *
 *   documents_rewrite --admit (the nonce)--> rewrite --> answered */
#include "services/documents/ask/rewrite.h"

#include "generated/verbs.h"
#include "services/documents/ask/ask_input.h"
#include "services/documents/ask/ask_prompt.h"
#include "services/documents/ask/model_reply.h"
#include "services/documents/handlers.h"
#include "shared/base/mem.h"

enum { REWRITE_TOKENS = 200 };

struct rewrite {
    struct question *question;
    rewrite_cb *on_done;
    void *context;
    struct buf original, query;
};

static void on_end(void *context, const struct question_end *end)
{
    struct rewrite *rewrite = context;
    rewrite->question = NULL;
    bool is_good =
        end->outcome == QUESTION_DONE && model_reply_rewrite(end->answer, &rewrite->query);
    rewrite->on_done(rewrite->context, buf_str(is_good ? &rewrite->query : &rewrite->original),
                     !is_good);
}

struct rewrite *rewrite_start(const struct requester *requester, struct str question,
                              uint64_t deadline_ms, rewrite_cb *on_done, void *context)
{
    static const struct question_events events = {.on_end = on_end};
    struct rewrite *rewrite = mem_zeroed(sizeof *rewrite);
    struct buf messages;
    *rewrite = (struct rewrite){.on_done = on_done, .context = context};
    buf_init(&rewrite->original, question.n + 1);
    buf_init(&rewrite->query, 4 * QUERY_MAX_CHARS);
    buf_put(&rewrite->original, question);
    buf_init(&messages, ASK_PROMPT_MAX_BYTES);
    ask_prompt_put_rewrite(&messages, question);
    struct question_settings settings = {.query = question,
                                         .messages = buf_str(&messages),
                                         .temperature = 0,
                                         .max_tokens = REWRITE_TOKENS,
                                         .deadline_ms = deadline_ms};
    requester_put(requester, &settings);
    rewrite->question = question_start(requester->queue, &settings, &events, rewrite);
    buf_fini(&messages);
    return rewrite;
}

void rewrite_free(struct rewrite *rewrite)
{
    if (rewrite == NULL)
        return;
    question_cancel(rewrite->question, 0);
    buf_fini(&rewrite->original);
    buf_fini(&rewrite->query);
    free(rewrite);
}

/* --- POST /api/rag/rewrite -------------------------------------------------------------------- */

struct rewriting {
    struct str question;
    struct owner owner;
    struct rewrite *rewrite;
    struct presence presence;
};

static void answer(struct request *r, struct str query, bool is_fallback)
{
    struct rewriting *op = r->state;
    struct buf *b = &r->server->scratch;
    presence_stop(&op->presence);
    buf_clear(b);
    buf_lit(b, "{\"rewritten_query\":");
    buf_put_json(b, query);
    buf_lit(b, ",\"original_query\":");
    buf_put_json(b, op->question);
    buf_printf(b, ",\"fallback\":%s}", is_fallback ? "true" : "false");
    respond_json(r, 200, b);
}

static void on_rewritten(void *context, struct str query, bool is_fallback)
{
    answer(context, query, is_fallback);
}

static void on_presence_end(struct presence *presence, bool has_left)
{
    struct request *r = presence->r;
    struct rewriting *op = r->state;
    rewrite_free(op->rewrite);
    op->rewrite = NULL;
    answer(r, op->question, true);
}

static void on_admitted(struct request *r, enum err error, struct str reply)
{
    struct rewriting *op = r->state;
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return;
    struct requester requester = owner_requester(r, &op->owner);
    r->was_parked = true;
    presence_start(&op->presence, &documents_of(r)->waiting, r, on_presence_end);
    op->rewrite =
        rewrite_start(&requester, op->question, documents_of(r)->settings->ask_ms, on_rewritten, r);
}

static void on_gone(struct request *r)
{
    struct rewriting *op = r->state;
    presence_stop(&op->presence);
    rewrite_free(op->rewrite);
}

void documents_rewrite(struct request *r)
{
    struct rewriting *op = request_alloc(r, sizeof *op);
    *op = (struct rewriting){.question = {NULL, 0}};
    if (!request_body(r) || !ask_input_question(r, "question", QUESTION_MAX_CHARS, &op->question) ||
        !owner_of_request(r, &op->owner))
        return;
    r->state = op;
    r->on_gone = on_gone;
    call_admit(request_call(r, on_admitted), .space = op->owner.space, .limits = STR(""));
}
