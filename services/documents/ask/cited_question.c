/* SPDX-License-Identifier: MIT
 * cited_question.c - see cited_question.h. */
#include "services/documents/ask/cited_question.h"

enum { TITLES_MAX = 1 << 20, MESSAGES_MAX = 16 << 20 };

void cited_passages_init(struct cited_passages *passages, const struct retrieve_hit *const *hits,
                         unsigned n)
{
    size_t ends[TOP_K_MAX], from = 0;
    buf_init(&passages->titles, TITLES_MAX);
    for (unsigned i = 0; i < n; i++) {
        buf_put_json_text(&passages->titles, hits[i]->title_json);
        ends[i] = passages->titles.n;
    }
    for (unsigned i = 0; i < n; i++) {
        struct str titles = buf_str(&passages->titles);
        passages->items[i] = (struct ask_passage){.title = {titles.at + from, ends[i] - from},
                                                  .text = hits[i]->text};
        from = ends[i];
    }
}

void cited_passages_fini(struct cited_passages *passages)
{
    buf_fini(&passages->titles);
}

bool cited_question_is_void(const struct cited_question *q)
{
    return q->hit_n == 0 && str_trim(q->context).n == 0;
}

struct question *cited_question_start(const struct cited_question *q, bool is_followed,
                                      const struct question_events *events, void *context)
{
    struct cited_passages passages;
    struct question_settings settings = {.query = q->question,
                                         .scope = q->requester.scope,
                                         .temperature = q->temperature,
                                         .max_tokens = q->max_tokens,
                                         .deadline_ms = q->deadline_ms,
                                         .model = q->model,
                                         .grant = q->grant,
                                         .is_followed = is_followed};
    struct buf messages;
    buf_init(&messages, MESSAGES_MAX);
    cited_passages_init(&passages, q->hits, q->hit_n);
    ask_prompt_put_answer(&messages, q->question, q->context, passages.items, q->hit_n);
    settings.messages = buf_str(&messages);
    requester_put(&q->requester, &settings);
    struct question *question = question_start(q->requester.queue, &settings, events, context);
    buf_fini(&messages);
    cited_passages_fini(&passages);
    return question;
}
