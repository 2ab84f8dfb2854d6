/* SPDX-License-Identifier: MIT
 *
 * backend: the interface to models: a table of functions that turn a prompt into text. `builtin`
 * copies sentences from passages; `openai` calls a server that speaks OpenAI's protocol. Single
 * thread, on the engine's loop; a back end serves many completions at once.
 */
#ifndef PARLEY_SERVICES_ENGINE_MODELS_BACKEND_H
#define PARLEY_SERVICES_ENGINE_MODELS_BACKEND_H

#include "services/engine/link/timers.h"
#include "services/engine/models/prompt.h"
#include "shared/http/client/client.h"

enum { COMPLETION_FINISH_MAX_BYTES = 64 };

struct completion;

enum completion_outcome {
    COMPLETION_DONE,    /* with some text of an answer */
    COMPLETION_RETRY,   /* this prompt failed; a retry may work */
    COMPLETION_AWAY,    /* the model is busy or away, for any prompt: see rest.h */
    COMPLETION_REFUSED, /* this prompt can never work */
};

/* Facts that a model reports with an answer, beyond its text. */
struct completion_facts {
    char finish[COMPLETION_FINISH_MAX_BYTES + 1]; /* why it ended: "stop", "length"; "": unknown */
    bool has_usage;
    uint64_t prompt_tokens, completion_tokens;
};

/* Valid inside on_done only. */
struct completion_end {
    enum completion_outcome outcome;
    const char *reason;            /* for people; "" when done */
    uint64_t retry_after_s;        /* AWAY only; 0: the server sent none */
    struct completion_facts facts; /* DONE only */
    /* REFUSED of a request of a door: {"status","message","type","param","code"} for its client;
     * NULL: nothing but the reason is known. */
    const json_t *error;
};

struct backend_check;

enum backend_health {
    BACKEND_GOOD,     /* reachable, and serves the models as far as the check can tell */
    BACKEND_BUSY,     /* reachable, but takes no requests now: 429, 503 */
    BACKEND_AWAY,     /* unreachable or failing */
    BACKEND_NO_KEY,   /* refuses the key, or requires one */
    BACKEND_NO_MODEL, /* has no model of that name */
};

/* Valid inside the callback only. */
struct backend_checked {
    enum backend_health health;
    const char *reason;     /* what the server answered, for people */
    const char *model;      /* NO_MODEL only: the missing name */
    uint64_t retry_after_s; /* 0: the server sent none */
};

typedef void (*backend_checked_callback)(void *context, const struct backend_checked *checked);

struct completion_events {
    /* Delivers new text, in order; either part may be empty. Return false to end the completion as
     * done. */
    bool (*on_text)(void *context, struct str think, struct str answer);
    /* Delivers a delta (openai_delta.h); for requests of a door only. Return false if there is no
     * room for it: the prompt is then refused. */
    bool (*on_delta)(void *context, struct str delta);
    /* Runs once, at the end, unless cancelled. */
    void (*on_done)(void *context, const struct completion_end *end);
};

struct backend {
    const struct backend_ops *ops;
};

struct backend_ops {
    /* Callbacks run later, on the loop. `prompt` stays valid until on_done or cancel. */
    struct completion *(*start)(struct backend *backend, const struct prompt *prompt,
                                const struct completion_events *events, void *context);
    /* No callback runs after this. */
    void (*cancel)(struct completion *completion);
    /* Checks that the server is reachable and has the models (backend_start_check). NULL if there
     * is nothing to check. The callback runs once, later, unless the check is cancelled. */
    struct backend_check *(*check)(struct backend *backend, backend_checked_callback callback,
                                   void *context);
    void (*check_cancel)(struct backend_check *check);
    /* Returns the name that answers carry as Model. Borrowed. */
    const char *(*model)(const struct backend *backend, const struct prompt *prompt);
    /* Returns the models that requests may name, comma-separated; those of its server are known
     * after a check. "": none. Borrowed. */
    const char *(*models)(const struct backend *backend);
    void (*destroy)(struct backend *backend);
    /* It passes the requests of a door on as they are. Otherwise it wants them read
     * (prompt_read_request). */
    bool is_passing;
};

/* Gives extractive answers, and applies rules to prompts that request a JSON object: see
 * extractive_answer, rules_decide, assist_reply. */
struct backend *backend_create_builtin(struct timers *timers) must_check;

struct backend_openai_settings {
    const char *base_url; /* "http://host:11434/v1"; NULL: /embeddings only */
    const char *embeddings_url, *embeddings_key; /* the same of /embeddings; both may be NULL */
    const char *model;       /* comma-separated, the usual one first; NULL: all of the server's */
    const char *models;      /* further models to check for, comma-separated; NULL: none */
    const char *key;         /* NULL: no Authorization header */
    uint64_t idle_timeout_s; /* maximum time without a byte from the server */
};
/* Copies `settings`; borrows `timers` and `client`. */
struct backend *backend_create_openai(struct timers *timers, struct http_client *client,
                                      const struct backend_openai_settings *settings) must_check;

/* Returns NULL if there is nothing to check. */
static inline struct backend_check *
backend_start_check(struct backend *backend, backend_checked_callback callback, void *context)
{
    return backend->ops->check == NULL ? NULL : backend->ops->check(backend, callback, context);
}

/* Accepts NULL. No callback runs after this. */
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
