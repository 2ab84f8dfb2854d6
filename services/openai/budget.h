/* SPDX-License-Identifier: MIT
 *
 * budget: a request's part in the budgets of its account (requests_per_minute, tokens_per_day and
 * max_concurrent of shared/auth/accounts.h), which the account's shard keeps for all nodes
 * (lua/account/budgets.lua). An account without budgets costs no call. In its owner, on the loop's
 * thread.
 *
 *   budget_take --refused: answered with 429--> over
 *        | admitted
 *        v
 *   its query is added, and charged when it ends: budget_pass; or not: budget_fini
 */
#ifndef PARLEY_SERVICES_OPENAI_BUDGET_H
#define PARLEY_SERVICES_OPENAI_BUDGET_H

#include "services/openai/openai.h"

struct budget {
    struct str id;
    bool is_counted; /* perhaps, and no query has it yet */
};

bool budget_is_needed(const struct account *account);
/* Counts the request under `id` (a name, not copied). `on_reply` calls budget_admit. */
void budget_take(struct budget *budget, struct request *r, struct str id,
                 request_reply_cb *on_reply);
/* Returns whether there was room. Adds the headers x-ratelimit-*. */
bool budget_admit(struct budget *budget, struct request *r, enum err error,
                  struct str reply) must_check;
/* Answers a request that was not admitted. */
void budget_refuse(struct request *r, enum err error, struct str reply);
/* `is_certain`: its query is in the queue. Otherwise nobody knows: the request is no longer one of
 * those at a time once leaving.c has cancelled that query, and is charged if there is one. */
void budget_pass(struct budget *budget, const struct request *r, bool is_certain);
/* Ends what was counted and has no query; the request stays one of its minute. */
void budget_fini(struct budget *budget, const struct request *r);

#endif
