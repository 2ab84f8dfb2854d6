/* SPDX-License-Identifier: MIT
 * slot.c - one claim at a time: pull it, answer its queries one by one, pull the next.
 *
 *        +--------------------------- nothing ---------------------------+
 *        v                                                               |
 *      IDLE --> POLLING --claim--> SEARCHING --> GENERATING --> ANSWERING
 *        ^                            ^              |            |  |
 *        |                            +-- next query-+------------+  |
 *        |                            +-- Next: the next claim ------+
 *        |                            ^              |            |
 *        |                            +-- others ----+----+       |
 *        +------------- RELEASING <-- back end failed, refused, stopping
 *
 * A node that lacks deltas when it gets the answer leads from ANSWERING back to GENERATING.
 *
 * SEARCHING is left out where there is nothing to search. A cancelled query also leads from
 * SEARCHING and GENERATING to the next query. A lost lease leads to IDLE from every state with a
 * claim; where it says IDLE, a slot that is stopping goes to STOPPED.
 *
 * The states that wait for a node (POLLING, ANSWERING, RELEASING) have either a call under way or a
 * timer set for another try, both in their part. An answer is tried until a node takes it or
 * refuses it for good: a late answer is still taken while nobody else holds the query. A release is
 * tried while the lease may be alive; after that it has happened by itself.
 *
 * What it does not do: an answer whose acceptance was lost together with the claim in `Next` leaves
 * that claim to its lease. Only the first try asks for Next, which keeps that rare. */
#include "services/engine/slots/slot.h"

#include "shared/base/sm.h"

#include "shared/base/mem.h"

#define SM_NO_CLAIM (SM(SLOT_IDLE) | SM(SLOT_STOPPED))
#define SM_NEXT_QUERY (SM(SLOT_SEARCHING) | SM(SLOT_GENERATING))

static const struct sm_state states[] = {
    [SLOT_IDLE] = {"IDLE", SM(SLOT_POLLING) | SM_NO_CLAIM},
    [SLOT_POLLING] = {"POLLING", SM_NEXT_QUERY | SM(SLOT_RELEASING) | SM_NO_CLAIM},
    [SLOT_SEARCHING] = {"SEARCHING", SM_NEXT_QUERY | SM(SLOT_RELEASING) | SM_NO_CLAIM},
    [SLOT_GENERATING] = {"GENERATING",
                         SM_NEXT_QUERY | SM(SLOT_ANSWERING) | SM(SLOT_RELEASING) | SM_NO_CLAIM},
    [SLOT_ANSWERING] = {"ANSWERING", SM_NEXT_QUERY | SM(SLOT_RELEASING) | SM_NO_CLAIM},
    [SLOT_RELEASING] = {"RELEASING", SM_NEXT_QUERY | SM(SLOT_RELEASING) | SM_NO_CLAIM},
    [SLOT_STOPPED] = {"STOPPED", 0},
};
static const struct sm sm = SM_OF("slot", states);

void slot_move(struct slot *slot, enum slot_state to)
{
    slot->state = sm_move(&sm, slot->number + 1, slot->state, to);
}

void slot_end_work(struct slot *slot)
{
    slot_answer_cancel(slot);
    slot_release_cancel(slot);
    slot_work_end(slot);
    slot_text_clear(slot);
}

void slot_end_claim(struct slot *slot)
{
    slot_end_work(slot);
    slot_hold_end(slot);
}

void slot_go_idle(struct slot *slot, uint64_t after_ms)
{
    slot_poll_cancel(slot);
    slot_end_claim(slot);
    if (slot->is_stopping) {
        slot_move(slot, SLOT_STOPPED);
        return;
    }
    slot_move(slot, SLOT_IDLE);
    slot_poll_after(slot, after_ms);
}

void slot_next_query(struct slot *slot)
{
    struct claim_query *query = claim_next(&slot->hold.claim);
    if (query == NULL)
        slot_go_idle(slot, 0);
    else if (slot->is_stopping)
        slot_release_unused(slot, "the engine is stopping");
    else
        slot_work_begin(slot, query);
}

void slot_finish_query(struct slot *slot, enum query_state state)
{
    slot_hold_end_query(slot, slot->work.query, state);
    slot_end_work(slot);
    slot_next_query(slot);
}

void slot_give_answer(struct slot *slot, const struct completion_facts *facts)
{
    slot_text_stop(slot);
    slot_answer_start(slot, facts);
}

void slot_fail_query(struct slot *slot, const char *why)
{
    slot_release_query(slot, why, NULL);
}

void slot_take_claim(struct slot *slot, const struct claim *claim)
{
    char ids[CLAIM_IDS_BYTES];
    log_write(LOG_DEBUG, "claimed", LOG_STR("topic", claim->topic),
              LOG_U("queries", claim->query_n), claim_log_ids(claim, ids));
    slot_hold_take(slot, claim);
    slot_hold_start_beats(slot);
    slot_text_new_claim(slot);
    slot_next_query(slot);
}

void slot_drop_query(struct slot *slot, struct claim_query *query, const char *why)
{
    if (query->state != QUERY_OPEN)
        return;
    log_write(LOG_INFO, "query no longer needs an answer", LOG_STR("topic", slot->hold.claim.topic),
              LOG_U("seq", query->seq), LOG_S("why", why), claim_log_id(query));
    if (query == slot->work.query)
        slot_finish_query(slot, QUERY_GONE);
    else
        slot_hold_end_query(slot, query, QUERY_GONE);
}

void slot_drop_claim(struct slot *slot, const char *why)
{
    char ids[CLAIM_IDS_BYTES];
    log_write(LOG_WARN, "lease lost: stopping work on the claim",
              LOG_STR("topic", slot->hold.claim.topic), LOG_S("why", why),
              claim_log_ids(&slot->hold.claim, ids));
    slot_go_idle(slot, 0);
}

struct backend *slot_backend(const struct slot *slot)
{
    const struct engine *engine = slot->engine;
    bool is_of_door = slot->work.prompt.api != API_NONE && engine->server != NULL;
    return is_of_door ? engine->server : engine->backend;
}

void slot_put_engine(struct slot *slot, struct buf *query)
{
    buf_lit(query, "Engine=");
    buf_put_url_encoded(query, str_of(slot->engine->engine_id));
    buf_printf(query, "-%u", slot->number + 1);
}

/* ---- for the engine ---- */

struct slot *slot_create(struct engine *engine, unsigned number)
{
    struct slot *slot = mem_zeroed(sizeof *slot);
    slot->engine = engine;
    slot->number = number;
    slot_poll_init(slot);
    slot_hold_init(slot);
    slot_work_init(slot);
    slot_text_init(slot);
    slot_answer_init(slot);
    slot_release_init(slot);
    return slot;
}

void slot_start(struct slot *slot)
{
    slot_poll_nodes(slot);
}

void slot_rest(struct slot *slot)
{
    if (slot->state == SLOT_POLLING && !slot->is_stopping)
        slot_poll_say_away(slot);
}

void slot_wake(struct slot *slot)
{
    if (slot->state == SLOT_IDLE && slot->poll.is_held_up)
        slot_go_idle(slot, 0);
}

void slot_stop(struct slot *slot)
{
    slot->is_stopping = true;
    slot_poll_say_away(slot);
    if (slot->state == SLOT_POLLING)
        slot_poll_end_soon(slot);
    else if (slot->state == SLOT_IDLE)
        slot_go_idle(slot, 0);
}

bool slot_is_polling(const struct slot *slot)
{
    return slot->state == SLOT_POLLING || slot->poll.away_call != NULL;
}

void slot_give_back(struct slot *slot)
{
    /* An answer that is there is worth the wait. */
    bool is_working = slot->state == SLOT_SEARCHING || slot->state == SLOT_GENERATING;
    if (is_working && !slot->text.is_whole)
        slot_release_unused(slot, "the engine is stopping");
    else if (slot->state == SLOT_RELEASING)
        slot_release_go_on(slot);
}

bool slot_is_stopped(const struct slot *slot)
{
    return slot->state == SLOT_STOPPED && slot->poll.away_call == NULL;
}

void slot_destroy(struct slot *slot)
{
    if (slot == NULL)
        return;
    char ids[CLAIM_IDS_BYTES];
    if (slot->hold.claim.root != NULL)
        log_write(LOG_WARN, "claim left to expire with its lease",
                  LOG_STR("topic", slot->hold.claim.topic), claim_log_ids(&slot->hold.claim, ids));
    slot_poll_fini(slot);
    slot_end_claim(slot);
    slot_text_fini(slot);
    free(slot);
}
