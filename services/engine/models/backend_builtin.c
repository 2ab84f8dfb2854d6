/* SPDX-License-Identifier: MIT
 * backend_builtin.c - the back end that needs no model: see extractive.h, rules.h and assist.h. It
 * is done at once, but reports it on the next pass of the loop, as every back end does. */
#include "services/engine/models/assist.h"
#include "services/engine/models/backend.h"
#include "services/engine/models/extractive.h"
#include "services/engine/models/rules.h"
#include "shared/base/mem.h"

enum { TEXT_MAX_BYTES = 256 << 10, DELTA_MAX_BYTES = 2 * TEXT_MAX_BYTES };

static const char EXTRACTIVE[] = "parley-extractive";

struct builtin {
    struct backend base;
    struct timers *timers;
};

struct completion {
    struct timer timer;
    const struct prompt *prompt;
    const struct completion_events *events;
    void *context;
};

static void put_answer(const struct prompt *prompt, struct buf *think, struct buf *answer)
{
    if (prompt->kind == PROMPT_ANSWER) {
        extractive_answer(prompt, think, answer);
        return;
    }
    buf_lit(think, "Built-in rules, no language model.");
    if (prompt->kind == PROMPT_DECISION)
        rules_decide(prompt->task, prompt->question, answer);
    else
        assist_reply(prompt, answer);
}

/* For a client of a door: the text, and its end. */
static void put_deltas(const struct completion *completion, struct str think, struct str answer)
{
    struct buf delta;
    buf_init(&delta, DELTA_MAX_BYTES);
    buf_lit(&delta, "{\"choices\":[{\"index\":0,\"delta\":{\"content\":");
    buf_put_json(&delta, answer);
    buf_lit(&delta, ",\"reasoning_content\":");
    buf_put_json(&delta, think);
    buf_lit(&delta, "},\"finish_reason\":null}]}");
    (void)completion->events->on_delta(completion->context, buf_str(&delta));
    (void)completion->events->on_delta(
        completion->context,
        STR("{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}"));
    buf_fini(&delta);
}

static void on_pass(void *context)
{
    struct completion *completion = context;
    struct buf think, answer;
    buf_init(&think, TEXT_MAX_BYTES);
    buf_init(&answer, TEXT_MAX_BYTES);
    put_answer(completion->prompt, &think, &answer);
    const struct completion_events *events = completion->events;
    void *owner = completion->context;
    (void)events->on_text(owner, buf_str(&think), buf_str(&answer));
    if (completion->prompt->api != API_NONE)
        put_deltas(completion, buf_str(&think), buf_str(&answer));
    free(completion);
    buf_fini(&think);
    buf_fini(&answer);
    events->on_done(owner, &(struct completion_end){.outcome = COMPLETION_DONE, .reason = ""});
}

static struct completion *builtin_start(struct backend *backend, const struct prompt *prompt,
                                        const struct completion_events *events, void *context)
{
    struct completion *completion = mem_alloc(sizeof *completion);
    *completion = (struct completion){.timer = {.fire = on_pass, .context = completion},
                                      .prompt = prompt,
                                      .events = events,
                                      .context = context};
    timer_set(((struct builtin *)backend)->timers, &completion->timer, 0);
    return completion;
}

static void builtin_cancel(struct completion *completion)
{
    timer_stop(&completion->timer);
    free(completion);
}

static const char *builtin_model(const struct backend *backend, const struct prompt *prompt)
{
    return prompt->kind == PROMPT_ANSWER ? EXTRACTIVE : "parley-rules";
}

static const char *builtin_models(const struct backend *backend)
{
    (void)backend;
    return EXTRACTIVE;
}

static void builtin_destroy(struct backend *backend)
{
    free(backend);
}

struct backend *backend_create_builtin(struct timers *timers)
{
    static const struct backend_ops ops = {.start = builtin_start,
                                           .cancel = builtin_cancel,
                                           .model = builtin_model,
                                           .models = builtin_models,
                                           .destroy = builtin_destroy};
    struct builtin *self = mem_alloc(sizeof *self);
    *self = (struct builtin){.base = {&ops}, .timers = timers};
    return &self->base;
}
