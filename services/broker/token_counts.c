/* SPDX-License-Identifier: MIT
 * token_counts.c - see token_counts.h. */
#include "services/broker/token_counts.h"

#include "shared/base/mem.h"
#include "shared/metrics/metrics.h"

#include <pthread.h>

struct series {
    struct str account, model;
    uint64_t prompt, completion;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct series all[TOKEN_SERIES_MAX],
    others = {.account = {"other", 5}, .model = {"other", 5}};
static unsigned series_n;

static struct series *find(struct str account, struct str model)
{
    for (unsigned i = 0; i < series_n; i++)
        if (str_eq(all[i].model, model) && str_eq(all[i].account, account))
            return &all[i];
    if (series_n == TOKEN_SERIES_MAX || str_eq(model, others.model))
        return &others;
    all[series_n] = (struct series){.account = {str_copy(account), account.n},
                                    .model = {str_copy(model), model.n}};
    return &all[series_n++];
}

void token_counts_add(struct str account, struct str model, uint64_t prompt, uint64_t completion)
{
    pthread_mutex_lock(&lock);
    struct series *series = find(account, model);
    series->prompt += prompt;
    series->completion += completion;
    pthread_mutex_unlock(&lock);
}

static void put_one(struct buf *b, const struct series *series, const char *kind, uint64_t tokens)
{
    buf_lit(b, "parley_tokens_total{account=\"");
    metrics_put_name(b, series->account);
    buf_lit(b, "\",model=\"");
    metrics_put_name(b, series->model);
    buf_printf(b, "\",kind=\"%s\"} %llu\n", kind, (unsigned long long)tokens);
}

static void put_both(struct buf *b, const struct series *series)
{
    put_one(b, series, "prompt", series->prompt);
    put_one(b, series, "completion", series->completion);
}

void token_counts_put(struct buf *b)
{
    buf_lit(b, "# HELP parley_tokens_total Tokens of answers stored by this process, as far as "
               "engines said: read (prompt) and written (completion), by account and model\n"
               "# TYPE parley_tokens_total counter\n");
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < series_n; i++)
        put_both(b, &all[i]);
    if (others.prompt + others.completion > 0)
        put_both(b, &others);
    pthread_mutex_unlock(&lock);
}
