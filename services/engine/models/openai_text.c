/* SPDX-License-Identifier: MIT
 * openai_text.c - hands on the text and the deltas of a completion: see openai_internal.h. */
#include "services/engine/models/openai_internal.h"

void openai_free(struct completion *completion)
{
    timer_stop(&completion->timer);
    reply_fini(&completion->reply);
    delta_maker_fini(&completion->maker);
    messages_maker_fini(&completion->messages);
    buf_fini(&completion->think);
    buf_fini(&completion->answer);
    buf_fini(&completion->cited);
    free(completion);
}

/* Hands on what the filters let through; false when the owner has enough. */
static bool hand_on(struct completion *completion)
{
    struct str think = buf_str(&completion->think), answer = buf_str(&completion->cited);
    bool goes_on = (think.n == 0 && answer.n == 0) ||
                   completion->events->on_text(completion->context, think, answer);
    completion->has_thoughts = completion->has_thoughts || think.n > 0;
    completion->has_answer = completion->has_answer || answer.n > 0;
    completion->is_enough = completion->is_enough || !goes_on;
    buf_clear(&completion->think);
    buf_clear(&completion->answer);
    buf_clear(&completion->cited);
    return goes_on;
}

bool openai_on_delta(void *context, struct str delta)
{
    struct completion *completion = context;
    completion->is_full = !completion->events->on_delta(completion->context, delta);
    return !completion->is_full;
}

bool openai_on_chunk(void *context, const json_t *json, bool is_repaired)
{
    struct completion *completion = context;
    bool goes_on = openai_is_of_messages(completion)
                       ? messages_maker_feed(&completion->messages, json, is_repaired)
                       : delta_maker_feed(&completion->maker, json, is_repaired);
    completion->is_full = !goes_on;
    return goes_on;
}

bool openai_on_text(void *context, struct str think, struct str answer)
{
    struct completion *completion = context;
    buf_put(&completion->think, think);
    think_feed(&completion->split, answer, &completion->think, &completion->answer);
    cite_feed(&completion->cite, buf_str(&completion->answer), &completion->cited);
    return hand_on(completion);
}

void openai_put_rest(struct completion *completion)
{
    const struct prompt *prompt = completion->prompt;
    think_finish(&completion->split, &completion->think, &completion->answer);
    cite_feed(&completion->cite, buf_str(&completion->answer), &completion->cited);
    cite_finish(&completion->cite, &completion->cited);
    bool is_first = true;
    for (size_t i = 0; i < prompt->source_n && prompt->messages == NULL; i++) {
        if (!completion->cite.is_used[i + 1])
            continue;
        if (is_first)
            buf_lit(&completion->cited, "\n\nSources:");
        buf_printf(&completion->cited, "\n[%zu] %s", i + 1, prompt->sources[i].title);
        is_first = false;
    }
    (void)hand_on(completion);
}
