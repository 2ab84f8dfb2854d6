/* SPDX-License-Identifier: MIT
 * evaluation.c - drives an evaluation from step to step (see evaluation.h).
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
 * evaluation lets others continue, and is read again afterwards.
 *
 * Each turn is stored before the next one begins, with the sums over all of them, under the fence.
 * A node that cannot store drops the run; the one that takes it calls the bot for that turn again,
 * under the same delivery id. A turn that fails is stored as failed: it counts, and is not
 * repeated. */
#include "services/bots/evaluate/evaluation.h"

#include "shared/base/sm.h"

#include "shared/base/mem.h"

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

void evaluation_move(struct evaluation *e, enum evaluation_state to)
{
    e->all->resting_n -= e->state == EVALUATION_RESTING;
    e->state = sm_move(&sm, e->number, e->state, to);
    e->all->resting_n += to == EVALUATION_RESTING;
}

/* --- runs of this node ------------------------------------------------------------------------ */

void evaluation_forget(struct evaluation *e)
{
    conversation_fini(&e->talk);
    free(e->bot);
    e->bot = NULL;
}

void evaluation_drop(struct evaluation *e)
{
    struct evaluations *all = e->all;
    /* The node that carries on calls the bot with the same id, so its answer may still be needed.
     */
    bot_call_cancel(e->calling, false);
    evaluation_stop_comparing(e);
    evaluation_move(e, EVALUATION_ENDED);
    call_detach(&e->call);
    lease_let_go(&e->lease);
    fair_slots_leave(all->turns, &e->entry);
    bot_vacancy_leave(&e->vacancy);
    loop_cancel_deadline(e->all->leases.loop, &e->rest);
    evaluation_forget(e);
    free(e->account);
    free(e->user);
    free(e->answer);
    free(e);
    evaluations_fill(all);
}

/* --- turns ------------------------------------------------------------------------------------ */

void evaluation_wait(struct evaluation *e)
{
    const struct fair_owner owner = {str_of(e->account), str_of(e->user), STR("")};
    fair_slots_wait(e->all->turns, &e->entry, &owner, 1);
    evaluations_fill(e->all);
}

static void begin_next(struct evaluations *all)
{
    struct fair_entry *entry;
    while ((entry = fair_slots_next(all->turns)) != NULL) {
        struct evaluation *e = container_of(entry, struct evaluation, entry);
        e->granted_ms = clock_mono_ms();
        if (all->bots->server->is_draining)
            evaluation_drop(e);
        else
            all->begin(e);
    }
}

void evaluations_fill(struct evaluations *all)
{
    struct fair_entry *surplus;
    if (all->is_filling)
        return;
    all->is_filling = true;
    begin_next(all);
    while ((surplus = fair_slots_surplus(all->turns)) != NULL)
        lease_give_back(&container_of(surplus, struct evaluation, entry)->lease, 0);
    all->is_filling = false;
}

static bool keeps_turn(struct evaluation *e)
{
    if (clock_mono_ms() - e->granted_ms < EVALUATION_PIECE_MS)
        return true;
    if (!fair_slots_yield(e->all->turns, &e->entry))
        return false;
    e->granted_ms = clock_mono_ms();
    return true;
}

void evaluation_go_on(struct evaluation *e)
{
    if (e->all->bots->server->is_draining) {
        evaluation_drop(e);
    } else if (keeps_turn(e)) {
        e->all->begin(e);
    } else {
        evaluation_move(e, EVALUATION_WAITING);
        evaluation_forget(e);
        evaluations_fill(e->all);
    }
}

void evaluation_begin_turn(struct evaluation *e)
{
    free(e->answer);
    e->answer = NULL;
    e->error[0] = 0;
    e->nearest = 0;
    e->attempt = 0;
    e->began_ms = clock_mono_ms();
}

/* --- life ------------------------------------------------------------------------------------- */

void evaluations_start(struct evaluations *all, const struct evaluation_start *start)
{
    struct str rest = start->id, digits = str_cut(&rest, '-');
    uint64_t n;
    if (digits.n != EVALUATION_DIGITS || !str_parse_u64(rest, &n))
        return; /* of a newer version */
    struct evaluation *e = mem_zeroed(sizeof *e);
    *e = (struct evaluation){.all = all,
                             .state = EVALUATION_WAITING,
                             .number = sm_number(),
                             .n = n,
                             .account = str_copy(start->account),
                             .user = str_copy(start->user)};
    lease_hold(&all->leases, &e->lease, start->id, start->fence);
    e->digits = lease_home(&e->lease);
    evaluation_begin_turn(e);
    /* Without others it is its turn now, and what it was given need not be read. */
    if (start->talk != NULL && fair_slots_waiting(all->turns) == 0 &&
        fair_slots_held(all->turns) < EVALUATIONS_MAX) {
        e->bot = str_copy(start->bot);
        e->measure = start->measure;
        e->talk = *start->talk;
        *start->talk = (struct conversation){.message_n = 0};
    }
    evaluation_wait(e);
}
