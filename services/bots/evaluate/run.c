/* SPDX-License-Identifier: MIT
 * run.c - what happens in an evaluation, and when (see run.h).
 *
 *   evaluations_start --> WAITING <--------- somebody else's turn -------+
 *                           |  |                          |              |
 *           its turn, read  |  '---------> FINDING <------+--------------+
 *                before     |       |       |             |              |
 *     LOADING <-------------'       |       v  failed     |              |
 *        |                          |  CALLING -------> RESTING          |
 *        '----------------------> FINDING                                |
 *                                   |  |  |   (again after a pause)      |
 *                                   |  |  | answered                     |
 *           the bot is gone: the run|  |  v                              |
 *                          ends     |  | COMPARING                       |
 *                                   |  |  |                              |
 *                                   |  |  | a distance, or none          |
 *                                   v  v  v                              |
 *                                  STORING ---------- the next turn -----+
 *                                     |
 *                                     v
 *                                   ENDED: over, or no longer ours
 *
 * Those who evaluate take turns (ADR 77): between two calls of its bot, and while it rests, an
 * evaluation lets others go on, and is read again afterwards.
 *
 * Each turn is stored before the next one begins, with the sums over all of them, under the fence.
 * A node that cannot store drops the run; the one that takes it calls the bot for that turn again,
 * under the same delivery id. A turn that fails is stored as failed: it counts, and is not
 * repeated. */
#include "services/bots/evaluate/run.h"

#include "generated/verbs.h"
#include "services/bots/evaluate/evaluate.h"
#include "shared/base/sm.h"
#include "shared/http/client/client.h"
#include "shared/queue/lines.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ATTEMPTS = 3, /* of a turn; after 1 and 2 s */
    /* A bot that has failed that often in a row is down: further turns get one attempt each. */
    PATIENCE_TURNS = 5,
    PAUSE_MS = 1000,
    PAUSE_MAX_MS = 60000, /* of a Retry-After */
    /* After that, others go on first: to read a conversation costs more than a call. A longer rest
     * is not waited for with it in memory. */
    PIECE_MS = 2000,
    CONTEXT_MAX_BYTES = 512 << 10,
    DELIVERY_MAX_BYTES = 4 + LEASE_ID_MAX_BYTES + 1 + STR_U64_MAX + 1,
};

static const struct sm_state states[] = {
    [EVALUATION_WAITING] = {"WAITING",
                            SM(EVALUATION_LOADING) | SM(EVALUATION_FINDING) | SM(EVALUATION_ENDED)},
    [EVALUATION_LOADING] = {"LOADING", SM(EVALUATION_FINDING) | SM(EVALUATION_ENDED)},
    [EVALUATION_FINDING] = {"FINDING",
                            SM(EVALUATION_CALLING) | SM(EVALUATION_STORING) | SM(EVALUATION_ENDED)},
    [EVALUATION_CALLING] = {"CALLING", SM(EVALUATION_RESTING) | SM(EVALUATION_COMPARING) |
                                           SM(EVALUATION_STORING) | SM(EVALUATION_ENDED)},
    [EVALUATION_RESTING] = {"RESTING",
                            SM(EVALUATION_WAITING) | SM(EVALUATION_FINDING) | SM(EVALUATION_ENDED)},
    [EVALUATION_COMPARING] = {"COMPARING", SM(EVALUATION_STORING) | SM(EVALUATION_ENDED)},
    [EVALUATION_STORING] = {"STORING", SM(EVALUATION_WAITING) | SM(EVALUATION_FINDING) |
                                           SM(EVALUATION_STORING) | SM(EVALUATION_ENDED)},
    [EVALUATION_ENDED] = {"ENDED", 0},
};
static const struct sm sm = SM_OF("evaluation", states);

static atomic_ullong compared_n, failed_n; /* turns, of all nodes of the process */

void evaluation_move(struct evaluation *e, enum evaluation_state to)
{
    e->all->resting_n -= e->state == EVALUATION_RESTING;
    e->state = sm_move(&sm, e->number, e->state, to);
    e->all->resting_n += to == EVALUATION_RESTING;
}

static struct loop *loop_of(const struct evaluation *e)
{
    return e->all->bots->server->loop;
}

/* --- runs of this node ------------------------------------------------------------------------ */

static void evaluations_fill(struct evaluations *all);

/* Others go on meanwhile: what it has read is read again when it is its turn. */
static void forget(struct evaluation *e)
{
    conversation_fini(&e->talk);
    free(e->bot);
    e->bot = NULL;
}

void evaluation_drop(struct evaluation *e)
{
    struct evaluations *all = e->all;
    /* Whoever carries on calls the bot with the same id, so its answer may still be needed. */
    bot_call_cancel(e->calling, false);
    evaluation_stop_comparing(e);
    evaluation_move(e, EVALUATION_ENDED);
    call_detach(&e->call);
    lease_let_go(&e->lease);
    fair_slots_leave(all->turns, &e->entry);
    bot_vacancy_leave(&e->vacancy);
    loop_cancel_deadline(loop_of(e), &e->rest);
    forget(e);
    free(e->account);
    free(e->user);
    free(e->answer);
    free(e);
    evaluations_fill(all);
}

/* --- turns ------------------------------------------------------------------------------------ */

static void wait_for_turn(struct evaluation *e)
{
    const struct fair_owner owner = {str_of(e->account), str_of(e->user), STR("")};
    fair_slots_wait(e->all->turns, &e->entry, &owner, 1);
    evaluations_fill(e->all);
}

static void find_bot(struct evaluation *e);

static void begin_next(struct evaluations *all)
{
    struct fair_entry *entry;
    while ((entry = fair_slots_next(all->turns)) != NULL) {
        struct evaluation *e = H2O_STRUCT_FROM_MEMBER(struct evaluation, entry, entry);
        e->granted_ms = clock_mono_ms();
        if (all->bots->server->is_draining) {
            evaluation_drop(e);
        } else if (e->talk.message_n > 0) {
            find_bot(e);
        } else {
            evaluation_move(e, EVALUATION_LOADING);
            evaluation_load(e);
        }
    }
}

static void evaluations_fill(struct evaluations *all)
{
    struct fair_entry *surplus;
    if (all->is_filling)
        return;
    all->is_filling = true;
    begin_next(all);
    while ((surplus = fair_slots_surplus(all->turns)) != NULL)
        lease_give_back(&H2O_STRUCT_FROM_MEMBER(struct evaluation, entry, surplus)->lease, 0);
    all->is_filling = false;
}

static bool keeps_turn(struct evaluation *e)
{
    if (clock_mono_ms() - e->granted_ms < PIECE_MS)
        return true;
    if (!fair_slots_yield(e->all->turns, &e->entry))
        return false;
    e->granted_ms = clock_mono_ms();
    return true;
}

/* --- storing ---------------------------------------------------------------------------------- */

static void store_end(struct evaluation *e, const char *reason);

static void begin_turn(struct evaluation *e)
{
    free(e->answer);
    e->answer = NULL;
    e->error[0] = 0;
    e->nearest = 0;
    e->attempt = 0;
    e->began_ms = clock_mono_ms();
}

static void on_stored(struct call *call, enum err error, struct str reply)
{
    struct evaluation *e = H2O_STRUCT_FROM_MEMBER(struct evaluation, call, call);
    struct str word = error == ERR_OK ? reply : STR("");
    struct lines lines = lines_of(word);
    word = lines_next(&lines);
    if (str_eq(word, STR("full")) && !e->is_over) {
        store_end(e, "Its turns take more room than a run may have.");
        return;
    }
    if (str_eq(word, STR("ok")) && !e->is_over) {
        e->at++;
        begin_turn(e);
        evaluation_go_on(e);
        return;
    }
    evaluation_drop(e);
}

static void store(struct evaluation *e, struct str result, enum verb_evaluation_turn_status status)
{
    struct buf summary;
    evaluation_move(e, EVALUATION_STORING);
    e->is_over = status != EVALUATION_TURN_RUNNING;
    buf_init(&summary, EVALUATION_SUMMARY_BYTES);
    record_put_summary(&summary, &e->summary);
    call_evaluation_turn(shards_call(e->all->bots->server->shards, &e->call, on_stored),
                         .evaluation = e->digits, .run = e->n, .fence = e->lease.fence, .at = e->at,
                         .result = result, .status = status, .summary = buf_str(&summary));
    buf_fini(&summary);
}

/* It cannot go on. The turns that are stored stay. */
static void store_end(struct evaluation *e, const char *reason)
{
    snprintf(e->summary.reason, sizeof e->summary.reason, "%s", reason);
    store(e, STR(""), EVALUATION_TURN_FAILED);
}

void evaluation_finish_turn(struct evaluation *e)
{
    bool has_failed = e->error[0] != 0, is_last = e->at + 1 == e->talk.turn_n;
    struct buf b;
    if (has_failed) {
        e->summary.failed++;
        e->summary.failed_in_row++;
    } else {
        statistics_add(&e->summary.distances, e->distance);
        e->summary.failed_in_row = 0;
    }
    atomic_fetch_add(has_failed ? &failed_n : &compared_n, 1);
    buf_init(&b, EVALUATION_TURN_BYTES);
    record_put_turn(&b, e);
    store(e, buf_str(&b), is_last ? EVALUATION_TURN_DONE : EVALUATION_TURN_RUNNING);
    buf_fini(&b);
}

/* --- the bot ---------------------------------------------------------------------------------- */

static void on_rested(struct deadline *deadline)
{
    struct evaluation *e = H2O_STRUCT_FROM_MEMBER(struct evaluation, rest, deadline);
    if (e->entry.has_slot) {
        evaluation_go_on(e);
        return;
    }
    evaluation_move(e, EVALUATION_WAITING);
    wait_for_turn(e);
}

/* Without its turn. If too many rest, another node may try. */
static bool rests_without_turn(struct evaluation *e)
{
    struct evaluations *all = e->all;
    if (all->resting_n > EVALUATIONS_RESTING_MAX) {
        lease_give_back(&e->lease, 0);
        return false;
    }
    forget(e);
    fair_slots_leave(all->turns, &e->entry);
    evaluations_fill(all);
    return true;
}

static void rest(struct evaluation *e, uint64_t ms)
{
    struct evaluations *all = e->all;
    evaluation_move(e, EVALUATION_RESTING);
    e->rest.on_expire = on_rested;
    loop_set_deadline(loop_of(e), &e->rest, ms);
    if (ms > PIECE_MS || fair_slots_waiting(all->turns) > 0)
        (void)!rests_without_turn(e);
}

static void on_vacancy(struct bot_vacancy *vacancy)
{
    struct evaluation *e = H2O_STRUCT_FROM_MEMBER(struct evaluation, vacancy, vacancy);
    evaluation_move(e, EVALUATION_WAITING);
    wait_for_turn(e);
}

/* That was no attempt. */
static void wait_for_room(struct evaluation *e, const struct bot_refused *refused)
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
        wait_for_room(e, &end->refused);
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
    evaluation_compare(e);
}

/* In the canonical text the quotes stand around it. */
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
    struct evaluation *e = H2O_STRUCT_FROM_MEMBER(struct evaluation, call, call);
    struct bot_target bot;
    if (error != ERR_OK) {
        evaluation_drop(e);
        return;
    }
    if (!evaluation_read_bot(reply, &bot))
        store_end(e, "The bot was removed.");
    else if (bot.endpoint.n == 0)
        store_end(e, "The bot has no endpoint any more: it pulls.");
    else
        call_bot(e, &bot);
}

void evaluation_go_on(struct evaluation *e)
{
    if (e->all->bots->server->is_draining) {
        evaluation_drop(e);
    } else if (keeps_turn(e)) {
        find_bot(e);
    } else {
        evaluation_move(e, EVALUATION_WAITING);
        forget(e);
        evaluations_fill(e->all);
    }
}

static void find_bot(struct evaluation *e)
{
    evaluation_move(e, EVALUATION_FINDING);
    call_bot_find(shards_call(e->all->bots->server->shards, &e->call, on_found),
                  .bot = str_of(e->bot), .is_calling = false);
}

/* --- life ------------------------------------------------------------------------------------- */

void evaluations_start(struct evaluations *all, const struct evaluation_start *start)
{
    struct str rest = start->id, digits = str_cut(&rest, '-');
    uint64_t n;
    if (digits.n != EVALUATION_DIGITS || !str_parse_u64(rest, &n))
        return; /* of a newer version */
    struct evaluation *e = calloc(1, sizeof *e);
    if (e == NULL)
        abort();
    *e = (struct evaluation){.all = all,
                             .state = EVALUATION_WAITING,
                             .number = sm_number(),
                             .n = n,
                             .account = str_copy(start->account),
                             .user = str_copy(start->user)};
    lease_hold(&all->leases, &e->lease, start->id, start->fence);
    e->digits = lease_home(&e->lease);
    begin_turn(e);
    /* Without others it is its turn now, and what it was given need not be read. */
    if (start->talk != NULL && fair_slots_waiting(all->turns) == 0 &&
        fair_slots_held(all->turns) < EVALUATIONS_MAX) {
        e->bot = str_copy(start->bot);
        e->measure = start->measure;
        e->talk = *start->talk;
        *start->talk = (struct conversation){.message_n = 0};
    }
    wait_for_turn(e);
}

static void create(struct bots *bots)
{
    struct evaluations *all = calloc(1, sizeof *all);
    if (all == NULL)
        abort();
    all->bots = bots;
    all->turns = fair_slots_create(&(struct fair_slots_config){
        .slot_n = EVALUATIONS_MAX, .waiting_max = EVALUATIONS_WAITING_MAX});
    if (!bots->settings->embedder->is_quick) {
        all->client = http_client_create(NULL);
        http_client_attach(all->client, bots->server->loop->h2o);
    }
    bots->evaluations = all;
    leases_init(&all->leases, &evaluation_leases, bots->server->loop, bots->server->shards,
                &bots->server->is_draining);
}

/* Others take its runs when their fences end. */
static void end(struct bots *bots)
{
    bots->evaluations->is_filling = true; /* nothing begins any more */
    leases_fini(&bots->evaluations->leases);
}

static void destroy(struct bots *bots)
{
    http_client_destroy(bots->evaluations->client);
    fair_slots_destroy(bots->evaluations->turns);
    free(bots->evaluations);
    bots->evaluations = NULL;
}

struct http_client *evaluate_client(const struct bots *bots)
{
    return bots->evaluations->client;
}

static void on_up(struct bots *bots, unsigned shard)
{
    leases_on_up(&bots->evaluations->leases, shard);
}

static void before_flush(struct bots *bots)
{
    leases_before_flush(&bots->evaluations->leases);
}

static void drain(struct bots *bots)
{
    leases_drain(&bots->evaluations->leases);
}

static void put_metrics(struct buf *b)
{
    buf_printf(b,
               "# HELP parley_evaluation_turns_total Turns of evaluations that were stored\n"
               "# TYPE parley_evaluation_turns_total counter\n"
               "parley_evaluation_turns_total{outcome=\"compared\"} %llu\n"
               "parley_evaluation_turns_total{outcome=\"failed\"} %llu\n",
               atomic_load(&compared_n), atomic_load(&failed_n));
}

const struct bots_part evaluate_part = {
    .create = create,
    .end = end,
    .destroy = destroy,
    .on_up = on_up,
    .before_flush = before_flush,
    .drain = drain,
    .put_metrics = put_metrics,
};
