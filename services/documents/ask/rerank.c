/* SPDX-License-Identifier: MIT
 * rerank.c - see rerank.h. */
#include "services/documents/ask/rerank.h"

#include "services/documents/ask/cited_question.h"
#include "services/documents/ask/model_reply.h"
#include "shared/base/mem.h"

enum { RERANK_TOKENS = 200 };

struct rerank {
    struct question *question;
    rerank_cb *on_done;
    void *context;
    unsigned n, order[TOP_K_MAX];
};

static void on_end(void *context, const struct question_end *end)
{
    struct rerank *rerank = context;
    rerank->question = NULL;
    bool is_used =
        end->outcome == QUESTION_DONE && model_reply_ranking(end->answer, rerank->order, rerank->n);
    rerank->on_done(rerank->context, rerank->order, is_used);
}

struct rerank *rerank_start(const struct requester *requester, struct str question,
                            const struct retrieve_hit *hits, unsigned n, uint64_t deadline_ms,
                            rerank_cb *on_done, void *context)
{
    static const struct question_events events = {.on_end = on_end};
    struct rerank *rerank = mem_zeroed(sizeof *rerank);
    const struct retrieve_hit *all[TOP_K_MAX];
    struct cited_passages passages;
    struct buf messages;
    *rerank = (struct rerank){.on_done = on_done, .context = context, .n = n};
    for (unsigned i = 0; i < n; i++) {
        rerank->order[i] = i;
        all[i] = &hits[i];
    }
    cited_passages_init(&passages, all, n);
    buf_init(&messages, ASK_PROMPT_MAX_BYTES);
    ask_prompt_put_ranking(&messages, question, passages.items, n);
    struct question_settings settings = {.query = question,
                                         .messages = buf_str(&messages),
                                         .temperature = 0,
                                         .max_tokens = RERANK_TOKENS,
                                         .deadline_ms = deadline_ms};
    requester_put(requester, &settings);
    rerank->question = question_start(requester->queue, &settings, &events, rerank);
    buf_fini(&messages);
    cited_passages_fini(&passages);
    return rerank;
}

void rerank_free(struct rerank *rerank)
{
    if (rerank == NULL)
        return;
    question_cancel(rerank->question, 0);
    free(rerank);
}
