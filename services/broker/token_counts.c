/* SPDX-License-Identifier: MIT
 * token_counts.c - see token_counts.h. */
#include "services/broker/token_counts.h"

#include "shared/base/mem.h"
#include "shared/metrics/metrics.h"

#include <pthread.h>

struct model_tokens {
    struct str name;
    uint64_t prompt, completion;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct model_tokens models[TOKEN_MODELS_MAX], others = {.name = {"other", 5}};
static unsigned model_n;

static struct model_tokens *find(struct str name)
{
    if (str_eq(name, others.name))
        return &others;
    for (unsigned i = 0; i < model_n; i++)
        if (str_eq(models[i].name, name))
            return &models[i];
    if (model_n == TOKEN_MODELS_MAX)
        return &others;
    models[model_n].name = (struct str){str_copy(name), name.n};
    return &models[model_n++];
}

void token_counts_add(struct str model, uint64_t prompt, uint64_t completion)
{
    pthread_mutex_lock(&lock);
    struct model_tokens *tokens = find(model);
    tokens->prompt += prompt;
    tokens->completion += completion;
    pthread_mutex_unlock(&lock);
}

static void put_one(struct buf *b, struct str model, const char *kind, uint64_t tokens)
{
    buf_lit(b, "parley_tokens_total{model=\"");
    metrics_put_name(b, model);
    buf_printf(b, "\",kind=\"%s\"} %llu\n", kind, (unsigned long long)tokens);
}

static void put_both(struct buf *b, const struct model_tokens *tokens)
{
    put_one(b, tokens->name, "prompt", tokens->prompt);
    put_one(b, tokens->name, "completion", tokens->completion);
}

void token_counts_put(struct buf *b)
{
    buf_lit(b, "# HELP parley_tokens_total Tokens of answers stored by this process, as far as "
               "engines said: read (prompt) and written (completion), by model\n"
               "# TYPE parley_tokens_total counter\n");
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < model_n; i++)
        put_both(b, &models[i]);
    if (others.prompt + others.completion > 0)
        put_both(b, &others);
    pthread_mutex_unlock(&lock);
}
