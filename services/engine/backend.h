/* SPDX-License-Identifier: MIT
 *
 * backend: whatever turns a prompt into text, behind four functions: `builtin` copies sentences out
 * of passages, `openai` asks a server that speaks OpenAI's protocol. Single thread, on the engine's
 * loop; a back end serves many completions at once.
 */
#ifndef PARLEY_ENGINE_BACKEND_H
#define PARLEY_ENGINE_BACKEND_H

#include "services/engine/prompt.h"
#include "services/engine/timers.h"
#include "shared/http/client.h"

struct completion;

enum completion_outcome {
    COMPLETION_DONE,
    COMPLETION_RETRY,   /* not now, or not here: another try may work */
    COMPLETION_REFUSED, /* this prompt can never work */
};

struct completion_events {
    /* New text, in order; either may be empty. False: it is enough, end it as done. */
    bool (*on_text)(void *context, struct str think, struct str answer);
    /* Once, at the end, unless cancelled. `reason` is for people, "" when done. */
    void (*on_done)(void *context, enum completion_outcome outcome, const char *reason);
};

struct backend {
    const struct backend_ops *ops;
};

struct backend_ops {
    /* Callbacks run later, on the loop. `prompt` stays valid until on_done or cancel. */
    struct completion *(*start)(struct backend *backend, const struct prompt *prompt,
                                const struct completion_events *events, void *context);
    /* No callback runs any more. */
    void (*cancel)(struct completion *completion);
    /* The name that answers carry as Model. Borrowed. */
    const char *(*model)(const struct backend *backend, const struct prompt *prompt);
    void (*destroy)(struct backend *backend);
};

/* Extractive answers, and rules for what wants a JSON object: see extractive_answer, rules_decide,
 * assist_reply. */
struct backend *backend_create_builtin(struct timers *timers) must_check;

struct backend_openai_settings {
    const char *base_url; /* "http://host:11434/v1" */
    const char *model;
    const char *key;         /* NULL: no Authorization header */
    uint64_t idle_timeout_s; /* without a byte from the server */
};
/* Copies `settings`; borrows `client`. */
struct backend *backend_create_openai(struct http_client *client,
                                      const struct backend_openai_settings *settings) must_check;

static inline void backend_destroy(struct backend *backend)
{
    if (backend != NULL)
        backend->ops->destroy(backend);
}

#endif
