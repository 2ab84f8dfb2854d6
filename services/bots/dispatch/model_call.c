/* SPDX-License-Identifier: MIT
 * model_call.c - see model_call.h. */
#include "services/bots/dispatch/model_call.h"

#include "services/bots/bots.h"
#include "services/bots/registry/endpoint.h"
#include "shared/auth/accounts.h"
#include "shared/base/mem.h"
#include "shared/http/access/gate.h"
#include "shared/queue/lines.h"
#include "shared/queue/question.h"

#include <stdio.h>

#define CUT_MARK " […]"

enum {
    REPLY_TOKENS = 1000,
    SCOPE_MAX = 256,
    NO_ACCOUNT_MAX_WAITING = 100, /* of a registrant whose account has gone */
};

struct model_call {
    bot_call_end_cb *on_end;
    void *context;
    struct question *question;
    uint64_t timeout_ms;
    /* Names, should the queue be full. */
    char *account, *user, *model;
    unsigned max_waiting;
};

static void dispose(struct model_call *call)
{
    free(call->account);
    free(call->user);
    free(call->model);
    free(call);
}

static void end_without(struct model_call *call, enum bot_call_outcome outcome, struct str reason,
                        uint64_t retry_after_s)
{
    struct bot_call_end end = {
        .outcome = outcome, .reason = reason, .retry_after_ms = retry_after_s * 1000};
    call->on_end(call->context, &end);
}

/* A room shows texts alone: one that its model did not end says so itself. */
static void take_answer(struct model_call *call, const struct question_end *answered)
{
    struct bot_call_end end = {.outcome = BOT_CALL_REPLIED};
    struct buf text;
    buf_init(&text, answered->answer.n + sizeof CUT_MARK);
    buf_put(&text, str_trim(answered->answer));
    if (text.n > 0 && answered->cut_by.n > 0)
        buf_lit(&text, CUT_MARK);
    end.text = buf_str(&text);
    if (end.text.n == 0)
        end_without(call, BOT_CALL_REFUSED, STR("has an empty answer"), 0);
    else if (end.text.n > BOT_ANSWER_MAX_BYTES)
        end_without(call, BOT_CALL_REFUSED, STR("answered with more than 64 KiB"), 0);
    else
        call->on_end(call->context, &end);
    buf_fini(&text);
}

static void end_without_vacancy(struct model_call *call, unsigned shard)
{
    struct bot_call_end end = {.outcome = BOT_CALL_NO_ROOM,
                               .reason = STR("has too many questions in the queue"),
                               .refused = {.account = str_of(call->account),
                                           .user = str_of(call->user),
                                           .model = str_of(call->model),
                                           .max_waiting = call->max_waiting,
                                           .shard = shard}};
    call->on_end(call->context, &end);
}

static void on_question_end(void *context, const struct question_end *end)
{
    struct model_call *call = context;
    char reason[100];
    switch (end->outcome) {
    case QUESTION_DONE: take_answer(call, end); break;
    case QUESTION_NO_ENGINE:
        end_without(call, BOT_CALL_FAILED, STR("has no engine that serves its model"), end->eta_s);
        break;
    case QUESTION_FULL: end_without_vacancy(call, end->shard); break;
    case QUESTION_TIMEOUT:
        snprintf(reason, sizeof reason, "did not answer within %llu s",
                 (unsigned long long)(call->timeout_ms / 1000));
        end_without(call, BOT_CALL_FAILED, str_of(reason), 0);
        break;
    case QUESTION_FAILED: /* it has had its attempts: another question would have as many again */
        end_without(call, BOT_CALL_REFUSED, STR("could not be answered by its engines"), 0);
        break;
    default: end_without(call, BOT_CALL_FAILED, STR("could not reach the queue"), 0); break;
    }
    dispose(call);
}

/* --- the question ----------------------------------------------------------------------------- */

/* Limits of the account that registered the bot; it may have gone since. */
static void put_account(const struct bots *bots, struct question_settings *settings)
{
    const struct accounts *accounts = gate_accounts(bots->server->gate);
    const struct account *account = NULL;
    char bytes[BOTS_NAME_MAX_BYTES];
    struct buf name = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    if (buf_put_unnamed(&name, settings->account) && !name.is_over)
        account = accounts_find(accounts, buf_str(&name));
    settings->weight = account == NULL ? STR("1") : account->weight_text;
    settings->max_waiting = account == NULL ? NO_ACCOUNT_MAX_WAITING : account->max_waiting;
}

static void keep_names(struct model_call *call, const struct question_settings *settings)
{
    char bytes[BOTS_NAME_MAX_BYTES];
    struct buf model = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    buf_put_name(&model, settings->model.n > 0 ? settings->model : STR("default"));
    call->account = str_copy(settings->account);
    call->user = str_copy(settings->user_name);
    call->model = str_copy(buf_str(&model));
    call->max_waiting = settings->max_waiting;
}

static void ask(struct model_call *call, struct bots *bots, const struct bot_call_settings *s,
                struct str messages, struct str query)
{
    static const struct question_events events = {.on_end = on_question_end};
    char user_bytes[BOTS_NAME_MAX_BYTES], scope[SCOPE_MAX];
    struct buf user = {.at = user_bytes, .cap = sizeof user_bytes, .max = sizeof user_bytes};
    struct str within = lines_name_within(s->bot.user);
    int n = snprintf(scope, sizeof scope, "bot %.*s", STR_ARG(s->delivery));
    if (!buf_put_unnamed(&user, within) || user.is_over)
        user.n = 0;
    struct question_settings settings = {
        .user = user.n > 0 ? buf_str(&user) : within,
        .user_name = s->bot.user,
        .account = s->bot.account,
        .model = endpoint_model(s->bot.endpoint),
        .query = query,
        .messages = messages,
        .traceparent = s->traceparent,
        .request_id = s->delivery,
        .scope = {scope, n < (int)sizeof scope ? (size_t)n : sizeof scope - 1},
        .temperature = -1,
        .max_tokens = REPLY_TOKENS,
        .deadline_ms = call->timeout_ms,
    };
    put_account(bots, &settings);
    keep_names(call, &settings);
    call->question = question_start(bots->queue, &settings, &events, call);
}

struct model_call *model_call_start(struct bots *bots, const struct bot_call_settings *settings,
                                    bot_call_end_cb *on_end, void *context)
{
    struct model_call *call = mem_zeroed(sizeof *call);
    struct talk_bot bot = {.username = settings->bot.username, .emulates = settings->bot.emulates};
    struct buf messages, query;
    *call = (struct model_call){.on_end = on_end,
                                .context = context,
                                .timeout_ms = settings->timeout_ms == 0 ? BOT_CALL_TIMEOUT_MS
                                                                        : settings->timeout_ms};
    buf_init(&messages, TALK_BODY_MAX_BYTES);
    buf_init(&query, TALK_BODY_MAX_BYTES);
    talk_put_chat(&messages, settings->talk, &bot);
    talk_put_question(&query, settings->talk, &bot);
    if (query.n == 0)
        buf_lit(&query, "?");
    ask(call, bots, settings, buf_str(&messages), buf_str(&query));
    buf_fini(&messages);
    buf_fini(&query);
    return call;
}

void model_call_cancel(struct model_call *call, bool is_final)
{
    question_cancel(call->question, is_final ? 0 : QUESTION_KEEP_MS);
    dispose(call);
}
