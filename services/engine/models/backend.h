/* SPDX-License-Identifier: MIT
 *
 * backend: whatever turns a prompt into text, behind four functions: `builtin` copies sentences out
 * of passages, `openai` asks a server that speaks OpenAI's protocol. Single thread, on the engine's
 * loop; a back end serves many completions at once.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_BACKEND_H
#define PARLEY_SERVICES_ENGINE_MODELS_BACKEND_H

#include "services/engine/link/timers.h"
#include "services/engine/models/prompt.h"
#include "shared/http/client.h"

struct completion;

enum completion_outcome {
    COMPLETION_DONE,
    COMPLETION_RETRY,   /* it failed over this prompt: another try may work */
    COMPLETION_AWAY,    /* the model is busy or away, whatever the prompt: see rest.h */
    COMPLETION_REFUSED, /* this prompt can never work */
};

/* Valid inside on_done only. */
struct completion_end {
    enum completion_outcome outcome;
    const char *reason;     /* for people; "" when done */
    uint64_t retry_after_s; /* of AWAY; 0: the server did not say */
};

struct backend_check;

enum backend_health {
    BACKEND_GOOD,     /* it is there, and serves the models as far as one can know */
    BACKEND_BUSY,     /* it is there, and takes nothing now: 429, 503 */
    BACKEND_AWAY,     /* it is not reachable, or fails */
    BACKEND_NO_KEY,   /* it refuses the key, or wants one */
    BACKEND_NO_MODEL, /* it has no model of that name */
};

/* Valid inside the callback only. */
struct backend_checked {
    enum backend_health health;
    const char *reason;     /* what it answered, for people */
    const char *model;      /* of NO_MODEL: the name that it lacks */
    uint64_t retry_after_s; /* 0: it did not say */
};

typedef void (*backend_checked_callback)(void *context, const struct backend_checked *checked);

struct completion_events {
    /* New text, in order; either may be empty. False: it is enough, end it as done. */
    bool (*on_text)(void *context, struct str think, struct str answer);
    /* Once, at the end, unless cancelled. */
    void (*on_done)(void *context, const struct completion_end *end);
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
    /* Asks whether the server is there and has the models (backend_start_check); NULL where there
     * is nothing to ask. The callback runs once, later, unless it is cancelled. */
    struct backend_check *(*check)(struct backend *backend, backend_checked_callback callback,
                                   void *context);
    void (*check_cancel)(struct backend_check *check);
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
    const char *models;      /* more names that are asked for, a comma list; NULL: none */
    const char *key;         /* NULL: no Authorization header */
    uint64_t idle_timeout_s; /* without a byte from the server */
};
/* Copies `settings`; borrows `client`. */
struct backend *backend_create_openai(struct http_client *client,
                                      const struct backend_openai_settings *settings) must_check;

/* NULL: there is nothing to ask. */
static inline struct backend_check *
backend_start_check(struct backend *backend, backend_checked_callback callback, void *context)
{
    return backend->ops->check == NULL ? NULL : backend->ops->check(backend, callback, context);
}

/* Accepts NULL. No callback runs any more. */
static inline void backend_end_check(struct backend *backend, struct backend_check *check)
{
    if (check != NULL)
        backend->ops->check_cancel(check);
}

static inline void backend_destroy(struct backend *backend)
{
    if (backend != NULL)
        backend->ops->destroy(backend);
}

#endif
