/* SPDX-License-Identifier: MIT
 * attempt.c - one attempt at a turn of an evaluation (see evaluation.h): the bot is looked up and
 * called; after a failure, or while the queue is full, the evaluation rests. */
#include "services/bots/evaluate/evaluation.h"

#include "generated/verbs.h"

#include <stdio.h>

enum {
    ATTEMPTS = 3, /* of a turn; after 1 and 2 s */
    /* A bot that has failed that often in a row is down: further turns get one attempt each. */
    PATIENCE_TURNS = 5,
    PAUSE_MS = 1000,
    PAUSE_MAX_MS = 60000, /* of a Retry-After */
    CONTEXT_MAX_BYTES = 512 << 10,
    DELIVERY_MAX_BYTES = 4 + LEASE_ID_MAX_BYTES + 1 + STR_U64_MAX + 1,
};

static void on_rested(struct deadline *deadline)
{
    struct evaluation *e = container_of(deadline, struct evaluation, rest);
    if (e->entry.has_slot) {
        evaluation_go_on(e);
        return;
    }
    evaluation_move(e, EVALUATION_WAITING);
    evaluation_wait(e);
}

/* Without its turn. If too many rest, another node may try. */
static bool rests_without_turn(struct evaluation *e)
{
    struct evaluations *all = e->all;
    if (all->resting_n > EVALUATIONS_RESTING_MAX) {
        lease_give_back(&e->lease, 0);
        return false;
    }
    evaluation_forget(e);
    fair_slots_leave(all->turns, &e->entry);
    evaluations_fill(all);
    return true;
}

static void rest(struct evaluation *e, uint64_t ms)
{
    struct evaluations *all = e->all;
    evaluation_move(e, EVALUATION_RESTING);
    e->rest.on_expire = on_rested;
    loop_set_deadline(e->all->leases.loop, &e->rest, ms);
    if (ms > EVALUATION_PIECE_MS || fair_slots_waiting(all->turns) > 0)
        (void)!rests_without_turn(e);
}

static void on_vacancy(struct bot_vacancy *vacancy)
{
    struct evaluation *e = container_of(vacancy, struct evaluation, vacancy);
    evaluation_move(e, EVALUATION_WAITING);
    evaluation_wait(e);
}

/* That was no attempt. */
static void wait_for_vacancy(struct evaluation *e, const struct bot_refused *refused)
{
    e->attempt--;
    evaluation_move(e, EVALUATION_RESTING);
    if (!rests_without_turn(e))
        return;
    e->vacancy.on_vacancy = on_vacancy;
    bot_vacancy_wait(e->all->bots, &e->vacancy, refused);
}

/* Another attempt, or the turn has failed. */
static void take_failure(struct evaluation *e, const struct bot_call_end *end)
{
    unsigned most = e->summary.failed_in_row >= PATIENCE_TURNS ? 1 : ATTEMPTS;
    if (end->outcome == BOT_CALL_NO_ROOM) {
        wait_for_vacancy(e, &end->refused);
        return;
    }
    if (end->outcome == BOT_CALL_FAILED && e->attempt < most) {
        uint64_t pause_ms = (uint64_t)PAUSE_MS << (e->attempt - 1);
        if (end->retry_after_ms > pause_ms)
            pause_ms = end->retry_after_ms < PAUSE_MAX_MS ? end->retry_after_ms : PAUSE_MAX_MS;
        rest(e, pause_ms);
        return;
    }
    if (end->outcome == BOT_CALL_SILENT)
        snprintf(e->error, sizeof e->error, "the bot gave no answer (response_not_required)");
    else if (end->outcome == BOT_CALL_ACCEPTED)
        snprintf(e->error, sizeof e->error,
                 "the bot put its answer off (202), which an evaluation does not wait for");
    else
        snprintf(e->error, sizeof e->error, "the bot %.*s", STR_ARG(end->reason));
    evaluation_finish_turn(e);
}

static void on_called(void *context, const struct bot_call_end *end)
{
    struct evaluation *e = context;
    e->calling = NULL;
    if (end->outcome != BOT_CALL_REPLIED) {
        take_failure(e, end);
        return;
    }
    e->answer = str_copy(end->text);
    evaluation_move(e, EVALUATION_COMPARING);
    evaluation_compare(e, evaluation_finish_turn);
}

/* In the canonical text the quotes are around it. */
static struct str with_quotes(const struct json_span *text)
{
    return (struct str){text->raw.at - 1, text->raw.n + 2};
}

/* A chat's model takes the person's place: what that person said is its own. Endpoints are given
 * the history as it was. */
static struct talk_message message_of(const struct evaluation *e,
                                      const struct conversation_message *m, bool is_model)
{
    return (struct talk_message){.id = m->id.raw,
                                 .from = with_quotes(&m->from),
                                 .text = with_quotes(&m->text),
                                 .tagged = m->tagged,
                                 .timestamp = m->timestamp,
                                 .root = e->digits,
                                 .is_own = is_model && str_eq(m->from.raw, e->talk.person.raw)};
}

/* The last messages before the turn's, as far as there is room. Returns the first one's place. */
static unsigned find_context(const struct evaluation *e, unsigned end)
{
    unsigned first = end;
    size_t bytes = 0;
    while (first > 0 && end - first < TALK_CONTEXT_MAX) {
        bytes += e->talk.messages[first - 1].text.raw.n;
        if (bytes > CONTEXT_MAX_BYTES)
            break;
        first--;
    }
    return first;
}

static void call_bot(struct evaluation *e, const struct bot_target *bot)
{
    struct talk_message context[TALK_CONTEXT_MAX];
    char delivery[DELIVERY_MAX_BYTES];
    unsigned end = e->talk.turns[e->at].message, first = find_context(e, end);
    bool is_model = str_has_prefix(bot->endpoint, STR("parley:"));
    for (unsigned i = first; i < end; i++)
        context[i - first] = message_of(e, &e->talk.messages[i], is_model);
    int n = snprintf(delivery, sizeof delivery, "evl-%s-%u", e->lease.id, e->at + 1);
    const struct talk talk = {.context = context,
                              .context_n = end - first,
                              .exchanges = context, /* all of it is one conversation */
                              .exchanges_n = end - first,
                              .message = message_of(e, &e->talk.messages[end], is_model),
                              .room = e->digits,
                              .room_name = STR("\"evaluation\"")};
    const struct bot_call_settings settings = {
        .bot = *bot, .delivery = {delivery, (size_t)n}, .talk = &talk};
    e->attempt++;
    evaluation_move(e, EVALUATION_CALLING);
    e->calling = bot_call_start(e->all->bots, &settings, on_called, e);
}

static void on_found(struct call *call, enum err error, struct str reply)
{
    struct evaluation *e = container_of(call, struct evaluation, call);
    struct bot_target bot;
    if (error != ERR_OK) {
        evaluation_drop(e);
        return;
    }
    if (!bot_target_read(reply, &bot))
        evaluation_fail(e, "The bot was removed.");
    else if (bot.endpoint.n == 0)
        evaluation_fail(e, "The bot has no endpoint any more: it pulls.");
    else
        call_bot(e, &bot);
}

void evaluation_attempt(struct evaluation *e)
{
    evaluation_move(e, EVALUATION_FINDING);
    call_bot_find(shards_call(e->all->bots->server->shards, &e->call, on_found),
                  .bot = str_of(e->bot), .is_calling = false);
}
